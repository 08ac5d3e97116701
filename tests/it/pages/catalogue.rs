//! The message catalogue and the sources agree: no message is missing, unused, or used with other values, in any
//! language.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

use crate::harness::{Json, Text, parse_json, read_file};

type Values = BTreeSet<String>;
type Messages = BTreeMap<String, Values>;

/// A use of a message, with the values that it passes.
#[derive(Debug)]
struct Use {
    file: String,
    id: String,
    values: Values,
}

/// Returns the messages of a file, each with its values.
fn messages(file: &str, source: &str) -> Messages {
    let resource = fluent_syntax::parser::parse(source)
        .unwrap_or_else(|(_, errors)| panic!("{file}: {errors:?}"));
    let mut messages = Messages::new();
    for entry in &resource.body {
        match entry {
            Entry::Message(message) => {
                let pattern = message
                    .value
                    .as_ref()
                    .unwrap_or_else(|| panic!("{file}: {} is empty", message.id.name));
                let mut values = Values::new();
                collect(pattern, &mut values);
                let before = messages.insert(message.id.name.to_owned(), values);
                assert!(
                    before.is_none(),
                    "{file}: {} is duplicated",
                    message.id.name
                );
            }
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
            other => panic!("{file}: {other:?} is neither a message nor a comment"),
        }
    }
    messages
}

fn collect(pattern: &Pattern<&str>, values: &mut Values) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else {
            continue;
        };
        let inline = match expression {
            Expression::Inline(inline) => inline,
            Expression::Select { selector, variants } => {
                variants
                    .iter()
                    .for_each(|variant| collect(&variant.value, values));
                selector
            }
        };
        let InlineExpression::VariableReference { id } = inline else {
            panic!("a placeable contains only a value: {inline:?}")
        };
        values.insert(id.name.to_owned());
    }
}

/// Returns the text before the next `end`.
fn until(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default()
}

/// Returns the names of the values in the chained calls after a message, such as `.text("name", ...)`.
fn chained(mut rest: &str) -> Values {
    let mut values = Values::new();
    loop {
        rest = rest.trim_start();
        let calls = [".text(", ".number(", ".message("];
        let Some(arguments) = calls.into_iter().find_map(|call| rest.strip_prefix(call)) else {
            return values;
        };
        let Some(name) = arguments.trim_start().strip_prefix('"') else {
            return values;
        };
        values.insert(until(name, '"').to_owned());
        let mut depth = 1;
        let end = arguments.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        rest = &arguments[end.expect("the call ends") + 1..];
    }
}

/// Returns the names in an object literal after the first argument of a call: `, { name: value, other }`.
fn object(rest: &str) -> Values {
    let Some(rest) = rest.trim_start().strip_prefix(',') else {
        return Values::new();
    };
    let Some(inside) = rest.trim_start().strip_prefix('{') else {
        return Values::new();
    };
    let (mut depth, mut at_name, mut name, mut names) = (1, true, String::new(), Values::new());
    for c in inside.chars() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            names.insert(std::mem::take(&mut name));
            at_name = true;
        } else if c == ':' {
            at_name = false;
        } else if at_name && c.is_alphanumeric() {
            name.push(c);
        }
        if depth == 0 {
            break;
        }
    }
    names.remove("");
    names
}

/// Returns the messages that a Rust source or a template uses, in calls that begin with `call`.
fn uses_in(file: &str, text: &str, call: &str) -> Vec<Use> {
    let found = text
        .match_indices(call)
        .map(|(at, _)| &text[at + call.len()..]);
    let uses = found.filter_map(|rest| {
        let rest = rest.trim_start();
        let Some(id) = rest
            .strip_prefix('"')
            .map(|rest| until(rest, '"').to_owned())
        else {
            // Only the catalogue's own functions pass an id on.
            assert!(
                rest.starts_with("id)"),
                "{file}: {call} takes a literal id of the catalogue"
            );
            return None;
        };
        let behind = rest[id.len() + 2..]
            .trim_start()
            .trim_start_matches(',')
            .trim_start();
        let values = chained(behind.strip_prefix(')').expect("one argument"));
        Some(Use {
            file: file.to_owned(),
            id,
            values,
        })
    });
    uses.collect()
}

/// Returns the messages that a script uses: each literal with a prefix of the messages for scripts.
fn uses_in_script(file: &str, text: &str) -> Vec<Use> {
    let mut uses = Vec::new();
    // The server sends scripts only the messages with these prefixes.
    for call in ["text('", "phrase('"] {
        for (at, _) in text
            .match_indices(call)
            .filter(|(at, _)| !text[..*at].ends_with(char::is_alphanumeric))
        {
            let id = &text[at + call.len()..];
            let is_for_scripts = id.starts_with("app-") || id.starts_with("waiting-");
            assert!(
                is_for_scripts,
                "{file}: {} is not a message for scripts",
                until(id, '\'')
            );
        }
    }
    for prefix in ["'app-", "'waiting-"] {
        for (at, _) in text.match_indices(prefix) {
            let id = until(&text[at + 1..], '\'').to_owned();
            let values = object(text[at + id.len() + 2..].trim_start_matches(']'));
            uses.push(Use {
                file: file.to_owned(),
                id,
                values,
            });
        }
    }
    uses
}

/// Returns all differences between the catalogues and the uses.
fn problems(catalogues: &[(&str, Messages)], uses: &[Use]) -> Vec<String> {
    let mut problems = Vec::new();
    for (language, messages) in catalogues {
        for Use { file, id, values } in uses {
            match messages.get(id) {
                None => problems.push(format!("{file} names {id}, which {language} has not")),
                Some(known) if known != values => {
                    problems.push(format!(
                        "{file} gives {id} {values:?}; in {language} it takes {known:?}"
                    ));
                }
                Some(_) => {}
            }
        }
        let unused = messages
            .keys()
            .filter(|id| !uses.iter().any(|other| other.id == **id));
        problems.extend(unused.map(|id| format!("{language} has {id}, which nothing names")));
    }
    problems
}

fn read(folder: &Path, below: &str, ending: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder.join(below)).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = format!(
            "{below}/{}",
            path.file_name()
                .and_then(|name| name.to_str())
                .expect("a name")
        );
        if path.is_dir() {
            read(folder, &name, ending, files);
        } else if name.ends_with(ending) && !name.ends_with("/tests.rs") {
            files.push((name, read_file(&path)));
        }
    }
}

fn sources(below: &str, ending: &str) -> Vec<(String, String)> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("host/server");
    let mut files = Vec::new();
    read(&host, below, ending, &mut files);
    assert!(!files.is_empty(), "no {ending} in {below}");
    files
}

fn all_uses() -> Vec<Use> {
    let mut uses = Vec::new();
    for (file, text) in sources("src", ".rs") {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        uses.extend(uses_in(&file, code, "Message::new("));
    }
    for (file, text) in sources("templates", ".html") {
        uses.extend(uses_in(&file, &text, "layout.text("));
        uses.extend(uses_in(&file, &text, "layout.message("));
    }
    // The console has only English texts, in its scripts.
    for (file, text) in sources("assets", ".js")
        .into_iter()
        .filter(|(file, _)| !file.starts_with("assets/console/"))
    {
        uses.extend(uses_in_script(&file, &text));
    }
    uses
}

/// A sentence is wider than the screen of a phone. U+2011 keeps such a word on one line. Emails are plain text, so they
/// are exempt.
#[test]
fn no_line_of_a_sentence_ends_within_a_word() {
    for (file, source) in sources("messages", ".ftl") {
        for line in source.lines() {
            let Some((id, text)) = line.split_once(" = ") else {
                continue;
            };
            let is_sentence = text.ends_with(['.', ':']) && text.chars().count() >= 45;
            let word = ["sign-in", "E-Mail", "QR-Code"]
                .into_iter()
                .find(|word| text.contains(word));
            assert!(
                !is_sentence || id.starts_with("mail-") || word.is_none(),
                "{file}: {id}: write {word:?} with a non-breaking hyphen (U+2011)"
            );
        }
    }
}

#[test]
fn each_message_exists_and_is_used_in_every_language() {
    let files = sources("messages", ".ftl");
    assert!(files.len() >= 2, "{files:?}");
    let catalogues: Vec<(&str, Messages)> = files
        .iter()
        .map(|(file, source)| (file.as_str(), messages(file, source)))
        .collect();
    let uses = all_uses();
    assert!(uses.len() > 200, "the sources are read: {}", uses.len());
    let problems = problems(&catalogues, &uses);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The test above detects each kind of difference.
#[test]
fn missing_unused_and_mismatched_messages_are_detected() {
    let uses = |rust: &str, template: &str, script: &str| {
        let mut uses = uses_in("x.rs", rust, "Message::new(");
        uses.extend(uses_in("x.html", template, "layout.message("));
        uses.extend(uses_in_script("x.js", script));
        uses
    };
    let catalogue = |source| [("en", messages("en", source))];
    let source =
        "a = { $n } of { $m }\nb = Text\napp-c = { $x ->\n    [one] one\n   *[other] { $y }\n }\n";
    let rust = "Message::new(\n    \"a\",\n)\n.text(\"n\", f(1, (2)))\n.number(\"m\", 3)";
    let (template, script) = (
        "{{ layout.message(\"b\").html() }}",
        "phrase('app-c', { x: f({ z: 1 }), y }), rest",
    );
    assert_eq!(
        problems(&catalogue(source), &uses(rust, template, script)),
        [""; 0]
    );
    for (rust, template, script, found) in [
        (
            "Message::new(\"a\").number(\"m\", 3)",
            template,
            script,
            "x.rs gives a {\"m\"}",
        ),
        (
            rust,
            "{{ layout.message(\"d\").html() }}",
            script,
            "x.html names d, which en has not",
        ),
        (
            rust,
            "{{ layout.message(\"b\").text(\"n\", n).plain() }}",
            script,
            "x.html gives b {\"n\"}",
        ),
        (
            rust,
            template,
            "text('app-c', { x: 1 })",
            "x.js gives app-c {\"x\"}",
        ),
        (rust, template, "['app-c', 1]", "x.js gives app-c {}"),
        (rust, template, "", "en has app-c, which nothing names"),
    ] {
        let problems = problems(&catalogue(source), &uses(rust, template, script));
        assert!(
            problems.iter().any(|problem| problem.starts_with(found)),
            "{found}: {problems:?}"
        );
    }
}

/// The app has a text of its own, or a handler, for each error of the API that it calls.
#[test]
fn the_app_has_a_message_for_each_error_code() {
    let document: serde_json::Value = parse_json(assent::http::devices::openapi_document());
    let codes: Vec<&str> = document["components"]["schemas"]["ErrorCode"]["enum"]
        .items()
        .iter()
        .map(|code| code.text())
        .collect();
    let scripts: String = sources("assets/authenticator", ".js")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert!(
        codes.len() > 10 && codes.contains(&"key_in_use"),
        "{codes:?}"
    );
    // The app has a general text for a failure of the server, and its own calls are never cross-site.
    for code in codes.into_iter().filter(|code| {
        ![
            "server_error",
            "temporarily_unavailable",
            "cross_site_request",
        ]
        .contains(code)
    }) {
        let known =
            scripts.contains(&format!("  {code}: 'app-")) || scripts.contains(&format!("'{code}'"));
        assert!(known, "the app does not know {code}");
    }
}
