//! Submitting a name reveals nothing about it: the instance executes the same statements and returns the same response
//! for each name.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::harness::{
    Browser, Database, Page, TestHost, TestUser, Text, id, in_time, let_one_thread_listen, locked,
    without_code,
};

/// The statements of the instance, in their order.
#[derive(Clone, Default)]
struct Statements(Arc<Mutex<Vec<String>>>);

struct StatementText<'a>(&'a mut Option<String>);

impl Visit for StatementText<'_> {
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "statement" {
            *self.0 = Some(value.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "assent_store::sql" {
            let mut text = None;
            event.record(&mut StatementText(&mut text));
            locked(&self.0).extend(text);
        }
    }
}

impl Statements {
    fn have(&self, words: &str) -> bool {
        locked(&self.0).iter().any(|text| text.contains(words))
    }

    /// Those since the last time that a request to the login page asks, without what goes on beside it: keeping keys,
    /// deliveries, and the channels, for which no response waits.
    fn take(&self) -> Vec<String> {
        let beside = |statement: &str| {
            [
                "approval_deliveries",
                "DELETE FROM approval_dispatches",
                "signing_keys",
                "wrapped_keys",
                "logout_deliveries",
                "FROM devices",
                "claim_traces",
                "run_once",
                "instances",
                "leases",
                "audit_root",
                "audit_lanes SET held_until",
            ]
            .iter()
            .any(|table| statement.contains(table))
                || statement.starts_with("SELECT * FROM approvals WHERE id")
        };
        let mut all = locked(&self.0);
        std::mem::take(&mut *all)
            .into_iter()
            .filter(|statement| !beside(statement))
            .collect()
    }
}

/// What a browser is answered that asks for a sign-in by this name, without what differs at each login.
async fn answered(page: &Page, name: &str) -> (u16, Vec<(String, String)>, String) {
    let same = |text: &str| {
        let login = page.path();
        let mut text = text
            .replace(login.trim_end_matches('/'), "LOGIN")
            .replace(login.trim_start_matches("/login/"), "ID")
            .replace(&format!("<bdi>{name}</bdi>"), "<bdi>NAME</bdi>");
        if page.body.contains("name=\"csrf\"") {
            text = text.replace(&page.csrf(), "CSRF");
        }
        if page.body.contains("id=\"number\">") {
            text = text.replace(
                &format!("id=\"number\">{}<", page.number()),
                "id=\"number\">NN<",
            );
        }
        if let Some((_, token)) = page
            .returns()
            .as_deref()
            .and_then(|address| address.split_once("token="))
        {
            text = text.replace(token, "TOKEN");
        }
        without_code(&text)
    };
    let mut headers: Vec<(String, String)> = page
        .headers
        .iter()
        .filter(|(name, _)| *name != "date" && *name != "x-request-id")
        .map(|(name, value)| (name.to_string(), same(value.text())))
        .collect();
    headers.sort();
    // The lengths of names differ, and so do those of pages.
    headers.retain(|(name, _)| name != "content-length");
    (page.status.as_u16(), headers, same(&page.body))
}

#[tokio::test]
async fn known_unknown_suspended_invited_and_cooling_down_names_cause_the_same_statements_and_pages()
 {
    let statements = Statements::default();
    let_one_thread_listen();
    // For this thread, on which all of this test's instance runs. Another thread reports the statements of SQLite.
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(statements.clone()));
    let host = TestHost::start_on(Database::Postgres).await;
    let application = host.web_application().await;
    // The page with the button for passkeys: neither it nor its challenge depends on a name.
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", application.id),
        json!({"passkey_sign_in": true}),
    )
    .await;
    let new_user = async |name: &str| host.user_with_account(name, application.clone()).await;
    let [known, suspended, closed, paused] = [
        new_user("known").await,
        new_user("suspended").await,
        new_user("closed").await,
        new_user("paused").await,
    ];
    let invited = host.user("invited").await;
    host.account(&invited, &application).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&suspended.user)),
        json!({"state": "suspended"}),
    )
    .await;
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{}", id(&closed.account)),
        json!({"state": "terminated"}),
    )
    .await;
    let request = async |ada: &TestUser| {
        ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        ada.device.pending_requests(5).await.remove(0)
    };
    paused.device.submit_report(&request(&paused).await).await;

    // The first run of retention, of which this is the last statement, is over then; the next one is minutes away.
    in_time(async {
        while !statements.have("FROM saml_keys k WHERE") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    let mut seen = Vec::new();
    for name in [
        "unknown",
        "known",
        "suspended",
        "closed",
        "invited",
        "paused",
    ] {
        let browser = Browser::new(&host.base);
        let login = application.login_page(&browser, &[]).await;
        statements.take();
        let posted = login.submit(&login.path(), &[("name", name)]).await;
        let done = statements.take();
        let posted = {
            let (status, mut headers, body) = answered(&posted, name).await;
            headers
                .iter_mut()
                .for_each(|(_, value)| *value = value.replace(login.path().as_str(), "LOGIN"));
            (status, headers, body)
        };
        let waiting = browser.get(&login.url).await;
        let shown = answered(&waiting, name).await;
        statements.take();
        // The same once more, while the first one is open; and after it expired.
        let browser = Browser::new(&host.base);
        let login = application.login_page(&browser, &[]).await;
        statements.take();
        login.submit(&login.path(), &[("name", name)]).await;
        let again = statements.take();
        host.advance(120);
        let ended = answered(&waiting.again().await, name).await;
        seen.push((name, done, posted, shown, again, ended));
    }
    let (_, done, ..) = &seen[0];
    assert!(
        done.len() >= 5
            && done
                .iter()
                .any(|statement| statement.contains("audit_entries")),
        "{done:#?}"
    );
    for (name, done, posted, shown, again, ended) in &seen[1..] {
        let (_, nobodys, nobody_posted, nobody_shown, nobody_again, nobody_ended) = &seen[0];
        assert_eq!(done, nobodys, "{name}: what the database is asked");
        assert_eq!(
            again, nobody_again,
            "{name}: what the database is asked again"
        );
        assert_eq!(posted, nobody_posted, "{name}");
        assert_eq!(shown, nobody_shown, "{name}");
        assert_eq!(ended, nobody_ended, "{name}");
    }
    // Who is known was asked, and so all of this was not for nothing.
    let requested = super::entries(
        &host,
        &format!("user={}&event=sign-in.requested", id(&known.user)),
    )
    .await;
    assert!(
        requested
            .iter()
            .all(|entry| entry["detail"]["prompted"] == true)
            && requested.len() == 2,
        "{requested:?}"
    );
}
