//! Keys and messages that this crate's tests share.

use std::sync::LazyLock;

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::{X509, X509Name};

use super::{Document, Name, Namespace, Signer, TrustedKey, Writer, XmlLimits};

pub(crate) const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");
pub(crate) const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");
pub(crate) const REQUEST: Name = SAMLP.name("AuthnRequest");
pub(crate) const ISSUER: Name = SAML.name("Issuer");
pub(crate) const POLICY: Name = SAMLP.name("NameIDPolicy");

pub(crate) struct Identity {
    pub(crate) key: PKey<Private>,
    pub(crate) certificate: X509,
    pub(crate) signer: Signer,
    pub(crate) trusted: TrustedKey,
}

impl Identity {
    fn new() -> Self {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let certificate = certificate(&key);
        let signer = Signer::new(key.clone(), &certificate).unwrap();
        let trusted = TrustedKey::of_certificate(&certificate).unwrap();
        Self {
            key,
            certificate,
            signer,
            trusted,
        }
    }
}

/// The trusted service provider.
pub(crate) static PARTNER: LazyLock<Identity> = LazyLock::new(Identity::new);
/// An untrusted sender.
pub(crate) static STRANGER: LazyLock<Identity> = LazyLock::new(Identity::new);

pub(crate) fn certificate(key: &PKey<Private>) -> X509 {
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_text("CN", "sp.example.org").unwrap();
    let name = name.build();
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_pubkey(key).unwrap();
    certificate
        .set_not_before(&Asn1Time::from_unix(1_700_000_000).unwrap())
        .unwrap();
    certificate
        .set_not_after(&Asn1Time::from_unix(4_000_000_000).unwrap())
        .unwrap();
    certificate.sign(key, MessageDigest::sha256()).unwrap();
    certificate.build()
}

pub(crate) fn read(text: &str) -> Document {
    Document::read(text.as_bytes(), XmlLimits::MESSAGE)
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns a signed request of a service provider with the ID `_r1`.
pub(crate) fn request(signer: &Signer) -> String {
    let mut writer = Writer::new();
    let start = writer
        .open(REQUEST)
        .attribute("Version", "2.0")
        .attribute("IssueInstant", "2026-11-21T08:00:00Z");
    start
        .attribute(
            "AssertionConsumerServiceURL",
            "https://sp.example.org/acs?a=1&b=2",
        )
        .signed(
            "_r1",
            signer,
            |request| request.open(ISSUER).text("https://sp.example.org/"),
            |request| {
                request
                    .open(POLICY)
                    .attribute("AllowCreate", "true")
                    .empty();
            },
        );
    writer.finish().unwrap()
}

/// Returns the canonical form of the content of a root element without attributes.
pub(crate) fn text_of(text: &str) -> String {
    let document = read(text);
    let form = super::canonical(document.unverified(), &[], None).unwrap();
    form.strip_prefix("<r>")
        .unwrap()
        .strip_suffix("</r>")
        .unwrap()
        .to_owned()
}
