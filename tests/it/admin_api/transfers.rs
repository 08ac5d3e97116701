//! Import and export of users and accounts as tables.

mod limits;
mod row_errors;
mod targets;

use assent_test_macros::both_databases;
use std::fmt::Write;

use assent::domain::operations::traffic::rate_limits::limit::ConcurrencyLimit;
use axum::body::Bytes;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Answer, Caller, console_caller, sent, service, users_of_support};
use crate::harness::{Database, Json, Respond, TestHost, Text, id, utf8};

/// Sends a table, and approves the import on the device if an approval is required.
pub(super) async fn import(caller: &Caller, path: &str, table: impl Into<Bytes>) -> Answer {
    let table = table.into();
    let answer = import_once(caller, path, table.clone(), None).await;
    let (Caller::Console { device, .. }, Some(action)) =
        (caller, answer.body.get("action_approval"))
    else {
        return answer;
    };
    let requests = device.pending_requests(5).await;
    let outcome = device
        .submit_decision(&requests[0], action["number"].as_str())
        .await;
    assert_eq!(outcome, "approved");
    import_once(caller, path, table, action["id"].as_str()).await
}

/// Sends a table, with the id of an approval if there is one.
pub(super) async fn import_once(
    caller: &Caller,
    path: &str,
    table: impl Into<Bytes>,
    approval: Option<&str>,
) -> Answer {
    let request = caller
        .request(Method::POST, path)
        .header("content-type", "text/csv; charset=utf-8");
    let request = request.body(table.into());
    sent(match approval {
        Some(approval) => request.header("x-assent-action-approval", approval),
        None => request,
    })
    .await
}

pub(super) async fn exported(caller: &Caller, path: &str) -> String {
    let response = caller.request(Method::GET, path).response().await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    assert!(
        response.headers()["content-type"]
            .text()
            .starts_with("text/csv; charset=utf-8")
    );
    assert!(
        response.headers()["content-disposition"]
            .text()
            .starts_with("attachment; filename=")
    );
    // `text` would remove the byte order mark.
    utf8(response.bytes().await.expect("a body").to_vec())
}

/// Returns the counts `created`, `changed`, `unchanged` and `refused`.
fn counts(report: &Value) -> [u64; 4] {
    ["created", "updated", "unchanged", "rejected"].map(|name| report[name].unsigned())
}

fn error(report: &Value) -> (u64, &str) {
    (
        report["errors"][0]["line"].unsigned(),
        report["errors"][0]["column"].as_str().unwrap_or("-"),
    )
}

async fn users(host: &TestHost) -> Vec<Value> {
    let mut list = host
        .admin_ok(Method::GET, "/users?limit=200", Value::Null)
        .await;
    list["items"]
        .as_array_mut()
        .map(std::mem::take)
        .expect("items")
}

#[both_databases]
async fn users_are_imported_from_spreadsheet_exports(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let table = "\u{feff}Name;email;display_name;phone_number;state\r\n\
                     ada;ada@example.org;\"Lovelace; Ada\";+44 20 7946;\r\n\
                     grace;;Grace Hopper;'+1 555;active\r\n;;;;\r\n";
    let dry = import(&caller, "/users/import?dry_run=true", table)
        .await
        .success();
    assert_eq!(
        (counts(&dry), &dry["dry_run"], &dry["rows"]),
        ([2, 0, 0, 0], &json!(true), &json!(2)),
        "{dry}"
    );
    assert_eq!(users(&host).await, Vec::<Value>::new(), "nothing was done");
    let done = import(&caller, "/users/import", table).await.success();
    assert_eq!(
        (counts(&done), &done["dry_run"]),
        ([2, 0, 0, 0], &json!(false)),
        "{database:?} {done}"
    );
    let mut known = users(&host).await;
    known.sort_by_key(|user| user["name"].as_str().map(str::to_owned));
    assert_eq!(
        (&known[0]["name"], &known[0]["state"]),
        (&json!("ada"), &json!("invited"))
    );
    assert_eq!(
        known[0]["profile"],
        json!({"name": "Lovelace; Ada", "phone_number": "+44 20 7946", "phone_number_verified": false,
            "email_verified": false})
    );
    assert_eq!(
        (&known[1]["email"], &known[1]["state"]),
        (&Value::Null, &json!("active"))
    );
    assert_eq!(known[1]["profile"]["phone_number"], "+1 555");
    let again = import(&caller, "/users/import", table).await.success();
    assert_eq!(counts(&again), [0, 0, 2, 0], "{database:?} {again}");

    // A missing column leaves the value, an empty cell removes it, and each change has its audit entry.
    let change = "name,email,display_name,state\nada,,Ada,suspended\n";
    let changed = import(&caller, "/users/import", change).await.success();
    assert_eq!(counts(&changed), [0, 1, 0, 0], "{changed}");
    let ada = host
        .admin_ok(
            Method::GET,
            &format!("/users/{}", id(&known[0])),
            Value::Null,
        )
        .await;
    assert_eq!(
        (&ada["email"], &ada["profile"]["name"], &ada["state"]),
        (&Value::Null, &json!("Ada"), &json!("suspended"))
    );
    assert_eq!(ada["profile"]["phone_number"], "+44 20 7946");
    let log = host
        .admin_ok(
            Method::GET,
            &format!("/audit?user={}", id(&ada)),
            Value::Null,
        )
        .await;
    let events: Vec<_> = log["items"]
        .items()
        .iter()
        .map(|entry| entry["event"].clone())
        .collect();
    assert_eq!(
        events,
        ["user.lifecycle-changed", "user.updated", "user.created"],
        "{database:?}"
    );
    assert_eq!(
        log["items"][1]["personal"]["after"],
        json!({"name": "Ada", "email": null})
    );
    let verified = host
        .admin_ok(Method::GET, "/audit/verification", Value::Null)
        .await;
    assert_eq!(verified["valid"], true, "{verified}");
    let found = host
        .admin_ok(Method::GET, "/users?q=hopper", Value::Null)
        .await;
    assert_eq!(found["items"][0]["name"], "grace");
    // A row that identifies a user by the id can change the name.
    let renamed = format!("id,name\n{},countess\n", id(&ada));
    assert_eq!(
        counts(&import(&caller, "/users/import", renamed).await.success()),
        [0, 1, 0, 0]
    );
    assert_eq!(
        host.admin_ok(Method::GET, "/users?q=countess", Value::Null)
            .await["items"][0]["id"],
        ada["id"]
    );
}

#[tokio::test]
async fn postal_addresses_have_columns_of_their_own() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let table = "name,street_address,locality,postal_code,country,formatted_address\n\
                 ada,\"12 St James's Square\n2nd floor\",London,SW1Y 4JH,UK,\n\
                 grace,,,,,\"1 Main Street\nArlington\"\n";
    let done = import(&caller, "/users/import", table).await.success();
    assert_eq!(counts(&done), [2, 0, 0, 0], "{done}");
    let mut known = users(&host).await;
    known.sort_by_key(|user| user["name"].as_str().map(str::to_owned));
    let ada = json!({
        "street_address": "12 St James's Square\n2nd floor", "locality": "London", "postal_code": "SW1Y 4JH",
            "country": "UK",
    });
    assert_eq!(known[0]["profile"]["address"], ada);
    assert_eq!(
        known[1]["profile"]["address"],
        json!({"formatted": "1 Main Street\nArlington"})
    );
    let exported = exported(&caller, "/users/export").await;
    assert!(
        exported.contains(",\"12 St James's Square\n2nd floor\",London,,SW1Y 4JH,UK,"),
        "{exported}"
    );
    assert_eq!(
        counts(&import(&caller, "/users/import", exported).await.success()),
        [0, 0, 2, 0]
    );
    // A missing column leaves the value, and an empty cell removes it.
    let change = "name,locality,country\nada,Marylebone,\n";
    assert_eq!(
        counts(&import(&caller, "/users/import", change).await.success()),
        [0, 1, 0, 0]
    );
    let ada = host
        .admin_ok(
            Method::GET,
            &format!("/users/{}", id(&known[0])),
            Value::Null,
        )
        .await;
    let address = &ada["profile"]["address"];
    assert_eq!(
        (&address["locality"], &address["postal_code"]),
        (&json!("Marylebone"), &json!("SW1Y 4JH"))
    );
    assert!(address.get("country").is_none(), "{address}");
}

/// Starts an instance with users and accounts whose texts spreadsheets would read as formulas. One user is erased.
async fn with_spreadsheet_formulas(database: Database) -> (TestHost, Caller, String) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let application = host.web_application().await;
    for (name, profile) in [
        (
            "ada",
            json!({"name": "=HYPERLINK(\"http://evil.example\")", "phone_number": "+44 20", "email_verified": true}),
        ),
        (
            "grace",
            json!({"name": "'-\"x\", Hopper", "nickname": "@ ;=1+1;'\"-2 é", "website": "https://example.org/?a=1;b"}),
        ),
        ("alan", json!({})),
        ("gone", json!({"name": "Gone"})),
    ] {
        let body =
            json!({"name": name, "email": format!("{name}@example.org"), "profile": profile});
        let user = host.admin_ok(Method::POST, "/users", body).await;
        let roles = json!(["reader", "demo admin", "a;b"]);
        let account = json!({"user_id": id(&user), "name": format!("={name}"), "roles": if name == "ada" {
            roles } else { json!(["x", "y"]) }});
        host.admin_ok(
            Method::POST,
            &format!("/applications/{}/accounts", application.id),
            account,
        )
        .await;
        let path = format!("/users/{}", id(&user));
        if name == "grace" {
            host.admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
                .await;
            for group in ["Sales Team", "=ops"] {
                let group = host
                    .admin_ok(Method::POST, "/groups", json!({"name": group}))
                    .await;
                let members = format!("/groups/{}/members", id(&group));
                let body = json!({"users": [id(&user)]});
                host.admin_ok(Method::POST, &members, body).await;
            }
        }
        if name == "gone" {
            host.erase_user(&path).await;
        }
    }
    let accounts = format!("/applications/{}/accounts", application.id);
    (host, caller, accounts)
}

#[both_databases]
async fn an_export_is_imported_without_changes(database: Database) {
    let (host, caller, accounts) = with_spreadsheet_formulas(database).await;
    for (list, path) in [
        ("/users".to_owned(), "/users"),
        (format!("{accounts}?state=active"), accounts.as_str()),
    ] {
        let before = host.admin_ok(Method::GET, &list, Value::Null).await;
        let table = exported(&caller, &format!("{path}/export")).await;
        assert!(
            table.starts_with("\u{feff}") && table.contains("\r\n"),
            "{table}"
        );
        for line in table.trim_start_matches('\u{feff}').lines() {
            assert!(
                !line.split(',').any(|cell| cell
                    .trim_start_matches('"')
                    .starts_with(['=', '+', '-', '@'])),
                "{line}"
            );
        }
        // An auditor may export but not import. An import of the export changes nothing.
        let report = import(&caller, &format!("{path}/import"), table)
            .await
            .success();
        assert_eq!(counts(&report), [0, 0, 4, 0], "{database:?} {report}");
        assert_eq!(
            host.admin_ok(Method::GET, &list, Value::Null).await,
            before,
            "{database:?}"
        );
    }
}

#[both_databases]
async fn exports_are_filtered_and_audited_without_the_search_text(database: Database) {
    let (host, caller, accounts) = with_spreadsheet_formulas(database).await;
    let some = exported(&caller, "/users/export?q=hopper").await;
    assert_eq!(some.lines().count(), 2, "{some}");
    let none = exported(&caller, "/users/export?state=suspended").await;
    assert_eq!(none.lines().count(), 1, "{none}");
    assert_eq!(
        exported(&caller, "/users/export?role=owner")
            .await
            .lines()
            .count(),
        2
    );
    assert_eq!(
        exported(&caller, &format!("{accounts}/export?q=ada"))
            .await
            .lines()
            .count(),
        2
    );
    let returned = host
        .admin_ok(Method::GET, "/audit?event=users.exported", Value::Null)
        .await;
    // The entry does not contain the search text. It may be a name, and an erasure would not find it there.
    assert_eq!(
        returned["items"][2]["detail"]["searched"], true,
        "{returned}"
    );
    assert_eq!(
        returned["items"][0]["detail"],
        json!({"role": "owner", "searched": false, "state": null}),
        "{returned}"
    );
    let accounts = host
        .admin_ok(Method::GET, "/audit?event=accounts.exported", Value::Null)
        .await;
    assert_eq!(
        accounts["items"][0]["detail"]["searched"], true,
        "{accounts}"
    );
    let log = host
        .admin_ok(Method::GET, "/audit?limit=200", Value::Null)
        .await["items"]
        .take();
    for entry in log.items() {
        let is_export = entry["event"].text().ends_with(".exported");
        assert!(
            !is_export || !entry.to_string().contains("hopper"),
            "{entry}"
        );
    }
}

#[tokio::test]
async fn an_import_with_an_invalid_row_changes_nothing() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let bob = host.user("bob").await;
    let owner = console_caller(&host, "olga", "owner").await;
    drop(owner);
    let before = users(&host).await;
    let good = "new,new@example.org,,,,";
    for (row, expected) in [
        (",x@example.org,,,,", (3, "name")),
        ("a b,,,,,", (3, "name")),
        ("bob@example.org,,,,,", (3, "name")),
        ("other,bob@example.org,,,,", (3, "email")),
        ("other,new@example.org,,,,", (3, "email")),
        ("new,,,,,", (3, "name")),
        ("other,nonsense,,,,", (3, "email")),
        ("other,,terminated,,,", (3, "state")),
        ("bob,,terminated,,,", (3, "state")),
        ("bob,,gone,,,", (3, "state")),
        ("bob,,,owner,,", (3, "console_role")),
        ("olga,,,,,", (3, "console_role")),
        ("other,,,admin,,", (3, "console_role")),
        ("bob,,,,maybe,", (3, "email_verified")),
        ("bob,,,,,staff", (3, "groups")),
        ("other,,,,,[1]", (3, "groups")),
    ] {
        let table = format!("name,email,state,console_role,email_verified,groups\n{good}\n{row}\n");
        for dry_run in [true, false] {
            let answer = import(
                &caller,
                &format!("/users/import?dry_run={dry_run}"),
                table.clone(),
            )
            .await
            .success();
            assert_eq!(
                (error(&answer), counts(&answer)),
                (expected, [0, 0, 0, 1]),
                "{row}: {answer}"
            );
        }
    }
    assert_eq!(users(&host).await, before);
    assert_eq!(
        host.admin_ok(Method::GET, &format!("/users/{}", id(&bob)), Value::Null)
            .await,
        bob
    );
}

#[tokio::test]
async fn unreadable_and_oversized_tables_are_rejected() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    for (table, status) in [
        ("", StatusCode::BAD_REQUEST),
        ("nonsense\nx\n", StatusCode::BAD_REQUEST),
        ("name,subject\nx,y\n", StatusCode::BAD_REQUEST),
        ("name,name\nx,y\n", StatusCode::BAD_REQUEST),
        ("name\na\0b\n", StatusCode::BAD_REQUEST),
        ("name,email\nx\n", StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        assert_eq!(
            import(&caller, "/users/import", table).await.status,
            status,
            "{table:?}"
        );
    }
    let json = caller
        .call(Method::POST, "/users/import", json!({"name": "x"}))
        .await;
    assert_eq!(
        (json.status, json.problem()),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type")
    );
    let mut many = String::from("name,state\n");
    for number in 0..150 {
        writeln!(many, "bob{number},gone").expect("written");
    }
    let report = import(&caller, "/users/import", many.clone())
        .await
        .success();
    assert_eq!(
        (
            counts(&report)[3],
            report["errors"].as_array().map(Vec::len)
        ),
        (150, Some(100))
    );
    // The number of rows is limited too.
    let answer = import(
        &caller,
        "/users/import?dry_run=true",
        format!("id\n{}", "x\n".repeat(50_001)),
    )
    .await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
        "{}",
        answer.body
    );
    assert!(
        answer.body["detail"].text().contains("50000 rows"),
        "{}",
        answer.body
    );
}

/// Sends a table that needs approval. Returns the action approval.
async fn requested_import(console: &Caller, path: &str, table: &'static str) -> Value {
    let answer = import_once(console, path, table, None).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    assert_eq!(answer.problem(), "approval-required");
    answer.body["action_approval"].clone()
}

async fn approve_import(administrator: &Administrator, action: &Value) {
    let requests = administrator.device.pending_requests(5).await;
    assert_eq!(requests[0].action.as_deref(), action["summary"].as_str());
    let outcome = administrator
        .device
        .submit_decision(&requests[0], action["number"].as_str())
        .await;
    assert_eq!(outcome, "approved");
}

/// One approval for fifty thousand users is a more attractive target than one for each.
#[both_databases]
async fn an_import_runs_after_approval_exactly_as_summarized(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    let bob = host.user("bob").await;
    let before = users(&host).await;
    // An import without changes needs no approval.
    let (path, table) = (
        "/users/import",
        "name,email,nickname\nbob,mine@example.org,B\neve,eve@example.org,\n",
    );
    for (path, table) in [
        ("/users/import?dry_run=true", table),
        (path, "name,email\nbob,bob@example.org\n"),
        (path, "name,email\neve,\nbob,nonsense\n"),
    ] {
        import_once(&console, path, table, None).await.success();
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
    let again = import_once(
        &console,
        &format!("{path}?dry_run=true&dry_run=false"),
        table,
        None,
    )
    .await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST, "{}", again.body);

    let action = requested_import(&console, path, table).await;
    assert_eq!(
        action["summary"],
        "Import 2 users: 1 new, 1 updated, 1 with another email address"
    );
    // Other callers may import meanwhile.
    import(&Caller::machine(&host), "/users/import?dry_run=true", table)
        .await
        .success();
    approve_import(&grace, &action).await;
    let named = action["id"].as_str();
    for (path, table) in [
        (
            path,
            "name,email,nickname\nbob,mine@example.org,B\neva,eva@example.org,\n",
        ),
        (
            "/users/import",
            "name,email,nickname\neve,eve@example.org,\n",
        ),
    ] {
        let other = import_once(&console, path, table, named).await;
        assert_eq!(
            (other.status, other.problem()),
            (StatusCode::FORBIDDEN, "forbidden"),
            "{}",
            other.body
        );
    }
    assert_eq!(users(&host).await, before, "{database:?}: nothing was done");
    let done = import_once(&console, path, table, named).await.success();
    assert_eq!(counts(&done), [1, 1, 0, 0], "{database:?} {done}");
    let returned = host
        .admin_ok(
            Method::GET,
            "/audit?event=user.created&limit=1",
            Value::Null,
        )
        .await;
    assert_eq!(
        returned["items"][0]["personal"]["after"]["login_name"], "eve",
        "{returned}"
    );
    assert!(
        returned["items"][0]["approval_id"].is_string(),
        "{returned}"
    );

    assert_eq!(
        host.admin_ok(Method::GET, &format!("/users/{}", id(&bob)), Value::Null)
            .await["email"],
        "mine@example.org"
    );
}

/// A user with the address of another one as the name, or as a confirmed address, could act as that one.
#[both_databases]
async fn an_import_counts_names_that_are_other_addresses_and_confirmed_addresses(
    database: Database,
) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    let table =
        "name,email\nceo@corp.example,mallory@corp.example\neve@corp.example,eve@corp.example\n";
    let action = requested_import(&console, "/users/import", table).await;
    assert_eq!(
        action["summary"],
        "Import 2 users: 2 new, 0 updated, 1 with a name that is an address but not the user’s email address",
        "{database:?}"
    );
    let ghost = json!({"name": "ghost", "email": "ceo@corp.example"});
    users_of_support(&host, &[ghost]).await;
    let table = "name,email_verified\nghost,true\n";
    let action = requested_import(&console, "/users/import", table).await;
    assert_eq!(
        action["summary"],
        "Import 1 user: 0 new, 1 updated, 1 whose email address is confirmed"
    );
}

/// The approved summary no longer describes the import.
#[both_databases]
async fn an_import_whose_effect_changed_after_its_approval_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    let path = "/users/import";
    let late = requested_import(&console, path, "name\nmallory\n").await;
    assert_eq!(late["summary"], "Import 1 user: 1 new, 0 updated");
    approve_import(&grace, &late).await;
    let body = json!({"name": "mallory", "profile": {"nickname": "M"}});
    host.admin_ok(Method::POST, "/users", body).await;
    let changed = requested_import(&console, path, "name,nickname\nmallory,X\n").await;
    host.admin_ok(
        Method::DELETE,
        &format!(
            "/users/{}",
            id(&host
                .admin_ok(Method::GET, "/users?q=mallory", Value::Null)
                .await["items"][0])
        ),
        Value::Null,
    )
    .await;
    approve_import(&grace, &changed).await;
    let refused = import_once(
        &console,
        path,
        "name,nickname\nmallory,X\n",
        changed["id"].as_str(),
    )
    .await;
    assert_eq!(
        (refused.status, refused.problem()),
        (StatusCode::FORBIDDEN, "forbidden"),
        "{}",
        refused.body
    );
}

#[both_databases]
async fn an_import_of_accounts_needs_approval(database: Database) {
    let host = TestHost::start_on(database).await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let console = grace.signed_in(&host).await;
    host.user("bob").await;
    let application = host.web_application().await;
    let path = format!("/applications/{}/accounts/import", application.id);
    let action = requested_import(&console, &path, "user,roles\nbob,root\n").await;
    let words = action["summary"].text();
    assert!(
        words.starts_with("Import 1 account of the application "),
        "{words}"
    );
    assert!(words.ends_with(": 1 new, 0 updated"), "{words}");
    assert_eq!(
        counts(
            &import(&console, &path, "user,roles\nbob,root\n")
                .await
                .success()
        ),
        [1, 0, 0, 0]
    );
}

/// Starts a request whose table is incomplete. Returns the request, and the sender for the rest of the table.
fn started(
    caller: &Caller,
    key: Option<&str>,
) -> (
    tokio::task::JoinHandle<Answer>,
    tokio::sync::mpsc::UnboundedSender<Result<&'static str, std::io::Error>>,
) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let table =
        futures_util::stream::unfold(receiver, async |mut more| Some((more.recv().await?, more)));
    let request = caller
        .request(Method::POST, "/users/import")
        .header("content-type", "text/csv");
    let request = if let Some(key) = key {
        request.header("idempotency-key", key)
    } else {
        request
    };
    let answer = tokio::spawn(sent(request.body(reqwest::Body::wrap_stream(table))));
    sender.send(Ok("name\n")).expect("sent");
    (answer, sender)
}

/// Waits until `count` imports hold the limit. A check over the network could itself be the first holder.
pub(super) async fn wait_for_locks(held: &ConcurrencyLimit<()>, count: usize) {
    while !format!("{held:?}").contains(&format!("{{(): {count}}}")) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn imports_run_one_at_a_time() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let accounts = format!(
        "/applications/{}/accounts/import",
        host.web_application().await.id
    );
    let many = (0..3000).fold(String::from("name\n"), |mut table, number| {
        writeln!(table, "person{number}").expect("written");
        table
    });
    for key in [None, Some("key")] {
        // The first import runs for a while.
        let request = caller
            .request(Method::POST, "/users/import?dry_run=true")
            .header("content-type", "text/csv");
        let request = if let Some(key) = key {
            request.header("idempotency-key", key)
        } else {
            request
        };
        let first = tokio::spawn(sent(request.body(many.clone())));
        wait_for_locks(&host.host.rate_limits.import, 1).await;
        let second = import(&caller, "/users/import?dry_run=true", "name\nbob\n").await;
        assert_eq!(
            (second.status, second.problem()),
            (StatusCode::TOO_MANY_REQUESTS, "too-many-requests")
        );
        assert_eq!(
            counts(&first.await.expect("an answer").success()),
            [3000, 0, 0, 0]
        );
        // The limit applies for as long as an import runs.
        let held = host
            .host
            .rate_limits
            .import
            .hold(())
            .expect("no import runs");
        for path in ["/users/import?dry_run=true", "/users/import", &accounts] {
            let second = import(&caller, path, "name\nbob\n").await;
            assert_eq!(
                (second.status, second.problem()),
                (StatusCode::TOO_MANY_REQUESTS, "too-many-requests")
            );
        }
        drop(held);
        let (first, rest) = started(&caller, key.map(|_| "other-key"));
        rest.send(Ok(if key.is_none() {
            "ada\ngrace\n"
        } else {
            "eve\n"
        }))
        .expect("sent");
        drop(rest);
        let created = counts(&first.await.expect("an answer").success());
        assert_eq!(
            created,
            if key.is_none() {
                [2, 0, 0, 0]
            } else {
                [1, 0, 0, 0]
            }
        );
        import(&caller, "/users/import?dry_run=true", "name\nbob\n")
            .await
            .success();
    }
    // Each user has an identifier of their own.
    let dids: std::collections::HashSet<_> = users(&host)
        .await
        .iter()
        .map(|user| user["did"].to_string())
        .collect();
    assert_eq!(dids.len(), 3);
    assert!(
        dids.iter().all(|did| did.starts_with("\"did:key:z6Mk")),
        "{dids:?}"
    );
}
