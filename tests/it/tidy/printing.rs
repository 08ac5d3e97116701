//! Programs write to the terminal by `terminal` of `host/admin-client`, or by functions that return an error. The
//! macros of the standard library end a program whose output cannot be written.

use super::{code, sources};

/// The crates with programs, and those that they use.
const PACKAGES: [&str; 11] = [
    "demo",
    "host/admin-client",
    "host/model",
    "host/plugin-host",
    "host/saml-core",
    "host/server",
    "host/store",
    "host/telemetry",
    "lan",
    "plugin-sdk",
    "plugin-sdk/tool",
];

#[test]
fn no_program_prints_by_a_macro_that_may_panic() {
    let forbidden = [
        "println!(",
        "eprintln!(",
        "print!(",
        "eprint!(",
        "clippy::print_stdout",
        "clippy::print_stderr",
    ];
    let mut found = Vec::new();
    for source in PACKAGES.iter().flat_map(|package| sources(package)) {
        let text = source.text.split("#[cfg(test)]").next().unwrap_or_default();
        let text = code(text);
        let used = forbidden.iter().filter(|name| text.contains(*name));
        found.extend(used.map(|name| format!("{}: {name}", source.path)));
    }
    assert_eq!(found, Vec::<String>::new());
}
