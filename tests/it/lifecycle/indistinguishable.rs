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

    /// Returns the statements since the last call that belong to the login page. Background work is omitted: the
    /// maintenance of keys, deliveries and channels, for which no response waits.
    fn take(&self) -> Vec<String> {
        let beside = |statement: &str| {
            [
                "approval_deliveries",
                "DELETE FROM approval_dispatches",
                "signing_keys",
                "wrapped_keys",
                "logout_deliveries",
                "backchannel_deliveries",
                "FROM devices",
                "claim_traces",
                "client_requests",
                "authorization_details_types",
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

/// Returns the status, the headers and the body of a page, without the parts that differ in each sign-in.
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
    // The lengths of the names differ, so the lengths of the pages differ too.
    headers.retain(|(name, _)| name != "content-length");
    (page.status.as_u16(), headers, same(&page.body))
}

#[tokio::test]
async fn known_unknown_suspended_invited_and_cooling_down_names_cause_the_same_statements_and_pages()
 {
    let statements = Statements::default();
    let_one_thread_listen();
    // The subscriber covers this thread, on which the whole instance of this test runs. SQLite is unsuitable, because
    // another thread logs its statements.
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(statements.clone()));
    let host = TestHost::start_on(Database::Postgres).await;
    let application = host.web_application().await;
    // The page has the button for passkeys. Neither the button nor its challenge depends on a name.
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

    // This is the last statement of the first run of retention. The next run is minutes away.
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
        // A second request while the first one is open, and the page after it has expired.
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
        let (_, unknown_done, unknown_posted, unknown_shown, unknown_again, unknown_ended) =
            &seen[0];
        assert_eq!(done, unknown_done, "{name}: the statements of the request");
        assert_eq!(
            again, unknown_again,
            "{name}: the statements of the next request"
        );
        assert_eq!(posted, unknown_posted, "{name}");
        assert_eq!(shown, unknown_shown, "{name}");
        assert_eq!(ended, unknown_ended, "{name}");
    }
    // The known user received the requests, so the comparison was meaningful.
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
