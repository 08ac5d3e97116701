//! The targets of a table: the users and accounts that its rows named at the time of the approval.

use super::*;
use assent_test_macros::both_databases;

/// A row identifies a user by a name or an address. If another user got it since the approval, the import skips the
/// row. The device showed the number of accounts that the table creates, and the approval is for these accounts.
#[both_databases]
async fn an_approved_table_is_not_imported_for_a_user_who_got_the_name_later(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    let application = host.web_application().await;
    let (bob, mallory) = (host.user("bob").await, host.user("mallory").await);
    let address = async |user: &Value, email: &str| {
        let path = format!("/users/{}", id(user));
        host.admin_ok(Method::PATCH, &path, json!({"email": email}))
            .await;
    };
    address(&bob, "lead@example.org").await;
    let accounts = format!("/applications/{}/accounts", application.id);
    let (path, table) = (
        format!("{accounts}/import"),
        "user,roles\nlead@example.org,root\n",
    );
    let approved = async || {
        let action = requested_import(&console, &path, table).await;
        approve_import(&grace, &action).await;
        action
    };
    let action = approved().await;
    address(&bob, "").await;
    address(&mallory, "lead@example.org").await;
    let late = import_once(&console, &path, table, action["id"].as_str()).await;
    assert_eq!(
        (late.status, late.problem()),
        (StatusCode::FORBIDDEN, "forbidden"),
        "{database:?}: {}",
        late.body
    );
    let made = host.admin_ok(Method::GET, &accounts, Value::Null).await;
    assert_eq!(made["items"], json!([]), "{database:?}");

    host.advance(60);
    let action = approved().await;
    let done = import_once(&console, &path, table, action["id"].as_str()).await;
    assert_eq!(counts(&done.success()), [1, 0, 0, 0], "{database:?}");
    let made = host.admin_ok(Method::GET, &accounts, Value::Null).await;
    assert_eq!(made["items"][0]["user_id"], mallory["id"], "{database:?}");
}

/// The same rule applies to a table of users, whose rows identify a user by the name.
#[tokio::test]
async fn an_approved_table_of_users_does_not_apply_to_later_users_of_the_names() {
    let host = TestHost::start().await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    let (bob, mallory) = (host.user("bob").await, host.user("mallory").await);
    let (path, table) = ("/users/import", "name,nickname\nbob,Boss\n");
    let action = requested_import(&console, path, table).await;
    approve_import(&grace, &action).await;
    for (user, name) in [(&bob, "robert"), (&mallory, "bob")] {
        let path = format!("/users/{}", id(user));
        host.admin_ok(Method::PATCH, &path, json!({"name": name}))
            .await;
    }
    let late = import_once(&console, path, table, action["id"].as_str()).await;
    assert_eq!(
        (late.status, late.problem()),
        (StatusCode::FORBIDDEN, "forbidden"),
        "{}",
        late.body
    );
    let path = format!("/users/{}", id(&mallory));
    let mallory = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(mallory["profile"]["nickname"], Value::Null);
}
