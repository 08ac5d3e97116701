//! The signing certificates of SAML responses.

use assent_model::saml::SamlKeyStage;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::service_provider::{Response, TestServiceProvider};
use crate::harness::{Browser, Database, HostOptions, Json, Parsed, TestHost, Text, id};

const DAY: u64 = 24 * 60 * 60;

async fn certificates(
    host: &TestHost,
    service_provider: &TestServiceProvider,
) -> Vec<(String, String)> {
    let path = format!("/applications/{}/certificates", service_provider.id);
    let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
    let text = |item: &Value, name: &str| item[name].text().to_owned();
    listed["items"]
        .items()
        .iter()
        .map(|item| (text(item, "stage"), base64_of(item)))
        .collect()
}

fn base64_of(item: &Value) -> String {
    let pem = item["certificate"].text();
    pem.lines()
        .filter(|line| !line.starts_with("-----"))
        .collect()
}

/// Returns the certificate in the signature of a response.
async fn signs(
    service_provider: &TestServiceProvider,
    browser: &Browser,
    host: &TestHost,
) -> String {
    let response = Response::from_page(
        &service_provider
            .begin(browser, &service_provider.request(host), None)
            .await,
    );
    response.text("X509Certificate").to_owned()
}

#[both_databases(flavor = "multi_thread")]
async fn a_renewal_publishes_both_certificates(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    let first = certificates(&host, &service_provider).await;
    assert_eq!(first.len(), 1);
    assert_eq!(
        first[0],
        (
            "signing".to_owned(),
            signs(&service_provider, &browser, &host).await
        )
    );

    let path = format!("/applications/{}/certificates", service_provider.id);
    let next = host.admin_ok(Method::POST, &path, Value::Null).await;
    assert_eq!(next["stage"], "published");
    // A second request returns the same certificate.
    assert_eq!(
        id(&host.admin_ok(Method::POST, &path, Value::Null).await),
        id(&next)
    );
    let two = certificates(&host, &service_provider).await;
    assert_eq!(
        two,
        [("published".to_owned(), base64_of(&next)), first[0].clone()]
    );
    assert_eq!(signs(&service_provider, &browser, &host).await, first[0].1);

    // The active certificate cannot be withdrawn. The published one can be activated at once.
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
    assert_eq!(
        signs(&service_provider, &browser, &host).await,
        base64_of(&next)
    );
    assert_eq!(
        certificates(&host, &service_provider).await[1],
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
        certificates(&host, &service_provider).await,
        [("signing".to_owned(), base64_of(&next))]
    );
}

#[both_databases(flavor = "multi_thread")]
async fn an_expiring_certificate_is_renewed_automatically(database: Database) {
    let settings = "[saml]\ncertificate_validity = \"100d\"\ncertificate_publish_ahead = \"10d\"";
    let host = TestHost::start_on_with(database, settings).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let application = service_provider.id.parsed();
    let stages = async || -> Vec<SamlKeyStage> {
        let staged = assent::domain::keys::saml_keys::keys_with_stage(&host.host, &application)
            .await
            .expect("keys");
        staged.into_iter().map(|(_, stage)| stage).collect()
    };
    let maintain = async || {
        assent::domain::keys::saml_keys::maintain_at(&host.host, host.host.now())
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
async fn concurrent_renewals_create_one_key() {
    let host = TestHost::start_on(Database::Postgres).await;
    let (second, _running, _) = host
        .second(HostOptions {
            database: Database::Postgres,
            ..HostOptions::default()
        })
        .await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let application = service_provider.id.parsed();
    let renew = |host| {
        assent::domain::keys::saml_keys::renew(
            host,
            &application,
            &assent_model::audit::AuditContext::SERVER,
        )
    };
    let (one, other) = tokio::join!(renew(&host.host), renew(&second));
    assert_eq!(one.expect("a key").id, other.expect("a key").id);
    assert_eq!(certificates(&host, &service_provider).await.len(), 2);
}
