//! Settings and JSON in the pages.

use serde_json::Value;

use super::{is_generated, pages, root};
use crate::harness::{read_file, temp_folder, write_file};

/// The languages of the blocks. Blocks of commands also have the place where they run: see [`super::commands`].
const LANGUAGES: [&str; 21] = [
    "sh", "text", "toml", "json", "js", "ts", "rust", "python", "java", "nginx", "caddy", "http",
    "yaml", "ini", "apache", "php", "xml", "html", "wit", "sql", "hcl",
];

#[test]
fn each_block_has_a_known_language() {
    let mut unknown = Vec::new();
    for page in pages().iter().filter(|page| !is_generated(page)) {
        for block in &page.blocks {
            if !LANGUAGES.contains(&block.language()) {
                unknown.push(page.place(block));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The pages with the code of clients, and its files. `clients::fapi` and `clients::browserless` run these files.
const CLIENTS: [(&str, [&str; 2]); 2] = [
    (
        "developers/fapi-clients.md",
        [
            "tests/js/fapi_client.mjs",
            "tests/java/fapi/FapiClient.java",
        ],
    ),
    (
        "developers/clients-without-a-browser.md",
        [
            "tests/js/browserless_client.mjs",
            "tests/java/browserless/BrowserlessClient.java",
        ],
    ),
];

/// The first line of the code names its file.
#[test]
fn the_clients_of_the_pages_are_those_of_the_tests() {
    let pages = pages();
    for (name, files) in CLIENTS {
        let page = pages.iter().find(|page| page.path.ends_with(name));
        let page = page.expect("the page");
        for path in files {
            let code = read_file(root().join(path));
            let first = code.lines().next().expect("a line");
            let shown = page.blocks.iter().find(|block| {
                let mut lines = block.text.lines();
                lines.next() == Some(first)
            });
            let shown = shown.unwrap_or_else(|| panic!("no block begins with {first}"));
            assert!(
                shown.text == code,
                "{} differs from {path}: copy the file into the block",
                page.place(shown)
            );
        }
    }
}

#[test]
fn settings_and_json_are_valid() {
    let folder = temp_folder();
    let file = folder.path().join("assent.toml");
    let mut wrong = Vec::new();
    for page in pages() {
        for block in &page.blocks {
            let place = format!("{}:{}", page.path.display(), block.line);
            if block.is_only("json")
                && let Err(error) = serde_json::from_str::<Value>(&block.text)
            {
                wrong.push(format!("{place}: {error}"));
            }
            if block.language() == "toml"
                && let Err(error) = block.text.parse::<toml::Table>()
            {
                wrong.push(format!("{place}: {error}"));
            }
            if block.is_only("toml") {
                let head = block.text.split("\n[").next().unwrap_or_default();
                let base = match head.contains("base_url =") && !head.starts_with('[') {
                    true => "",
                    false => "base_url = \"https://id.example.org\"\n",
                };
                write_file(&file, format!("{base}{}", block.text));
                if let Err(error) = assent::config::load(&file) {
                    wrong.push(format!("{place}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
