//! Names, labels, and the block without which there are none.

use super::fragments::{has, matches, quoted};
use super::{Reason, Validation, literal};

const MEMBER_NAME: &str = "spec.etcd.bootstrapWithExistingCluster.members[].name";

pub(super) fn validations() -> Vec<Validation> {
    let mut all = vec![required(), name(), member_name_prefix(), member_name_length()];
    all.extend(labels());
    all.extend([bootstrap_member_name(), bootstrap_member_name_default()]);
    all
}

/// Not the schema's `required`: an object without a spec, from a CRD without rules, could not even be deleted.
fn required() -> Validation {
    Validation::new(
        "required",
        "",
        "has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",
        literal("an Etcd without spec describes no cluster; write labels, etcd, backup and replicas"),
    )
    .at(".spec")
    .because(Reason::Required)
    .seeing_the_old()
}

/// Checked at creation only.
fn name() -> Validation {
    Validation::new(
        "name",
        "",
        format!(
            "oldSelf.hasValue() || self.metadata.name.matches({})",
            literal("^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$")
        ),
        format!(
            "{} + {}",
            quoted("self.metadata.name"),
            literal(
                " is no name for an Etcd: Services, pods and their labels are named after it, so that it must be a \
                 DNS-1035 label of at most 52 characters: a-z, 0-9 and -, beginning with a letter and ending with a \
                 letter or a digit"
            )
        ),
    )
    .seeing_the_old()
}

fn member_name_prefix() -> Validation {
    Validation::new(
        "member-name-prefix",
        "spec.memberNamePrefix",
        format!("self.matches({})", literal("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")),
        format!(
            "{} + {}",
            quoted("self"),
            literal(
                " is no RFC 1123 label: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or a \
                 digit"
            )
        ),
    )
}

/// `<prefix>-<name>-<ordinal>` fits a label, for ordinals of one digit at least.
fn member_name_length() -> Validation {
    let digits = "(self.spec.replicas <= 10 ? 1 : self.spec.replicas <= 100 ? 2 : self.spec.replicas <= 1000 ? 3 : 10)";
    let same = "(oldSelf.hasValue() && has(oldSelf.value().spec.memberNamePrefix) && \
                oldSelf.value().spec.memberNamePrefix == self.spec.memberNamePrefix && \
                has(oldSelf.value().spec.replicas) && oldSelf.value().spec.replicas == self.spec.replicas)";
    Validation::new(
        "member-name-prefix",
        "",
        format!(
            "!{} || !has(self.spec.replicas) || size(self.metadata.name) > 52 || {same} || \
             size(self.spec.memberNamePrefix) + size(self.metadata.name) + {digits} + 2 <= 63",
            has("self", "spec.memberNamePrefix")
        ),
        literal(
            "makes a member name (<prefix>-<name>-<ordinal>) of more than 63 characters; shorten the prefix or the \
             Etcd's name",
        ),
    )
    .at(".spec.memberNamePrefix")
    .seeing_the_old()
}

fn labels() -> Vec<Validation> {
    const KEY: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?\
                       [A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
    const VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";
    let keys = |path| {
        let good = format!("self.all(k, k.indexOf('/') <= 253 && {})", matches("k", KEY));
        Validation::new(
            "labels",
            path,
            good,
            literal(
                "a key is malformed: write 1 to 63 characters of A-Z a-z 0-9 - _ . that begin and end with a letter or \
                 a digit, perhaps after a DNS name and \"/\"",
            ),
        )
    };
    let value = |path| {
        let fault = literal(
            " is no value for a label: write at most 63 characters of A-Z a-z 0-9 - _ . that begin and end with a \
             letter or a digit",
        );
        Validation::new("labels", path, matches("self", VALUE), format!("{} + {fault}", quoted("self")))
    };
    vec![
        keys("spec.labels"),
        value("spec.labels{}"),
        keys("spec.annotations"),
        keys("spec.etcd.clientService.labels"),
        value("spec.etcd.clientService.labels{}"),
        keys("spec.etcd.clientService.annotations"),
    ]
}

fn bootstrap_member_name() -> Validation {
    Validation::new(
        "bootstrap-member-name",
        MEMBER_NAME,
        format!("self.matches({})", literal("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")),
        format!(
            "{} + {}",
            quoted("self"),
            literal(
                " is no RFC 1123 label: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or a \
                 digit. Rename the member at the source (restart it with another --name)"
            )
        ),
    )
}

fn bootstrap_member_name_default() -> Validation {
    Validation::new(
        "bootstrap-member-name-default",
        MEMBER_NAME,
        "self != 'default'",
        literal(
            "\"default\" is what etcd calls a member that was started without a name; several members can bear it, \
             and their entries collapse into one. Restart the source member with a --name of its own",
        ),
    )
}
