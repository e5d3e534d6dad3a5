module etcd-warden.test/pause

go 1.26.0
