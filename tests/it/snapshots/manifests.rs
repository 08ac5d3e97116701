//! Manifests with each member of an application changed: the plan, and the summary of its approval.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::compare::assert_snapshots;
use super::json::indented;
use super::summaries::{members, summary};
use super::world::{Answer, Step, World};
use crate::harness::parse_json;

/// The protocols, with an application of each.
const APPLICATIONS: [(&str, &str, &str); 2] = [
    (
        "ClientChange",
        "client.txt",
        r#"{"key": "app", "name": "App", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]}"#,
    ),
    (
        "ServiceProviderChange",
        "service_provider.txt",
        r#"{"key": "crm", "protocol": "saml", "name": "CRM", "entity_id": "https://crm.example/saml",
            "acs": [{"url": "https://crm.example/acs"}]}"#,
    ),
];

async fn post(world: &mut World, path: &str, body: &Value) -> Answer {
    let step = with_body(path, body);
    world.execute(&step).await
}

fn with_body(path: &str, body: &Value) -> Step {
    let mut step = Step::new(Method::POST, path);
    step.headers
        .push(("content-type".to_owned(), "application/json".to_owned()));
    step.body = Some(body.to_string());
    step
}

/// Plans a manifest. Describes the response, and returns the digest of a plan.
async fn plan(world: &mut World, manifest: &Value, text: &mut String) -> Option<String> {
    let answer = post(world, "/plans", &json!({ "manifest": manifest })).await;
    text.push_str(&format!("{} {}\n", answer.status, indented(&answer.body)));
    let body: Value = parse_json(&answer.body);
    body["digest"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn each_member_of_a_manifest_is_planned_approved_and_exported_as_before() {
    let mut world = World::filled("").await;
    let mut texts = BTreeMap::new();
    for (schema, file, base) in APPLICATIONS {
        let owner = file.trim_end_matches(".txt").replace('_', "-");
        let base: Value = parse_json(base);
        let manifest = |application: &Value| json!({"owner": owner, "applications": [application]});
        let mut text = String::from("# The first manifest\n");
        let digest = plan(&mut world, &manifest(&base), &mut text)
            .await
            .expect("a plan");
        let applied = post(
            &mut world,
            "/plans/apply",
            &json!({"manifest": manifest(&base), "digest": digest}),
        )
        .await;
        assert_eq!(applied.status, 200, "{}", applied.body);
        let mut whole = base.clone();
        for (name, value) in members(schema) {
            let mut changed = base.clone();
            changed[&name] = value.clone();
            text.push_str(&format!("\n# {name}: {value}\n"));
            if let Some(digest) = plan(&mut world, &manifest(&changed), &mut text).await {
                let body = json!({"manifest": manifest(&changed), "digest": digest});
                text.push_str(&summary(&mut world, &with_body("/plans/apply", &body)).await);
                // Those that exclude each other stay as they are, and no server has the logo.
                let excluded = [
                    "jwks_uri",
                    "certificate",
                    "public_key",
                    "tls_client_auth_subject_dn",
                    "tls_client_auth_san_dns",
                    "tls_client_auth_san_uri",
                    "tls_client_auth_san_ip",
                    "tls_client_auth_san_email",
                    "sector_identifier",
                    "logo_uri",
                    "enabled",
                ];
                if !excluded.contains(&name.as_str()) {
                    whole[&name] = value;
                }
            }
        }
        text.push_str("\n# All together\n");
        if let Some(digest) = plan(&mut world, &manifest(&whole), &mut text).await {
            let body = json!({"manifest": manifest(&whole), "digest": digest});
            text.push_str(&summary(&mut world, &with_body("/plans/apply", &body)).await);
            let applied = post(&mut world, "/plans/apply", &body).await;
            text.push_str(&format!("{} {}\n", applied.status, indented(&applied.body)));
        }
        let step = Step::new(Method::GET, &format!("/manifests/{owner}"));
        let export = world.execute(&step).await;
        text.push_str(&format!(
            "\n# Export\n{} {}\n",
            export.status,
            indented(&export.body)
        ));
        texts.insert(file.to_owned(), world.normalised(&text));
    }
    assert_snapshots("manifests", &texts);
}
