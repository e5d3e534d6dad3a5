//! A member of an existing cluster: in the spec of who joins it, and in the record of a join.

use super::fields::resource;
use super::scalar::Text;
use super::slot::Slot;

resource! {
    impl 'a;
    /// A member of the existing cluster.
    pub struct SourceMember<'a> = "an object" {
        /// Its name as etcd knows it ("etcdctl member list"), an RFC 1123 label and not "default".
        "name" => name: Text<'a>,
        /// Its peer URLs as etcd knows them, such as "https://10.0.0.1:2380": all of them, 1 to 5. https exactly when
        /// peerUrlTls is set.
        "peerUrls" => peer_urls: Vec<Slot<Text<'a>>>,
    }
    unread {}
}
