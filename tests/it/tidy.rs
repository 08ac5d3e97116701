//! The invariants of the architecture: each test searches for a forbidden pattern.

mod debug_output;
mod imports;
mod printing;
mod profile;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::read_file;
use imports::{javascript_cycles, reexports_beside_code, rust_cycles};

/// The project's own crates that each crate may use.
const CRATES: [(&str, &[&str]); 9] = [
    ("host/model", &[]),
    ("host/telemetry", &[]),
    ("host/saml-core", &["assent-model"]),
    ("host/store", &["assent-model", "assent-telemetry"]),
    ("host/plugin-host", &["assent-model", "assent-telemetry"]),
    ("host/admin-client", &["assent-model"]),
    (
        "host/server",
        &[
            "assent-admin-client",
            "assent-model",
            "assent-plugin-host",
            "assent-saml-core",
            "assent-store",
            "assent-telemetry",
        ],
    ),
    ("host/reference", &["assent", "assent-model"]),
    (
        "plugin-sdk/tool",
        &[
            "assent-admin-client",
            "assent-model",
            "assent-plugin-host",
            "assent-plugin-sdk",
        ],
    ),
];
/// The layers of the server from the top. A module may use the modules of lower rows, and no module of its own row.
const LAYERS: [&[&str]; 8] = [
    &["cli"],
    &["app", "authenticator"],
    &["http"],
    &["test_sign_in"],
    &["oidc", "saml"],
    &["domain"],
    &["keys", "config", "geoip", "audit_stream", "otlp", "smtp"],
    &["messages"],
];

/// The crates in which no two files import each other in a cycle.
const ACYCLIC: [&str; 17] = [
    "demo",
    "host/admin-client",
    "host/model",
    "host/plugin-host",
    "host/reference",
    "host/saml-core",
    "host/server",
    "host/store",
    "host/telemetry",
    "lan",
    "plugin-sdk",
    "plugin-sdk/tool",
    "plugins/account-roles",
    "plugins/claim-map",
    "plugins/http-gateway",
    "plugins/saml-attributes",
    "plugins/web-push",
];
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

/// Returns the files with this extension below a folder, except build output and downloaded files.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name");
            if path.is_dir()
                && !["target", "node_modules", "data"].contains(&name)
                && !name.starts_with('.')
            {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no {ending} below {}", folder.display());
    found
}

/// A source file of a crate.
struct SourceFile {
    /// The module of the crate to which the file belongs.
    module: String,
    /// Its path in the repository.
    path: String,
    text: String,
}

/// Returns the source files of a crate.
fn sources(package: &str) -> Vec<SourceFile> {
    let folder = root().join(package).join("src");
    files(&folder, ".rs")
        .into_iter()
        .map(|file| {
            let below = file.strip_prefix(&folder).expect("below").to_owned();
            let first = below
                .iter()
                .next()
                .and_then(|part| part.to_str())
                .expect("a part");
            SourceFile {
                module: first.trim_end_matches(".rs").to_owned(),
                path: format!("{package}/src/{}", below.display()),
                text: read_file(&file),
            }
        })
        .collect()
}

/// Returns the JavaScript modules of the pages by their paths below the folder of the assets.
fn assets() -> BTreeMap<String, String> {
    let folder = root().join("host/server/assets");
    let modules = files(&folder, ".js").into_iter().map(|file| {
        let below = file.strip_prefix(&folder).expect("below").display();
        (below.to_string(), read_file(&file))
    });
    modules.collect()
}

/// Returns the source files of all crates of the server.
fn host_sources() -> Vec<SourceFile> {
    CRATES
        .iter()
        .filter(|(package, _)| package.starts_with("host/"))
        .flat_map(|(package, _)| sources(package))
        .collect()
}

/// Returns the text of a file without comments, because words in prose do not count.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// Returns the modules of the server that a file names: `crate::a`, and `use crate::{a, b}`.
fn used(code: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let mut used = Vec::new();
    for (_, rest) in code
        .match_indices("crate::")
        .map(|(at, found)| (at, &code[at + found.len()..]))
    {
        match rest.strip_prefix('{') {
            Some(list) => used.extend(
                list.split('}')
                    .next()
                    .unwrap_or_default()
                    .split(',')
                    .map(|part| word(part.trim())),
            ),
            None => used.push(word(rest)),
        }
    }
    used
}

#[test]
fn every_crate_uses_only_lower_crates() {
    for (package, allowed) in CRATES {
        let manifest = read_file(root().join(package).join("Cargo.toml"));
        let dependencies = manifest
            .split("[dependencies]")
            .nth(1)
            .expect("dependencies");
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let names = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        for name in names.filter(|name| name.starts_with("assent")) {
            assert!(
                allowed.contains(&name),
                "{package} uses {name}, which is not below it"
            );
        }
    }
}

#[test]
fn every_module_uses_only_lower_layers() {
    for SourceFile { module, path, text } in sources("host/server") {
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let own = layer(&module);
        assert!(
            own.is_some(),
            "{path}: the module {module} has no layer in this test"
        );
        for other in used(&code(&text)) {
            let below = matches!((own, layer(&other)), (Some(own), Some(below)) if own < below);
            assert!(
                other == module || below,
                "{path} uses crate::{other}, which is not below it"
            );
        }
    }
}

/// Returns the files of a crate by their paths below `src`.
fn files_of(package: &str) -> BTreeMap<String, String> {
    let prefix = format!("{package}/src/");
    let mut files: BTreeMap<String, String> = sources(package)
        .into_iter()
        .map(|file| (file.path[prefix.len()..].to_owned(), file.text))
        .collect();
    // A program beside a library is a separate crate.
    if files.contains_key("lib.rs") {
        files.remove("main.rs");
    }
    files
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let javascript = ("host/server/assets", javascript_cycles(&assets()));
    let rust = ACYCLIC.map(|package| (package, rust_cycles(&files_of(package))));
    for (place, found) in rust.into_iter().chain([javascript]) {
        let lines: Vec<String> = found.into_iter().map(|cycle| cycle.join("\n")).collect();
        assert!(
            lines.is_empty(),
            "cycles in {place}:\n{}",
            lines.join("\n\n")
        );
    }
}

/// A file that re-exports is an index of its folder. With code beside, its children import what imports them.
#[test]
fn a_file_that_reexports_holds_no_code() {
    // The SDK is one import for the authors of plugins.
    let checked = ACYCLIC.iter().filter(|package| **package != "plugin-sdk");
    let found: Vec<(&str, Vec<String>)> = checked
        .map(|package| (*package, reexports_beside_code(&files_of(package))))
        .filter(|(_, files)| !files.is_empty())
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

/// The core can be read, fuzzed and reviewed by itself, to decide whether it accepts a forged message.
#[test]
fn saml_core_uses_nothing_of_the_server() {
    let own = "host/saml-core/src/xml/";
    for SourceFile { path, text, .. } in sources("host/saml-core")
        .into_iter()
        .filter(|file| file.path.starts_with(own))
    {
        let code = code(&text);
        for (at, found) in code.match_indices("crate::") {
            let rest = &code[at + found.len()..];
            assert!(
                rest.starts_with("xml::"),
                "{path} uses crate::{}",
                rest.lines().next().unwrap_or_default()
            );
        }
        // The files of its own folder are `super`. A file in a subfolder may go up one more level.
        let up = if path[own.len()..].contains('/') {
            "super::super::super::"
        } else {
            "super::super::"
        };
        assert!(!code.contains(up), "{path} uses a module above {own}");
        for outside in [
            "assent_model",
            "tokio",
            "serde",
            "url::",
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
        ] {
            assert!(!code.contains(outside), "{path} uses {outside}");
        }
    }
}

#[test]
fn each_external_resource_has_one_module() {
    for SourceFile { module, path, text } in sources("host/server") {
        let code = code(&text);
        for (needle, door) in [("figment", "config"), ("axum", "http"), ("askama", "http")] {
            assert!(
                module == door || !code.contains(needle),
                "{path} names {needle}, which only {door} may use"
            );
        }
    }
    for SourceFile { module, path, text } in host_sources() {
        let code = code(&text);
        for ambient in [
            "SystemTime::now",
            "Utc::now",
            "thread_rng",
            "rand::",
            "getrandom::fill",
            "Uuid::new_v4",
        ] {
            let allowed = ["clock", "entropy"].contains(&module.as_str());
            assert!(
                allowed || !code.contains(ambient),
                "{path} uses {ambient}: time and randomness come in as parameters"
            );
        }
        assert!(
            !code.contains("todo!") && !code.contains("unimplemented!"),
            "{path} is unfinished"
        );
    }
}

#[test]
fn sql_appears_in_the_store_only() {
    for SourceFile { path, text, .. } in host_sources() {
        let code = code(&text);
        assert!(
            path.starts_with("host/store/src/engine/sql/") || !code.contains("sqlx"),
            "{path} names sqlx, which only the statements' own module may use"
        );
        // The module `sql` is public so that tests can inspect and change a database.
        for word in [
            "INSERT INTO ",
            "DELETE FROM ",
            " SET state",
            "SELECT * ",
            "assent_store::sql",
        ] {
            assert!(
                path.starts_with("host/store/") || !code.contains(word),
                "{path} contains SQL"
            );
        }
    }
}

/// With `*`, a column of a newer release would change the result while this release runs. PostgreSQL refuses to execute
/// such a prepared statement.
#[test]
fn statements_of_the_store_name_their_columns() {
    let mut found = Vec::new();
    for SourceFile { path, text, .. } in sources("host/store") {
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let words: Vec<String> = code(product)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let code = words.join(" ");
        let is_star = ["SELECT *", "DISTINCT *", "RETURNING *", ", * FROM"]
            .iter()
            .any(|star| code.contains(star));
        let is_star_of_table = code.match_indices(".*").any(|(at, _)| {
            let before = code[..at].chars().next_back();
            before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_insert_without_columns = code.split("INSERT INTO ").skip(1).any(|rest| {
            let mut parts = rest.splitn(3, ' ');
            let (table, columns) = (parts.next(), parts.next());
            table.is_some() && !columns.is_some_and(|columns| columns.starts_with('('))
        });
        if is_star || is_star_of_table || is_insert_without_columns {
            found.push(path);
        }
    }
    assert_eq!(found, [""; 0], "a statement does not name its columns");
}

#[test]
fn no_file_exceeds_800_lines() {
    for folder in [
        "host",
        "plugin-sdk",
        "plugins",
        "demo",
        "tests/it",
        "tests/harness",
        "tests/benches",
        "tests/fuzz",
    ] {
        for file in files(&root().join(folder), ".rs") {
            let lines = read_file(&file).lines().count();
            assert!(lines <= 800, "{} has {lines} lines", file.display());
        }
    }
}

/// Returns a Rust file without the contents of its raw strings, which cannot be wrapped. Their lines remain, but empty.
fn without_raw_strings(text: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("r#") {
        let (before, found) = rest.split_at(at);
        left.push_str(before);
        let hashes: String = found[1..].chars().take_while(|c| *c == '#').collect();
        let opening = format!("r{hashes}\"");
        let closing = format!("\"{hashes}");
        let body = found.strip_prefix(opening.as_str());
        let Some((raw, end)) = body.and_then(|body| Some((body, body.find(&closing)?))) else {
            left.push_str("r#");
            rest = &found[2..];
            continue;
        };
        left.extend(raw[..end].chars().filter(|c| *c == '\n'));
        rest = &raw[end + closing.len()..];
    }
    left + rest
}

/// All code that developers read is checked, except vendored files.
#[test]
fn no_line_is_over_120_characters() {
    const FOLDERS: [&str; 7] = [
        "host",
        "plugin-sdk",
        "plugins",
        "demo",
        "lan/src",
        "lan/templates",
        "tests",
    ];
    let mut long = Vec::new();
    for folder in FOLDERS {
        for file in files(&root().join(folder), "") {
            let extension = file.extension().and_then(|extension| extension.to_str());
            let is_code = extension
                .is_some_and(|own| ["rs", "js", "mjs", "ts", "java", "css", "html"].contains(&own));
            if !is_code || file.iter().any(|part| part == "vendor") {
                continue;
            }
            let mut text = fs::read_to_string(&file).expect("text");
            if extension == Some("rs") {
                text = without_raw_strings(&text);
            }
            let lines = text.lines().enumerate();
            long.extend(
                lines
                    .filter(|(_, line)| line.chars().count() > 120)
                    .map(|(at, _)| format!("{}:{}", file.display(), at + 1)),
            );
        }
    }
    assert!(long.is_empty(), "too long:\n{}", long.join("\n"));
}

/// The use case authorizes a command, plans it, and executes the approved plan. So a handler must not make changes in
/// another way.
#[test]
fn every_change_of_the_admin_api_runs_a_command() {
    /// The first route cancels a pending request of the caller's own session, which changes no resource. The second one
    /// only plans. The others ask a user who calls, and cancel that.
    const NO_COMMANDS: [&str; 4] = [
        "path = \"/action-approvals/{id}\"",
        "path = \"/plans\"",
        "path = \"/users/{id}/caller-checks\"",
        "path = \"/caller-checks/{id}\"",
    ];
    let mut changes = 0;
    for SourceFile { path, text, .. } in sources("host/server")
        .into_iter()
        .filter(|file| file.path.contains("/http/admin_api/"))
    {
        for handler in text.split("#[utoipa::path(").skip(1) {
            let method: String = handler
                .trim_start()
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            let is_exempt = NO_COMMANDS.iter().any(|own| handler.contains(own));
            if method == "get" || is_exempt {
                continue;
            }
            changes += 1;
            let body = handler.split("\n}\n").next().unwrap_or_default();
            let calls: String = body.split_whitespace().collect();
            let runs = [
                "context.run(",
                "context.no_content(",
                "import_table(context,",
            ];
            assert!(
                runs.iter().any(|run| calls.contains(run)),
                "{path}: a handler of {method} runs no command:\n{body}"
            );
        }
    }
    assert!(
        changes > 25,
        "found only {changes} handlers that change something"
    );
}

#[test]
fn the_committed_settings_schema_is_current() {
    let file = root().join("config/assent.schema.json");
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed.trim_end() == assent::cli::config_schema(),
        "config/assent.schema.json is out of date; run: cargo run -q -p assent -- config schema > \
         config/assent.schema.json"
    );
}

#[test]
fn the_example_settings_are_valid() {
    for name in ["assent.toml", "production.example.toml"] {
        let file = root().join("config").join(name);
        if let Err(error) = assent::config::load(&file) {
            panic!("{error}");
        }
    }
}
