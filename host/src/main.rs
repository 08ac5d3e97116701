//! The `assent` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    assent::cli::run()
}
