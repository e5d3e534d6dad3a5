//! The Etcd behind a Scale: where it is looked up, and how it is judged.

use std::fmt::Debug;
use std::sync::Arc;

use super::case::Change;
use super::depth;
use super::review::DEPTH_MAX;
use crate::etcd::{Etcd, Int32, Slot, Spec};
use crate::rules::{self, Settings, Verdict, View, Violation};

/// The field that a Scale changes.
const REPLICAS: &str = "spec.replicas";

/// Etcds as they are stored, as far as is known here.
pub trait Stored: Debug + Send + Sync {
    /// The Etcd as JSON, with everything that rules read.
    fn etcd(&self, asked: &Asked<'_>) -> Lookup;
}

/// Which Etcd is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its identity: another of the same name is another Etcd.
    pub uid: Option<&'a str>,
    /// The version that the review is about.
    pub resource_version: Option<&'a str>,
}

/// What is known of an Etcd.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// The object.
    Found(Arc<str>),
    /// Nothing yet, and why.
    NotYet(String),
}

/// Judges a change of a Scale as an update of the stored Etcd of which only `spec.replicas` changes. The error says
/// why it can't be judged now.
pub(super) fn judge_scale(
    change: &Change<'_>,
    namespace: &str,
    stored: Option<&dyn Stored>,
    settings: &Settings,
    user: &str,
) -> Result<Verdict, String> {
    let (Some(stored), Some(old), Some(new)) = (stored, replicas(&change.old), replicas(&change.new)) else {
        let (old, new) = (View::new(&change.old, namespace), View::new(&change.new, namespace));
        return Ok(rules::judge(&rules::Request::UpdateScale { old: &old, new: &new }, settings, user));
    };
    let json = look_up(&change.old, namespace, stored)?;
    let etcd = read(&json).ok_or_else(|| {
        "the stored Etcd can't be read: scale it by changing spec.replicas of the Etcd itself".to_owned()
    })?;
    let (old, new) = (with_replicas(etcd.clone(), old), with_replicas(etcd, new));
    let (old, new) = (View::new(&old, namespace), View::new(&new, namespace));
    let mut verdict = rules::judge(&rules::Request::Update { old: &old, new: &new }, settings, user);
    verdict.violations = verdict.violations.into_iter().map(at_replicas).collect();
    Ok(verdict)
}

fn replicas<'a>(scale: &Etcd<'a>) -> Option<Slot<Int32>> {
    scale.spec.get().map(|spec: &Spec<'a>| spec.replicas.clone())
}

fn look_up(scale: &Etcd<'_>, namespace: &str, stored: &dyn Stored) -> Result<Arc<str>, String> {
    let metadata = scale.metadata.get();
    let asked = Asked {
        namespace,
        name: metadata.and_then(|metadata| metadata.name.text()).unwrap_or_default(),
        uid: metadata.and_then(|metadata| metadata.uid.text()),
        resource_version: metadata.and_then(|metadata| metadata.resource_version.text()),
    };
    match stored.etcd(&asked) {
        Lookup::Found(json) => Ok(json),
        Lookup::NotYet(why) => Err(why),
    }
}

fn read(json: &str) -> Option<Etcd<'_>> {
    if depth::exceeds(json.as_bytes(), DEPTH_MAX) {
        return None;
    }
    match Etcd::read(json) {
        Ok(Slot::Set(etcd)) if etcd.spec.is_set() => Some(etcd),
        _ => None,
    }
}

fn with_replicas(mut etcd: Etcd<'_>, replicas: Slot<Int32>) -> Etcd<'_> {
    if let Some(spec) = etcd.spec.get_mut() {
        spec.replicas = replicas;
    }
    etcd
}

/// A Scale has no other field that could be mended: what is broken elsewhere is broken by the number.
fn at_replicas(mut violation: Violation) -> Violation {
    if violation.field != REPLICAS {
        violation.message = format!("the Etcd's {}: {}", violation.field, violation.message);
        REPLICAS.clone_into(&mut violation.field);
    }
    violation
}
