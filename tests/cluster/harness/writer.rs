//! A client that writes all the time, and knows which of its writes were acknowledged.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Etcd, Namespace, eventually};

const SOON: Duration = Duration::from_mins(1);

/// Writes `written/1`, `written/2`, …, each once; what isn't acknowledged isn't tried again.
const SCRIPT: &str = r"
n=0
while [ ! -e /tmp/end ]; do
  n=$((n + 1))
  if etcdctl --command-timeout=5s put written/$n $n >/dev/null 2>>/tmp/refused; then echo $n >>/tmp/acknowledged; fi
  sleep 0.2
done
touch /tmp/ended
exec sleep 100000
";

/// One writer, in a pod.
pub struct Writer<'a> {
    shop: &'a Namespace<'a>,
}

impl<'a> Writer<'a> {
    /// Writes to `endpoints` from now on; `secret` holds a client's certificate where they ask for one.
    #[track_caller]
    pub fn start(shop: &'a Namespace<'a>, endpoints: &str, secret: Option<&str>) -> Self {
        let mut env = vec![json!({"name": "ETCDCTL_ENDPOINTS", "value": endpoints})];
        let mut volumes = Vec::new();
        if let Some(secret) = secret {
            for (name, file) in [("CACERT", "ca.crt"), ("CERT", "tls.crt"), ("KEY", "tls.key")] {
                env.push(json!({"name": format!("ETCDCTL_{name}"), "value": format!("/tls/{file}")}));
            }
            volumes.push(json!({"name": "tls", "secret": {"secretName": secret}}));
        }
        let mounts: Vec<Value> =
            volumes.iter().map(|_| json!({"name": "tls", "mountPath": "/tls"})).collect();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "writer"},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "writer", "image": super::IMAGE_3_6, "imagePullPolicy": "Never",
                    "command": ["sh", "-c", SCRIPT], "env": env, "volumeMounts": mounts,
                }],
                "volumes": volumes,
            },
        });
        shop.apply(&pod.to_string());
        shop.ready("pod/writer");
        let writer = Self { shop };
        eventually(SOON, "the first write is acknowledged", || {
            if writer.acknowledged().is_empty() { Err(writer.file("refused")) } else { Ok(()) }
        });
        writer
    }

    fn file(&self, name: &str) -> String {
        self.shop.exec("writer", &["cat", &format!("/tmp/{name}")]).stdout
    }

    fn acknowledged(&self) -> BTreeSet<u32> {
        self.file("acknowledged").lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Ends it, and holds what was acknowledged against what is there, read through a member of `etcd`. Tells how many
    /// writes there were, and which were refused.
    #[track_caller]
    pub fn nothing_is_lost(&self, read: impl Fn(&[&str]) -> Result<String, String>) -> (usize, String) {
        self.shop.exec("writer", &["touch", "/tmp/end"]).ok();
        eventually(SOON, "the writer has ended", || {
            self.shop.exec("writer", &["cat", "/tmp/ended"]).attempt()
        });
        let acknowledged = self.acknowledged();
        let there = eventually(SOON, "what was written is read", || {
            read(&["get", "written/", "--prefix", "--keys-only"])
        });
        let there: BTreeSet<u32> =
            there.lines().filter_map(|line| line.strip_prefix("written/")?.parse().ok()).collect();
        let lost: Vec<_> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        (acknowledged.len(), self.file("refused"))
    }

    /// The same, read through one of an Etcd's members.
    #[track_caller]
    pub fn nothing_is_lost_by(&self, etcd: &Etcd<'_>, ordinal: u32) -> (usize, String) {
        self.nothing_is_lost(|arguments| etcd.etcdctl(ordinal, arguments).attempt())
    }
}
