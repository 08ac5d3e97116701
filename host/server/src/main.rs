//! The `assent` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // This comes first, before any file is opened: the compiler of plugins is this program too, and must have no access
    // to secrets.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == assent_plugin_host::COMPILE)
    {
        return assent_plugin_host::compile_plugin();
    }
    assent::cli::run()
}
