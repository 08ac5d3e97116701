//! The client authentication of the receipt endpoint: every method of introspection.

use reqwest::{RequestBuilder, Url};

use super::*;
use crate::harness::{Database, temp_folder};
use crate::oidc::ciba;

async fn status(request: RequestBuilder) -> u16 {
    request.response().await.status().as_u16()
}

#[tokio::test]
async fn an_application_with_a_secret_authenticates_in_the_header_or_in_its_body() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let tokens = ciba::approved(&host, &ada, &[]).await;
    let client_id = ada.application.id.as_str();
    let path = format!("/applications/{client_id}");
    let url = format!(
        "{}/oidc/receipts/{}",
        host.base,
        tokens["receipt_id"].text()
    );
    let secret = ada.application.secret.as_deref().expect("a secret");
    let change = json!({"token_endpoint_auth_method": "client_secret_post"});
    host.admin_ok(Method::PATCH, &path, change).await;
    let header = http_client().get(&url).basic_auth(client_id, Some(secret));
    assert_eq!(status(header).await, 200);
    for (given, expected) in [(secret, 200), ("wrong", 401)] {
        let form = [("client_id", client_id), ("client_secret", given)];
        assert_eq!(status(http_client().post(&url).form(&form)).await, expected);
    }
    let form = [("client_id", client_id)];
    assert_eq!(status(http_client().post(&url).form(&form)).await, 401);
}

#[tokio::test]
async fn an_application_with_a_key_posts_an_assertion() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let tokens = ciba::approved(&host, &ada, &[]).await;
    let client_id = ada.application.id.as_str();
    let path = format!("/applications/{client_id}");
    let url = format!(
        "{}/oidc/receipts/{}",
        host.base,
        tokens["receipt_id"].text()
    );
    let key = rsa();
    let change = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    host.admin_ok(Method::PATCH, &path, change).await;
    let stranger = rsa();
    for (n, key, expected) in [(1, &key, 200), (2, &stranger, 401)] {
        let assertion = by_rsa(&claims(&host, client_id, n), key);
        let form = [
            ("client_assertion_type", ASSERTION),
            ("client_assertion", &assertion),
        ];
        assert_eq!(status(http_client().post(&url).form(&form)).await, expected);
        // The assertion is single use.
        assert_eq!(status(http_client().post(&url).form(&form)).await, 401);
    }
    // Another method than the registered one.
    let secret = ada.application.secret.as_deref();
    let header = http_client().get(&url).basic_auth(client_id, secret);
    assert_eq!(status(header).await, 401);
}

#[tokio::test]
async fn an_application_with_a_certificate_reads_at_the_listener_for_certificates() {
    let folder = temp_folder();
    let (settings, server) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    let ada = host.ada().await;
    ciba::permit(&host, &ada.application).await;
    let tokens = ciba::approved(&host, &ada, &[]).await;
    let [own, stranger] = ["books"; 2].map(certificate_of);
    host.advance(60);
    let client_id = ada.application.id.as_str();
    let path = format!("/applications/{client_id}");
    let change = json!({
        "token_endpoint_auth_method": "tls_client_certificate", "certificate": own.0.pem(),
    });
    host.admin_ok(Method::PATCH, &path, change).await;
    let base = host.host.settings.http.mtls_url.clone();
    let base = base.expect("an address");
    let url = format!("{base}oidc/receipts/{}", tokens["receipt_id"].text());
    let query = [("client_id", client_id)];
    for (certificate, expected) in [(Some(&own), 200), (Some(&stranger), 401), (None, 401)] {
        let caller = client(&server, certificate);
        let named = Url::parse_with_params(&url, &query).expect("a URL");
        assert_eq!(status(caller.get(named)).await, expected);
        assert_eq!(status(caller.post(&url).form(&query)).await, expected);
    }
    let keys = client(&server, Some(&own)).get(format!("{base}oidc/receipts/keys"));
    assert_eq!(status(keys).await, 404);
}
