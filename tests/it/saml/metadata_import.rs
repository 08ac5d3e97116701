//! Service providers from metadata in the style of common programs.

use assent_saml_core::xml::{Name, Namespace, Signer, Writer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::X509;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::schema::validate;
use crate::harness::{EncodedCertificate, Json, TestHost, Text, after, certificate, id};

pub const MELLON: &str = include_str!("metadata_samples/mellon.xml");
const SIMPLESAMLPHP: &str = include_str!("metadata_samples/simplesamlphp.xml");
const SHIBBOLETH: &str = include_str!("metadata_samples/shibboleth.xml");
const OKTA: &str = include_str!("metadata_samples/okta.xml");
const ADFS: &str = include_str!("metadata_samples/adfs.xml");

/// Creates a service provider's key.
fn key(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).expect("a key")).expect("a key")
}

pub fn pem(certificate: &X509) -> String {
    certificate.pem()
}

/// The two certificates in the samples.
pub struct Certificates {
    pub first: X509,
    pub second: X509,
}

impl Certificates {
    pub fn new() -> Self {
        Self {
            first: certificate(&key(2048)),
            second: certificate(&key(2048)),
        }
    }

    /// Returns a sample with these certificates.
    pub fn in_text(&self, sample: &str) -> String {
        let lines = |certificate: &X509| {
            let base64 = STANDARD.encode(certificate.to_der().expect("DER"));
            let lines = base64
                .as_bytes()
                .chunks(76)
                .map(|line| std::str::from_utf8(line).expect("text"));
            lines.collect::<Vec<_>>().join("\n        ")
        };
        sample
            .replace("FIRST", &lines(&self.first))
            .replace("SECOND", &lines(&self.second))
    }
}

async fn import(host: &TestHost, metadata: &str, members: Value) -> (StatusCode, Value) {
    let mut body = json!({"protocol": "saml", "metadata": metadata});
    for (name, value) in members.members() {
        body[name] = value.clone();
    }
    host.admin(Method::POST, "/applications", body).await
}

pub async fn import_ok(host: &TestHost, metadata: &str, members: Value) -> Value {
    let (status, created) = import(host, metadata, members).await;
    assert_eq!(status, StatusCode::CREATED, "{created}: {metadata}");
    created
}

/// Returns the changes that the metadata would make to a service provider, and the notes.
async fn preview_import(host: &TestHost, application: &Value, metadata: &str) -> Value {
    let path = format!("/applications/{}/metadata", id(application));
    host.admin_ok(Method::POST, &path, json!({"metadata": metadata}))
        .await
}

/// Returns the samples: metadata, the members of the request, the expected members of the application, and the notes.
fn samples(certificates: &Certificates) -> [(&'static str, Value, Value, Vec<&'static str>); 5] {
    let (first, second) = (pem(&certificates.first), pem(&certificates.second));
    let acs = |url: &str, index: u16, default: bool| json!({"url": url, "index": index, "default": default});
    [
        (
            MELLON,
            json!({"name": "Wiki"}),
            json!({
                "name": "Wiki",
                "entity_id": "https://mellon.example/mellon/metadata",
                "acs": [acs("https://mellon.example/mellon/postResponse", 0, true)],
                "single_logout": {
                    "url": "https://mellon.example/mellon/logout", "response_url": null, "binding": "redirect",
                },
                "name_id_format": "transient",
                "other_name_id_formats": [],
                "require_signed_requests": true,
                "certificates": [first],
                "metadata_url": null,
            }),
            vec![
                "AssertionConsumerService was omitted where its binding is HTTP-Artifact, PAOS",
                "binding is SOAP",
            ],
        ),
        (
            SIMPLESAMLPHP,
            json!({}),
            json!({
                "name": "The Library",
                "acs": [acs("https://ssp.example/simplesaml/module.php/saml/sp/saml2-acs.php/default-sp", 0, false)],
                // The metadata has no name formats, so the default of a new application applies.
                "name_id_format": "emailAddress",
                "other_name_id_formats": ["transient"],
                "require_signed_requests": false,
                "certificates": [first],
            }),
            vec![
                "urn:oasis:names:tc:SAML:1.0:profiles:browser-post, HTTP-Artifact",
                "binding is SOAP",
                "encryption was omitted",
                "(mail, urn:oid:2.5.4.4)",
            ],
        ),
        (
            SHIBBOLETH,
            json!({"require_signed_requests": true, "clock_skew_seconds": 30}),
            json!({
                "name": "Research Data",
                "acs": [
                    acs("https://shib.example/Shibboleth.sso/SAML2/POST", 2, false),
                    // The first endpoint has `isDefault="false"`.
                    acs("https://www.shib.example/Shibboleth.sso/SAML2/POST", 5, true),
                ],
                "single_logout": {
                    "url": "https://shib.example/Shibboleth.sso/SLO/Redirect",
                    "response_url": "https://shib.example/Shibboleth.sso/SLO/Answer",
                    "binding": "redirect",
                },
                "require_signed_requests": true,
                "clock_skew_seconds": 30,
                "certificates": [first],
            }),
            vec![
                "HTTP-Artifact, HTTP-POST-SimpleSign, PAOS",
                "HTTP-Artifact, SOAP",
                "still requires signatures",
            ],
        ),
        (
            OKTA,
            json!({"acs": [{"url": "https://hub.example/only"}], "name_id_source": "account_name"}),
            json!({
                "name": "Hub & Spoke",
                "acs": [acs("https://hub.example/only", 0, false)],
                "single_logout": null,
                "name_id_format": "emailAddress",
                "other_name_id_formats": ["persistent", "unspecified"],
                "name_id_source": "account_name",
                "require_signed_requests": true,
                "certificates": [first],
            }),
            vec![
                "encryption was omitted",
                "they are not supported: urn:oasis:names:tc:SAML:1.1:nameid-format:x509",
                "With the name_id_source account_name",
            ],
        ),
        (
            ADFS,
            json!({"name": "ADFS", "name_id_format": "persistent"}),
            json!({
                "entity_id": "http://fs.example/adfs/services/trust",
                "single_logout": {"url": "https://fs.example/adfs/ls/", "response_url": null, "binding": "post"},
                "name_id_format": "persistent",
                "other_name_id_formats": ["transient"],
                "require_signed_requests": false,
                "certificates": [first, second],
            }),
            vec!["encryption was omitted", "HTTP-Artifact, HTTP-Redirect"],
        ),
    ]
}

#[tokio::test]
async fn metadata_of_common_service_providers_is_imported() {
    let host = TestHost::start().await;
    let certificates = Certificates::new();
    for (sample, message, expected, notes) in samples(&certificates) {
        let metadata = certificates.in_text(sample);
        // No SAML schema contains the type of a WS-Federation role.
        if sample != ADFS {
            validate(&metadata).unwrap_or_else(|error| panic!("{error}: {metadata}"));
        }
        let mut created = import_ok(&host, &metadata, message).await;
        let returned = created
            .as_object_mut()
            .and_then(|members| members.remove("notes"))
            .unwrap_or_default()
            .to_string();
        // The note that metadata does not weaken a setting belongs to a refresh. Here the administrator has just chosen
        // the setting.
        let of_import = notes
            .iter()
            .filter(|note| **note != "still requires signatures");
        assert!(
            of_import.into_iter().all(|note| returned.contains(note)),
            "{returned}"
        );
        for (member, value) in expected.members() {
            assert_eq!(&created[member], value, "{member} of {created}");
        }
        let read = host
            .admin_ok(
                Method::GET,
                &format!("/applications/{}", id(&created)),
                Value::Null,
            )
            .await;
        assert_eq!(read, created);
        let audited = preview_import(&host, &created, &metadata).await["notes"].to_string();
        assert_eq!(
            preview_import(&host, &created, &metadata).await["notes"]
                .as_array()
                .map(Vec::len),
            Some(notes.len()),
            "{audited}"
        );
        for note in notes {
            assert!(audited.contains(note), "{note}: {audited}");
        }
    }
}

/// Returns the metadata of Mellon and of Okta as one document, with these attributes of the root.
fn two_entities(certificates: &Certificates, attributes: &str) -> String {
    let entity = |sample: &str| after(&certificates.in_text(sample), "?>").to_owned();
    let entities = entity(MELLON) + &entity(OKTA);
    format!(
        r#"<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"{attributes}>{entities}</md:EntitiesDescriptor>"#
    )
}

/// Returns the reason why an import is rejected.
async fn import_error(host: &TestHost, metadata: &str, members: Value) -> String {
    let (status, problem) = import(host, metadata, members).await;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{metadata}: {problem}"
    );
    problem["detail"].text().to_owned()
}

#[tokio::test]
async fn unusable_metadata_names_the_reason() {
    let host = TestHost::start().await;
    let certificates = Certificates::new();
    let mellon = certificates.in_text(MELLON);
    let weak = Certificates {
        first: certificate(&key(1024)),
        second: certificates.second.clone(),
    };
    let named = json!({"name": "x"});
    let cases = [
        ("", "metadata: it cannot be read: line 1"),
        ("<html></html>", "expected an EntityDescriptor"),
        ("<!DOCTYPE html><html></html>", "a DOCTYPE is not allowed"),
        (
            &mellon.replace(
                "<EntityDescriptor",
                "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><EntityDescriptor",
            ),
            "a DOCTYPE",
        ),
        (
            &mellon.replace("SPSSODescriptor", "IDPSSODescriptor"),
            "metadata of an identity provider?",
        ),
        (
            &mellon.replace("SAML:2.0:protocol", "SAML:1.1:protocol"),
            "does not support SAML 2.0",
        ),
        (
            &mellon.replace("bindings:HTTP-POST", "bindings:HTTP-Artifact"),
            "no AssertionConsumerService with the HTTP-POST",
        ),
        (
            &mellon.replace(
                " entityID=",
                " validUntil=\"2020-01-01T00:00:00Z\" entityID=",
            ),
            "expired at 2020-01-01T00:00:00Z",
        ),
        (
            &mellon.replace(
                "<SPSSODescriptor",
                "<SPSSODescriptor validUntil=\"2020-01-01T00:00:00Z\"",
            ),
            "expired at",
        ),
        (
            &mellon.replace(" entityID=", " validUntil=\"tomorrow\" entityID="),
            "validUntil is not a time with its zone",
        ),
        (
            &mellon.replace(" entityID=", " id="),
            "the attribute entityID is missing",
        ),
        (
            &mellon.replace(
                "https://mellon.example/mellon/postResponse",
                "http://mellon.example/post",
            ),
            "acs: expected an address that starts with https://",
        ),
        (
            &mellon.replace("index=\"0\"", "index=\"zero\""),
            "index is not a number",
        ),
        (
            &weak.in_text(MELLON),
            "KeyDescriptor 1: the certificate's key must be RSA of 2,048 to 8,192 bits",
        ),
        (
            &MELLON.replace("FIRST", "AAAA"),
            "KeyDescriptor 1: expected an X.509 certificate",
        ),
        (
            &two_entities(&certificates, ""),
            "several service providers (https://mellon.example/mellon/metadata, https://www.hub.example",
        ),
    ];
    for (metadata, why) in cases {
        let detail = import_error(&host, metadata, named.clone()).await;
        assert!(detail.contains(why), "{why}: {detail}: {metadata}");
    }
}

#[tokio::test]
async fn an_import_names_the_missing_or_ambiguous_members() {
    let host = TestHost::start().await;
    let certificates = Certificates::new();
    let mellon = certificates.in_text(MELLON);
    assert!(
        import_error(&host, &mellon, json!({}))
            .await
            .starts_with("name: "),
        "an application needs a name"
    );
    let other = json!({"name": "x", "entity_id": "urn:other"});
    assert!(
        import_error(&host, &mellon, other)
            .await
            .contains("does not describe urn:other, but https://mellon.example")
    );
    let both = json!({"name": "x", "metadata_url": "https://mellon.example/"});
    assert!(
        import_error(&host, &mellon, both)
            .await
            .contains("not both")
    );
    let listed = host
        .admin_ok(Method::GET, "/applications", Value::Null)
        .await;
    assert_eq!(listed["items"], json!([]), "no application is created");

    let chosen = json!({"name": "x", "entity_id": "https://mellon.example/mellon/metadata"});
    let created = import_ok(&host, &two_entities(&certificates, ""), chosen.clone()).await;
    assert_eq!(created["entity_id"], chosen["entity_id"]);
    let over = import_error(
        &host,
        &two_entities(&certificates, " validUntil=\"2020-01-01T00:00:00Z\""),
        chosen,
    )
    .await;
    assert!(
        over.contains("expired at"),
        "validUntil of the parent applies: {over}"
    );
}

#[tokio::test]
async fn common_schema_violations_are_accepted_with_a_note() {
    let host = TestHost::start().await;
    let certificates = Certificates::new();
    let okta = certificates.in_text(OKTA);
    let created = import_ok(
        &host,
        &okta.replace("index=\"1\"", "index=\"0\""),
        json!({}),
    )
    .await;
    let indexes: Vec<_> = created["acs"]
        .items()
        .iter()
        .map(|acs| &acs["index"])
        .collect();
    assert_eq!(indexes, [0, 1]);
    // A descriptor has one key. The issuers in a certificate chain must not be accepted as its signers.
    let chain = MELLON.replace(
        "</ds:X509Certificate>",
        "</ds:X509Certificate><ds:X509Certificate>SECOND</ds:X509Certificate>",
    );
    let chain = certificates.in_text(&chain);
    let created = import_ok(&host, &chain, json!({"name": "Wiki"})).await;
    assert_eq!(created["certificates"], json!([pem(&certificates.first)]));
    let notes = preview_import(&host, &created, &chain).await["notes"].to_string();
    assert!(notes.contains("only the first one was used"), "{notes}");
    // A service provider that signs requests, but whose metadata contains no certificate.
    let nameless = MELLON
        .replace("ds:X509Data>", "ds:Other>")
        .replace("ds:X509Certificate>", "ds:Value>");
    let created = import_ok(&host, &nameless, json!({"name": "Wiki"})).await;
    assert_eq!(
        (
            &created["require_signed_requests"],
            &created["certificates"]
        ),
        (&json!(false), &json!([]))
    );
    let notes = preview_import(&host, &created, &nameless).await["notes"].to_string();
    assert!(
        notes.contains("metadata has no certificate") && notes.contains("has no X509Certificate"),
        "{notes}"
    );
}

#[tokio::test]
async fn metadata_signatures_are_verified_with_a_certificate() {
    const MD: Namespace = Namespace::new("md", "urn:oasis:names:tc:SAML:2.0:metadata");
    const ENTITY: Name = MD.name("EntityDescriptor");
    let host = TestHost::start().await;
    let key = key(2048);
    let (own, other) = (certificate(&key), Certificates::new().first);
    let signer = Signer::new(key, &own).expect("a signer");
    let mut writer = Writer::new();
    writer.open(ENTITY).attribute("entityID", "urn:sp").signed(
        "_m",
        &signer,
        |_| {},
        |entity| {
            let role = entity.open(MD.name("SPSSODescriptor"));
            role.attribute(
                "protocolSupportEnumeration",
                "urn:oasis:names:tc:SAML:2.0:protocol",
            )
            .content(|role| {
                let acs = role
                    .open(MD.name("AssertionConsumerService"))
                    .attribute("index", "0");
                acs.attribute("Binding", "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST")
                    .attribute("Location", "https://sp.example/acs")
                    .empty();
            });
        },
    );
    let signed = writer.finish().expect("metadata");
    validate(&signed).unwrap_or_else(|error| panic!("{error}: {signed}"));
    let changed = signed.replace("sp.example", "evil.example");
    for (metadata, certificate, why) in [
        (&signed, &other, "not made with a registered certificate"),
        (&changed, &own, "changed after it was signed"),
        (&Certificates::new().in_text(MELLON), &own, "not signed"),
    ] {
        let members = json!({"name": "x", "metadata_certificate": pem(certificate)});
        let (status, problem) = import(&host, metadata, members).await;
        let detail = problem["detail"].text();
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(
            detail.starts_with("metadata: it is not signed by metadata_certificate")
                && detail.contains(why),
            "{detail}"
        );
    }
    let (status, problem) = import(
        &host,
        &signed,
        json!({"name": "x", "metadata_certificate": "x"}),
    )
    .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        problem["detail"]
            .text()
            .starts_with("metadata_certificate: "),
        "{problem}"
    );
    let created = import_ok(
        &host,
        &signed,
        json!({"name": "x", "metadata_certificate": pem(&own)}),
    )
    .await;
    assert_eq!(created["acs"][0]["url"], "https://sp.example/acs");
    let notes = |answer: Value| answer["notes"].clone();
    assert!(
        notes(preview_import(&host, &created, &signed).await)
            .to_string()
            .contains("signature was not checked")
    );
    let path = format!("/applications/{}/metadata", id(&created));
    let body = json!({"metadata": signed, "metadata_certificate": pem(&own)});
    assert_eq!(
        notes(host.admin_ok(Method::POST, &path, body).await),
        json!([])
    );
}
