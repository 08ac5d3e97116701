//! Concurrent requests share statements, and each gets its own response.

use assent_test_macros::both_databases;
use std::collections::HashSet;
use std::time::Duration;

use assent_model::entropy::SystemEntropy;
use assent_store::sql;
use futures_util::future::join_all;
use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::refresh::{OFFLINE, refresh, refresh_token};
use super::token::userinfo;
use crate::harness::{
    Application, Body, Browser, Database, Page, Parsed, Respond, Statements, TestHost, TestUser,
    Text, http_client, id, jwt_claims,
};

/// Returns codes of the user's session, each for a nonce of its own.
async fn codes(ada: &TestUser, browser: &Browser, count: usize) -> Vec<(String, String)> {
    join_all((0..count).map(async |number| {
        let nonce = format!("nonce-{number}");
        let request = ada
            .application
            .request(&[("prompt", Some("none")), ("nonce", Some(&nonce))]);
        (browser.get(&request).await.parameter("code"), nonce)
    }))
    .await
}

async fn call(
    base: &str,
    path: &str,
    application: &Application,
    form: &[(&str, &str)],
) -> (StatusCode, Value) {
    let secret = application.secret.as_deref();
    let request = http_client()
        .post(format!("{base}{path}"))
        .basic_auth(&application.id, secret)
        .form(form);
    let response = request.response().await;
    (response.status(), response.read_json().await)
}

async fn limitless(database: Database) -> TestHost {
    let settings = "[rate_limits]\ntoken_requests_per_ip = { per_minute = 0, burst = 1 }";
    TestHost::start_on_with(database, settings).await
}

/// The deadlocks of the test's database, and its token families.
async fn deadlocks_and_families(host: &TestHost) -> (i64, i64) {
    let mut database = host.connection().await;
    sql::query_as(
        "SELECT deadlocks, (SELECT COUNT(*) FROM token_families) FROM pg_stat_database
         WHERE datname = current_database()",
    )
    .fetch_one(&mut database)
    .await
    .expect("read")
}

/// Each batch of a PostgreSQL writer locks the sessions of its sign-ins. PostgreSQL detects a deadlock of two batches
/// after a second and rolls one back, and the server writes it again.
#[tokio::test]
async fn concurrent_sign_ins_in_the_same_sessions_are_written_once() {
    const SESSIONS: usize = 8;
    const SIGN_INS: usize = 64;
    let statements = Statements::capture();
    let host = TestHost::start_on_with(
        Database::Postgres,
        "[rate_limits]\nlogin_pages_per_ip = { per_minute = 0, burst = 1 }",
    )
    .await;
    let ada = host.ada().await;
    let mut browsers = Vec::new();
    for _ in 0..SESSIONS {
        let browser = Browser::new(&host.base);
        ada.sign_in(&browser).await;
        browsers.push(browser);
    }
    let locks = || statements.count("UPDATE sessions SET signed_out = 0");
    let before = locks();
    // The order of the sessions differs in each group, so each group begins with another session.
    let order = (0..SIGN_INS).map(|number| (number * 5 + number / SESSIONS) % SESSIONS);
    let request = ada.application.request(&[("prompt", Some("none"))]);
    let answers = join_all(order.map(|place| browsers[place].get(&request))).await;
    for answer in answers {
        assert!(!answer.parameter("code").is_empty());
    }
    // Those of a batch share a statement, and none is repeated.
    assert!((1..=SIGN_INS).contains(&(locks() - before)));
    assert_eq!(
        deadlocks_and_families(&host).await,
        (0, (SESSIONS + SIGN_INS) as i64)
    );
}

/// Batches of refreshes, of uses of access tokens and of sign-ins lock the rows of the same token families and
/// sessions.
#[tokio::test]
async fn concurrent_refreshes_uses_and_sign_ins_do_not_deadlock() {
    const FAMILIES: usize = 24;
    let unlimited = [
        "token_requests_per_ip",
        "login_pages_per_ip",
        "sign_ins_per_user_name",
        "sign_ins_per_ip",
        "prompts_per_user",
    ]
    .map(|limit| format!("{limit} = {{ per_minute = 0, burst = 1 }}\n"));
    let settings = format!("[rate_limits]\n{}", unlimited.concat());
    let host = TestHost::start_on_with(Database::Postgres, &settings).await;
    let ada = host.ada().await;
    let (mut families, mut browsers) = (Vec::new(), Vec::new());
    for _ in 0..FAMILIES {
        let browser = Browser::new(&host.base);
        let code = ada.sign_in_with(&browser, &OFFLINE).await;
        let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        families.push(tokens);
        browsers.push(browser);
    }
    let request = ada.application.request(&[("prompt", Some("none"))]);
    for round in 1..6 {
        // The order differs in each round, and between the uses, the refreshes and the sign-ins.
        let order = |step| (0..FAMILIES).map(move |number| (number * step + round) % FAMILIES);
        let uses = order(5).map(|place| userinfo(&host, families[place]["access_token"].text()));
        let refreshes = order(7).map(async |place| {
            let token = refresh_token(&families[place]);
            (
                place,
                refresh(&host.base, &ada.application, token, &[]).await,
            )
        });
        let sign_ins = order(11).map(|place| browsers[place].get(&request));
        let (uses, refreshes, sign_ins) =
            tokio::join!(join_all(uses), join_all(refreshes), join_all(sign_ins));
        for page in sign_ins {
            assert!(!page.parameter("code").is_empty());
        }
        for (status, answer) in uses {
            assert_eq!(status, StatusCode::OK, "{answer}");
        }
        for (place, (status, tokens)) in refreshes {
            assert_eq!(status, StatusCode::OK, "{tokens}");
            families[place] = tokens;
        }
    }
    assert_eq!(
        deadlocks_and_families(&host).await,
        (0, (6 * FAMILIES) as i64)
    );
}

/// A session that ends while a transaction of several sign-ins waits for its row gets no code, and the others get
/// theirs.
#[tokio::test]
async fn sessions_that_end_during_a_transaction_get_no_code() {
    const SESSIONS: usize = 4;
    const SIGN_INS: usize = 32;
    const ENDED: usize = 2;
    let host = limitless(Database::Postgres).await;
    let ada = host.ada().await;
    let mut browsers = Vec::new();
    for _ in 0..SESSIONS {
        let browser = Browser::new(&host.base);
        ada.sign_in(&browser).await;
        browsers.push(browser);
    }
    let (mut ending, mut watch) = (host.connection().await, host.connection().await);
    let end = format!(
        "BEGIN; UPDATE sessions SET ended_at = 1 WHERE id IN (SELECT id FROM sessions ORDER BY id LIMIT {ENDED})"
    );
    ending.batch(&end).await.expect("two ended sessions");
    let request = ada.application.request(&[("prompt", Some("none"))]);
    let answers = join_all((0..SIGN_INS).map(|number| browsers[number % SESSIONS].get(&request)));
    let end = async {
        loop {
            let (waiting,): (i64,) = sql::query_as(
                "SELECT COUNT(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'",
            )
            .fetch_one(&mut watch)
            .await
            .expect("read");
            if waiting > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        ending.batch("COMMIT").await.expect("ended");
    };
    let (answers, ()) = tokio::join!(answers, end);
    let codes: Vec<usize> = (0..SESSIONS)
        .map(|session| {
            let of_session = answers.iter().skip(session).step_by(SESSIONS);
            of_session.filter(|answer| has_code(answer)).count()
        })
        .collect();
    let of_each = SIGN_INS / SESSIONS;
    let all_or_none = |codes: &usize| *codes == 0 || *codes == of_each;
    assert!(codes.iter().all(all_or_none), "{codes:?}");
    let of_open = (SESSIONS - ENDED) * of_each;
    assert_eq!(codes.iter().sum::<usize>(), of_open);
    let families = deadlocks_and_families(&host).await;
    assert_eq!(families, (0, (SESSIONS + of_open) as i64));
}

fn has_code(answer: &Page) -> bool {
    let location = answer.headers.get(LOCATION);
    location.is_some_and(|to| to.to_str().expect("a text").contains("code="))
}

/// Concurrent sign-ins share their statements, so one that fails fails all of them. Then each is written by itself.
#[tokio::test]
async fn a_sign_in_that_fails_does_not_fail_others_of_its_transaction() {
    let host = limitless(Database::Postgres).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let mut database = host.connection().await;
    let statements = "CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''rejected by the test''; END';
         CREATE TRIGGER rejected BEFORE INSERT ON token_families
             FOR EACH ROW WHEN (NEW.claims LIKE '%rejected%') EXECUTE FUNCTION reject()";
    database.batch(statements).await.expect("a trigger");
    let answers = join_all((0..40).map(async |number| {
        let nonce = if number == 20 { "rejected" } else { "kept" };
        let parameters = [("prompt", Some("none")), ("nonce", Some(nonce))];
        has_code(&browser.get(&ada.application.request(&parameters)).await)
    }))
    .await;
    let without_code: Vec<usize> = (0..answers.len())
        .filter(|place| !answers[*place])
        .collect();
    assert_eq!(without_code, [20]);
}

#[both_databases]
async fn concurrent_codes_return_their_own_tokens_once(database: Database) {
    let host = limitless(database).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let codes = codes(&ada, &browser, 70).await;
    // Every second code is sent twice, at the same moment.
    let twice = codes.iter().step_by(2);
    let answers = join_all(codes.iter().chain(twice).map(async |(code, nonce)| {
        let (status, answer) = ada.application.exchange(&host.base, code, &[]).await;
        (nonce, status, answer)
    }))
    .await;
    let mut good = HashSet::new();
    for (nonce, status, answer) in &answers {
        if status.is_success() {
            let id_token = jwt_claims(answer["id_token"].text());
            assert_eq!(
                id_token["nonce"], **nonce,
                "{database:?}: the response to another request"
            );
            assert!(
                good.insert(nonce),
                "{database:?}: a code was exchanged twice"
            );
            let was_sent_once = nonce.trim_start_matches("nonce-").parsed::<usize>() % 2 == 1;
            let expected = if was_sent_once {
                StatusCode::OK
            } else {
                StatusCode::UNAUTHORIZED
            };
            let token = answer["access_token"].text();
            assert_eq!(
                userinfo(&host, token).await.0,
                expected,
                "{database:?} {nonce}"
            );
        } else {
            assert_eq!(answer["error"], "invalid_grant", "{database:?}");
        }
    }
    assert_eq!(good.len(), 70, "{database:?}");
}

#[both_databases]
async fn concurrent_applications_and_tokens_are_not_confused(database: Database) {
    let host = limitless(database).await;
    let applications = join_all((0..6).map(async |_| host.web_application().await)).await;
    let tokens = join_all((0..90).map(async |number| {
        let application = &applications[number % applications.len()];
        let form = [("grant_type", "client_credentials")];
        let (status, answer) = call(&host.base, "/oidc/token", application, &form).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
        (application, answer["access_token"].text().to_owned())
    }))
    .await;
    assert_eq!(
        tokens
            .iter()
            .map(|(_, token)| token)
            .collect::<HashSet<_>>()
            .len(),
        90,
        "{database:?}"
    );
    // One token is revoked, and one was never issued. Neither changes the results of the other tokens in the same
    // batch.
    let (owner, revoked) = &tokens[7];
    let revocation = http_client().post(format!("{}/oidc/token/revocation", host.base));
    let revocation = revocation
        .basic_auth(&owner.id, owner.secret.as_deref())
        .form(&[("token", revoked)]);
    assert_eq!(revocation.response().await.status(), StatusCode::OK);
    let never = assent_model::secret::Token::new(
        "at",
        assent_model::id::TokenId::new(
            assent_model::clock::Timestamp::from_seconds(1),
            &SystemEntropy,
        )
        .as_bytes(),
        &SystemEntropy,
    );
    let requested = tokens
        .iter()
        .cloned()
        .chain([(&applications[0], never.expose().to_owned())]);
    let answers = join_all(requested.map(async |(application, token)| {
        let answer = call(
            &host.base,
            "/oidc/token/introspection",
            application,
            &[("token", &token)],
        )
        .await
        .1;
        (application, token, answer)
    }))
    .await;
    for (application, token, answer) in answers {
        if token == *revoked || token == never.expose() {
            assert_eq!(answer, json!({"active": false}), "{database:?}");
        } else {
            assert_eq!(answer["client_id"], application.id, "{database:?}");
        }
    }
}

#[both_databases]
async fn a_suspension_takes_effect_at_once_despite_earlier_reads(database: Database) {
    let host = limitless(database).await;
    let ada = host.ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["access_token"].text();
    // A call that waited two seconds for the claim mapper receives 503 (busy). On a slow machine, many calls do.
    let patient = async || {
        for _ in 0..100 {
            let (status, _) = userinfo(&host, token).await;
            if status != StatusCode::SERVICE_UNAVAILABLE {
                return status;
            }
        }
        StatusCode::SERVICE_UNAVAILABLE
    };
    let all = async || join_all((0..40).map(async |_| patient().await)).await;
    assert!(
        all().await.iter().all(|status| *status == StatusCode::OK),
        "{database:?}"
    );
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    assert!(
        all()
            .await
            .iter()
            .all(|status| *status == StatusCode::UNAUTHORIZED),
        "{database:?}"
    );
}
