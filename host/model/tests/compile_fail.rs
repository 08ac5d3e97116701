//! What must not compile: a field of a command without a class, and a plan without an authorization. The counterparts
//! that compile are examples in the documentation of `assent_model::command`.

#[test]
fn commands_without_classes_and_plans_without_authorization_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
