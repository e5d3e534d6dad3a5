//! `completions`: what a shell completes, from the definition of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use super::output::print_as_is;
use super::{Cli, Failure, NAME};

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(etcd-warden completions bash)
  etcd-warden completions bash > /etc/bash_completion.d/etcd-warden
  etcd-warden completions zsh > \"${fpath[1]}/_etcd-warden\"
  etcd-warden completions fish > ~/.config/fish/completions/etcd-warden.fish
  etcd-warden completions powershell | Out-String | Invoke-Expression
  etcd-warden completions elvish > ~/.config/elvish/lib/etcd-warden.elv")]
pub(super) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script on standard output.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    print_as_is(&script(args.shell))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ids;
    use clap::ValueEnum;

    /// Every command in every shell, and ids of rules in those for which values of arguments are written out.
    #[test]
    fn commands_and_ids_are_completed() {
        let commands: Vec<String> =
            Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        assert!(commands.len() > 3);
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            let missing: Vec<_> = commands.iter().filter(|name| !script.contains(name.as_str())).collect();
            assert!(missing.is_empty(), "{shell}: {missing:?}");
            if matches!(shell, Shell::Bash | Shell::Zsh) {
                assert!(ids().all(|id| script.contains(id)), "{shell}");
            }
        }
    }
}
