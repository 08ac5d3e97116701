//! The errors of an import: all of each row, and one entry in the audit log for the whole table.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::Caller;
use super::import;
use crate::harness::{Database, Json, TestHost, Text, id};

/// Returns line, column and detail of each error.
fn errors(report: &Value) -> Vec<(u64, &str, &str)> {
    let errors = report["errors"].items();
    errors
        .iter()
        .map(|error| {
            let line = error["line"].as_u64().expect("a line");
            let column = error["column"].as_str().unwrap_or("-");
            (line, column, error["detail"].text())
        })
        .collect()
}

fn columns(report: &Value) -> Vec<(u64, &str)> {
    let errors = errors(report);
    errors
        .into_iter()
        .map(|(line, column, _)| (line, column))
        .collect()
}

#[both_databases]
async fn each_wrong_cell_of_a_row_is_reported(database: Database) {
    let host = TestHost::start_on(database).await;
    let machine = Caller::machine(&host);
    let known = host.user("taken").await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&known)),
        json!({"email": "taken@example.org"}),
    )
    .await;
    let table = "name,email,locale,state,email_verified,groups\n\
                 two words,not an address,nonsense!,lost,perhaps,staff\n\
                 fine,taken@example.org,nonsense!,,,\n\
                 ,a@example.org,,lost,,\n\
                 fine2,b@example.org,,,,\n\
                 fine2,b@example.org,,,,\n\
                 taken,,,terminated,,\n";
    let answer = import(&machine, "/users/import?dry_run=true", table).await;
    let report = answer.success();
    let mut found = columns(&report);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            (2, "email"),
            (2, "email_verified"),
            (2, "groups"),
            (2, "locale"),
            (2, "name"),
            (2, "state"),
            (3, "email"),
            (3, "locale"),
            (4, "name"),
            (4, "state"),
            (6, "email"),
            (6, "name"),
            (7, "state"),
        ],
        "{database:?}: {report}"
    );
    assert_eq!(
        (&report["rows"], &report["rejected"]),
        (&json!(6), &json!(5))
    );
    assert_eq!(
        (&report["created"], &report["updated"]),
        (&json!(0), &json!(0))
    );
}

#[tokio::test]
async fn each_wrong_cell_of_an_accounts_row_is_reported() {
    let host = TestHost::start().await;
    let machine = Caller::machine(&host);
    let application = host.web_application().await;
    let ada = host.user("ada").await;
    host.account(&ada, &application).await;
    host.user("bob").await;
    let path = format!(
        "/applications/{}/accounts/import?dry_run=true",
        application.id
    );
    let table = "user,name,roles,state\n\
                 unknown,x,\"[1]\",lost\n\
                 bob,ada,,terminated\n";
    let report = import(&machine, &path, table).await.success();
    let mut found = columns(&report);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            (2, "roles"),
            (2, "state"),
            (2, "user"),
            (3, "name"),
            (3, "state")
        ],
        "{report}"
    );
    assert_eq!(report["rejected"], 2, "rows, and not errors");
}

#[tokio::test]
async fn a_wrong_first_line_names_the_wrong_columns() {
    let host = TestHost::start().await;
    let machine = Caller::machine(&host);
    let answer = import(
        &machine,
        "/users/import",
        "name,e-mail,colour\nada,a@b.example,red\n",
    )
    .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        answer.body["detail"],
        "the first line names the columns, and these are unknown: \"e-mail\" (email?), \"colour\"; an export has all \
         columns"
    );
}

/// The filter of the audit log finds the import, and not only each user.
#[both_databases]
async fn an_import_has_an_entry_of_its_own(database: Database) {
    let host = TestHost::start_on(database).await;
    let machine = Caller::machine(&host);
    let application = host.web_application().await;
    let users = "name\nada\nbob\n";
    import(&machine, "/users/import?dry_run=true", users)
        .await
        .success();
    import(&machine, "/users/import", users).await.success();
    // Nothing is left to do.
    import(&machine, "/users/import", users).await.success();
    let path = format!("/applications/{}/accounts/import", application.id);
    import(&machine, &path, "user\nada\n").await.success();
    for (event, rows, created) in [("users.imported", 2, 2), ("accounts.imported", 1, 1)] {
        let path = format!("/audit?event={event}");
        let found = host.admin_ok(Method::GET, &path, Value::Null).await;
        let found = found["items"].items();
        assert_eq!(found.len(), 1, "{database:?} {event}: {found:?}");
        let detail = &found[0]["detail"];
        assert_eq!(
            (&detail["rows"], &detail["created"], &detail["updated"]),
            (&json!(rows), &json!(created), &json!(0)),
            "{database:?} {event}"
        );
    }
}
