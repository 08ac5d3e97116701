//! The glossary is correct and complete: each setting, table, command, resource and event in it exists, and no required
//! name is missing.

use std::collections::BTreeSet;

use assent::http::admin_api::openapi::text as openapi_document;
use assent::http::admin_api::rules;
use assent_model::audit::Event;
use serde_json::Value;

use crate::harness::{Json, Text, parse_json};

/// Returns the names in a column of the glossary's table.
fn column(title: &str) -> BTreeSet<String> {
    let mut rows = include_str!("../../docs/glossary.md")
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let titles = rows.next().expect("the head of the table");
    let place = titles.iter().position(|one| *one == title).expect(title);
    let cells = rows.skip(1).map(|row| row[place].to_owned());
    cells
        .flat_map(|cell| names(&cell).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Returns the texts between backquotes.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn texts(names: impl IntoIterator<Item = impl Into<String>>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

#[test]
fn the_glossary_names_each_section_of_the_settings() {
    let schema: Value = parse_json(include_str!("../../config/assent.schema.json"));
    let sections = schema["properties"].members();
    assert_eq!(column("Settings"), texts(sections.keys()));
}

#[test]
fn the_glossary_names_each_table() {
    let schema = include_str!("../../host/store/migrations/0001_expand_initial.sql");
    // A partition does not count as a table.
    let tables = schema.split("\nCREATE TABLE ").skip(1);
    let tables = tables.filter_map(|rest| rest.split([' ', '(']).next());
    assert_eq!(column("Tables"), texts(tables));
}

#[test]
fn the_glossary_names_each_noun_of_the_commands() {
    let document: Value = parse_json(openapi_document());
    let tags = document["tags"].items();
    let nouns = tags.iter().filter_map(|tag| tag["name"].as_str());
    let used: BTreeSet<String> = document["paths"]
        .members()
        .values()
        .flat_map(|path| path.members().values())
        .map(|operation| operation["tags"][0].text().to_owned())
        .collect();
    let nouns = texts(nouns);
    assert_eq!(
        nouns, used,
        "an operation's noun has a description, and each noun an operation"
    );
    assert_eq!(
        column("Commands"),
        texts(nouns.iter().map(|noun| noun.replace('.', " ")))
    );
}

#[test]
fn resources_and_events_in_the_glossary_exist() {
    let paths = texts(rules().into_iter().map(|(_, path, _)| path));
    let unknown: Vec<_> = column("Admin API").difference(&paths).cloned().collect();
    assert_eq!(unknown, Vec::<String>::new());
    let events = Event::ALL
        .iter()
        .filter_map(|event| event.as_str().split_once('.'));
    assert_eq!(column("Events"), texts(events.map(|(noun, _)| noun)));
}
