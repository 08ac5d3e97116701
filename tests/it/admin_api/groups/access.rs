//! Access through groups and through an assignment to everyone: its start, its precedence and its immediate end.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{accounts, add, assign, assign_everyone, group, remove, user_without_account};
use crate::harness::{
    Application, Body, Browser, Database, HostOptions, Parsed, Respond, TestHost, TestUser, Text,
    http_client, id, jwt_claims,
};
use crate::lifecycle::entries;
use crate::oidc::refresh::{OFFLINE, offline_tokens, refresh, refresh_token};

/// Returns the roles that the application receives in the claim `account`.
fn roles(tokens: &Value) -> Vec<String> {
    let account = jwt_claims(tokens["id_token"].text())["account"].clone();
    let account: Value = account.text().parsed();
    let roles = account["roles"].as_array().expect("roles");
    roles.iter().map(|role| role.text().to_owned()).collect()
}

async fn tokens(host: &TestHost, user: &TestUser) -> Value {
    let code = user.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = user.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    tokens
}

async fn is_active(base: &str, application: &Application, token: &str) -> bool {
    let response = http_client()
        .post(format!("{base}/oidc/token/introspection"))
        .basic_auth(&application.id, application.secret.as_ref())
        .form(&[("token", token)])
        .response()
        .await;
    let answer: Value = response.read_json().await;
    answer["active"] == true
}

async fn userinfo(base: &str, token: &str) -> StatusCode {
    let request = http_client().get(format!("{base}/oidc/me"));
    request.bearer_auth(token).response().await.status()
}

/// Returns whether the server rejects the user for lack of access, after the approval on the device.
async fn is_refused(host: &TestHost, user: &TestUser) -> bool {
    let browser = Browser::new(&host.base);
    let waiting = user.begin_sign_in(&browser, &[]).await;
    user.approve(&waiting).await;
    browser
        .get(&waiting.url)
        .await
        .body
        .contains("You have no account with")
}

#[both_databases]
async fn members_of_an_assigned_group_have_access_with_its_roles(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let grace = user_without_account(&host, "grace", application.clone()).await;
    let staff = group(&host, "Staff", &[&grace.user]).await;
    assert!(
        is_refused(&host, &grace).await,
        "the group has no access yet"
    );
    assign(&host, &application, &staff, &["reader"]).await;
    let first = tokens(&host, &grace).await;
    assert_eq!(roles(&first), ["reader"], "{database:?}");

    // The account that the sign-in created grants no access of its own. The next sign-in uses the same account.
    let created = accounts(&host, &grace.user).await;
    assert_eq!(created.as_array().map(Vec::len), Some(1));
    let account = &created[0];
    assert_eq!(
        (&account["name"], &account["individual"], &account["roles"]),
        (&json!("grace"), &json!(false), &json!([]))
    );
    assert_eq!(
        (&account["effective_roles"], &account["groups"]),
        (
            &json!(["reader"]),
            &json!([{"name": "Staff", "roles": ["reader"]}])
        )
    );
    let entry = &entries(&host, "event=account.created").await[0];
    assert_eq!(entry["detail"]["by_assignment"], true, "{entry}");
    let second = tokens(&host, &grace).await;
    let upn = |tokens: &Value| jwt_claims(tokens["id_token"].text())["upn"].clone();
    assert_eq!(upn(&first), upn(&second));
    assert_eq!(
        accounts(&host, &grace.user).await.as_array().map(Vec::len),
        Some(1)
    );
}

#[both_databases]
async fn everyone_has_access_and_roles_are_the_union(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let grace = user_without_account(&host, "grace", ada.application.clone()).await;
    assign_everyone(&host, &ada.application, &["guest", "reader"]).await;
    assert_eq!(roles(&tokens(&host, &grace).await), ["guest", "reader"]);
    assert_eq!(
        roles(&tokens(&host, &ada).await),
        ["reader", "editor", "guest"],
        "{database:?}"
    );
    let staff = group(&host, "Staff", &[&ada.user, &grace.user]).await;
    assign(&host, &ada.application, &staff, &["editor", "writer"]).await;
    assert_eq!(
        roles(&tokens(&host, &ada).await),
        ["reader", "editor", "writer", "guest"]
    );
    assert_eq!(
        roles(&tokens(&host, &grace).await),
        ["editor", "writer", "guest", "reader"]
    );
}

/// Two users may have the same name in an application only if one of them has an individual account with that name.
#[both_databases]
async fn an_implied_account_has_a_name_of_its_own(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let path = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &path, json!({"name": "grace"}))
        .await;
    let grace = user_without_account(&host, "grace", ada.application.clone()).await;
    assign_everyone(&host, &ada.application, &[]).await;
    let claims = jwt_claims(tokens(&host, &grace).await["id_token"].text());
    let upn = claims["upn"].text();
    assert!(upn.starts_with("grace-"), "{database:?}: {upn}");
}

#[both_databases]
async fn a_suspended_account_wins_over_groups(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let staff = group(&host, "Staff", &[&ada.user]).await;
    assign(&host, &ada.application, &staff, &["reader"]).await;
    assign_everyone(&host, &ada.application, &[]).await;
    let granted = offline_tokens(&host, &ada).await;
    let path = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let access = granted["access_token"].text();
    assert_eq!(userinfo(&host.base, access).await, StatusCode::UNAUTHORIZED);
    let (_, answer) = refresh(&host.base, &ada.application, refresh_token(&granted), &[]).await;
    assert_eq!(answer["error"], "invalid_grant", "{database:?}");
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "no device is prompted"
    );
}

/// The events that end a user's access.
#[derive(Clone, Copy, Debug)]
enum End {
    Member,
    Assignment,
    Group,
    Everyone,
}

/// Each way to lose access takes effect in the next request, also on another instance with warm caches.
async fn ends_at_once(database: Database, end: End) {
    let host = TestHost::start_on(database).await;
    let options = HostOptions {
        database,
        ..HostOptions::default()
    };
    let (_second, running, other) = host.second(options).await;
    let application = host.web_application().await;
    let server = host.web_application().await;
    let grace = user_without_account(&host, "grace", application.clone()).await;
    let staff = group(&host, "Staff", &[&grace.user]).await;
    match end {
        End::Everyone => assign_everyone(&host, &application, &["reader"]).await,
        _ => assign(&host, &application, &staff, &["reader"]).await,
    }
    let granted = offline_tokens(&host, &grace).await;
    let (access, refreshed) = (granted["access_token"].text(), refresh_token(&granted));
    let browser = Browser::new(&host.base);
    let code = grace.sign_in_with(&browser, &OFFLINE).await;
    let silent = application.request(&[("prompt", Some("none"))]);
    let there = browser.at(&other);
    assert_eq!(userinfo(&other, access).await, StatusCode::OK);
    assert!(is_active(&other, &server, access).await);
    assert!(there.get(&silent).await.parameter("code").len() > 20);

    let assignment = format!("/applications/{}/groups/{}", application.id, id(&staff));
    match end {
        End::Member => remove(&host, &staff, &grace.user).await,
        End::Assignment => drop(
            host.admin_ok(Method::DELETE, &assignment, Value::Null)
                .await,
        ),
        End::Group => {
            let path = format!("/groups/{}", id(&staff));
            drop(host.admin_ok(Method::DELETE, &path, Value::Null).await);
        }
        End::Everyone => {
            let path = format!("/applications/{}/everyone", application.id);
            drop(host.admin_ok(Method::DELETE, &path, Value::Null).await);
        }
    }
    let gone = StatusCode::UNAUTHORIZED;
    assert_eq!(userinfo(&other, access).await, gone, "{database:?} {end:?}");
    assert!(!is_active(&other, &server, access).await, "{end:?}");
    let (_, answer) = refresh(&other, &application, refreshed, &[]).await;
    assert_eq!(answer["error"], "invalid_grant", "{end:?}");
    let (_, answer) = application.exchange(&other, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_grant", "{end:?}");
    assert_eq!(there.get(&silent).await.parameter("error"), "access_denied");

    // Earlier grants do not return with the access.
    host.advance(1);
    match end {
        End::Everyone => assign_everyone(&host, &application, &[]).await,
        End::Group => {
            let again = group(&host, "Staff", &[&grace.user]).await;
            assign(&host, &application, &again, &[]).await;
        }
        End::Member => drop(add(&host, &staff, &[&grace.user]).await),
        End::Assignment => assign(&host, &application, &staff, &[]).await,
    }
    assert_eq!(userinfo(&other, access).await, gone, "{end:?}");
    let code = there.get(&silent).await.parameter("code");
    let (status, tokens) = application.exchange(&other, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{end:?}: {tokens}");
    running.stop().await;
}

#[both_databases]
async fn leaving_the_last_group_ends_access_at_once(database: Database) {
    ends_at_once(database, End::Member).await;
}

#[both_databases]
async fn the_end_of_an_assignment_ends_access_at_once(database: Database) {
    ends_at_once(database, End::Assignment).await;
}

#[both_databases]
async fn the_end_of_a_group_ends_access_at_once(database: Database) {
    ends_at_once(database, End::Group).await;
}

#[both_databases]
async fn the_end_of_everyones_assignment_ends_access_at_once(database: Database) {
    ends_at_once(database, End::Everyone).await;
}

/// A user with access through another group, through everyone or through an individual account keeps it. Only the roles
/// of that access remain, and the change takes effect at once.
#[both_databases]
async fn users_with_other_access_keep_it_with_fewer_roles(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let grace = user_without_account(&host, "grace", application.clone()).await;
    let staff = group(&host, "Staff", &[&grace.user]).await;
    let press = group(&host, "Press", &[&grace.user]).await;
    assign(&host, &application, &staff, &["reader"]).await;
    assign(&host, &application, &press, &["writer"]).await;
    let granted = offline_tokens(&host, &grace).await;
    assert_eq!(roles(&granted), ["writer", "reader"]);
    remove(&host, &press, &grace.user).await;
    let access = granted["access_token"].text();
    assert_eq!(userinfo(&host.base, access).await, StatusCode::OK);
    let (_, refreshed) = refresh(&host.base, &application, refresh_token(&granted), &[]).await;
    assert_eq!(roles(&refreshed), ["reader"], "{database:?}");
    // The account becomes individual, so it grants access itself. Later it is no longer individual.
    let account = accounts(&host, &grace.user).await[0].clone();
    let path = format!("/accounts/{}", id(&account));
    host.admin_ok(Method::PATCH, &path, json!({"individual": true}))
        .await;
    remove(&host, &staff, &grace.user).await;
    assert_eq!(userinfo(&host.base, access).await, StatusCode::OK);
    host.admin_ok(Method::PATCH, &path, json!({"individual": false}))
        .await;
    assert_eq!(userinfo(&host.base, access).await, StatusCode::UNAUTHORIZED);
    assert!(is_refused(&host, &grace).await);
}

/// The application is notified of the end of a session, as at the end of an account.
#[both_databases]
async fn leaving_a_group_queues_a_logout_token(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    let uri = json!({"backchannel_logout_uri": "https://rp.example/logout"});
    host.admin_ok(Method::PATCH, &path, uri).await;
    let grace = user_without_account(&host, "grace", application.clone()).await;
    let staff = group(&host, "Staff", &[&grace.user]).await;
    assign(&host, &application, &staff, &[]).await;
    tokens(&host, &grace).await;
    remove(&host, &staff, &grace.user).await;
    let mut connection = host.connection().await;
    let queued: Vec<(String,)> =
        assent_store::sql::query_as("SELECT application_id FROM logout_deliveries")
            .fetch_all(&mut connection)
            .await
            .expect("the deliveries");
    assert_eq!(queued, [(application.id.clone(),)], "{database:?}");
}

/// The tiles of the portal follow the groups.
#[tokio::test]
async fn the_portal_shows_applications_of_groups() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    let uri = json!({"initiate_login_uri": "https://rp.example/login"});
    host.admin_ok(Method::PATCH, &path, uri).await;
    let grace = user_without_account(&host, "grace", application.clone()).await;
    let staff = group(&host, "Staff", &[&grace.user]).await;
    let browser = Browser::new(&host.base);
    let page = browser.get("/sign-in").await.followed().await;
    let waiting = page.submit_name("grace").await;
    grace.approve(&waiting).await;
    browser.finish(&waiting.url).await;
    let has_tile = async || browser.get("/").await.body.contains(&application.id);
    assert!(!has_tile().await);
    assign(&host, &application, &staff, &["reader"]).await;
    assert!(has_tile().await);
    let page = browser.get("/profile").await;
    assert!(page.status.is_success());
    remove(&host, &staff, &grace.user).await;
    assert!(!has_tile().await);
}
