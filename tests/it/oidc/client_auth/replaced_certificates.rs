//! The replacement of a registered client certificate without an outage.

use super::*;
use crate::harness::temp_folder;
use crate::harness::tls::{authority, issued, subject};

#[tokio::test]
async fn two_certificates_are_valid_during_a_replacement() {
    let folder = temp_folder();
    let (settings, server) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    // The certificates are newer than the instance, because the instance's clock stands still.
    let [old, new, stranger] = ["books"; 3].map(certificate_of);
    host.advance(60);
    let created = json!({
        "token_endpoint_auth_method": "tls_client_certificate", "certificate": old.0.pem(),
    });
    let web = application(&host, created).await;
    let path = format!("/applications/{}", id(&web));
    let base = host.host.settings.http.mtls_url.clone();
    let url = format!("{}oidc/token", base.expect("an address"));
    let statuses = async || {
        let mut statuses = Vec::new();
        for own in [&old, &new, &stranger] {
            let form = [
                ("grant_type", "client_credentials"),
                ("client_id", id(&web)),
            ];
            let request = client(&server, Some(own)).post(&url).form(&form);
            statuses.push(request.response().await.status().as_u16());
        }
        statuses
    };
    assert_eq!(statuses().await, [200, 401, 401]);
    let both = format!("{}{}", old.0.pem(), new.0.pem());
    let changed = host
        .admin_ok(Method::PATCH, &path, json!({ "certificate": both }))
        .await;
    assert_eq!(changed["certificate"], both);
    assert_eq!(statuses().await, [200, 200, 401]);
    let only = json!({"certificate": new.0.pem()});
    let changed = host.admin_ok(Method::PATCH, &path, only).await;
    assert_eq!(changed["certificate"], new.0.pem());
    assert_eq!(statuses().await, [401, 200, 401]);
    // The same certificate twice is one.
    let twice = format!("{}{}", new.0.pem(), new.0.pem());
    let changed = host
        .admin_ok(Method::PATCH, &path, json!({ "certificate": twice }))
        .await;
    assert_eq!(changed["certificate"], new.0.pem());
    let three = format!("{both}{}", stranger.0.pem());
    let (status, answer) = host
        .admin(Method::PATCH, &path, json!({ "certificate": three }))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert_eq!(answer["errors"][0]["pointer"], "/certificate");
}

/// With the chain of its certificate, an administrator would register the authority as a second certificate.
#[tokio::test]
async fn a_certificate_and_its_authority_are_rejected() {
    let host = TestHost::start().await;
    let long = (0, i64::from(u32::MAX));
    let root = authority("Root", None, long);
    let own = issued(&subject(&[("CN", "books")]), Some(&root), long, Vec::new());
    for certificates in [[&own, &root], [&root, &own]] {
        let chain = certificates
            .map(|(certificate, _)| certificate.pem())
            .concat();
        let body = json!({
            "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
            "token_endpoint_auth_method": "tls_client_certificate", "certificate": chain,
        });
        let (status, answer) = host.admin(Method::POST, "/applications", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        assert!(answer["detail"].text().contains("issued"), "{answer}");
    }
}
