//! Import of members from tables, with errors by line, and export of members.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::transfers::{exported, import, import_once};
use super::super::{Administrator, service};
use super::group;
use crate::harness::{Database, TestHost, id};
use crate::lifecycle::entries;

#[both_databases]
async fn an_import_adds_members_or_names_the_invalid_lines(database: Database) {
    let host = TestHost::start_on(database).await;
    let service = service(&host, &["admin:users"]).await;
    let (ada, _) = (host.user("ada").await, host.user("bob").await);
    host.user("eve").await;
    let staff = group(&host, "Staff", &[&ada]).await;
    let path = format!("/groups/{}/members/import", id(&staff));
    let wrong = import(&service, &path, "user\nbob\nnobody\nbob\n\n")
        .await
        .success();
    assert_eq!(
        (&wrong["rejected"], &wrong["created"]),
        (&json!(2), &json!(0)),
        "{database:?}"
    );
    let lines: Vec<&Value> = wrong["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| &error["line"])
        .collect();
    assert_eq!(lines, [&json!(3), &json!(4)]);
    let members = format!("/groups/{}/members", id(&staff));
    let names = async || {
        let list = host.admin_ok(Method::GET, &members, Value::Null).await;
        list["items"].as_array().expect("members").len()
    };
    assert_eq!(names().await, 1, "nothing was imported");
    let table = "user;email\nADA;\nbob;x\neve;\n";
    let checked = import(&service, &format!("{path}?dry_run=true"), table)
        .await
        .success();
    assert_eq!(
        (&checked["created"], &checked["unchanged"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(names().await, 1, "only checked");
    let done = import(&service, &path, table).await.success();
    assert_eq!(done["created"], 2);
    assert_eq!(names().await, 3);
    let text = exported(&service, &format!("{members}/export")).await;
    assert!(
        text.starts_with("\u{feff}user,email,display_name\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\r\nada,ada@example.org,Ada Lovelace\r\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 4);
    assert_eq!(
        entries(&host, "event=group.members-exported").await.len(),
        1
    );
}

/// In the console, an import of members needs approval. Its dry run does not.
#[tokio::test]
async fn an_import_is_protected() {
    let host = TestHost::start().await;
    let owner = Administrator::new(&host, "grace", "owner").await;
    let console = owner.signed_in(&host).await;
    host.user("bob").await;
    let staff = group(&host, "Staff", &[]).await;
    let path = format!("/groups/{}/members/import", id(&staff));
    let checked = import_once(
        &console,
        &format!("{path}?dry_run=true"),
        "user\nbob\n",
        None,
    )
    .await;
    assert_eq!(checked.status, StatusCode::OK, "{}", checked.body);
    let asked = import_once(&console, &path, "user\nbob\n", None).await;
    assert_eq!(asked.problem(), "approval-required");
    assert_eq!(
        asked.body["action_approval"]["summary"],
        "Change the members of the group “Staff”: 1 added, 0 removed"
    );
}
