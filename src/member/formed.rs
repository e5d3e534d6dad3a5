//! That a cluster was formed: `<name>-cluster`, created once, immutable, never applied again.

use super::id::ClusterId;
use std::collections::BTreeMap;

/// The record of a cluster that was formed, or joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formed {
    /// Its id.
    pub cluster: ClusterId,
}

impl Formed {
    /// Key of the cluster's id in the ConfigMap.
    pub const KEY: &'static str = "cluster-id";

    /// The ConfigMap's name, of an Etcd.
    pub fn name(etcd: &str) -> String {
        format!("{etcd}-cluster")
    }

    /// The ConfigMap's data.
    pub fn data(self) -> BTreeMap<String, String> {
        BTreeMap::from([(Self::KEY.to_owned(), self.cluster.to_string())])
    }

    /// The record in a ConfigMap. One that can't be read is an error: it says that a cluster was formed, and not
    /// which.
    pub fn read(data: Option<&BTreeMap<String, String>>) -> Result<Self, String> {
        let text =
            data.and_then(|data| data.get(Self::KEY)).ok_or_else(|| format!("has no {}", Self::KEY))?;
        let cluster = text.parse().map_err(|error| format!("{}: {error}", Self::KEY))?;
        Ok(Self { cluster })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_broken_one_is_an_error() {
        let formed = Formed { cluster: ClusterId(0xab) };
        assert_eq!(Formed::read(Some(&formed.data())), Ok(formed));
        assert!(Formed::read(None).is_err());
        assert!(Formed::read(Some(&BTreeMap::from([(Formed::KEY.to_owned(), "x".to_owned())]))).is_err());
    }
}
