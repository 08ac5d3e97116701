//! The approval of a manifest shows the changed parts of members that are objects.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::protected_actions::owner;
use super::applied;
use super::approvals::{members_of, summary};
use crate::harness::TestHost;

/// The parts of the members of a service provider that are objects: each with its schema in the admin API, the place of
/// the part, a changed value, and the words of the summary.
fn changes_of_parts() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    vec![
        (
            "AcsChange",
            "/acs/0/url",
            json!("https://evil.example/acs"),
            "new: https://evil.example/acs (index 1)",
        ),
        (
            "AcsChange",
            "/acs/0/index",
            json!(7),
            "new: https://crm.example.org/acs (index 7)",
        ),
        (
            "AcsChange",
            "/acs/1/default",
            json!(true),
            "The default address for responses is https://crm.example.org/second",
        ),
        (
            "SingleLogoutChange",
            "/single_logout/url",
            json!("https://evil.example/slo"),
            "at https://evil.example/slo, https://crm.example.org/answer by HTTP-POST",
        ),
        (
            "SingleLogoutChange",
            "/single_logout/response_url",
            json!("https://evil.example/answer"),
            "at https://crm.example.org/slo, https://evil.example/answer by HTTP-POST",
        ),
        (
            "SingleLogoutChange",
            "/single_logout/binding",
            json!("redirect"),
            "at https://crm.example.org/slo, https://crm.example.org/answer by HTTP-Redirect",
        ),
        (
            "CustomAttributeChange",
            "/custom_attributes/0/name",
            json!("mail"),
            "It receives “staff” as “mail”",
        ),
        (
            "CustomAttributeChange",
            "/custom_attributes/0/values",
            json!(["boss@example.org"]),
            "It receives “boss@example.org” as “team”",
        ),
    ]
}

#[tokio::test]
async fn each_changed_part_of_a_service_provider_is_in_the_summary() {
    let table = changes_of_parts();
    for schema in ["AcsChange", "SingleLogoutChange", "CustomAttributeChange"] {
        let covered = table.iter().filter(|(of, ..)| *of == schema);
        let members = covered.filter_map(|(_, place, ..)| place.rsplit('/').next());
        let covered: BTreeSet<String> = members.map(str::to_owned).collect();
        assert_eq!(covered, members_of(schema), "{schema}");
    }
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let provider = json!({
        "key": "crm", "protocol": "saml", "name": "CRM", "entity_id": "https://crm.example.org",
        "acs": [{"url": "https://crm.example.org/acs", "index": 1, "default": false},
                {"url": "https://crm.example.org/second", "index": 2, "default": false}],
        "single_logout": {"url": "https://crm.example.org/slo", "response_url": "https://crm.example.org/answer",
                          "binding": "post"},
        "custom_attributes": [{"name": "team", "values": ["staff"]}],
    });
    let manifest = |provider: &Value| json!({"owner": "dev", "applications": [provider]});
    applied(&host, &manifest(&provider), false).await;
    for (_, place, value, words) in table {
        let mut changed = provider.clone();
        *changed.pointer_mut(place).expect("a part") = value;
        let shown = summary(&host, &console, &manifest(&changed), false).await;
        assert!(shown.contains(words), "{place}, {words}: {shown}");
    }
}
