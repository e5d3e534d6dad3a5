//! The flags' variables: which variable a value came by, and which variables no flag has.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

use crate::text::escaped;

/// What the names of all flags' variables begin with.
const PREFIX: &str = "ETCD_WARDEN_";

/// How alike two names are, from 0 to 1, of which one is taken for the other mistyped.
const ALIKE: f64 = 0.7;

/// A variable that looks like a flag's and is none.
#[derive(Debug, PartialEq, Eq)]
struct Unknown {
    name: String,
    /// The flag's variable that is most like it, if one is.
    nearest: Option<String>,
}

/// Says in the log which variables of this process set nothing although they look like it.
pub(super) fn warn_of_unknown(command: &Command) {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let names = set.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    for Unknown { name, nearest } in unknown(&names, &variables(command)) {
        let variable = escaped(&name);
        match nearest {
            Some(meant) => {
                tracing::warn!(%variable, %meant, "no flag has this variable, and it sets nothing: use the one that is meant");
            }
            None => {
                tracing::warn!(%variable, "no flag has this variable, and it sets nothing: `etcd-warden help serve` lists the flags");
            }
        }
    }
}

/// The variables of a command's flags.
fn variables(command: &Command) -> BTreeSet<String> {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env());
    variables.map(|variable| variable.to_string_lossy().into_owned()).collect()
}

fn unknown(names: &BTreeSet<String>, variables: &BTreeSet<String>) -> Vec<Unknown> {
    let ours = names.iter().filter(|name| name.starts_with(PREFIX) && !variables.contains(*name));
    let unknown = ours.filter(|name| !is_service_link(name, names));
    unknown.map(|name| Unknown { name: name.clone(), nearest: nearest(name, variables) }).collect()
}

/// Whether Kubernetes made a variable, in a pod with `enableServiceLinks`: for a Service called `etcd-warden` and its
/// port 443 that is `ETCD_WARDEN_SERVICE_HOST`, `…_SERVICE_PORT`, `…_SERVICE_PORT_<name>`, `…_PORT`, and
/// `…_PORT_443_TCP` with `_PROTO`, `_PORT` and `_ADDR`.
fn is_service_link(name: &str, names: &BTreeSet<String>) -> bool {
    type Fits = fn(&str) -> bool;
    let marks: [(&str, Fits); 3] = [
        ("_SERVICE_HOST", str::is_empty),
        ("_SERVICE_PORT", |rest| rest.is_empty() || rest.starts_with('_')),
        ("_PORT", |rest| {
            rest.is_empty() || rest.trim_start_matches('_').starts_with(|c: char| c.is_ascii_digit())
        }),
    ];
    marks.iter().any(|(mark, fits)| {
        name.match_indices(mark).any(|(at, _)| {
            let (service, rest) = name.split_at(at);
            let rest = rest.strip_prefix(mark).unwrap_or_default();
            fits(rest) && names.contains(&format!("{service}_SERVICE_HOST"))
        })
    })
}

fn nearest(name: &str, variables: &BTreeSet<String>) -> Option<String> {
    let own = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let likeness = |variable: &String| strsim::normalized_damerau_levenshtein(&own(name), &own(variable));
    let alike = variables.iter().map(|variable| (likeness(variable), variable));
    let nearest = alike.filter(|(how, _)| *how >= ALIKE).max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.map(|(_, variable)| variable.clone())
}

/// An error with the variable that the value came by, where the flag doesn't stand on the command line.
pub(super) fn with_variable(mut error: Error, command: &Command, arguments: &[OsString]) -> Error {
    let shown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(shown)) => {
            shown.split([' ', '=', '[']).next().unwrap_or_default().to_owned()
        }
        _ => return error,
    };
    let is_given = |argument: &OsString| argument.to_string_lossy().starts_with(&shown);
    let Some(variable) = variable_of(command, shown.trim_start_matches('-')) else { return error };
    if !shown.starts_with("--") || arguments.iter().any(is_given) || std::env::var_os(&variable).is_none() {
        return error;
    }
    let tip = StyledStr::from(format!("the value is that of the variable {variable}"));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    error
}

/// The variable of a flag, of whichever command.
fn variable_of(command: &Command, flag: &str) -> Option<String> {
    let mut own = command.get_arguments().filter(|argument| argument.get_long() == Some(flag));
    let own = own.find_map(|argument| argument.get_env()).map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| variable_of(below, flag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn serve() -> BTreeSet<String> {
        variables(Cli::command().find_subcommand("serve").unwrap())
    }

    #[test]
    fn a_mistyped_variable_is_found_with_the_nearest() {
        for (name, nearest) in [
            ("ETCD_WARDEN_LISTN", Some("ETCD_WARDEN_LISTEN")),
            ("ETCD_WARDEN_ALLOWED_IMAGE", Some("ETCD_WARDEN_ALLOWED_IMAGES")),
            ("ETCD_WARDEN_PORT", None),
            ("ETCD_WARDEN_LISTEN_PORT", None),
        ] {
            let found = unknown(&set(&[name, "ETCD_WARDEN_LISTEN", "PATH", "ETCD_WARDENER"]), &serve());
            let nearest = nearest.map(str::to_owned);
            assert_eq!(found, [Unknown { name: name.to_owned(), nearest }]);
        }
    }

    /// As a pod gets them for two Services.
    const LINKS: [&str; 12] = [
        "ETCD_WARDEN_SERVICE_HOST",
        "ETCD_WARDEN_SERVICE_PORT",
        "ETCD_WARDEN_SERVICE_PORT_HTTPS",
        "ETCD_WARDEN_PORT",
        "ETCD_WARDEN_PORT_443_TCP",
        "ETCD_WARDEN_PORT_443_TCP_PROTO",
        "ETCD_WARDEN_PORT_443_TCP_PORT",
        "ETCD_WARDEN_PORT_443_TCP_ADDR",
        "ETCD_WARDEN_METRICS_SERVICE_HOST",
        "ETCD_WARDEN_METRICS_SERVICE_PORT",
        "ETCD_WARDEN_METRICS_PORT",
        "ETCD_WARDEN_METRICS_PORT_8080_TCP_ADDR",
    ];

    #[test]
    fn what_kubernetes_sets_for_services_is_no_mistake_and_no_flag_has_it() {
        assert_eq!(unknown(&set(&LINKS), &serve()), []);
        for variable in serve() {
            let with_links = &set(&LINKS) | &set(&[&variable]);
            assert!(!is_service_link(&variable, &with_links), "{variable} may come from Kubernetes");
        }
    }
}
