//! The Rust sources: documented entries of tables in macros, and files.

use std::path::{Path, PathBuf};

use anyhow::Context;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// An entry such as `/// About it.` and `Name = "text", rest;` of a macro call.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The doc comment.
    pub(crate) about: String,
    /// The literal after the equals sign.
    pub(crate) text: String,
    /// The other tokens, separated by commas.
    pub(crate) rest: Vec<String>,
}

/// The entries of the call of the macro with this name in a file.
pub(crate) fn entries(file: &Path, name: &str) -> anyhow::Result<Vec<Entry>> {
    let place = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(place)?;
    let parsed = syn::parse_file(&text).with_context(place)?;
    let call = parsed.items.iter().find_map(|item| match item {
        syn::Item::Macro(call) if call.mac.path.is_ident(name) && call.ident.is_none() => {
            Some(call.mac.tokens.clone())
        }
        _ => None,
    });
    let tokens = call.with_context(|| format!("{}: no call of {name}!", place()))?;
    let mut entries = Vec::new();
    let (mut about, mut values, mut current) = (Vec::new(), Vec::new(), String::new());
    let mut has_equals = false;
    let mut tokens = tokens.into_iter().peekable();
    let mut finish = |about: &mut Vec<String>, values: &mut Vec<String>| {
        let all = std::mem::take(values);
        let mut values = all.into_iter();
        if let Some(text) = values.next() {
            entries.push(Entry {
                about: about.join(" ").trim().to_owned(),
                text,
                rest: values.collect(),
            });
        }
        about.clear();
    };
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.next()
                    && group.delimiter() == Delimiter::Bracket
                {
                    // The comment of the next entry ends the one before.
                    if has_equals {
                        values.push(std::mem::take(&mut current));
                        values.retain(|value| !value.is_empty());
                        finish(&mut about, &mut values);
                        has_equals = false;
                    }
                    about.extend(doc_of(group.stream()));
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == '=' => {
                has_equals = true;
                current.clear();
            }
            TokenTree::Punct(mark) if matches!(mark.as_char(), ',' | ';') => {
                if has_equals && !current.is_empty() {
                    values.push(std::mem::take(&mut current));
                }
            }
            TokenTree::Literal(_) => current = literal(&token.to_string()),
            other => current = other.to_string(),
        }
    }
    if !current.is_empty() {
        values.push(current);
    }
    finish(&mut about, &mut values);
    Ok(entries)
}

fn doc_of(attribute: TokenStream) -> Option<String> {
    let mut tokens = attribute.into_iter();
    let is_doc = matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "doc");
    let text = tokens.nth(1).filter(|_| is_doc)?;
    Some(literal(&text.to_string()).trim().to_owned())
}

/// The characters of a string literal.
pub(crate) fn literal(token: &str) -> String {
    match syn::parse_str::<syn::LitStr>(token) {
        Ok(text) => text.value(),
        Err(_) => token.to_owned(),
    }
}

/// The Rust files below a folder in the order of their paths, without those of tests.
pub(crate) fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if stem == "tests" || stem.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The text that strum derives from the name of a variant with `serialize_all = "snake_case"`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// The text of doc comments.
pub(crate) fn doc_text(attributes: &[syn::Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => {
                let text = quote::ToTokens::to_token_stream(&meta.value).to_string();
                Some(literal(&text).trim().to_owned())
            }
            _ => None,
        });
    lines.collect::<Vec<_>>().join(" ")
}
