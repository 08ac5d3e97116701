//! Runs the steps of a script, and writes the responses of each operation.

use std::collections::BTreeMap;

use assent_model::audit::jsonl;
use reqwest::Method;
use serde_json::Value;

use super::documented::Document;
use super::errors::{self, Fault};
use crate::harness::{Json, Text, parse_json};
use crate::snapshots::json::{indented, without_measurements};
use crate::snapshots::world::{Answer, Step, StepKind, World};

/// The texts of an operation.
#[derive(Default)]
struct Record {
    successes: String,
    succeeded: bool,
    errors: String,
    /// The headers of the responses, once each.
    headers: Vec<Vec<String>>,
}

pub(super) struct Recorder {
    world: World,
    document: Document,
    records: BTreeMap<String, Record>,
    /// The ids of the audit entries that were written already.
    entries: Vec<String>,
}

impl Recorder {
    pub(super) async fn new(world: World) -> Self {
        let mut recorder = Self {
            world,
            document: Document::read(),
            records: BTreeMap::new(),
            entries: Vec::new(),
        };
        recorder.new_entries().await;
        recorder
    }

    pub(super) async fn run(&mut self, step: &Step) {
        if matches!(step.kind, StepKind::Prepared | StepKind::Action) {
            self.world.prepare(step).await;
            self.new_entries().await;
            return;
        }
        let operation = self.document.operation(step);
        let file = operation.file();
        if step.kind == StepKind::WithErrors {
            self.world.round_count();
            let faults = errors::faults(&self.document, &operation, step);
            let mut record = self.records.remove(&file).unwrap_or_default();
            record
                .errors
                .push_str(&format!("\n# Errors of {}\n\n", title(step)));
            for fault in faults {
                let answer = self.world.try_to_send(&fault.step).await;
                record.write_error(&fault, &answer);
            }
            record
                .errors
                .push_str(&entry_names(&self.new_entries().await));
            self.records.insert(file.clone(), record);
        }
        let answer = self.world.execute(step).await;
        self.name_number(&answer);
        let entries = self.new_entries().await;
        let record = self.records.entry(file).or_default();
        record.write(step, &answer, &entries);
    }

    /// Gives the number of an approval request a placeholder.
    fn name_number(&mut self, answer: &Answer) {
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let number = body
            .pointer("/action_approval/number")
            .or_else(|| body.get("number"));
        if let Some(number) = number.and_then(Value::as_str) {
            self.world.store("number", number);
            let names = &mut self.world.names;
            names.push((format!("type {number} on"), "type <number> on".to_owned()));
            names.push((
                format!("\"number\": \"{number}\""),
                "\"number\": \"<number>\"".to_owned(),
            ));
        }
    }

    /// Returns the audit entries since the last call. Entries of one step have the same time, so their order in the log
    /// is random.
    async fn new_entries(&mut self) -> Vec<Value> {
        let path = "/audit?limit=200";
        let list = self
            .world
            .host
            .admin_ok(Method::GET, path, Value::Null)
            .await;
        let items = list["items"].items().iter();
        let new = items.filter(|entry| {
            !self
                .entries
                .iter()
                .any(|known| *known == entry["id"].text())
        });
        let mut new: Vec<Value> = new.cloned().collect();
        self.entries
            .extend(new.iter().map(|entry| entry["id"].text().to_owned()));
        new.sort_by_key(|entry| {
            (
                entry["at"].to_string(),
                entry["event"].to_string(),
                entry["detail"].to_string(),
            )
        });
        for entry in &mut new {
            // They depend on the lane, which a batch of entries chooses.
            for member in ["lane", "seq", "digest"] {
                entry.members_mut().remove(member);
            }
        }
        new
    }

    /// Returns the world, and the texts of the files.
    pub(super) async fn finish(self) -> (World, BTreeMap<String, String>) {
        let mut texts = BTreeMap::new();
        for (file, record) in self.records {
            assert!(
                record.succeeded || record.errors.is_empty(),
                "no success in {file}:\n{}",
                record.successes
            );
            texts.insert(file, record.text());
        }
        texts.insert("audit_export.jsonl".to_owned(), export(&self.world).await);
        (self.world, texts)
    }
}

/// Returns the export of the audit log, without the values that depend on the lane and on random salts.
async fn export(world: &World) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for record in crate::audit::all_records(&world.host.host.store).await {
        let line = jsonl::write(&record).expect("a line");
        let mut value: Value = parse_json(&line);
        for member in [
            "lane",
            "seq",
            "digest",
            "previous",
            "personal_salt",
            "personal_digest",
            "origin_salt",
            "origin_digest",
        ] {
            if value[member].is_string() || value[member].is_number() {
                value[member] = Value::from("<varies>");
            }
        }
        let order = format!("{} {} {}", value["at"], value["event"], value["detail"]);
        lines.push((order, value.to_string()));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line + "\n").collect()
}

/// Whether a list is in the order of the applications' ids, which are random.
fn has_random_order(path: &str) -> bool {
    let lists_applications = ["/applications", "/access", "/accounts", "/consents"];
    let path_only = path.split('?').next().unwrap_or_default();
    let is_list = lists_applications
        .iter()
        .any(|end| path_only.ends_with(end));
    is_list && !path_only.starts_with("/applications/") && !path.contains("order=")
}

/// Returns a list with its items in the order of their names and times.
fn sorted(body: &str) -> String {
    let mut list: Value = parse_json(body);
    if let Some(items) = list["items"].as_array_mut() {
        items.sort_by_key(|item| {
            let name = ["name", "application_name"]
                .iter()
                .map(|name| item[*name].to_string());
            format!("{} {}", name.collect::<String>(), item["created_at"])
        });
    }
    indented(&list.to_string())
}

fn title(step: &Step) -> String {
    let mut title = format!("{} {}", step.method, step.path);
    if let Some(caller) = &step.caller {
        title.push_str(&format!(" as {caller}"));
    }
    for (name, value) in &step.headers {
        if (name.as_str(), value.as_str()) != ("content-type", "application/json") {
            title.push_str(&format!(", {name}: {value}"));
        }
    }
    title
}

fn entry_names(entries: &[Value]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry["event"].text()).or_default() += 1;
    }
    let names = counts
        .iter()
        .map(|(event, count)| format!("audit: {event}, {count} times\n"));
    names.collect()
}

impl Record {
    /// Returns the number of a set of headers, and the version of the object, which differs between responses.
    fn headers(&mut self, headers: &[String]) -> String {
        let (tags, others): (Vec<String>, Vec<String>) = headers
            .iter()
            .cloned()
            .partition(|header| header.starts_with("etag: "));
        let known = self.headers.iter().position(|own| *own == others);
        let number = known.unwrap_or_else(|| {
            self.headers.push(others);
            self.headers.len() - 1
        });
        let tags: String = tags.iter().map(|tag| format!(", {tag}")).collect();
        format!("headers {}{tags}", number + 1)
    }

    fn write(&mut self, step: &Step, answer: &Answer, entries: &[Value]) {
        let headers = self.headers(&answer.headers);
        self.succeeded |= answer.status < 300;
        let text = &mut self.successes;
        text.push_str(&format!("\n# {}\n", title(step)));
        if let Some(body) = &step.body {
            text.push_str(&format!("{body}\n"));
        }
        text.push_str(&format!("\n{}, {headers}\n", answer.status));
        let is_json = answer.headers.iter().any(|header| {
            header.starts_with("content-type: application/") && header.contains("json")
        });
        match is_json {
            true if has_random_order(&step.path) => text.push_str(&sorted(&answer.body)),
            true => text.push_str(&indented(&without_measurements(&answer.body))),
            false => text.push_str(&answer.body),
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for entry in entries {
            text.push_str(&format!("audit: {entry}\n"));
        }
    }

    fn write_error(&mut self, fault: &Fault, answer: &Answer) {
        let headers = self.headers(&answer.headers);
        let text = &mut self.errors;
        text.push_str(&format!(
            "{}: {}, {headers}\n",
            fault.description, answer.status
        ));
        // Of these successes, only an update is of interest: it shows the effect of the value.
        let is_known = fault.step.method != Method::PATCH && answer.status < 300;
        if is_known || answer.body.is_empty() {
            return;
        }
        let body = without_measurements(&answer.body).replace(&errors::too_long(), "<too long>");
        text.push_str(&format!("  {body}\n"));
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (at, headers) in self.headers.iter().enumerate() {
            text.push_str(&format!("headers {}:\n", at + 1));
            for header in headers {
                text.push_str(&format!("  {header}\n"));
            }
        }
        text + &self.successes + &self.errors
    }
}
