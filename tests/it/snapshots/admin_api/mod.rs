//! Each operation of the admin API: its responses, its errors in the order of its checks, and its audit entries. A
//! script for each subject has at least one success of each operation, and the conflicts. The errors that follow from
//! the OpenAPI document are generated.

mod documented;
mod errors;
mod recorder;

use std::collections::{BTreeMap, BTreeSet};

use assent::http::admin_api::rules;

use self::documented::Document;
use self::recorder::Recorder;
use super::compare::assert_snapshots;
use super::file;
use super::world::{Step, StepKind, World, steps};
use crate::mail::{MailServer, Security};

/// The scripts, in the folder `scripts`.
const SCRIPTS: [&str; 5] = ["users", "access", "applications", "manifests", "operation"];

fn script(name: &str) -> Vec<Step> {
    steps(&file(&format!("admin_api/scripts/{name}.txt")))
}

/// Runs a script, and compares the responses of each operation and the export of the audit log.
async fn assert_script(name: &str, settings: &str) {
    let world = World::filled(settings).await;
    let mut recorder = Recorder::new(world).await;
    for step in script(name) {
        recorder.run(&step).await;
    }
    let (world, texts) = recorder.finish().await;
    let texts: BTreeMap<String, String> = texts
        .into_iter()
        .map(|(file, text)| (file, world.normalised(&text)))
        .collect();
    assert_snapshots(&format!("admin_api/{name}"), &texts);
}

#[tokio::test]
async fn operations_on_users_answer_as_before() {
    assert_script("users", "").await;
}

#[tokio::test]
async fn operations_on_groups_and_accounts_answer_as_before() {
    assert_script("access", "").await;
}

#[tokio::test]
async fn operations_on_applications_answer_as_before() {
    assert_script("applications", "").await;
}

#[tokio::test]
async fn operations_on_manifests_answer_as_before() {
    assert_script("manifests", "").await;
}

#[tokio::test]
async fn operations_on_the_instance_answer_as_before() {
    let server = MailServer::start(Security::None).await;
    assert_script("operation", &server.settings()).await;
}

/// The recorder asserts that each operation succeeds once.
#[test]
fn each_operation_has_a_success_and_its_errors() {
    let document = Document::read();
    let mut operations: BTreeSet<String> = BTreeSet::new();
    for step in SCRIPTS.into_iter().flat_map(script) {
        if step.kind == StepKind::WithErrors {
            operations.insert(document.operation(&step).name());
        }
    }
    let missing: Vec<String> = rules()
        .into_iter()
        .map(|(method, path, _)| format!("{method} {path}"))
        .filter(|operation| !operations.contains(operation))
        .collect();
    assert!(
        missing.is_empty(),
        "no line with `!` in a script:\n{}",
        missing.join("\n")
    );
}
