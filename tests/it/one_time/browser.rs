//! Links in Chromium.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Json, TestHost, id};
use crate::javascript::run_with;

/// Each part of the script has a user and a link of its own.
const PARTS: [&str; 6] = ["lost", "every", "unstored", "closed", "damaged", "scanned"];

#[tokio::test]
async fn a_link_is_used_only_when_its_key_is_safe_in_chromium() {
    let host = TestHost::start().await;
    let (mut users, mut links) = (Vec::new(), serde_json::Map::new());
    for part in PARTS {
        let user = host.user(part).await;
        links.insert(part.to_owned(), json!(host.enrolment_link(&user).await));
        users.push(user);
    }
    let links = Value::Object(links).to_string();
    let variables = [("BASE_URL", host.base.as_str()), ("LINKS", &links)];
    run_with(&host, "one_time.mjs", &variables).await;
    for user in users {
        let path = format!("/users/{}/devices", id(&user));
        let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(listed["items"].items().len(), 1, "{user}");
    }
}
