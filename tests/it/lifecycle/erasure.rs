//! Erasure of a user's personal data.

use assent_model::clock::Clock;
use assent_model::entropy::SystemEntropy;
use assent_model::id::TraceId;
use assent_store::ClaimTrace;
use assent_store::sql::{self, Row};
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::entries;
use crate::channels::wait_until;
use crate::harness::{Browser, Database, Parsed, TestHost, id, read_bytes};

/// Returns the whole content of the database as text.
pub async fn database_dump(host: &TestHost, database: Database) -> String {
    let mut connection = host.connection().await;
    let mut text = String::new();
    for table in [
        "users",
        "login_names",
        "user_search",
        "accounts",
        "account_search",
        "devices",
        "enrolments",
        "recovery_codes",
        "passkeys",
        "passkey_ceremonies",
        "logins",
        "approvals",
        "action_approvals",
        "backchannel_requests",
        "backchannel_choices",
        "caller_checks",
        "device_authorizations",
        "receipts",
        "sessions",
        "consents",
        "external_authenticators",
        "approval_cooldowns",
        "approval_subjects",
        "repeated_requests",
        "claim_traces",
        "audit_entries",
        "session_applications",
        "logout_clients",
        "saml_participants",
        "saml_logout_requests",
        "token_families",
    ] {
        // Each column as text, whatever its type.
        let columns = match database {
            Database::Sqlite => format!("SELECT name FROM pragma_table_info('{table}')"),
            Database::Postgres => {
                format!(
                    "SELECT column_name::text FROM information_schema.columns WHERE table_name = '{table}'"
                )
            }
        };
        let columns: Vec<(String,)> = sql::query_as(columns)
            .fetch_all(&mut connection)
            .await
            .expect("columns");
        let as_text = |name: &str| match (name, database) {
            ("term", Database::Postgres) => "convert_from(term, 'UTF8')".to_owned(),
            _ => format!("CAST({name} AS TEXT)"),
        };
        let columns: Vec<String> = columns
            .into_iter()
            .map(|(name,)| format!("{} AS {name}", as_text(&name)))
            .collect();
        let rows = sql::query_as::<Row>(format!("SELECT {} FROM {table}", columns.join(", ")));
        for row in rows.fetch_all(&mut connection).await.expect("rows") {
            for value in row.into_values() {
                if let sql::Value::Text(value) = value {
                    text.push_str(&value);
                }
                text.push('\n');
            }
        }
    }
    text
}

#[both_databases]
async fn erasure_of_a_terminated_user_keeps_identifiers_and_audit_log(database: Database) {
    let host = TestHost::start_on(database).await;
    // No identifier contains this name by chance.
    let ada = host
        .user_with_account("augusta", host.web_application().await)
        .await;
    let path = format!("/users/{}", id(&ada.user));
    let address =
        json!({"profile": {"address": {"street_address": "Ockham Park", "locality": "Ockham"}}});
    host.admin_ok(Method::PATCH, &path, address).await;
    ada.sign_in(&Browser::new(&host.base)).await;
    for _ in 0..2 {
        ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        let request = &ada.device.pending_requests(5).await[0];
        ada.device.deny(request).await;
    }
    // During the following cooldown, the request reaches no device and contains only the name.
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{}", id(&ada.account)),
        json!({"roles": ["augusta's"]}),
    )
    .await;
    let (status, refused) = host
        .admin(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        refused["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("only a terminated user")),
        "{refused}"
    );
    host.admin_ok(Method::PATCH, &path, json!({"state": "terminated"}))
        .await;
    let names = [
        "augusta",
        "lovelace",
        "example.org",
        "+44 20",
        "ockham park",
        "test phone",
        "127.0.0.1",
        "firefox",
    ];
    let before = database_dump(&host, database).await.to_lowercase();
    assert!(names.iter().all(|name| before.contains(name)), "{before}");
    let returned = entries(&host, &format!("user={}", id(&ada.user))).await;

    host.advance(1);
    let erased = host
        .admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    // Claim traces are stored slightly later than the tokens that they describe.
    let late = ClaimTrace {
        id: TraceId::new(host.clock.now(), &SystemEntropy),
        token: "late".to_owned(),
        user_id: id(&ada.user).parsed(),
        application: ada.application.id.parsed(),
        sink: "id-token".to_owned(),
        created_at: host.clock.now(),
        calls: json!([{"after": "augusta"}]).to_string(),
    };
    host.host
        .store
        .add_traces(vec![late])
        .await
        .expect("left out");
    for stored in ["id", "did", "sub"] {
        assert_eq!(erased[stored], ada.user[stored], "{stored}");
    }
    assert_eq!(erased["name"], format!("erased-{}", id(&ada.user)));
    assert_eq!(
        (&erased["email"], &erased["state"]),
        (&Value::Null, &json!("terminated"))
    );
    let (mut left, mut host_entry) = (database_dump(&host, database).await.to_lowercase(), 0);
    // The address of the administrator, in the entries about the application, its secret and the erasure.
    let origin = "{\"ip_address\":\"127.0.0.1\"}";
    while let Some(at) = left.find(origin) {
        left.replace_range(at..at + origin.len(), "");
        host_entry += 1;
    }
    assert_eq!(host_entry, 3, "{left}");
    for name in names {
        assert!(!left.contains(name), "{database:?}: {name} in {left}");
    }
    let still = entries(&host, &format!("user={}", id(&ada.user))).await;
    assert_eq!(still.len(), returned.len() + 1);
    for (was, is) in returned.iter().zip(&still) {
        assert_eq!(
            (&was["id"], &was["event"], &was["detail"]),
            (&is["id"], &is["event"], &is["detail"])
        );
        assert_eq!(is["personal"], json!({}));
    }
    assert!(
        ada.device.waiting(0).await.is_err(),
        "the device belongs to no user"
    );
}

#[both_databases]
async fn an_erased_user_cannot_be_restored_and_frees_the_name(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = host
        .user_with_account("augusta", host.web_application().await)
        .await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "terminated"}))
        .await;
    let erased = host
        .admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    let another = host.user("augusta").await;
    assert_ne!(
        (&another["did"], &another["sub"]),
        (&ada.user["did"], &ada.user["sub"])
    );
    host.account(&another, &ada.application).await;
    let (status, _) = host
        .admin(Method::PATCH, &path, json!({"name": "augusta.king"}))
        .await;
    assert_eq!(
        status,
        StatusCode::CONFLICT,
        "an erased user does not return"
    );
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    assert_eq!(
        host.admin_ok(Method::GET, &path, Value::Null).await["name"],
        erased["name"]
    );
    assert_eq!(
        host.admin(Method::PATCH, &path, json!({"state": "active"}))
            .await
            .0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

/// SQLite stores long values in overflow pages. The erasure overwrites them, so a copy of the file does not contain
/// them.
#[tokio::test]
async fn erasure_overwrites_the_pages_of_sqlite() {
    let mut host = TestHost::start().await;
    let user = host.user("ada").await;
    let path = format!("/users/{}", id(&user));
    let long = "x".repeat(1000);
    let mut profile = json!({"nickname": format!("{long} Ockham Park")});
    for member in ["family_name", "gender", "given_name", "middle_name"] {
        profile[member] = json!(long);
    }
    host.admin_ok(Method::PATCH, &path, json!({ "profile": profile }))
        .await;
    let holds = |name: &str| {
        let file = read_bytes(host.folder().join("assent.db"));
        file.windows(name.len())
            .any(|window| window == name.as_bytes())
    };
    wait_for_checkpoint(&host).await;
    assert!(holds("Ockham Park"));
    host.erase_user(&path).await;
    wait_for_checkpoint(&host).await;
    assert!(!holds("Ockham Park"));
    host.stop().await;
}

/// Waits until SQLite has written its journal to the database file.
async fn wait_for_checkpoint(host: &TestHost) {
    let mut connection = host.connection().await;
    wait_until("the journal is written", async || {
        let wait_for_checkpoint = sql::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
            .fetch_one(&mut connection)
            .await;
        let (is_busy, _, _): (i64, i64, i64) = wait_for_checkpoint.expect("an answer");
        is_busy == 0
    })
    .await;
}
