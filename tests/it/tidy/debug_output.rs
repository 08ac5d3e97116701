//! Log lines and answers of the admin API never show the `Debug` form of a type of ours, such as `NoAccount("...")`.

use super::{SourceFile, code, host_sources};

/// The uses of `Debug` for types of the standard library: the file, the expression, and the type.
const STANDARD: [(&str, &str, &str); 7] = [
    ("host/server/src/app/supervision.rs", "?pause", "Duration"),
    (
        "host/server/src/http/admin_api/table.rs",
        "{name:?}",
        "String",
    ),
    (
        "host/server/src/domain/admin/applications/values.rs",
        "{unknown:?}",
        "&str",
    ),
    (
        "host/server/src/domain/admin/custom_attributes.rs",
        "{name:?}",
        "String",
    ),
    (
        "host/server/src/domain/admin/custom_attributes.rs",
        "{value:?}",
        "String",
    ),
    (
        "host/server/src/domain/admin/manifests/groups.rs",
        "{name:?}",
        "String",
    ),
    (
        "host/server/src/domain/admin/manifests/accounts.rs",
        "{:?}",
        "String",
    ),
];

/// The files and folders whose texts are in answers of the admin API.
const ANSWERS: [&str; 4] = [
    "host/server/src/http/admin_api/",
    "host/server/src/http/problem.rs",
    "host/server/src/http/sign_in/",
    "host/server/src/domain/admin/",
];

/// Returns the arguments of the macros of `tracing` in a text.
fn log_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("tracing::") {
        rest = &rest[at + "tracing::".len()..];
        let name_end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        let (name, after) = rest.split_at(name_end.unwrap_or(rest.len()));
        let is_line = ["trace", "debug", "info", "warn", "error", "event"].contains(&name)
            || name.ends_with("_span");
        if let Some(arguments) = after.strip_prefix("!(").filter(|_| is_line) {
            lines.push(&arguments[..closing(arguments)]);
        }
    }
    lines
}

/// Returns the position of the bracket that closes the arguments.
fn closing(arguments: &str) -> usize {
    let mut depth = 1;
    let mut is_text = false;
    let mut before = ' ';
    for (at, c) in arguments.char_indices() {
        match c {
            '"' if before != '\\' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
        before = c;
    }
    arguments.len()
}

/// Returns the expressions of a log line that `Debug` formats: `?field`.
fn fields(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in arguments.match_indices('?') {
        let before = arguments[..at].chars().next_back().unwrap_or(' ');
        let name: String = arguments[at + 1..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || "_.&*".contains(*c))
            .collect();
        // After an expression it is the operator for errors.
        if (before.is_whitespace() || "=,(".contains(before)) && !name.is_empty() {
            found.push(format!("?{name}"));
        }
    }
    found
}

/// Returns the placeholders of a text that `Debug` formats.
fn placeholders(text: &str) -> Vec<String> {
    let ends = [":?}", ":#?}"];
    let positions = ends.iter().flat_map(|end| {
        text.match_indices(end)
            .map(|(at, _)| (at, at + end.len()))
            .collect::<Vec<_>>()
    });
    positions
        .filter_map(|(at, end)| {
            let begin = text[..at].rfind('{')?;
            Some(text[begin..end].to_owned())
        })
        .collect()
}

fn problems(SourceFile { path, text, .. }: &SourceFile) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let text = code(text);
    let mut found = Vec::new();
    for line in log_lines(&text) {
        found.extend(fields(line));
        found.extend(placeholders(line));
    }
    if ANSWERS.iter().any(|place| path.starts_with(place)) {
        found.extend(placeholders(&text));
    }
    found.retain(|expression| {
        let is_standard =
            |(file, known, _): &(&str, &str, &str)| file == path && known == expression;
        !STANDARD.iter().any(is_standard)
    });
    found
        .into_iter()
        .map(|expression| format!("{path}: {expression}"))
        .collect()
}

#[test]
fn log_lines_and_answers_show_no_debug_form() {
    let found: Vec<String> = host_sources().iter().flat_map(problems).collect();
    assert_eq!(
        found,
        Vec::<String>::new(),
        "format the value with `Display`, or list its type of the standard library in `STANDARD`"
    );
}

#[test]
fn the_debug_form_is_found() {
    let source = |text: &str| SourceFile {
        module: "http".to_owned(),
        path: "host/server/src/http/admin_api/x.rs".to_owned(),
        text: text.to_owned(),
    };
    for (text, expected) in [
        ("tracing::info!(subject = ?approval.subject, \"asked\");", 1),
        ("tracing::warn!(\n    ?errors,\n    \"failed\"\n);", 1),
        ("tracing::info!(id = %parse(text)?, \"done (?)\");", 0),
        ("tracing::info!(\"state {state:?}\");", 2),
        ("let cause = format!(\"{why:?} in the sign-in\");", 1),
        ("let name = load()?;", 0),
        (
            "#[cfg(test)]\nmod tests { fn f() { panic!(\"{x:?}\") } }",
            0,
        ),
    ] {
        assert_eq!(problems(&source(text)).len(), expected, "{text}");
    }
}
