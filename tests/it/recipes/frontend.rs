//! Zabbix's frontend in PHP's own web server, on a PostgreSQL database of its own.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Recipe;
use crate::harness::{
    Body, Browser, Database, DatabaseUrl, Respond, after, between, http_client, temp_folder,
    write_file,
};
use crate::programs::html::{Attributes, tags};
use crate::programs::{Php, target};

/// The tables that the frontend requires: roles, user groups and the first users. The other data consists of templates
/// for hosts, which take much longer to load.
const TABLES: [&str; 7] = [
    "config",
    "hstgrp",
    "role",
    "role_rule",
    "users",
    "users_groups",
    "usrgrp",
];

/// The name and the password of the administrator after an installation.
const ADMINISTRATOR: [&str; 2] = ["Admin", "zabbix"];

/// A running frontend.
pub(super) struct Frontend {
    server: Php,
    folder: TempDir,
    _database: DatabaseUrl,
}

impl Frontend {
    /// Starts a frontend in its state after an installation.
    pub(super) async fn start() -> Self {
        let folder = temp_folder();
        let database = Database::Postgres.create(folder.path()).await;
        fill(&database).await;
        let settings = folder.path().join("zabbix.conf.php");
        write_file(&settings, settings_file(&database, folder.path()));
        let pages = package("zabbix");
        let server = Php::serve(&pages, |command| {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("php/zabbix.php");
            command
                .arg("-d")
                .arg(format!("auto_prepend_file={}", own.display()))
                .env("ZABBIX_SETTINGS", settings);
        })
        .await;
        Self {
            server,
            folder,
            _database: database,
        }
    }

    /// Returns the base URL, without a slash at the end.
    pub(super) fn base(&self) -> &str {
        &self.server.base
    }

    /// Returns the URL of a page.
    pub(super) fn address(&self, page: &str) -> String {
        format!("{}/{page}", self.base())
    }

    /// Enters the settings of a recipe into the form by their labels, as an administrator of Zabbix, and writes the
    /// recipe's file.
    pub(super) async fn set_up(&self, recipe: &Recipe, browser: &Browser) {
        let (name, content) = recipe.file.as_ref().expect("the file of the certificate");
        let file = self.folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        write_file(file, content);

        let [name, password] = ADMINISTRATOR;
        let fields = [("name", name), ("password", password), ("enter", "Sign in")];
        let page = browser.post(&self.address("index.php"), &fields).await;
        assert!(page.status.is_redirection(), "{}", page.body);
        let edit = self.address("zabbix.php?action=authentication.edit");
        let page = browser.get(&edit).await;
        let mut form = Form::read(&page.body);
        for (label, value) in &recipe.settings {
            form.fill(label, value);
        }
        let answer = browser
            .post(&self.address("zabbix.php"), &form.fields())
            .await;
        let page = browser.get(&edit).await;
        let saved = Form::read(&page.body);
        for field in form.fields() {
            assert!(
                saved.fields().contains(&field),
                "{field:?} was not saved: {}",
                answer.body
            );
        }
    }

    /// Creates a user.
    pub(super) async fn create_user(&self, username: &str, name: &str, surname: &str) {
        let [administrator, password] = ADMINISTRATOR;
        let token = self
            .call(
                "user.login",
                json!({"username": administrator, "password": password}),
                Value::Null,
            )
            .await;
        let groups = self
            .call(
                "usergroup.get",
                json!({"filter": {"name": "Guests"}}),
                token.clone(),
            )
            .await;
        let user = json!({
            "username": username,
            "name": name,
            "surname": surname,
            "passwd": "only for this test",
            "roleid": "1",
            "usrgrps": [{"usrgrpid": groups[0]["usrgrpid"]}],
        });
        self.call("user.create", user, token).await;
    }

    /// Calls Zabbix's JSON-RPC API. The call must succeed.
    async fn call(&self, method: &str, params: Value, auth: Value) -> Value {
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, "auth": auth});
        let response = http_client()
            .post(self.address("api_jsonrpc.php"))
            .header("Content-Type", "application/json-rpc")
            .body(request.to_string())
            .response()
            .await;
        let answer: Value = response.read_json().await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }
}

/// The form of Zabbix's authentication, as a browser submits it.
struct Form<'p> {
    html: &'p str,
    fields: Vec<(String, String)>,
}

impl<'p> Form<'p> {
    /// Reads the form with the values that the page shows.
    fn read(page: &'p str) -> Self {
        let html = between(page, "id=\"authentication-form\"", "</form>");
        let fields = tags(html, "input").into_iter().filter(is_submitted);
        let fields = fields.map(|field| (field["name"].clone(), field["value"].clone()));
        Self {
            html,
            fields: fields.collect(),
        }
    }

    /// Enters a value into the field with this label. A label may also belong to a group of checkboxes with labels of
    /// their own. Then the value consists of the labels to select.
    fn fill(&mut self, label: &str, value: &str) {
        let (field, rest) = labelled(self.html, label);
        match field {
            Some(id) => self.set(&id, value),
            None => {
                for one in value.split(", ") {
                    let (id, _) = labelled(rest, one);
                    self.set(&id.expect("the id of a checkbox"), "on");
                }
            }
        }
    }

    fn set(&mut self, id: &str, value: &str) {
        let field = tags(self.html, "input")
            .into_iter()
            .find(|field| field.get("id").is_some_and(|known| known == id))
            .unwrap_or_else(|| panic!("no field {id}: {}", self.html));
        let name = field["name"].clone();
        let value = if field["type"] == "checkbox" {
            assert_eq!(value, "on", "{id}");
            field["value"].clone()
        } else {
            value.to_owned()
        };
        self.fields.retain(|(known, _)| *known != name);
        self.fields.push((name, value));
    }

    fn fields(&self) -> Vec<(&str, &str)> {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }
}

/// Returns whether a browser submits this field as the page shows it.
fn is_submitted(field: &Attributes) -> bool {
    let is_box = ["checkbox", "radio"].contains(&field["type"].as_str());
    field.contains_key("name")
        && !field.contains_key("disabled")
        && (!is_box || field.contains_key("checked"))
}

/// Returns the id of the field with this label, if the label belongs to a field, and the HTML after the label.
fn labelled<'p>(html: &'p str, label: &str) -> (Option<String>, &'p str) {
    let text = format!(">{label}</label>");
    let rest = after(html, &text);
    let before = &html[..html.len() - rest.len()];
    let element = before.rfind("<label").expect("the label's start tag");
    let field = tags(&before[element..], "label")[0].get("for").cloned();
    (field, rest)
}

/// Returns a folder of Debian's Zabbix packages, which `scripts/setup` unpacked.
fn package(name: &str) -> PathBuf {
    let folder = target().join("zabbix/usr/share").join(name);
    assert!(
        folder.is_dir(),
        "{} is missing: run `make test`",
        folder.display()
    );
    folder
}

/// Fills a database as the package's documentation describes, without templates.
async fn fill(database: &DatabaseUrl) {
    let scripts = package("zabbix-server-pgsql");
    let read = |name: &str| {
        let file = File::open(scripts.join(name)).expect("a script");
        let mut text = String::new();
        let read = GzDecoder::new(file).read_to_string(&mut text);
        read.expect("a script");
        text
    };
    let is_needed = |statement: &&str| {
        TABLES
            .iter()
            .any(|table| statement.starts_with(&format!("INSERT INTO {table} (")))
    };
    let data = read("data.sql.gz");
    let data: Vec<&str> = data.lines().filter(is_needed).collect();
    let mut connection = database.connection().await;
    for script in [read("schema.sql.gz"), data.join("\n")] {
        connection.batch(&script).await.expect("filled");
    }
    connection.close().await;
}

/// Returns Zabbix's own settings. The certificate is in the subfolder that Zabbix expects, within this folder.
fn settings_file(database: &DatabaseUrl, folder: &Path) -> String {
    let socket = database.socket();
    let server = socket.parent().expect("the folder of the socket");
    let url = url::Url::parse(database.url()).expect("a URL");
    format!(
        "<?php
$DB = [
    'TYPE' => 'POSTGRESQL',
    'SERVER' => '{}',
    'PORT' => '0',
    'DATABASE' => '{}',
    'USER' => '{}',
    'PASSWORD' => '',
];
$SSO = ['IDP_CERT' => '{}/conf/certs/idp.crt'];
",
        server.display(),
        url.path().trim_start_matches('/'),
        url.username(),
        folder.display(),
    )
}
