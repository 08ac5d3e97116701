//! Every change that an administrator makes is told, with what was before and what is now, and without keys.

use assent::domain::keys::signing_keys;
use assent::domain::keys::signing_keys::Takeover;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::ApprovalId;
use assent_model::key::SigningAlgorithm;
use assent_test_macros::both_databases;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use reqwest::Method;
use serde_json::{Value, json};

use super::broken;
use crate::harness::{Database, HostOptions, TestHost, certificate, http_client, id};
use crate::life::{entries, events};

/// The entries about an application, the oldest first.
async fn about(host: &TestHost, application: &Value) -> Vec<Value> {
    entries(host, &format!("application={}", id(application))).await
}

#[both_databases]
async fn what_is_done_to_a_client_is_told_without_its_keys(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let path = format!("/applications/{}", id(&application));
    let secret = host
        .admin_ok(Method::POST, &format!("{path}/secret/rotate"), Value::Null)
        .await;
    host.admin_ok(Method::PATCH, &path, json!({"name": "Library"}))
        .await;
    host.admin_ok(Method::PATCH, &path, json!({"name": "Library"}))
        .await;
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let pem = String::from_utf8(certificate(&key).to_pem().expect("PEM")).expect("text");
    let keyed = json!({"token_endpoint_auth_method": "private_key_jwt", "certificate": pem});
    let keyed = host.admin_ok(Method::PATCH, &path, keyed).await;
    let logo = http_client()
        .put(format!("{}/admin/api/v1{path}/logo", host.base))
        .bearer_auth(&host.token);
    let logo = logo
        .body(include_bytes!("../../../host/server/assets/icons/badge-96.png").as_slice())
        .send()
        .await
        .expect("sent");
    assert!(logo.status().is_success(), "{:?}", logo.text().await);
    host.admin_ok(Method::DELETE, &format!("{path}/logo"), Value::Null)
        .await;
    host.admin_ok(Method::DELETE, &path, Value::Null).await;

    let told = about(&host, &application).await;
    let expected = [
        "application.created",
        "application.secret-rotated",
        "application.changed",
        "application.changed",
        "application.logo-set",
        "application.logo-removed",
        "application.deleted",
    ];
    assert_eq!(events(&told), expected, "{database:?}");
    assert_eq!(
        told[0]["detail"]["after"]["redirect_uris"],
        json!(["https://rp.example/cb"])
    );
    assert_eq!(
        told[2]["detail"],
        json!({"before": {"name": "Books"}, "after": {"name": "Library"}})
    );
    let (was, is) = (&told[3]["detail"]["before"], &told[3]["detail"]["after"]);
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
    assert_eq!(told[6]["detail"]["before"]["name"], "Library");
    assert!(
        told.iter()
            .all(|entry| entry["actor"]["kind"] == "admin_token"),
        "{told:?}"
    );
    let all = format!("{told:?}");
    let secret = secret["client_secret"].as_str().expect("a secret");
    let modulus = keyed["jwks"]["keys"][0]
        .as_object()
        .expect("a key")
        .values();
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
async fn what_is_done_to_a_service_provider_and_its_certificates_is_told(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
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
        .as_array()
        .expect("items")
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
    let told = about(&host, &application).await;
    let expected = [
        "application.created",
        "application.changed",
        "certificate.published",
        "certificate.activated",
        "certificate.withdrawn",
        "application.metadata-applied",
    ];
    assert_eq!(events(&told), expected, "{database:?}");
    assert_eq!(
        told[1]["detail"]["after"],
        json!({"clock_skew": 30}),
        "{:?}",
        told[1]
    );
    assert_eq!(told[3]["detail"], json!({"certificate": next["id"]}));
    assert_eq!(
        told[5]["detail"]["after"]["acs"][0]["url"],
        "https://wiki.example/other"
    );
    assert!(!format!("{told:?}").contains("BEGIN"), "{told:?}");
}

#[both_databases]
async fn keys_and_tokens_are_told_by_name_alone(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let token = entries(&host, "event=admin-token.created").await;
    assert_eq!(
        (token.len(), &token[0]["actor"]["kind"]),
        (1, &json!("server")),
        "{database:?}"
    );
    host.user("ada").await;
    let made = &entries(&host, "event=user.created").await[0];
    assert_eq!(
        token[0]["detail"]["token"], made["actor"]["id"],
        "so it is known who did what with it"
    );
    assert!(!format!("{token:?}").contains(&host.token));
    let of = format!("actor={}", made["actor"]["id"].as_str().expect("an id"));
    assert_eq!(
        events(&entries(&host, &of).await),
        ["user.created"],
        "{database:?}"
    );

    let by = AuditContext::new(Actor::Server, Origin::NOWHERE);
    let approval = ApprovalId::from_bytes([7; 16]);
    let by = by.with_approval(approval);
    signing_keys::rotate(&host.host, SigningAlgorithm::Rs256, Takeover::Now, &by)
        .await
        .expect("rotated");
    let signing = host.host.key_ring.known(host.host.now()).remove(0);
    signing_keys::revoke(&host.host, &signing.key_id, &by)
        .await
        .expect("revoked");
    for event in [Event::SigningKeyPublished, Event::SigningKeyRevoked] {
        let told = entries(&host, &format!("event={}", event.as_str())).await;
        assert_eq!(told.len(), 1, "{database:?}: {told:?}");
        assert_eq!(
            told[0]["approval_id"],
            approval.to_string(),
            "which approval allowed it"
        );
    }
    assert_eq!(broken(&host.host.store).await, None, "{database:?}");
}
