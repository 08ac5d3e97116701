//! The recipe by which an application was connected, which the console's guide needs later.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::console_caller;
use crate::harness::{Database, Json, TestHost, Text, id};

#[both_databases]
async fn the_recipe_stays_with_the_application(database: Database) {
    let host = TestHost::start_on(database).await;
    let console = console_caller(&host, "ada", "admin").await;
    let client = json!({"name": "Grafana", "application_type": "web", "recipe": "grafana",
        "redirect_uris": ["https://grafana.example.org/login/generic_oauth"]});
    let provider = json!({"protocol": "saml", "name": "Zabbix", "recipe": "zabbix",
        "entity_id": "https://zabbix.example.org",
        "acs": [{"url": "https://zabbix.example.org/index_sso.php?acs"}]});
    for (body, recipe) in [(client, "grafana"), (provider, "zabbix")] {
        let created = host.admin_ok(Method::POST, "/applications", body).await;
        assert_eq!(created["recipe"], recipe, "{database:?}");
        let path = format!("/applications/{}", id(&created));
        let read = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(read["recipe"], recipe);
        // The choice gives access to no other party, so it needs no approval.
        for (value, expected) in [
            (json!("gitea"), json!("gitea")),
            (Value::Null, Value::Null),
            (json!(recipe), json!(recipe)),
        ] {
            let change = json!({"recipe": value});
            let changed = console.call_once(Method::PATCH, &path, &change, None).await;
            assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
            assert_eq!(changed.body["recipe"], expected, "{database:?}");
        }
        for wrong in ["", "Grafana", "../x", "a b", &"x".repeat(51)] {
            let change = json!({"recipe": wrong});
            let answer = console.call_once(Method::PATCH, &path, &change, None).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong:?}");
            assert_eq!(answer.body["errors"][0]["pointer"].text(), "/recipe");
        }
    }
    let listed = host
        .admin_ok(Method::GET, "/applications", Value::Null)
        .await;
    let recipes: Vec<&str> = listed["items"]
        .items()
        .iter()
        .filter_map(|application| application["recipe"].as_str())
        .collect();
    // Applications of the same millisecond have a random order.
    assert!(
        recipes.contains(&"grafana") && recipes.contains(&"zabbix"),
        "{recipes:?}"
    );
}
