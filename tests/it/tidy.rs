//! The architecture's invariants, stated as absences.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the top; a module may use those below its own row, and nothing of its own row.
const LAYERS: [&[&str]; 8] = [
    &["cli"],
    &["app", "authenticator"],
    &["http"],
    &["oidc", "saml"],
    &["domain"],
    &["store", "keys", "plugins", "config", "places", "sinks"],
    &["outgoing"],
    &["model"],
];
/// What every layer may use.
const FOUNDATIONS: [&str; 4] = ["clock", "entropy", "id", "secret"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// The files below a folder with this ending, but nothing that is built or fetched.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            if path.is_dir() && !["target", "node_modules", "data"].contains(&name) && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no {ending} below {}", folder.display());
    found
}

/// Each source file of the host: the module that it belongs to, its path for messages, its text.
fn host_sources() -> Vec<(String, String, String)> {
    let source = root().join("host/src");
    files(&source, ".rs")
        .into_iter()
        .map(|file| {
            let below = file.strip_prefix(&source).expect("below").to_owned();
            let first = below.iter().next().and_then(|part| part.to_str()).expect("a part");
            let text = fs::read_to_string(&file).expect("text");
            (first.trim_end_matches(".rs").to_owned(), below.display().to_string(), text)
        })
        .collect()
}

/// A file's text without comments, so that words in prose do not count.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// The modules of the host that a file names: `crate::a`, and `use crate::{a, b}`.
fn used(code: &str) -> Vec<String> {
    let word = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut used = Vec::new();
    for (_, rest) in code.match_indices("crate::").map(|(at, found)| (at, &code[at + found.len()..])) {
        match rest.strip_prefix('{') {
            Some(list) => {
                used.extend(list.split('}').next().unwrap_or_default().split(',').map(|part| word(part.trim())))
            }
            None => used.push(word(rest)),
        }
    }
    used
}

#[test]
fn every_module_has_its_layer_and_calls_only_those_below() {
    for (module, path, text) in host_sources() {
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let foundation = FOUNDATIONS.contains(&module.as_str());
        let own = layer(&module);
        assert!(own.is_some() || foundation, "{path}: the module {module} has no layer in this test");
        for other in used(&code(&text)) {
            let allowed = other == module
                || FOUNDATIONS.contains(&other.as_str())
                || matches!((own, layer(&other)), (Some(own), Some(below)) if own < below);
            assert!(allowed, "{path} uses crate::{other}, which is not below it");
        }
    }
}

/// It can be read, fuzzed and judged alone, by whoever asks whether a forged message gets through.
#[test]
fn the_xml_of_saml_uses_nothing_of_the_host() {
    let own = "saml/xml/";
    for (_, path, text) in host_sources().into_iter().filter(|(_, path, _)| path.starts_with(own)) {
        let code = code(&text);
        for (at, found) in code.match_indices("crate::") {
            let rest = &code[at + found.len()..];
            assert!(rest.starts_with("saml::xml::"), "{path} uses crate::{}", rest.lines().next().unwrap_or_default());
        }
        // The files of its own folder are `super`; those of a folder in it may go up once more.
        let up = if path[own.len()..].contains('/') { "super::super::super::" } else { "super::super::" };
        assert!(!code.contains(up), "{path} uses what is above {own}");
        for outside in ["tokio", "serde", "url::", "std::fs", "std::net", "std::env", "std::process"] {
            assert!(!code.contains(outside), "{path} uses {outside}");
        }
    }
}

#[test]
fn each_outside_world_has_one_door() {
    for (module, path, text) in host_sources() {
        let code = code(&text);
        for (needle, door) in [
            ("sqlx", "store"),
            ("wasmtime", "plugins"),
            ("figment", "config"),
            ("axum", "http"),
            ("askama", "http"),
            ("quick_xml", "saml"),
        ] {
            assert!(module == door || !code.contains(needle), "{path} names {needle}, which is for {door} alone");
        }
        for ambient in ["SystemTime::now", "Utc::now", "thread_rng", "rand::", "getrandom::fill", "Uuid::new_v4"] {
            let allowed = ["clock", "entropy"].contains(&module.as_str());
            assert!(
                allowed || !code.contains(ambient),
                "{path} uses {ambient}: time and randomness come in as parameters"
            );
        }
        assert!(!code.contains("todo!") && !code.contains("unimplemented!"), "{path} is unfinished");
    }
}

#[test]
fn sql_stands_in_the_store_alone() {
    for (module, path, text) in host_sources() {
        let code = code(&text);
        for word in ["INSERT INTO ", "DELETE FROM ", " SET state", "SELECT * "] {
            assert!(module == "store" || !code.contains(word), "{path} holds SQL");
        }
    }
}

#[test]
fn no_file_is_over_800_lines() {
    for folder in
        ["host/src", "plugin-sdk", "plugins", "demo", "tests/it", "tests/harness", "tests/benches", "tests/fuzz"]
    {
        for file in files(&root().join(folder), ".rs") {
            let lines = fs::read_to_string(&file).expect("text").lines().count();
            assert!(lines <= 800, "{} has {lines} lines", file.display());
        }
    }
}

#[test]
fn the_schema_of_the_settings_is_the_committed_one() {
    let file = root().join("config/assent.schema.json");
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed.trim_end() == assent::cli::config_schema(),
        "config/assent.schema.json is out of date; run: cargo run -q -p assent -- config schema > config/assent.schema.json"
    );
}

#[test]
fn the_example_settings_are_good() {
    for name in ["assent.toml", "production.example.toml"] {
        let file = root().join("config").join(name);
        if let Err(error) = assent::config::load(&file) {
            panic!("{error}");
        }
    }
}
