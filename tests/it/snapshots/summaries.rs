//! The summaries of protected actions, as the console receives them and as a device lists and signs them in English and
//! German: of each action, and of each member of an update by itself, removed, with its neighbour, and of all together.

use std::collections::BTreeMap;

use assent::authenticator::enrolled::PendingRequest;
use assent::http::admin_api::openapi::text as openapi_document;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::compare::assert_snapshots;
use super::world::{Step, StepKind, World, steps};
use crate::harness::{Json, Text, id, parse_json};

/// The schemas of updates, with the file of their summaries and the object that is updated.
const UPDATES: [(&str, &str, &str); 6] = [
    ("UserChange", "user.txt", "/users/{emil}"),
    ("AccountChange", "account.txt", "/accounts/{ada_books}"),
    ("GroupUpdate", "group.txt", "/groups/{readers}"),
    ("ClientChange", "client.txt", "/applications/{books}"),
    (
        "ClientChange",
        "service_account.txt",
        "/applications/{robot}",
    ),
    (
        "ServiceProviderChange",
        "service_provider.txt",
        "/applications/{wiki}",
    ),
];

/// Returns a valid value of each member of the updates.
pub(super) fn members(schema: &str) -> Map<String, Value> {
    let all: Value = parse_json(super::file("members.json"));
    let values = all[schema].members().clone();
    let document: Value = parse_json(openapi_document());
    let properties = document["components"]["schemas"][schema]["properties"].members();
    let missing: Vec<&String> = properties
        .keys()
        .filter(|name| !values.contains_key(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "members.json has no value for {missing:?} of {schema}"
    );
    values
}

#[tokio::test]
async fn protected_actions_have_the_same_summaries_as_before() {
    let mut world = World::filled("").await;
    for step in steps(&super::file("summaries_world.txt")) {
        world.prepare(&step).await;
    }
    let mut text = String::new();
    for step in steps(&super::file("summaries.txt")) {
        text.push_str(&summary(&mut world, &step).await);
    }
    let text = world.normalised(&text);
    assert_snapshots(
        "summaries/actions",
        &BTreeMap::from([("actions.txt".to_owned(), text)]),
    );
}

#[tokio::test]
async fn each_member_of_an_update_has_the_same_summary_as_before() {
    // A server that receives no client certificates refuses the members that need one.
    let certificates =
        "[http]\ntrusted_proxies = [\"127.0.0.1\", \"::1\"]\nclient_cert_header = true\n";
    let mut world = World::filled(certificates).await;
    let mut texts = BTreeMap::new();
    for (schema, file, path) in UPDATES {
        let mut text = String::new();
        for body in changes(&members(schema)) {
            let mut step = Step::new(Method::PATCH, path);
            step.headers
                .push(("content-type".to_owned(), "application/json".to_owned()));
            step.body = Some(body.to_string());
            text.push_str(&summary(&mut world, &step).await);
        }
        texts.insert(file.to_owned(), world.normalised(&text));
    }
    assert_snapshots("summaries/updates", &texts);
}

/// Returns the changes: each member by itself, each member of an object, two neighbours, all together, and each
/// removed.
fn changes(members: &Map<String, Value>) -> Vec<Value> {
    let mut changes = Vec::new();
    for (name, value) in members {
        changes.push(json!({ name: value }));
        for (inner, value) in value.as_object().into_iter().flatten() {
            changes.push(json!({name: {inner: value}}));
        }
    }
    let all: Vec<(&String, &Value)> = members.iter().collect();
    for pair in all.windows(2) {
        let pair: Map<String, Value> = pair
            .iter()
            .map(|(name, value)| ((*name).clone(), (*value).clone()))
            .collect();
        changes.push(Value::Object(pair));
    }
    changes.push(Value::Object(members.clone()));
    changes.extend(members.keys().map(|name| json!({ name: null })));
    changes
}

/// Requests an action in the console, and describes the response. If it needs an approval, the device approves it in
/// German, so the server verifies that the device signed the German text. The action is not executed.
pub(super) async fn summary(world: &mut World, step: &Step) -> String {
    assert_eq!(step.kind, StepKind::Recorded, "{step:?}");
    let step = Step {
        caller: Some("grace".to_owned()),
        ..step.clone()
    };
    world.host.advance(1);
    let answer = world.send(&step).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let mut text = format!("# {} {}\n", step.method, step.path);
    if let Some(body) = &step.body {
        text.push_str(&format!("{body}\n"));
    }
    let action = &body["action_approval"];
    if action.is_null() {
        let errors: Vec<String> = body["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::to_string)
            .collect();
        let detail = body["detail"]
            .as_str()
            .filter(|_| answer.status >= 400)
            .unwrap_or_default();
        text.push_str(&format!(
            "no approval: {} {detail} {}",
            answer.status,
            errors.join(" ")
        ));
        return text.trim_end().to_owned() + "\n\n";
    }
    text.push_str(&format!("console: {}\n", action["summary"].text()));
    let number = action["number"].text();
    let device = world.device("grace").clone();
    let requests = device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    text.push_str(&format!(
        "device: {}\n",
        newest.action.as_deref().unwrap_or_default()
    ));
    let listed = world
        .call_in_german("grace", Method::GET, "/requests", "")
        .await;
    let listed = listed["requests"]
        .items()
        .iter()
        .find(|one| id(one) == newest.id.to_string());
    let request: PendingRequest =
        serde_json::from_value(listed.expect("the request").clone()).expect("a request");
    text.push_str(&format!(
        "Gerät: {}\n",
        request.action.as_deref().unwrap_or_default()
    ));
    let statement = device.statement(&request, Some(number)).text();
    let proof =
        json!({"decision": "approve", "number": number, "signature": device.signature(&statement)});
    let path = format!("/requests/{}", request.id);
    let outcome = world
        .call_in_german("grace", Method::POST, &path, &proof.to_string())
        .await;
    text.push_str(&format!(
        "signed in German: {}\n\n",
        outcome["outcome"].text()
    ));
    text
}
