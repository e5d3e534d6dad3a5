//! What a review asks, once it is clear that it asks about an Etcd.

use super::review::Request;
use crate::etcd::{self, Etcd, GROUP, Int32, Slot, Spec, Text, VERSION};
use crate::text::quoted;

/// A question about an Etcd.
#[derive(Debug)]
pub(super) enum Case<'a> {
    /// CREATE.
    Create(Etcd<'a>),
    /// UPDATE.
    Update(Change<'a>),
    /// UPDATE of `etcds/status`.
    UpdateStatus(Change<'a>),
    /// UPDATE of `etcds/scale`: both as Etcds of which nothing but `spec.replicas` is known.
    UpdateScale(Change<'a>),
    /// DELETE.
    Delete(Etcd<'a>),
}

/// Both sides of a change.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// As it is stored.
    pub(super) old: Etcd<'a>,
    /// As it shall be.
    pub(super) new: Etcd<'a>,
}

/// What a question is about, in words from closed sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// `CREATE`, `UPDATE`, `DELETE`, or `other`.
    pub(super) operation: &'static str,
    /// `etcds`, `etcds/status`, `etcds/scale`, or `other`.
    pub(super) resource: &'static str,
}

impl Target {
    /// What a question is about.
    pub(super) fn of(request: &Request<'_>) -> Self {
        Self { operation: operation(request), resource: resource(request) }
    }
}

fn operation(request: &Request<'_>) -> &'static str {
    match request.operation.text() {
        Some("CREATE") => "CREATE",
        Some("UPDATE") => "UPDATE",
        Some("DELETE") => "DELETE",
        _ => "other",
    }
}

fn resource(request: &Request<'_>) -> &'static str {
    let Some(resource) = request.resource.get() else { return "other" };
    let is_etcd = resource.group.text() == Some(GROUP)
        && resource.version.text() == Some(VERSION)
        && resource.resource.text() == Some(etcd::RESOURCE);
    match request.subresource.text().unwrap_or_default() {
        _ if !is_etcd => "other",
        "" if !request.subresource.is_wrong() => "etcds",
        "status" => "etcds/status",
        "scale" => "etcds/scale",
        _ => "other",
    }
}

impl<'a> Case<'a> {
    /// The question, or why the webhook's registration is wrong.
    pub(super) fn of(request: Request<'a>) -> Result<Self, String> {
        let target = Target::of(&request);
        match (target.operation, target.resource) {
            ("CREATE", "etcds") => {
                Ok(Self::Create(object(&request.kind, request.object, ETCD, "object", "CREATE")?))
            }
            ("UPDATE", "etcds") => Ok(Self::Update(change(request, ETCD)?)),
            ("DELETE", "etcds") => {
                Ok(Self::Delete(object(&request.kind, request.old_object, ETCD, "oldObject", "DELETE")?))
            }
            ("UPDATE", "etcds/status") => Ok(Self::UpdateStatus(change(request, ETCD)?)),
            ("UPDATE", "etcds/scale") => {
                let Change { old, new } = change(request, SCALE)?;
                Ok(Self::UpdateScale(Change { old: scale(old), new: scale(new) }))
            }
            _ => Err(wrong_registration(&request, target)),
        }
    }
}

/// Group, version and kind of an object.
#[derive(Clone, Copy)]
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
}

const ETCD: Kind = Kind { group: GROUP, version: VERSION, name: etcd::KIND };
const SCALE: Kind = Kind { group: "autoscaling", version: "v1", name: "Scale" };

fn change(request: Request<'_>, kind: Kind) -> Result<Change<'_>, String> {
    let new = object(&request.kind, request.object, kind, "object", "UPDATE")?;
    let old = object(&request.kind, request.old_object, kind, "oldObject", "UPDATE")?;
    Ok(Change { old, new })
}

fn object<'a>(
    asked: &Slot<super::review::GroupVersionKind<'a>>,
    slot: Slot<Etcd<'a>>,
    expected: Kind,
    field: &str,
    operation: &str,
) -> Result<Etcd<'a>, String> {
    let Kind { group, version, name: kind } = expected;
    if let Some(asked) = asked.get() {
        let same = (asked.group.text(), asked.version.text(), asked.kind.text())
            == (Some(group), Some(version), Some(kind));
        if !same {
            return Err(format!(
                "request.kind is {} of {}/{}, and this resource holds {kind} of {group}/{version}: correct the rules \
                 of the webhook configuration",
                shown(&asked.kind),
                shown(&asked.group),
                shown(&asked.version)
            ));
        }
    }
    let object = match slot {
        Slot::Set(object) => object,
        Slot::Absent => {
            return Err(format!(
                "request.{field} is missing, and a review of {operation} holds it: nothing to judge"
            ));
        }
        Slot::Wrong(wrong) => {
            return Err(format!("request.{field} is {}, not an object: nothing to judge", wrong.found));
        }
    };
    let api_version = format!("{group}/{version}");
    if object.kind.text() != Some(kind) || object.api_version.text() != Some(api_version.as_str()) {
        return Err(format!(
            "request.{field} is {} of {}, and the request is about {kind} of \"{api_version}\": send the object that \
             the request is about",
            shown(&object.kind),
            shown(&object.api_version)
        ));
    }
    Ok(object)
}

fn shown(slot: &Slot<Text<'_>>) -> String {
    slot.text().map_or_else(|| "missing".to_owned(), quoted)
}

/// A Scale says only how many; an absent number is 0 there.
fn scale(scale: Etcd<'_>) -> Etcd<'_> {
    let replicas = match scale.spec {
        Slot::Set(spec) if !spec.replicas.is_absent() => spec.replicas,
        Slot::Set(_) | Slot::Absent => Slot::Set(Int32::ZERO),
        Slot::Wrong(wrong) => return Etcd { spec: Slot::Wrong(wrong), ..Etcd::default() },
    };
    Etcd {
        metadata: scale.metadata,
        spec: Slot::Set(Spec { replicas, ..Spec::default() }),
        ..Etcd::default()
    }
}

fn wrong_registration(request: &Request<'_>, target: Target) -> String {
    let resource = request.resource.get();
    let part = |of: Option<&Slot<Text<'_>>>| of.and_then(|slot| slot.text()).unwrap_or_default().to_owned();
    let name = part(resource.map(|resource| &resource.resource));
    let group = part(resource.map(|resource| &resource.group));
    let version = part(resource.map(|resource| &resource.version));
    let subresource = request.subresource.text().unwrap_or_default();
    let operation = request.operation.text().unwrap_or_default();
    let asked = match subresource {
        "" => format!("{group}/{version} {name}"),
        subresource => format!("{group}/{version} {name}/{subresource}"),
    };
    let fault = if target.resource == "other" {
        format!("the webhook was asked about {}", quoted(&asked))
    } else {
        format!("the webhook was asked about operation {} of {}", quoted(operation), quoted(&asked))
    };
    format!(
        "{fault}, and judges CREATE, UPDATE and DELETE of {GROUP}/{VERSION} etcds and UPDATE of etcds/status and \
         etcds/scale: correct the rules of the webhook configuration"
    )
}
