//! Pieces of expressions: what several of them say.
//!
//! The API server bounds the cost of an expression before it takes it, and knows sizes only of what is reached by
//! plain field paths: hence `has` chains, and no optional navigation into anything that is iterated.

use super::literal;
use crate::etcd::BOOTSTRAPPED;

/// Path of the existing cluster.
pub(super) const BOOTSTRAP: &str = "spec.etcd.bootstrapWithExistingCluster";
/// Path of the target's own further peer URLs.
pub(super) const ADVERTISED: &str = "spec.etcd.additionalAdvertisePeerURLs";

/// Whether a field and everything above it is there: `has(o.spec) && has(o.spec.etcd)`.
pub(super) fn has(object: &str, path: &str) -> String {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let parts: Vec<String> =
        ends.map(|end| format!("has({object}.{})", path.get(..end).unwrap_or(path))).collect();
    format!("({})", parts.join(" && "))
}

/// Whether a stored object's join is complete: one status of the condition, and it is True.
fn complete() -> String {
    format!(
        "({} && oldSelf.status.conditions.exists(c, c.type == '{BOOTSTRAPPED}') && \
         oldSelf.status.conditions.all(c, c.type != '{BOOTSTRAPPED}' || c.status == 'True'))",
        has("oldSelf", "status.conditions")
    )
}

/// Whether the stored object isn't joining: it names no existing cluster, or is through with the join.
pub(super) fn not_joining() -> String {
    format!("!{} || {}", has("oldSelf", BOOTSTRAP), complete())
}

/// A URL spelled so that upper case, and a last dot of the host before a port, make no difference.
fn plain(url: &str) -> String {
    format!("{url}.lowerAscii().replace('.:', ':')")
}

/// A condition on a URL as `plain` spells it, under the name `p`. Spelled once, since its cost counts.
pub(super) fn with_plain(url: &str, condition: &str) -> String {
    format!("[{}].all(p, {condition})", plain(url))
}

/// Whether a URL is the one that [`with_plain`] spelled.
pub(super) fn is_plain(url: &str) -> String {
    format!("{} == p", plain(url))
}

/// Whether every URL of a list stands in another.
pub(super) fn urls_within(some: &str, others: &str) -> String {
    let found = with_plain("u", &format!("{others}.exists(v, {})", is_plain("v")));
    format!("{some}.all(u, u in {others} || {found})")
}

/// Whether two lists of URLs, each without duplicates, hold the same ones: half the cost of looking both ways.
pub(super) fn same_urls(one: &str, other: &str) -> String {
    format!("(size({one}) == size({other}) && {})", urls_within(one, other))
}

/// A text in quotes, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    format!(r#"'"' + (size({text}) > 100 ? {text}.substring(0, 100) + '…' : {text}) + '"'"#)
}

/// Whether a text matches a regular expression.
pub(super) fn matches(text: &str, pattern: &str) -> String {
    format!("{text}.matches({})", literal(pattern))
}

/// Whether a part of the spec was stored as it is now.
pub(super) fn unchanged(path: &str) -> String {
    format!(
        "(oldSelf.hasValue() && {} && oldSelf.value().{path} == self.{path})",
        has("oldSelf.value()", path)
    )
}
