//! The number of statements that each step of a sign-in sends to the database. It limits the sign-ins that a database
//! can serve, so groups and further data must not increase it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Statements, TestHost, TestUser, id};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::oidc::token::userinfo;

/// The tables of users and applications, and of the grants between them. Background tasks, for which no response waits,
/// use other tables, except the task that stores what the plugins decided.
const TABLES: [&str; 8] = [
    "accounts",
    "applications",
    "consents",
    "group_",
    "sessions",
    "token_families",
    "user_groups",
    "users",
];

/// The statements that each step sends, in their order.
struct Counted {
    phone: Vec<String>,
    exchange: Vec<String>,
    session: Vec<String>,
    refresh: Vec<String>,
    userinfo: Vec<String>,
}

/// Returns the statements on these tables since the mark, and moves the mark.
fn since(statements: &Statements, mark: &mut usize) -> Vec<String> {
    let executed = statements.executed();
    let begun = std::mem::replace(mark, executed.len());
    let words = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let counts = |text: &String| {
        let is_beside = ["claim_traces", "client_requests", "details_types"]
            .iter()
            .any(|table| text.contains(table));
        !is_beside && TABLES.iter().any(|table| text.contains(table))
    };
    let new = executed[begun..].iter().map(words);
    new.filter(counts).collect()
}

async fn counted(host: &TestHost, ada: &TestUser, statements: &Statements) -> Counted {
    let browser = Browser::new(&host.base);
    let mut mark = statements.executed().len();
    let code = ada.sign_in_with(&browser, &OFFLINE).await;
    let phone = since(statements, &mut mark);
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let exchange = since(statements, &mut mark);
    let answer = browser.get(&ada.application.request(&[])).await;
    assert!(!answer.parameter("code").is_empty());
    let session = since(statements, &mut mark);
    let token = refresh_token(&tokens);
    let (status, fresh) = refresh(&host.base, &ada.application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{fresh}");
    let refreshed = since(statements, &mut mark);
    let (status, _) = userinfo(host, fresh["access_token"].as_str().expect("a token")).await;
    assert_eq!(status, StatusCode::OK);
    Counted {
        phone,
        exchange,
        session,
        refresh: refreshed,
        userinfo: since(statements, &mut mark),
    }
}

/// The test uses SQLite, because no statement of another task occurs in between. PostgreSQL receives the same
/// statements.
#[tokio::test]
async fn groups_add_no_statement_to_a_sign_in() {
    let statements = Statements::capture();
    let (host, ada) = TestHost::start().await.with_ada().await;
    // The first sign-in fills the caches of keys, applications and users.
    counted(&host, &ada, &statements).await;
    let before = counted(&host, &ada, &statements).await;
    for number in 0..5 {
        let name = json!({"name": format!("Group {number}")});
        let group = host.admin_ok(Method::POST, "/groups", name).await;
        let members = format!("/groups/{}/members", id(&group));
        let users = json!({"users": [id(&ada.user)]});
        host.admin_ok(Method::POST, &members, users).await;
        let assignment = format!("/applications/{}/groups/{}", ada.application.id, id(&group));
        let roles = json!({"roles": ["reader"]});
        host.admin_ok(Method::PUT, &assignment, roles).await;
    }
    let everyone = format!("/applications/{}/everyone", ada.application.id);
    let _: Value = host
        .admin_ok(Method::PUT, &everyone, json!({"roles": []}))
        .await;
    counted(&host, &ada, &statements).await;
    let after = counted(&host, &ada, &statements).await;
    // The reads and the writes of each step. A sign-in reads the consent, too, because this application needs one. The
    // first refresh reads the part of the grant that never changes.
    for (step, before, after, reads, writes) in [
        ("exchange", before.exchange, after.exchange, 1, 1),
        (
            "sign-in with a session",
            before.session,
            after.session,
            2,
            3,
        ),
        ("refresh", before.refresh, after.refresh, 2, 1),
        ("UserInfo", before.userinfo, after.userinfo, 1, 1),
    ] {
        println!("{step}: {} statements", before.len());
        assert_eq!(before, after, "{step}");
        let read = before.iter().filter(|text| text.starts_with("SELECT"));
        let read = read.count();
        let written = before.len() - read;
        assert_eq!((read, written), (reads, writes), "{step}: {before:#?}");
    }
    // The number of polls of the waiting page and of the device depends on the time.
    let (before, after) = (before.phone.len(), after.phone.len());
    println!("sign-in with the phone: {before} and {after} statements");
    assert!(before.max(after) <= 30);
}
