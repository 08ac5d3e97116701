//! Real programs, configured only with the recipes of the console. The console's own code fills in a recipe, so a
//! program that does not accept a value fails its test.
//!
//! Of the twenty programs, Debian has Zabbix. It also has MediaWiki and WordPress, but neither Debian nor npm has their
//! extensions for sign-in with OpenID Connect.

mod frontend;
mod kubernetes;
mod zabbix;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Json, TestHost, Text, id};
use crate::programs::Program;

/// A recipe for which an application was created.
struct Recipe {
    /// The id of the application.
    application: String,
    /// The settings of the program, as `label` and `value`.
    settings: Vec<(String, String)>,
    /// A file of the program: its name and its content.
    file: Option<(String, String)>,
}

impl Recipe {
    /// Creates the application of a program as the console does, with the answers to the questions of its recipe.
    async fn connect(host: &TestHost, program: &str, answers: Value) -> Self {
        let mut console = Program::node("recipe.mjs");
        let request = json!({
            "base": host.base,
            "issuer": host.issuer(),
            "token": host.token,
            "id": program,
            "answers": answers,
        });
        let body = console.ask(&request).await;
        let created = host.admin_ok(Method::POST, "/applications", body).await;
        let shown = console.ask(&json!({"application": created})).await;
        let pair = |value: &Value, names: [&str; 2]| {
            let [first, second] = names.map(|name| value[name].text().to_owned());
            (first, second)
        };
        Self {
            application: id(&created).to_owned(),
            settings: shown["settings"]
                .items()
                .iter()
                .map(|setting| pair(setting, ["label", "value"]))
                .collect(),
            file: shown.get("file").map(|file| pair(file, ["name", "text"])),
        }
    }
}
