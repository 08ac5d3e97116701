//! The completion of a sign-in is bound to the approval from which it was computed.

use assent::domain::sign_in::login::view::LoginView;
use assent::domain::sign_in::login::{self, LoginCompletion, OpenLogin};
use assent_model::audit::Origin;
use assent_model::secret::Secret;
use assent_store::Transition;
use assent_test_macros::both_databases;

use crate::harness::{Browser, Database, TestHost, Text};

/// Returns the secret in the cookie that identifies the browser.
fn secret_of(browser: &Browser) -> Secret {
    let header = browser.cookie_header();
    let mut pairs = header.split("; ");
    let own = pairs.find_map(|pair| pair.strip_prefix("assent-browser="));
    Secret::new(own.expect("the browser's cookie"))
}

#[both_databases]
async fn another_approval_of_the_same_sign_in_does_not_complete_it(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let grace = host
        .user_with_account("grace", host.web_application().await)
        .await;
    let browser = Browser::new(&host.base);
    // A sign-in to an own page has no consent page.
    let begun = browser.get("/devices").await.followed().await;
    let login = begun.followed().await;
    let waiting = login.submit_name(ada.user["name"].text()).await;
    ada.approve(&waiting).await;
    let id = login.path().rsplit('/').next().expect("an id").to_owned();
    let id = id.parse().expect("an id");
    let secret = secret_of(&browser);
    // A slow request computes the completion from the approval of Ada's device.
    let view = login::view::view(&host.host, id, secret.digest()).await;
    let Ok(LoginView::Approved(_, first)) = view else {
        panic!("not approved: {view:?}");
    };
    let origin = Origin::NONE;
    let computed = login::authenticated_user(&host.host, &first, None, &secret, origin).await;
    let computed = computed.expect("a user").expect("active");
    // In the meantime the same browser starts again, and another user approves.
    let again = format!("{}/again", login.path());
    let form = [("csrf", &*login.csrf())];
    browser.post(&again, &form).await;
    let other = login
        .again()
        .await
        .submit_name(grace.user["name"].text())
        .await;
    grace.approve(&other).await;
    let completion = LoginCompletion {
        authenticated_user: &computed,
        grant: None,
        consent: None,
        claim: None,
        at: host.host.now(),
    };
    let outcome = login::answer(&host.host, OpenLogin::Stored(id), completion).await;
    assert_eq!(outcome.expect("an outcome"), Transition::NotOpen);
    let mut connection = host.connection().await;
    let query = "SELECT COUNT(*) FROM sessions";
    let (sessions,): (i64,) = assent_store::sql::query_as(query)
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    assert_eq!(sessions, 0);
    // The current approval completes it, with a session of its own device.
    let answered = browser.get(&login.url).await;
    assert_eq!(answered.location().path(), "/devices");
    let (owner,): (String,) = assent_store::sql::query_as("SELECT user_id FROM sessions")
        .fetch_one(&mut connection)
        .await
        .expect("a session");
    assert_eq!(owner, grace.user["id"].text());
}
