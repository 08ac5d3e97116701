//! The audit log contains each administrative change, with the values before and after, without key material.

use assent::domain::keys::signing_keys;
use assent::domain::keys::signing_keys::Takeover;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::ApprovalId;
use assent_model::key::SigningAlgorithm;
use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use super::broken;
use crate::harness::{
    Database, EncodedCertificate, Json, Respond, TestHost, Text, certificate, http_client, id,
    rsa_key,
};
use crate::lifecycle::{entries, events};

/// Returns the entries about an application, the oldest first.
async fn about(host: &TestHost, application: &Value) -> Vec<Value> {
    entries(host, &format!("application={}", id(application))).await
}

#[both_databases]
async fn client_changes_are_audited_without_key_material(database: Database) {
    let host = TestHost::start_on(database).await;
    let body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let path = format!("/applications/{}", id(&application));
    let secret = host
        .admin_ok(Method::POST, &format!("{path}/secret/rotate"), Value::Null)
        .await;
    let second = host
        .admin_ok(Method::POST, &format!("{path}/secrets"), Value::Null)
        .await;
    let first = format!("{path}/secrets/{}", id(&secret));
    host.admin_ok(Method::DELETE, &first, Value::Null).await;
    host.admin_ok(Method::PATCH, &path, json!({"name": "Library"}))
        .await;
    host.admin_ok(Method::PATCH, &path, json!({"name": "Library"}))
        .await;
    let key = rsa_key();
    let pem = certificate(&key).pem();
    let keyed = json!({"token_endpoint_auth_method": "private_key_jwt", "certificate": pem});
    let keyed = host.admin_ok(Method::PATCH, &path, keyed).await;
    let logo = http_client()
        .put(format!("{}/admin/api/v1{path}/logo", host.base))
        .bearer_auth(&host.token);
    let logo = logo
        .body(include_bytes!("../../../host/server/assets/icons/badge-96.png").as_slice())
        .response()
        .await;
    assert!(logo.status().is_success(), "{:?}", logo.text().await);
    host.admin_ok(Method::DELETE, &format!("{path}/logo"), Value::Null)
        .await;
    host.admin_ok(Method::DELETE, &path, Value::Null).await;

    let returned = about(&host, &application).await;
    let expected = [
        "application.created",
        "application.secret-rotated",
        "application.secret-created",
        "application.secret-deleted",
        "application.updated",
        "application.updated",
        "application.logo-set",
        "application.logo-removed",
        "application.deleted",
    ];
    assert_eq!(events(&returned), expected, "{database:?}");
    assert_eq!(
        returned[0]["detail"]["after"]["redirect_uris"],
        json!(["https://rp.example/cb"])
    );
    for (index, secret) in [(1, &secret), (2, &second), (3, &secret)] {
        assert_eq!(returned[index]["detail"], json!({"secret_id": id(secret)}));
    }
    assert_eq!(
        returned[4]["detail"],
        json!({"before": {"name": "Books"}, "after": {"name": "Library"}})
    );
    let (was, is) = (
        &returned[5]["detail"]["before"],
        &returned[5]["detail"]["after"],
    );
    assert_eq!(
        was,
        &json!({"authentication": {"method": "client_secret_basic"}}),
        "{database:?}"
    );
    assert_eq!(
        is,
        &json!({"authentication": {"method": "private_key_jwt"}}),
        "{database:?}"
    );
    assert_eq!(returned[8]["detail"]["before"]["name"], "Library");
    assert!(
        returned
            .iter()
            .all(|entry| entry["actor"]["kind"] == "admin_token"),
        "{returned:?}"
    );
    let all = format!("{returned:?}");
    let secret = secret["client_secret"].text();
    let modulus = keyed["jwks"]["keys"][0].members().values();
    for hidden in modulus
        .filter_map(Value::as_str)
        .filter(|value| value.len() > 20)
        .chain([secret])
    {
        assert!(!all.contains(hidden), "{hidden} in {all}");
    }
    assert!(
        !all.contains("CERTIFICATE")
            && !all.contains(&assent_model::secret::Secret::new(secret).digest().to_text())
    );
    assert_eq!(broken(&host.host.store).await, None);
}

#[both_databases]
async fn service_provider_and_certificate_changes_are_audited(database: Database) {
    let host = TestHost::start_on(database).await;
    let body = json!({
        "protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
        "acs": [{"url": "https://wiki.example/acs"}],
    });
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let path = format!("/applications/{}", id(&application));
    host.admin_ok(Method::PATCH, &path, json!({"clock_skew_seconds": 30}))
        .await;
    let certificates = format!("{path}/certificates");
    let next = host
        .admin_ok(Method::POST, &certificates, Value::Null)
        .await;
    host.admin_ok(
        Method::POST,
        &format!("{certificates}/{}/activate", id(&next)),
        Value::Null,
    )
    .await;
    let all = host.admin_ok(Method::GET, &certificates, Value::Null).await;
    let first = all["items"]
        .items()
        .iter()
        .find(|one| one["id"] != next["id"])
        .expect("the first");
    host.admin_ok(
        Method::DELETE,
        &format!("{certificates}/{}", id(first)),
        Value::Null,
    )
    .await;
    let metadata = "<md:EntityDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" \
         entityID=\"https://wiki.example/saml\">\
             <md:SPSSODescriptor protocolSupportEnumeration=\"urn:oasis:names:tc:SAML:2.0:protocol\">\
             <md:AssertionConsumerService Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\" \
             Location=\"https://wiki.example/other\" index=\"0\"/></md:SPSSODescriptor></md:EntityDescriptor>";
    host.admin_ok(
        Method::POST,
        &format!("{path}/metadata"),
        json!({"metadata": metadata, "apply": true}),
    )
    .await;
    let returned = about(&host, &application).await;
    let expected = [
        "application.created",
        "application.updated",
        "certificate.published",
        "certificate.activated",
        "certificate.withdrawn",
        "application.metadata-applied",
    ];
    assert_eq!(events(&returned), expected, "{database:?}");
    assert_eq!(
        returned[1]["detail"]["after"],
        json!({"clock_skew": 30}),
        "{:?}",
        returned[1]
    );
    assert_eq!(returned[3]["detail"], json!({"certificate": next["id"]}));
    assert_eq!(
        returned[5]["detail"]["after"]["acs"][0]["url"],
        "https://wiki.example/other"
    );
    assert!(!format!("{returned:?}").contains("BEGIN"), "{returned:?}");
}

#[both_databases]
async fn key_and_token_changes_are_audited_by_name_only(database: Database) {
    let host = TestHost::start_on(database).await;
    let token = entries(&host, "event=admin-token.created").await;
    assert_eq!(
        (token.len(), &token[0]["actor"]["kind"]),
        (1, &json!("server")),
        "{database:?}"
    );
    host.user("ada").await;
    let created = &entries(&host, "event=user.created").await[0];
    assert_eq!(
        token[0]["detail"]["token"], created["actor"]["id"],
        "the token id identifies the actor"
    );
    assert!(!format!("{token:?}").contains(&host.token));
    let of = format!("actor={}", created["actor"]["id"].text());
    assert_eq!(
        events(&entries(&host, &of).await),
        ["user.created"],
        "{database:?}"
    );

    let by = AuditContext::new(Actor::Server, Origin::NONE);
    let approval = ApprovalId::from_bytes([7; 16]);
    let by = by.with_approval(approval);
    signing_keys::rotate(&host.host, SigningAlgorithm::Rs256, Takeover::Now, &by)
        .await
        .expect("rotated");
    let signing = host.host.key_ring.all_keys(host.host.now()).remove(0);
    signing_keys::revoke(&host.host, &signing.key_id, &by)
        .await
        .expect("revoked");
    for event in [Event::SigningKeyPublished, Event::SigningKeyRevoked] {
        let returned = entries(&host, &format!("event={}", event.as_str())).await;
        assert_eq!(returned.len(), 1, "{database:?}: {returned:?}");
        assert_eq!(
            returned[0]["approval_id"],
            approval.to_string(),
            "the approval of the action"
        );
        let kid = &returned[0]["detail"]["kid"];
        let known = host.host.key_ring.all_keys(host.host.now());
        assert!(
            known.iter().any(|key| *kid == key.key_id),
            "{database:?}: {kid} is the key id in the API"
        );
    }
    assert_eq!(broken(&host.host.store).await, None, "{database:?}");
}
