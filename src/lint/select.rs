//! Which objects of a document are judged, and how.

use crate::etcd::{GROUP, KIND, VERSION};
use crate::manifest::Part;

/// Kind of the reviews that are judged as the server does.
const REVIEW: &str = "AdmissionReview";
/// What is counted of objects that don't say what they are.
pub const WITHOUT_KIND: &str = "document without a kind";
/// How alike a kind of our group is to `Etcd`, from 0 to 1, that is that mistyped.
const ALIKE: f64 = 0.7;

/// What becomes of an object.
pub(super) enum Subject<'d> {
    /// It is judged as a manifest.
    Etcd(Part<'d>),
    /// It is judged as a review.
    Review(Part<'d>),
    /// It looks like an Etcd, and is none that any rule knows.
    Foreign {
        /// The object.
        part: Part<'d>,
        /// What makes it one.
        why: Foreign<'d>,
    },
    /// It is passed over.
    Other(String),
}

/// Why something that looks like an Etcd isn't one of ours.
pub(super) enum Foreign<'d> {
    /// It is of another group or version; empty where it says none.
    Version(&'d str),
    /// It is of our group, and of a kind that is nearly `Etcd`; empty where it says none.
    Kind(&'d str),
    /// It is one of ours, in a list that isn't taken apart.
    Listed,
}

/// The objects of a document, those in lists one by one.
pub(super) fn subjects(root: Part<'_>) -> Vec<Subject<'_>> {
    let mut found = Vec::new();
    if !root.is_null() {
        collect(root, None, &mut found);
    }
    found
}

/// What the items of a list are that say nothing themselves.
type Inherited<'d> = Option<(&'d str, &'d str)>;

fn collect<'d>(part: Part<'d>, inherited: Inherited<'d>, found: &mut Vec<Subject<'d>>) {
    let (kind, api_version) = match (text(part, "kind"), inherited) {
        (None, Some((kind, api_version))) => (Some(kind), api_version),
        (kind, _) => (kind, text(part, "apiVersion").unwrap_or_default()),
    };
    let items = part.field("items").filter(Part::is_list);
    match (kind, items) {
        (Some(kind), Some(items)) if kind.ends_with("List") => {
            let of_items = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
            let inherited = of_items.map(|kind| (kind, api_version));
            items.items().for_each(|item| collect(item, inherited, found));
        }
        (Some(KIND), _) => found.push(etcd(part, api_version)),
        (Some(REVIEW), _) if is_answer(part) => found.push(Subject::Other(format!("answered {REVIEW}"))),
        (Some(REVIEW), _) => found.push(Subject::Review(part)),
        (kind, _) if is_ours(api_version) && kind.is_none_or(is_nearly_etcd) => {
            found.push(Subject::Foreign { part, why: Foreign::Kind(kind.unwrap_or_default()) });
        }
        (kind, _) => found.extend(other(part, kind)),
    }
}

fn text<'d>(part: Part<'d>, name: &str) -> Option<&'d str> {
    part.field(name).and_then(|field| field.text())
}

/// A review that went through a webhook already holds no question any more.
fn is_answer(review: Part<'_>) -> bool {
    review.field("request").is_none() && review.field("response").is_some()
}

fn etcd<'d>(part: Part<'d>, api_version: &'d str) -> Subject<'d> {
    match api_version.split_once('/') {
        Some((GROUP, VERSION)) => Subject::Etcd(part),
        _ => Subject::Foreign { part, why: Foreign::Version(api_version) },
    }
}

fn is_ours(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}

fn is_nearly_etcd(kind: &str) -> bool {
    strsim::normalized_damerau_levenshtein(&kind.to_lowercase(), &KIND.to_lowercase()) >= ALIKE
}

/// What is passed over, unless Etcds hide in it.
fn other<'d>(part: Part<'d>, kind: Option<&str>) -> Vec<Subject<'d>> {
    let hidden: Vec<Subject<'d>> = listed(part, kind)
        .into_iter()
        .flat_map(|list| list.items())
        .filter(|item| text(*item, "kind") == Some(KIND))
        .filter(|item| text(*item, "apiVersion").is_some_and(is_ours))
        .map(|part| Subject::Foreign { part, why: Foreign::Listed })
        .collect();
    if hidden.is_empty() { vec![Subject::Other(kind.unwrap_or(WITHOUT_KIND).to_owned())] } else { hidden }
}

/// The items of what was meant as a list of objects, perhaps.
fn listed<'d>(part: Part<'d>, kind: Option<&str>) -> Option<Part<'d>> {
    if part.is_list() {
        return Some(part);
    }
    let is_meant = kind.is_none_or(|kind| kind.eq_ignore_ascii_case("List"));
    part.field("items").filter(|items| is_meant && items.is_list())
}
