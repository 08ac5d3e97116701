//! Code that must not compile: a field of a command without a class, and a plan without an authorization. The
//! counterparts that compile are examples in the documentation of `assent_model::command`.
//!
//! `TRYBUILD=overwrite cargo test -p assent-model --test compile_fail` updates the expected errors.

use std::process::Command;

/// The errors are compared only for the compiler version of the workspace (`rust-version`), because each version words
/// them differently. For other versions, the examples in the documentation show that such code does not compile.
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
