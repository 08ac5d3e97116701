//! The texts for users in both languages, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fluent_syntax::ast::Entry;
use fluent_syntax::parser::parse;
use fluent_syntax::serializer::serialize;
use serde_json::Value;

use crate::markdown::{heading, table};

const INTRODUCTION: &str = "\
The texts of the pages, of the emails and of the console in both languages, for review. A text in braces is a value.

";

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let folder = root.join("host/server/messages");
    let (english, german) = (
        messages(&folder.join("en.ftl"))?,
        messages(&folder.join("de.ftl"))?,
    );
    let rows = english.iter().map(|(id, text)| {
        let german = german.iter().find(|(other, _)| other == id);
        let german = german.map(|(_, text)| text.clone()).unwrap_or_default();
        [
            format!("`{id}`"),
            escape_markdown(text),
            escape_markdown(&german),
        ]
    });
    let mut page = heading(
        "Page texts",
        "host/server/messages and host/server/assets/console",
    );
    page.push_str(INTRODUCTION);
    page.push_str("## Sign-in pages, portal, authenticator and emails\n\n");
    page.push_str(&table(["Id", "English", "German"], rows));
    for (title, file) in [
        ("Console", "german.json"),
        (
            "Messages of the admin API in the console",
            "german_messages.json",
        ),
        ("Settings in the console", "german_settings.json"),
    ] {
        let file = root.join("host/server/assets/console").join(file);
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let texts: BTreeMap<String, Value> = serde_json::from_str(&text)?;
        let rows = texts.iter().map(|(english, german)| {
            let german = match german {
                Value::String(german) => german.clone(),
                other => other.to_string(),
            };
            [escape_markdown(english), escape_markdown(&german)]
        });
        page.push_str(&format!(
            "## {title}\n\n{}",
            table(["English", "German"], rows)
        ));
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// The messages of a file in its order, each as its pattern in the syntax of Fluent.
fn messages(file: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let resource = match parse(text) {
        Ok(resource) => resource,
        Err((_, errors)) => anyhow::bail!("{}: {errors:?}", file.display()),
    };
    let mut found = Vec::new();
    for entry in resource.body {
        if let Entry::Message(mut message) = entry {
            let id = message.id.name.clone();
            message.comment = None;
            let body = fluent_syntax::ast::Resource {
                body: vec![Entry::Message(message)],
            };
            let text = serialize(&body);
            let text = text.split_once('=').map_or(text.as_str(), |(_, text)| text);
            found.push((id, text.trim().to_owned()));
        }
    }
    Ok(found)
}

/// A text that Markdown shows as it is.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '*' | '_' | '[' | ']' | '`' | '\\' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}
