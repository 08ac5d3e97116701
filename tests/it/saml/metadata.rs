//! The metadata of Assent and of service providers.

use assent_test_macros::both_databases;
use std::process::Command;
use std::time::Duration;

use assent_saml_core::message::instant;
use assent_saml_core::xml::{Document, Element, TrustedKey, XmlLimits};
use openssl::x509::X509;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::schema::validate;
use super::service_provider::TestServiceProvider;
use crate::harness::{
    Browser, Database, HostOptions, Page, TestHost, Text, id, temp_folder, write_file,
};

const DAY: u64 = 24 * 60 * 60;

/// The metadata of an instance for a service provider.
struct Metadata {
    page: Page,
    document: Document,
}

impl Metadata {
    async fn fetch(base: &str, application: &str) -> Self {
        let page = Browser::new(base)
            .get(&format!("/sso/metadata/{application}"))
            .await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        validate(&page.body).unwrap_or_else(|error| panic!("{error}: {}", page.body));
        let document = Document::read(page.body.as_bytes(), XmlLimits::METADATA).expect("XML");
        Self { page, document }
    }

    fn root(&self) -> Element<'_> {
        self.document.unverified()
    }

    fn role(&self) -> Element<'_> {
        self.elements_named("IDPSSODescriptor")
            .next()
            .expect("a role")
    }

    fn elements_named(&self, local: &'static str) -> impl Iterator<Item = Element<'_>> {
        self.root()
            .descendants()
            .filter(move |element| element.local_name() == local)
    }

    fn attributes(&self, local: &'static str, attribute: &'static str) -> Vec<&str> {
        self.elements_named(local)
            .map(|element| element.attribute(attribute).expect("a value"))
            .collect()
    }

    /// Returns the certificates of the signing keys, in PEM form.
    fn certificates(&self) -> Vec<String> {
        let keys = self
            .role()
            .children()
            .filter(|child| child.local_name() == "KeyDescriptor");
        keys.map(|key| {
            assert_eq!(key.attribute("use"), Some("signing"));
            let certificate = key
                .descendants()
                .find(|inside| inside.local_name() == "X509Certificate");
            pem(certificate.expect("a certificate").text().expect("text"))
        })
        .collect()
    }

    /// Returns whether the document has a signature of this certificate's key. `xmlsec1` and Assent must agree.
    fn is_signed_by(&self, certificate: &str) -> bool {
        let folder = temp_folder();
        for (name, text) in [("cert.pem", certificate), ("metadata.xml", &self.page.body)] {
            write_file(folder.path().join(name), text);
        }
        let ids = "--id-attr:ID";
        let element = "urn:oasis:names:tc:SAML:2.0:metadata:EntityDescriptor";
        let mut command = Command::new("xmlsec1");
        command.args([
            "--verify",
            "--pubkey-cert-pem",
            "cert.pem",
            ids,
            element,
            "metadata.xml",
        ]);
        let theirs = command
            .current_dir(folder.path())
            .output()
            .expect("xmlsec1 is missing: run `make test`");
        let key = TrustedKey::of_certificate(
            &X509::from_pem(certificate.as_bytes()).expect("a certificate"),
        );
        let is_valid = self.document.verify(&[key.expect("a key")]).is_ok();
        assert_eq!(
            theirs.status.success(),
            is_valid,
            "{}",
            String::from_utf8_lossy(&theirs.stderr)
        );
        is_valid
    }
}

/// Returns a certificate in PEM form, from the base64 text in metadata.
fn pem(base64: &str) -> String {
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).expect("text"))
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

#[tokio::test]
async fn metadata_lists_endpoints_and_bindings() {
    let host = TestHost::start().await;
    let settings = json!({
        "require_signed_requests": true,
        "name_id_format": "persistent",
        "other_name_id_formats": ["emailAddress", "transient"],
    });
    let service_provider = TestServiceProvider::register(&host, settings).await;
    let metadata = Metadata::fetch(&host.base, &service_provider.id).await;
    assert_eq!(metadata.page.headers["content-type"], "text/xml");
    assert_eq!(
        metadata.page.headers["cache-control"],
        "public, max-age=300"
    );
    let root = metadata.root();
    assert_eq!(root.attribute("entityID"), Some(host.issuer().as_str()));
    assert_eq!(root.attribute("cacheDuration"), Some("PT24H"));
    let until = instant(root.attribute("validUntil").expect("an end")).expect("a moment");
    assert_eq!(until, host.host.now() + Duration::from_secs(365 * DAY));

    let role = metadata.role();
    assert_eq!(
        role.attribute("protocolSupportEnumeration"),
        Some("urn:oasis:names:tc:SAML:2.0:protocol")
    );
    assert_eq!(role.attribute("WantAuthnRequestsSigned"), Some("true"));
    let binding = |name: &str| format!("urn:oasis:names:tc:SAML:2.0:bindings:{name}");
    for service in ["SingleSignOnService", "SingleLogoutService"] {
        assert_eq!(
            metadata.attributes(service, "Binding"),
            [binding("HTTP-POST"), binding("HTTP-Redirect")]
        );
        let address = format!("{}/sso/{service}/{}", host.base, service_provider.id);
        assert_eq!(
            metadata.attributes(service, "Location"),
            [&address, &address]
        );
    }
    let formats: Vec<_> = metadata
        .elements_named("NameIDFormat")
        .map(|format| format.text().expect("text"))
        .collect();
    assert_eq!(
        formats,
        [
            "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
            "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
        ]
    );
    let signing = metadata.attributes("SigningMethod", "Algorithm");
    assert_eq!(
        signing.first(),
        Some(&"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256")
    );
    let digests: Vec<_> = metadata
        .elements_named("Extensions")
        .flat_map(Element::children)
        .collect();
    assert_eq!(digests.len(), signing.len() + 3);
    assert!(!metadata.page.body.to_lowercase().contains("sha1"));

    let certificates = metadata.certificates();
    assert_eq!(certificates.len(), 1);
    assert!(metadata.is_signed_by(&certificates[0]));
    let other = TestServiceProvider::register(
        &host,
        json!({"entity_id": "urn:other", "idp_entity_id": "urn:ours"}),
    )
    .await;
    let others = Metadata::fetch(&host.base, &other.id).await;
    assert_eq!(others.root().attribute("entityID"), Some("urn:ours"));
    assert_eq!(
        others.role().attribute("WantAuthnRequestsSigned"),
        Some("false")
    );
    assert!(
        !metadata.is_signed_by(&others.certificates()[0]),
        "each has a key of its own"
    );
    assert_ne!(root.attribute("ID"), others.root().attribute("ID"));

    let head = Browser::new(&host.base)
        .head(&format!("/sso/metadata/{}", service_provider.id))
        .await;
    assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
}

/// An instance keeps the document for five seconds, but not across a change of its own.
#[tokio::test]
async fn metadata_is_new_at_once_on_the_changing_instance_and_soon_on_others() {
    let host = TestHost::start_on(Database::Postgres).await;
    let (_services, _server, other) = host.second(HostOptions::default()).await;
    let provider = TestServiceProvider::register(&host, json!({})).await;
    let name = async |base: &str| {
        let metadata = Metadata::fetch(base, &provider.id).await;
        let name = metadata.root().attribute("entityID").expect("a name");
        name.to_owned()
    };
    let issuers = [host.issuer(), format!("{other}/oidc")];
    assert_eq!([name(&host.base).await, name(&other).await], issuers);
    let path = format!("/applications/{}", provider.id);
    let renamed = json!({ "idp_entity_id": "urn:renamed" });
    host.admin_ok(Method::PATCH, &path, renamed).await;
    assert_eq!(name(&host.base).await, "urn:renamed");
    host.advance(4);
    assert_eq!(name(&other).await, issuers[1], "kept for five seconds");
    host.advance(1);
    assert_eq!(name(&other).await, "urn:renamed");
}

#[tokio::test]
async fn metadata_exists_for_service_providers_only() {
    let host = TestHost::start().await;
    let browser = Browser::new(&host.base);
    let web = host.web_application().await;
    let unknown = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
    for application in [web.id.as_str(), unknown, "x"] {
        let page = browser.get(&format!("/sso/metadata/{application}")).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{application}");
        assert_eq!(page.headers["cache-control"], "no-store");
        assert!(page.body.contains("Metadata not found"), "{}", page.body);
    }
}

#[both_databases]
async fn metadata_lists_both_certificates_during_a_renewal(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let first = Metadata::fetch(&host.base, &service_provider.id)
        .await
        .certificates()
        .remove(0);

    let path = format!("/applications/{}/certificates", service_provider.id);
    let next = host.admin_ok(Method::POST, &path, Value::Null).await;
    let certificate = next["certificate"].text().to_owned();
    let metadata = Metadata::fetch(&host.base, &service_provider.id).await;
    assert_eq!(
        metadata.certificates(),
        [first.clone(), certificate.clone()],
        "the active certificate comes first"
    );
    assert!(metadata.is_signed_by(&first) && !metadata.is_signed_by(&certificate));

    host.admin_ok(
        Method::POST,
        &format!("{path}/{}/activate", id(&next)),
        Value::Null,
    )
    .await;
    let metadata = Metadata::fetch(&host.base, &service_provider.id).await;
    assert_eq!(metadata.certificates(), [certificate.clone(), first]);
    assert!(metadata.is_signed_by(&certificate));

    host.advance(3 * DAY);
    let metadata = Metadata::fetch(&host.base, &service_provider.id).await;
    assert_eq!(
        metadata.certificates(),
        [certificate],
        "the old certificate is removed"
    );
}

/// A document is signed once, until its content changes or half of its validity has passed.
#[both_databases]
async fn unchanged_metadata_is_not_signed_again(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let read = async || Metadata::fetch(&host.base, &service_provider.id).await;
    let first = read().await.page.body;
    assert_eq!(read().await.page.body, first);
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", service_provider.id),
        json!({"require_signed_requests": true}),
    )
    .await;
    let changed = read().await;
    assert_ne!(changed.page.body, first);
    assert_eq!(
        changed.role().attribute("WantAuthnRequestsSigned"),
        Some("true")
    );
    host.advance(182 * DAY);
    assert_eq!(read().await.page.body, changed.page.body);
    host.advance(DAY);
    let renewed = read().await;
    let until = renewed.root().attribute("validUntil").and_then(instant);
    assert_eq!(
        until,
        Some(host.host.now() + Duration::from_secs(365 * DAY))
    );
    assert_eq!(read().await.page.body, renewed.page.body);
}
