# shellcheck shell=bash
# The files of bed $n in $run, and its addresses: the host is 10.199.N.1, the bed 10.199.N.2, its nodes 10.200.N.1 and .2,
# pods 10.244.N.0/24 (half of it a node), Services 10.96.N.0/24.

use_bed() { # use_bed N
  n=$1
  run=$state/$n
  control=10.200.$n.1
  services=10.96.$n.0/24
}

node_ip() { echo "10.200.$n.$1"; }
node_pods() { echo "10.244.$n.$((($1 - 1) * 128))/25"; }

# name, groups: each program is who it is in a real cluster, so that the audit log tells them apart
identities() {
  cat <<LIST
admin system:masters
system:kube-controller-manager -
system:kube-scheduler -
system:kube-proxy -
coredns system:masters
system:node:node-1 system:nodes
system:node:node-2 system:nodes
LIST
}

certificates() (
  cd "$run/pki"
  openssl ecparam -name prime256v1 -genkey -noout -out ca.key
  openssl req -x509 -new -key ca.key -subj /CN=bed-ca -days 30 -out ca.crt
  openssl ecparam -name prime256v1 -genkey -noout -out apiserver.key
  openssl req -new -key apiserver.key -subj /CN=kube-apiserver -out apiserver.csr
  echo "subjectAltName=IP:127.0.0.1,IP:$control,IP:10.96.$n.1,DNS:localhost,DNS:kubernetes.default.svc" >apiserver.ext
  openssl x509 -req -in apiserver.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile apiserver.ext -out apiserver.crt
  openssl ecparam -name prime256v1 -genkey -noout -out accounts.key
  openssl ec -in accounts.key -pubout -out accounts.pub
) 2>>"$run/log/openssl.log"

kubeconfig() { # kubeconfig NAME GROUPS: writes it, and its token among those of the API server
  local token
  token=$(cat /proc/sys/kernel/random/uuid)
  echo "$token,$1,$1,\"${2#-}\"" >>"$run/tokens.csv"
  cat >"$run/kubeconfig/$1" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: bed, cluster: {server: "https://$control:6443", certificate-authority-data: "$(base64 -w0 "$run/pki/ca.crt")"}}]
users: [{name: "$1", user: {token: "$token"}}]
contexts: [{name: bed, context: {cluster: bed, user: "$1"}}]
current-context: bed
YAML
}

control_plane_files() (
  umask 077
  mkdir -p "$run"/{pki,kubeconfig,data}
  certificates
  while read -r name groups; do kubeconfig "$name" "$groups"; done < <(identities)
  echo 'nameserver 127.0.0.1' >"$run/resolv.conf"
  cat >"$run/Corefile" <<CONF
.:53 {
  bind $control
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $run/kubeconfig/coredns bed
    ttl 5
    pods insecure
  }
  cache {
    success 100 5
    denial 100 1
    servfail 0
  }
  # Nothing outside the cluster exists; without this the answer is a slow SERVFAIL.
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
CONF
)

node_files() { # node_files I
  local files=$run/node-$1
  mkdir -p "$files"
  cat >"$files/cni.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "bed", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$run/data/node-$1/cni", "ranges": [[{"subnet": "$(node_pods "$1")"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
  # restrict_oom_score_adj: a root without CAP_SYS_RESOURCE can't lower the score, and no sandbox would start.
  cat >"$files/containerd.toml" <<TOML
version = 2
root = "$run/data/node-$1/containerd"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "$files/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$run/data/node-$1/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/local/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$files"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
TOML
  cat >"$files/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $(node_ip "$1")
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
clusterDNS: [$control]
clusterDomain: cluster.local
resolvConf: $run/resolv.conf
containerRuntimeEndpoint: unix://$files/containerd.sock
# The machine's control groups may be of either version, and are its own.
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
makeIPTablesUtilChains: false
serializeImagePulls: false
nodeStatusUpdateFrequency: 5s
# A full disk of the machine is not what tests are about.
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%, imagefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
YAML
  cat >"$files/kube-proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: 10.244.$n.0/24
bindAddress: $(node_ip "$1")
hostnameOverride: node-$1
clientConnection: {kubeconfig: "$run/kubeconfig/system:kube-proxy"}
# What is the whole machine's isn't touched.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
}
