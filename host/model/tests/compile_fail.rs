//! What must not compile: a field of a command without a class, and a plan without an authorization. The counterparts
//! that compile are examples in the documentation of `assent_model::command`.
//!
//! `TRYBUILD=overwrite cargo test -p assent-model --test compile_fail` writes the expected errors again.

use std::process::Command;

/// The errors are compared with those of the compiler that the workspace names (`rust-version`), since each version
/// words them in its own way. With another one, the examples in the documentation show that such code does not
/// compile.
#[test]
fn commands_without_classes_and_plans_without_authorization_do_not_compile() {
    let output = Command::new("rustc").arg("--version").output();
    let version = String::from_utf8(output.expect("rustc").stdout).expect("text");
    let expected = concat!("rustc ", env!("CARGO_PKG_RUST_VERSION"), ".");
    if version.starts_with(expected) {
        trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
    } else {
        eprintln!("not compared: the expected errors are of {expected}, and this is {version}");
    }
}
