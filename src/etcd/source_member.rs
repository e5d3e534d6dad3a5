//! A member of an existing cluster: in the spec of who joins it, and in the record of a join.

use super::fields::resource;
use super::scalar::Text;
use super::slot::Slot;

resource! {
    impl 'a;
    /// A member of the existing cluster.
    pub struct SourceMember<'a> = "an object" {
        /// Its name, as etcd knows it.
        "name" => name: Text<'a>,
        /// Its peer URLs, as etcd knows them.
        "peerUrls" => peer_urls: Vec<Slot<Text<'a>>>,
    }
}
