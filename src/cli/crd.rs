//! `crd`: prints the custom resource definition.

use super::Failure;
use super::output::print_as_is;
use crate::etcd::crd::{self, Strength};
use clap::ValueEnum;

/// The flags of `crd`.
#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "Examples:\n  etcd-warden crd --validation structural | kubectl apply --server-side -f -\n  etcd-warden crd --validation full | kubectl diff -f -"
)]
pub(super) struct Args {
    /// How much of the rules the CRD itself enforces
    #[arg(long, value_name = "HOW", default_value = "full")]
    validation: Validation,
    /// Leave out what is written in CEL: for API servers before 1.31. Schema and webhook remain
    #[arg(long)]
    without_cel: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Validation {
    /// Everything that schema and CEL can say: without the webhook
    Full,
    /// Types, defaults and the rules about changes: beside the webhook, which says the rest in one answer
    Structural,
}

/// Prints it on standard output, as YAML.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    print_as_is(yaml(args).map_err(Failure::Failed)?.as_bytes())
}

fn yaml(args: &Args) -> Result<String, String> {
    let strength = match args.validation {
        Validation::Full => Strength::Full,
        Validation::Structural => Strength::Structural,
    };
    let crd = crd::definition(strength, !args.without_cel).map_err(|error| error.to_string())?;
    serde_saphyr::to_string(&crd).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folded and quoted lines must come back as they were: expressions and patterns are full of odd characters.
    #[test]
    fn what_is_printed_is_what_was_made() {
        for (validation, strength) in
            [(Validation::Full, Strength::Full), (Validation::Structural, Strength::Structural)]
        {
            let text = yaml(&Args { validation, without_cel: false }).unwrap();
            let read: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read, crd::definition(strength, true).unwrap());
        }
    }

    #[test]
    fn without_cel_there_is_none() {
        let text = yaml(&Args { validation: Validation::Full, without_cel: true }).unwrap();
        assert!(text.contains("maxItems") && !text.contains("x-kubernetes-validations"));
    }
}
