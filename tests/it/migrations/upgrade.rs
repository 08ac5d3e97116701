//! An upgrade under load: the instances of this release continue while a newer one expands the schema.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assent::app;
use assent_store::sql::{self, Connection};
use assent_store::{Database, Migration};
use assent_test_macros::both_databases;
use futures_util::future::{join, join_all};
use reqwest::StatusCode;
use serde_json::Value;

use super::{names, newer};
use crate::harness::{
    Body, Browser, Database as Kind, HostOptions, Respond, TestHost, TestUser, Text, http_client,
    in_time, surroundings,
};

const UNLIMITED: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\n\
    prompts_per_user = { per_minute = 0 }\nsign_ins_per_browser = { per_minute = 0 }\n\
    login_pages_per_ip = { per_minute = 0 }\nsign_ins_per_ip = { per_minute = 0 }\n\
    actions_per_device = { per_minute = 0 }\ntoken_requests_per_ip = { per_minute = 0, burst = 1 }\n";

const MORE: [Migration; 3] = [
    Migration::new(
        "9002_expand_application_notes",
        "ALTER TABLE applications ADD COLUMN note TEXT;",
    ),
    Migration::new(
        "9003_expand_audit_by_time",
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_entries_by_time ON audit_entries (happened_at);",
    ),
    Migration::new(
        "9004_expand_labels",
        "ALTER TABLE users ADD COLUMN label TEXT NOT NULL DEFAULT '';
         ALTER TABLE sessions ADD COLUMN label TEXT;
         ALTER TABLE logins ADD COLUMN label TEXT;",
    ),
];

/// Signs in at the instance at `base`, exchanges the code, and introspects the token. Each step must succeed.
async fn sign_in(user: &TestUser, base: &str) {
    let code = user.sign_in(&Browser::new(base)).await;
    let (status, tokens) = user.application.exchange(base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let response = http_client()
        .post(format!("{base}/oidc/token/introspection"))
        .basic_auth(&user.application.id, user.application.secret.as_deref())
        .form(&[("token", tokens["access_token"].text())])
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::OK);
    let introspected: Value = response.read_json().await;
    assert_eq!(introspected["active"], true, "{introspected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sign_in_fails_while_a_newer_release_expands_the_schema() {
    let options = HostOptions {
        database: Kind::Postgres,
        settings: UNLIMITED,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let application = host.web_application().await;
    let mut users = Vec::new();
    for name in ["ada", "bob", "cleo"] {
        users.push(host.user_with_account(name, application.clone()).await);
    }
    let (done, is_finished) = (AtomicUsize::new(0), AtomicBool::new(false));
    let more = async |count: usize| {
        let target = done.load(Ordering::Relaxed) + count;
        while done.load(Ordering::Relaxed) < target {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let load = join_all(users.iter().map(async |user| {
        while !is_finished.load(Ordering::Relaxed) {
            sign_in(user, &host.base).await;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let upgrade = async {
        more(3).await;
        let outcome = Database::migrate(host.database_url(), newer(&MORE)).await;
        assert_eq!(
            names(&outcome.expect("migrated").applied),
            names(&MORE),
            "while the instance runs"
        );
        more(6).await;
        // Another instance of this release starts on the newer schema.
        let (_, second, base) = host.second(options).await;
        let late = host.user_with_account("dan", application.clone()).await;
        sign_in(&late, &base).await;
        more(3).await;
        second.stop().await;
        is_finished.store(true, Ordering::Relaxed);
    };
    in_time(join(load, upgrade)).await;
}

/// Returns the number of runs in the table, and the number of the ended ones.
async fn runs(connection: &mut Connection) -> (i64, i64) {
    sql::query_as("SELECT COUNT(*), COUNT(ended_at) FROM instances")
        .fetch_one(connection)
        .await
        .expect("a count")
}

#[both_databases]
async fn an_instance_sends_heartbeats_until_it_stops(database: Kind) {
    let mut host = TestHost::start_on(database).await;
    let mut connection = host.connection().await;
    let begun = async {
        while runs(&mut connection).await != (1, 0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(begun).await;
    host.stop().await;
    assert_eq!(runs(&mut connection).await, (1, 1));
}

/// Compiling plugins can take long. During that time, a contracting migration must detect the instance.
#[both_databases]
async fn an_instance_is_visible_before_it_serves(database: Kind) {
    let mut host = TestHost::start_on(database).await;
    host.stop().await;
    let mut connection = host.connection().await;
    let (all, ended) = runs(&mut connection).await;
    assert_eq!(all, ended);
    let settings = host.host.settings.clone();
    let composed = app::compose(settings, surroundings(&host.clock, None)).await;
    let composed = composed.expect("an instance");
    assert_eq!(runs(&mut connection).await, (all + 1, ended));
    composed.store.close().await;
    assert_eq!(runs(&mut connection).await, (all + 1, ended + 1));
}

#[both_databases]
async fn an_instance_on_a_contracted_schema_is_not_ready(database: Kind) {
    let host = TestHost::start_on(database).await;
    let ready = async || {
        let response = http_client()
            .get(format!("{}/readyz", host.base))
            .response()
            .await;
        (response.status(), response.read_text().await)
    };
    assert_eq!(ready().await, (StatusCode::OK, "ready\n".to_owned()));
    host.connection()
        .await
        .batch(
            "INSERT INTO schema_migrations (version, kind, name, digest) VALUES (9001, 'contract', 'x', '')",
        )
        .await
        .expect("inserted");
    let contracted = async {
        loop {
            // The result of a probe is cached for a second.
            let (status, body) = ready().await;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert_eq!(
        in_time(contracted).await,
        "a newer release contracted the schema\n"
    );
}
