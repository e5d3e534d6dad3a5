//! What can't be changed. The join's state is in the status, so that most of these stand at the root; none of them
//! can fail where neither spec nor status changes.

use super::fragments::{ADVERTISED, BOOTSTRAP, has, matches, not_joining, same_urls, urls_within};
use super::{Validation, literal};

const UNTIL: &str = "before the join is complete (condition BootstrappedWithExistingCluster is True)";

pub(super) fn validations() -> Vec<Validation> {
    let mut all = vec![bootstrap_create_only(), bootstrap_no_removal(), frozen_members(), frozen_endpoints()];
    all.push(bootstrap_replicas_frozen());
    all.extend(bootstrap_settings_frozen());
    all.extend([replicas_no_shrink(), replicas_wake(), image_minor_jump()]);
    all.extend(immutable());
    all
}

/// At the root: below, nothing is evaluated where the stored object has no `spec.etcd` at all.
fn bootstrap_create_only() -> Validation {
    Validation::change(
        "bootstrap-create-only",
        "",
        format!("{} || !{}", has("oldSelf", BOOTSTRAP), has("self", BOOTSTRAP)),
        literal(
            "an existing cluster can be named only when the Etcd is created. Remove the field, or create another Etcd \
             with it",
        ),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster")
}

/// Whether the existing cluster of an object has members or endpoints.
fn has_entries(object: &str) -> String {
    let filled = |list: &str| {
        let path = format!("{BOOTSTRAP}.{list}");
        format!("{} && size({object}.{path}) > 0", has(object, &path))
    };
    format!("({} || {})", filled("members"), filled("clientEndpoints"))
}

fn bootstrap_no_removal() -> Validation {
    Validation::change(
        "bootstrap-no-removal",
        "",
        format!(
            "{} || {} && ({} || !{})",
            not_joining(),
            has("self", BOOTSTRAP),
            has_entries("self"),
            has_entries("oldSelf")
        ),
        literal(&format!(
            "can't be removed or emptied {UNTIL}: members may already be learners of the existing cluster. Put the \
             field back, or delete the Etcd"
        )),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster")
}

/// A list that was there is there, and the same; the removal of everything is another rule's.
fn frozen(list: &str, same: &str) -> Validation {
    let path = format!("{BOOTSTRAP}.{list}");
    Validation::change(
        "bootstrap-frozen",
        "",
        format!(
            "{} || !{} || {} == {} && (!{} || {same})",
            not_joining(),
            has_entries("self"),
            has("self", &path),
            has("oldSelf", &path),
            has("self", &path),
        ),
        literal(&format!(
            "{list} can't be changed {UNTIL}. Restore the stored value, and edit it after the join, or delete the Etcd \
             and create it anew"
        )),
    )
}

/// The order of the members counts, the order of their URLs doesn't.
fn frozen_members() -> Validation {
    let of = |object: &str| format!("{object}.{BOOTSTRAP}.members");
    let (old, new) = (of("oldSelf"), of("self"));
    let name = |member: &str| format!("(has({member}.name) ? {member}.name : '')");
    frozen(
        "members",
        &format!(
            "{old}.map(m, {0}) == {new}.map(m, {0}) && ({new} == {old} || {new}.all(m, {old}.exists(o, {1} == {0} && \
             has(o.peerUrls) == has(m.peerUrls) && (!has(m.peerUrls) || {2}))))",
            name("m"),
            name("o"),
            same_urls("o.peerUrls", "m.peerUrls")
        ),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster.members")
}

fn frozen_endpoints() -> Validation {
    let of = |object: &str| format!("{object}.{BOOTSTRAP}.clientEndpoints");
    let (old, new) = (of("oldSelf"), of("self"));
    frozen("clientEndpoints", &format!("({} && {})", urls_within(&old, &new), urls_within(&new, &old)))
        .at(".spec.etcd.bootstrapWithExistingCluster.clientEndpoints")
}

fn bootstrap_replicas_frozen() -> Validation {
    Validation::change(
        "bootstrap-replicas-frozen",
        "",
        format!(
            "{} || !{} || oldSelf.spec.replicas == 0 || {} && self.spec.replicas == oldSelf.spec.replicas",
            not_joining(),
            has("oldSelf", "spec.replicas"),
            has("self", "spec.replicas")
        ),
        literal(&format!(
            "can't change {UNTIL}: each member that joins moves the quorum of the existing cluster. Write the stored \
             number, and scale after the join"
        )),
    )
    .at(".spec.replicas")
}

/// Effective values: a default that is written out is no change.
fn bootstrap_settings_frozen() -> Vec<Validation> {
    let port = |name: &str, default: u16| {
        let of = |object: &str| {
            format!("(has({object}.spec.etcd.{name}) ? {object}.spec.etcd.{name} : {default})")
        };
        format!("{} == {}", of("self"), of("oldSelf"))
    };
    let presence = |name: &str| format!("has(self.spec.etcd.{name}) == has(oldSelf.spec.etcd.{name})");
    [
        (".spec.etcd.serverPort", "the port can't change", port("serverPort", 2380)),
        (".spec.etcd.clientPort", "the port can't change", port("clientPort", 2379)),
        (".spec.etcd.peerUrlTls", "TLS can't be switched on or off", presence("peerUrlTls")),
        (".spec.etcd.clientUrlTls", "TLS can't be switched on or off", presence("clientUrlTls")),
        (".spec.etcd.additionalAdvertisePeerURLs", "the URLs can't change", same_advertised()),
    ]
    .into_iter()
    .map(|(field, what, same)| {
        let message = format!(
            "{what} {UNTIL}: it would move an address under a member that is already registered. Restore the stored \
             value, and change it after the join"
        );
        let expression = format!("{} || !{} || ({same})", not_joining(), has("self", "spec.etcd"));
        Validation::change("bootstrap-settings-frozen", "", expression, literal(&message)).at(field)
    })
    .collect()
}

/// The order of the entries makes no difference; no list and an empty one are the same, and an entry without a name
/// is none.
fn same_advertised() -> String {
    let named = |object: &str| {
        format!(
            "({} ? {object}.{ADVERTISED}.filter(m, has(m.memberName)).size() : 0)",
            has(object, ADVERTISED)
        )
    };
    let found = format!(
        "oldSelf.{ADVERTISED}.exists(o, has(o.memberName) && o.memberName == m.memberName && has(o.urls) == has(m.urls) && \
         (!has(m.urls) || {}))",
        same_urls("o.urls", "m.urls")
    );
    format!(
        "{} == {} && (!{} || !{} || self.{ADVERTISED}.all(m, !has(m.memberName) || {found}))",
        named("self"),
        named("oldSelf"),
        has("self", ADVERTISED),
        has("oldSelf", ADVERTISED)
    )
}

/// In the middle of a join, another rule speaks.
fn replicas_no_shrink() -> Validation {
    // A negative number is refused for being that.
    Validation::change(
        "replicas-no-shrink",
        "",
        format!(
            "!{} || {} && (self.spec.replicas <= 0 || self.spec.replicas >= oldSelf.spec.replicas) || \
             oldSelf.spec.replicas != 0 && !({})",
            has("oldSelf", "spec.replicas"),
            has("self", "spec.replicas"),
            not_joining()
        ),
        literal(
            "can't shrink: the members that go would stay voters of the cluster and take its quorum with them. Write \
             the stored number or more, or 0 to hibernate the cluster",
        ),
    )
    .at(".spec.replicas")
}

/// From 0, not smaller than what is known to sleep.
fn replicas_wake() -> Validation {
    Validation::change(
        "replicas-no-shrink",
        "",
        format!(
            "!{} || oldSelf.spec.replicas != 0 || !{} || self.spec.replicas <= 0 || !{} || \
             self.spec.replicas >= size(oldSelf.status.members)",
            has("oldSelf", "spec.replicas"),
            has("self", "spec.replicas"),
            has("oldSelf", "status.members")
        ),
        literal(
            "can't wake with fewer members than are known (status.members): they may have no quorum. Write their \
             number",
        ),
    )
    .at(".spec.replicas")
}

fn image_minor_jump() -> Validation {
    // An etcd version as a tag: 3.<minor>, further numbers, a suffix.
    let readable = r":v?3\.(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]*))*([-+_][^:/@]*)?(@[^@]*)?$";
    let minor = |object: &str| {
        format!(
            "int({object}.image.find({}).find({}).substring(2))",
            literal(r":v?3\.[0-9]{1,4}[^/:@]*(@[^@]*)?$"),
            literal(r"3\.[0-9]{1,4}")
        )
    };
    Validation::change(
        "image-minor-jump",
        "spec.etcd",
        format!(
            "!has(self.image) || !has(oldSelf.image) || self.image == oldSelf.image || !{} || !{} || \
             ({} - {}) in [0, 1]",
            matches("self.image", readable),
            matches("oldSelf.image", readable),
            minor("self"),
            minor("oldSelf")
        ),
        literal(
            "etcd's minor version stays or rises by one: an older one can't read the data, and a jump over one \
             destroys the cluster. Write an image of the stored minor, or of the next",
        ),
    )
    .at(".image")
}

fn immutable() -> Vec<Validation> {
    [
        ("member-name-prefix-immutable", "memberNamePrefix", ".memberNamePrefix"),
        ("storage-class-immutable", "storageClass", ".storageClass"),
        ("volume-claim-template-immutable", "volumeClaimTemplate", ".volumeClaimTemplate"),
    ]
    .into_iter()
    .map(|(rule, name, field)| {
        Validation::change(
            rule,
            "spec",
            format!(
                "has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
            ),
            literal("is immutable since the Etcd was created. Restore the stored value, or its absence"),
        )
        .at(field)
    })
    .collect()
}
