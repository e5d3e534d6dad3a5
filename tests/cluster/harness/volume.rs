//! A member's volume, as the folder of the node that it is: for what restores and accidents do to it. A pod that runs
//! keeps the folder that it was started with, wherever that goes.

use super::{Bed, Etcd};

/// One volume.
pub struct Volume<'a> {
    bed: &'a Bed,
    path: String,
}

impl<'a> Volume<'a> {
    /// That of one of an Etcd's members.
    #[track_caller]
    pub fn of(etcd: &Etcd<'a>, ordinal: u32) -> Self {
        let claim = etcd.claim(ordinal);
        let name = etcd.shop.kubectl(&["get", "pvc", &claim, "--output=jsonpath={.spec.volumeName}"]).ok();
        let bed = etcd.shop.bed;
        let path = bed.kubectl(&["get", "pv", &name, "--output=jsonpath={.spec.hostPath.path}"]).ok();
        assert!(path.starts_with("/tmp/hostpath_pv/"), "{claim} is at {path:?}");
        Self { bed, path }
    }

    #[track_caller]
    fn run(&self, script: &str, argument: &str) -> String {
        self.bed.exec(&["bash", "-euc", script, "bash", &self.path, argument]).ok()
    }

    /// Gives each the other's content.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        self.run(r#"mv "$1" "$1.swapped" && mv "$2" "$1" && mv "$1.swapped" "$2""#, &other.path);
    }

    /// Takes its content away, for [`Self::put_back`].
    #[track_caller]
    pub fn empty(&self) {
        self.run(r#"mv "$1" "$1.aside" && mkdir -m 0750 "$1""#, "");
    }

    /// Copies it as it is now, for [`Self::put_back`]. Most of a log is zeros, which need no memory.
    #[track_caller]
    pub fn copy(&self) {
        self.run(r#"cp -a --sparse=always "$1" "$1.aside""#, "");
    }

    /// Puts what was taken away or copied in the place of what is there.
    #[track_caller]
    pub fn put_back(&self) {
        // A pod may be at work in the other one.
        self.run(r#"rm -rf "$1.before" && mv "$1" "$1.before" && mv "$1.aside" "$1""#, "");
    }

    /// Gives it to a user and a group.
    #[track_caller]
    pub fn give_to(&self, owner: &str) {
        self.run(r#"chown -R "$2" "$1""#, owner);
    }

    /// Names of what is in it.
    #[track_caller]
    pub fn holds(&self) -> Vec<String> {
        self.run(r#"ls -A "$1""#, "").lines().map(str::to_owned).collect()
    }
}
