//! The `etcd-warden` command.

use std::process::ExitCode;

use etcd_warden::cli;

fn main() -> ExitCode {
    // The only provider in the tree; rustls asks for one where none was handed to it.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        return ExitCode::FAILURE;
    }
    cli::run(std::env::args_os())
}
