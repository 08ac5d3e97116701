//! The certificates that a service provider's responses are signed with.

use assent_model::saml::SamlKeyStage;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::party::{Party, Response};
use crate::harness::{Browser, Database, HostOptions, TestHost, id};

const DAY: u64 = 24 * 60 * 60;

async fn certificates(host: &TestHost, party: &Party) -> Vec<(String, String)> {
    let path = format!("/applications/{}/certificates", party.id);
    let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
    let text = |item: &Value, name: &str| item[name].as_str().expect("text").to_owned();
    listed["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| (text(item, "stage"), base64_of(item)))
        .collect()
}

fn base64_of(item: &Value) -> String {
    let pem = item["certificate"].as_str().expect("PEM");
    pem.lines()
        .filter(|line| !line.starts_with("-----"))
        .collect()
}

/// What a response says that it is signed with.
async fn signs(party: &Party, browser: &Browser, host: &TestHost) -> String {
    let response = Response::of(&party.begin(browser, &party.request(host), None).await);
    response.text("X509Certificate").to_owned()
}

async fn is_renewed_with_two_published_while_one_replaces_the_other(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let party = Party::register(&host, json!({})).await;
    let ada = party.ada(&host).await;
    let browser = Browser::new(&host.base);
    party.sign_in(&ada, &browser, &party.request(&host)).await;
    let first = certificates(&host, &party).await;
    assert_eq!(first.len(), 1);
    assert_eq!(
        first[0],
        ("signing".to_owned(), signs(&party, &browser, &host).await)
    );

    let path = format!("/applications/{}/certificates", party.id);
    let next = host.admin_ok(Method::POST, &path, Value::Null).await;
    assert_eq!(next["stage"], "published");
    // A second wish is the same.
    assert_eq!(
        id(&host.admin_ok(Method::POST, &path, Value::Null).await),
        id(&next)
    );
    let two = certificates(&host, &party).await;
    assert_eq!(
        two,
        [("published".to_owned(), base64_of(&next)), first[0].clone()]
    );
    assert_eq!(signs(&party, &browser, &host).await, first[0].1);

    // The other one can't be withdrawn, and this one can be used at once.
    let signing = host.admin_ok(Method::GET, &path, Value::Null).await["items"][1].clone();
    let (status, problem) = host
        .admin(
            Method::DELETE,
            &format!("{path}/{}", id(&signing)),
            Value::Null,
        )
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    host.admin_ok(
        Method::POST,
        &format!("{path}/{}/activate", id(&next)),
        Value::Null,
    )
    .await;
    assert_eq!(signs(&party, &browser, &host).await, base64_of(&next));
    assert_eq!(
        certificates(&host, &party).await[1],
        ("retired".to_owned(), first[0].1.clone())
    );
    let (status, _) = host
        .admin(
            Method::POST,
            &format!("{path}/{}/activate", id(&signing)),
            Value::Null,
        )
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    host.admin_ok(
        Method::DELETE,
        &format!("{path}/{}", id(&signing)),
        Value::Null,
    )
    .await;
    assert_eq!(
        certificates(&host, &party).await,
        [("signing".to_owned(), base64_of(&next))]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn is_renewed_with_two_published_while_one_replaces_the_other_on_sqlite() {
    is_renewed_with_two_published_while_one_replaces_the_other(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn is_renewed_with_two_published_while_one_replaces_the_other_on_postgres() {
    is_renewed_with_two_published_while_one_replaces_the_other(Database::Postgres).await;
}

async fn one_that_comes_to_its_end_is_followed_by_itself(database: Database) {
    let settings = "[saml]\ncertificate_validity = \"100d\"\ncertificate_publish_ahead = \"10d\"";
    let host = TestHost::start_with(HostOptions {
        database,
        settings,
        ..HostOptions::default()
    })
    .await;
    let party = Party::register(&host, json!({})).await;
    let application = party.id.parse().expect("a DID");
    let stages = async || -> Vec<SamlKeyStage> {
        let staged = assent::domain::keys::saml_keys::keys_with_stage(&host.host, &application)
            .await
            .expect("keys");
        staged.into_iter().map(|(_, stage)| stage).collect()
    };
    let maintain = async || {
        assent::domain::keys::saml_keys::maintain(&host.host)
            .await
            .expect("maintained")
    };
    use SamlKeyStage::{Expired, Published, Retired, Signing};
    host.advance(79 * DAY);
    maintain().await;
    assert_eq!(stages().await, [Signing]);
    host.advance(2 * DAY);
    maintain().await;
    maintain().await;
    assert_eq!(stages().await, [Published, Signing]);
    host.advance(9 * DAY);
    assert_eq!(stages().await, [Published, Signing]);
    host.advance(DAY);
    maintain().await;
    assert_eq!(stages().await, [Signing, Retired]);
    host.advance(2 * DAY);
    assert_eq!(stages().await, [Signing, Expired]);
    maintain().await;
    assert_eq!(stages().await, [Signing]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_to_its_end_is_followed_by_itself_on_sqlite() {
    one_that_comes_to_its_end_is_followed_by_itself(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_to_its_end_is_followed_by_itself_on_postgres() {
    one_that_comes_to_its_end_is_followed_by_itself(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_renew_at_once_make_one_key() {
    let host = TestHost::start_with(HostOptions {
        database: Database::Postgres,
        ..HostOptions::default()
    })
    .await;
    let (second, _running, _) = host
        .second(HostOptions {
            database: Database::Postgres,
            ..HostOptions::default()
        })
        .await;
    let party = Party::register(&host, json!({})).await;
    let application = party.id.parse().expect("a DID");
    let renew = |host| {
        assent::domain::keys::saml_keys::renew(
            host,
            &application,
            &assent_model::audit::AuditContext::SERVER,
        )
    };
    let (one, other) = tokio::join!(renew(&host.host), renew(&second));
    assert_eq!(one.expect("a key").id, other.expect("a key").id);
    assert_eq!(certificates(&host, &party).await.len(), 2);
}
