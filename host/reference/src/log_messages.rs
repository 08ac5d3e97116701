//! The messages of the log, from the sources.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use crate::markdown::{code, heading, table};
use crate::sources::{literal, rust_files};

/// The crates whose messages the server logs.
const CRATES: [&str; 5] = ["model", "plugin-host", "saml-core", "server", "store"];
const LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];

const INTRODUCTION: &str = "\
Each message is constant, so a search finds it; its values are in fields. Lines of a request also have the fields of
the request: the request id, the method and the route. [Logs](../operators/logs.md) explains formats and levels.

";

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let mut found = Messages::default();
    for name in CRATES {
        for file in rust_files(&root.join("host").join(name).join("src"))? {
            let place = || file.display().to_string();
            let text = std::fs::read_to_string(&file).with_context(place)?;
            found.visit_file(&syn::parse_file(&text).with_context(place)?);
        }
    }
    let rows = found.0.into_iter().map(|((message, level), mut fields)| {
        fields.sort();
        fields.dedup();
        let fields: Vec<String> = fields.iter().map(|field| code(field)).collect();
        [code(&message), level.to_owned(), fields.join(", ")]
    });
    Ok(
        heading("Log messages", "the calls of tracing in the sources")
            + INTRODUCTION
            + table(["Message", "Level", "Fields"], rows).trim_end()
            + "\n",
    )
}

/// The fields of each message and level.
#[derive(Default)]
struct Messages(BTreeMap<(String, &'static str), Vec<String>>);

impl Visit<'_> for Messages {
    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        let path: Vec<String> = call
            .path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        let level = match path.as_slice() {
            [tracing, level] if tracing == "tracing" => level,
            [level] => level,
            _ => return,
        };
        let Some(level) = LEVELS.into_iter().find(|one| one == level) else {
            return;
        };
        if let Some((message, fields)) = message(call.tokens.clone()) {
            self.0.entry((message, level)).or_default().extend(fields);
        }
    }
}

/// The message of a call and its fields: `field = value`, `%field`, `?field` or `field`, and a literal at the end.
fn message(tokens: TokenStream) -> Option<(String, Vec<String>)> {
    let mut arguments: Vec<Vec<TokenTree>> = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == ',' => arguments.push(Vec::new()),
            _ => arguments.last_mut()?.push(token),
        }
    }
    arguments.retain(|argument| !argument.is_empty());
    let text = match arguments
        .iter()
        .find_map(|argument| match argument.as_slice() {
            [TokenTree::Literal(text)] => Some(text.to_string()),
            _ => None,
        }) {
        Some(text) if text.starts_with('"') => literal(&text),
        _ => return None,
    };
    let fields = arguments.iter().filter_map(|argument| {
        let name = argument
            .iter()
            .take_while(|token| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == '='))
            .filter(|token| match token {
                TokenTree::Punct(mark) => mark.as_char() == '.',
                TokenTree::Ident(_) => true,
                _ => false,
            })
            .map(ToString::to_string)
            .collect::<String>();
        let is_setting = ["target", "parent", "name"].contains(&name.as_str());
        (!name.is_empty() && !is_setting).then_some(name)
    });
    Some((text, fields.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_a_message_and_fields() {
        let read = |text: &str| message(text.parse().unwrap());
        assert_eq!(
            read(
                "target: \"x\", reference, login = %login.id, ?reason, %error, \"sign-in rejected\""
            ),
            Some((
                "sign-in rejected".to_owned(),
                vec![
                    "reference".into(),
                    "login".into(),
                    "reason".into(),
                    "error".into()
                ]
            ))
        );
        assert_eq!(read("x"), None);
    }
}
