//! The cost of the XML of SAML: the verification of a signed request, the rejection of expensive documents, and a
//! response that is signed twice. For comparison, it also measures two bare RSA-2048 signatures.
//!
//! `taskset -c 0 cargo bench -p assent-tests --bench saml_xml` prints the median time of each.

use std::hint::black_box;
use std::time::{Duration, Instant};

use assent::saml::sign_on::{Assertion, Envelope, success};
use assent_model::clock::Timestamp;
use assent_model::saml::{NameId, NameIdFormat, PasskeyContext};
use assent_model::session::{Amr, Authentication};
use assent_plugin_host::{SamlAttribute, ValueType};
use assent_saml_core::xml::{Document, Namespace, Signer, TrustedKey, Writer, XmlLimits};
use assent_tests::harness::certificate;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;

const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");
const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");

fn main() {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let certificate = certificate(&key);
    let signer = Signer::new(key, &certificate).expect("a signer");
    let trusted = [TrustedKey::of_certificate(&certificate).expect("a key that can be trusted")];

    let request = request(&signer);
    println!("signed request of {} bytes", request.len());
    measured("  read", 5_000, || {
        Document::read(request.as_bytes(), XmlLimits::MESSAGE).is_ok()
    });
    measured("  read and verified", 5_000, || {
        let document = Document::read(request.as_bytes(), XmlLimits::MESSAGE).expect("a document");
        document.verify(&trusted).is_ok()
    });

    println!("refused, though as long as metadata may be");
    let attributes: String = (0..7_000).map(|n| format!(" a{n}='x'")).collect();
    refused(
        "  7,000 attributes",
        &format!("<r{attributes}/>"),
        XmlLimits::METADATA,
    );
    refused(
        "  10,000 levels",
        &"<r>".repeat(10_000),
        XmlLimits::METADATA,
    );
    let namespaces: String = (0..40_000)
        .map(|n| format!(" xmlns:p{n}='urn:{n}'"))
        .collect();
    refused(
        "  1 MB of namespaces",
        &format!("<r{namespaces}/>"),
        XmlLimits::METADATA,
    );
    println!("refused at the very end, as long as messages may be");
    let elements = "<r xmlns:n='urn:n' n:a=''/>".repeat(3_900);
    refused(
        "  elements with a namespace",
        &format!("<r>{elements}"),
        XmlLimits::MESSAGE,
    );
    refused(
        "  references",
        &format!("<r>{}", "&lt;".repeat(30_000)),
        XmlLimits::MESSAGE,
    );

    println!(
        "response of {} bytes, signed twice",
        response(&signer).len()
    );
    let two = measured("  two bare signatures", 1_000, || {
        [0; 2]
            .map(|_| signer.sign(&[b'a'; 800]))
            .iter()
            .all(Result::is_ok)
    });
    let whole = measured("  the response", 1_000, || !response(&signer).is_empty());
    println!(
        "  signatures / response {:>17.3}",
        two.as_secs_f64() / whole.as_secs_f64()
    );
}

/// Measures work that must succeed. Prints and returns the median of its time.
fn measured(name: &str, rounds: usize, mut work: impl FnMut() -> bool) -> Duration {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        assert!(black_box(work()), "{name}");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!("{name:<38} {:>10.1?}", times[rounds / 2]);
    times[rounds / 2]
}

/// Asserts that the reader rejects an expensive text in less than 10 ms.
fn refused(name: &str, text: &str, limits: XmlLimits) {
    let time = measured(name, 100, || {
        Document::read(text.as_bytes(), limits).is_err()
    });
    assert!(time < Duration::from_millis(10), "{name}: {time:?}");
}

/// Returns a request of typical length, with the certificate of the signer and a list of requesters.
fn request(signer: &Signer) -> String {
    let mut writer = Writer::new();
    let start = writer
        .open(SAMLP.name("AuthnRequest"))
        .attribute("Version", "2.0");
    let start = start
        .attribute("IssueInstant", "2026-11-21T08:00:00Z")
        .attribute("ForceAuthn", "false");
    let start = start.attribute(
        "Destination",
        "https://id.example.org/sso/SingleSignOnService/did:key:z6MkhaXgBZDvotD",
    );
    let issuer = |writer: &mut Writer| {
        writer
            .open(SAML.name("Issuer"))
            .text("https://sp.example.org/saml/metadata")
    };
    start.signed(
        "_0c9a8e2f7f7d4f0fa4a0c0a8f0e3d2b1",
        signer,
        issuer,
        |request| {
            request
                .open(SAMLP.name("NameIDPolicy"))
                .attribute("AllowCreate", "true")
                .empty();
            request
                .open(SAMLP.name("RequestedAuthnContext"))
                .attribute("Comparison", "minimum")
                .content(|context| {
                    let class = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
                    context.open(SAML.name("AuthnContextClassRef")).text(class);
                });
            request.open(SAMLP.name("Scoping")).content(|scoping| {
                for n in 0..2 {
                    scoping
                        .open(SAMLP.name("RequesterID"))
                        .text(&format!("https://proxy-{n}.example.org/metadata"));
                }
            });
        },
    );
    writer.finish().expect("a request")
}

/// Returns an ordinary response: an assertion with ten attributes.
fn response(signer: &Signer) -> String {
    let now = Timestamp::from_seconds(1_795_248_000);
    let envelope = Envelope {
        id: "_1f7d4f0fa4a0c0a8f0e3d2b10c9a8e2f",
        issuer: "https://id.example.org/oidc",
        destination: "https://sp.example.org/saml/acs",
        in_response_to: Some("_0c9a8e2f7f7d4f0fa4a0c0a8f0e3d2b1"),
        now,
    };
    let attributes = (0..10).map(|n| SamlAttribute {
        name: format!("attribute-{n}"),
        name_format: None,
        friendly_name: None,
        value_type: ValueType::String,
        values: vec!["Ada Lovelace".to_owned()],
    });
    let assertion = Assertion {
        id: "_a4a0c0a8f0e3d2b10c9a8e2f1f7d4f0f",
        audience: "https://sp.example.org/saml/metadata",
        name_id: &NameId {
            format: NameIdFormat::EmailAddress,
            value: "ada@example.org".to_owned(),
        },
        authentication: &Authentication {
            at: now,
            amr: vec![Amr::Swk, Amr::User],
            channel: None,
        },
        session_index: "x4wQbD3nEaVY5vW2n1lQ8h7K",
        unspecified_context: false,
        passkey_context: PasskeyContext::Free,
        lifetime: std::time::Duration::from_secs(300),
        margin: std::time::Duration::ZERO,
        attributes: &attributes.collect::<Vec<_>>(),
    };
    success(envelope, &assertion, signer).expect("a response")
}
