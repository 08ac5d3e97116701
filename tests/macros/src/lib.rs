//! Attributes of the integration tests.

use proc_macro::{TokenStream, TokenTree};

/// Creates two tests from `async fn name(database: Database)`: `name::sqlite` and `name::postgres`. The arguments are
/// those of `#[tokio::test]`.
#[proc_macro_attribute]
pub fn both_databases(arguments: TokenStream, test: TokenStream) -> TokenStream {
    let tests = name(&test).and_then(|name| {
        let attribute = format!("#[::tokio::test({arguments})]");
        let test = |module: &str, database: &str| {
            format!(
                "{attribute} async fn {module}() {{ super::{name}(::assent_tests::harness::Database::{database}).await \
                 }}"
            )
        };
        let (sqlite, postgres) = (test("sqlite", "Sqlite"), test("postgres", "Postgres"));
        format!("mod {name} {{ {sqlite} {postgres} }}")
            .parse::<TokenStream>()
            .ok()
    });
    let Some(tests) = tests else {
        return r#"compile_error!("`both_databases` is an attribute of a function");"#
            .parse()
            .unwrap_or_default();
    };
    test.into_iter().chain(tests).collect()
}

/// Returns the name of the function, which follows the word `fn`.
fn name(function: &TokenStream) -> Option<String> {
    let is_fn =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    let mut after = function
        .clone()
        .into_iter()
        .skip_while(|token| !is_fn(token));
    after.nth(1).map(|name| name.to_string())
}
