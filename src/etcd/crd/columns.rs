//! What `kubectl get etcd` shows.

use serde_json::{Value, json};

struct Column {
    name: &'static str,
    path: Path,
    kind: &'static str,
    /// Shown only with `-o wide`.
    wide: bool,
}

enum Path {
    Field(&'static str),
    Condition(&'static str),
}

impl Path {
    fn json_path(&self) -> String {
        match self {
            Self::Field(path) => (*path).to_owned(),
            Self::Condition(kind) => format!(r#".status.conditions[?(@.type=="{kind}")].status"#),
        }
    }
}

const fn column(name: &'static str, path: Path, kind: &'static str) -> Column {
    Column { name, path, kind, wide: false }
}

const fn wide(name: &'static str, path: Path, kind: &'static str) -> Column {
    Column { name, path, kind, wide: true }
}

use Path::{Condition, Field};

/// etcd-druid's columns in its order, and phase and join before the age.
const COLUMNS: [Column; 11] = [
    column("Ready", Field(".status.ready"), "string"),
    column("Quorate", Condition("Ready"), "string"),
    column("All Members Ready", Condition("AllMembersReady"), "string"),
    column("Backup Ready", Condition("BackupReady"), "string"),
    column("Cluster ID Mismatch", Condition("ClusterIDMismatch"), "string"),
    column("Phase", Field(".status.phase"), "string"),
    column("Join", Field(".status.join"), "string"),
    column("Age", Field(".metadata.creationTimestamp"), "date"),
    wide("Cluster Size", Field(".spec.replicas"), "integer"),
    wide("Current Replicas", Field(".status.currentReplicas"), "integer"),
    wide("Ready Replicas", Field(".status.readyReplicas"), "integer"),
];

pub(super) fn columns() -> Value {
    COLUMNS.iter().map(|column| {
        json!({"name": column.name, "jsonPath": column.path.json_path(), "type": column.kind, "priority": i32::from(column.wide)})
    }).collect()
}
