//! Debian's `xmlsec1` and Assent accept each other's signatures.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::slice;

use assent::saml::sign_on::{Assertion, Envelope, success};
use assent_model::clock::Timestamp;
use assent_model::saml::{NameId, NameIdFormat, PasskeyContext};
use assent_model::session::{Amr, Authentication};
use assent_plugin_host::{SamlAttribute, ValueType};
use assent_saml_core::xml::{
    Document, Name, Namespace, SignatureAlgorithm, SignatureError, SignedDocument, Signer,
    TrustedKey, Writer, XS, XSI, XmlLimits,
};
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use tempfile::TempDir;

use super::documents::{Dice, element};
use super::schema::validate;
use crate::harness::{certificate, rsa_key, temp_folder, utf8, write_file};

const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");
const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");
const RESPONSE: Name = SAMLP.name("Response");
const ASSERTION: Name = SAML.name("Assertion");
const ISSUER: Name = SAML.name("Issuer");

/// A key with a certificate, as files for `xmlsec1`.
struct KeyHolder {
    folder: TempDir,
    signer: Option<Signer>,
    trusted: TrustedKey,
}

impl KeyHolder {
    fn rsa() -> Self {
        Self::new(&rsa_key())
    }

    fn ec() -> Self {
        let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a curve");
        Self::new(&PKey::from_ec_key(EcKey::generate(&curve).expect("a key")).expect("a key"))
    }

    fn new(key: &PKey<Private>) -> Self {
        let certificate = certificate(key);
        let folder = temp_folder();
        let private = key.private_key_to_pem_pkcs8().expect("PEM");
        write_file(folder.path().join("key.pem"), private);
        write_file(
            folder.path().join("cert.pem"),
            certificate.to_pem().expect("PEM"),
        );
        let trusted = TrustedKey::of_certificate(&certificate).expect("a key that can be trusted");
        Self {
            folder,
            signer: Signer::new(key.clone(), &certificate).ok(),
            trusted,
        }
    }

    fn signer(&self) -> &Signer {
        self.signer.as_ref().expect("an RSA key")
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        write_file(&file, text);
        file
    }

    /// Runs `xmlsec1` on a text, with the ID attributes of SAML.
    fn xmlsec1(&self, arguments: &[&str], text: &str) -> Output {
        let file = self.file("message.xml", text);
        let mut command = Command::new("xmlsec1");
        command.args(arguments).current_dir(self.folder.path());
        for name in [RESPONSE, ASSERTION] {
            command
                .arg("--id-attr:ID")
                .arg(format!("{}:{}", name.namespace.uri, name.local));
        }
        command
            .arg(file)
            .output()
            .expect("xmlsec1 is missing: run `make test`")
    }

    /// Returns whether `xmlsec1` accepts the signature directly in the element of this name.
    fn accepts(&self, text: &str, name: Name) -> bool {
        let place = format!(
            "//*[local-name()='{}']/*[local-name()='Signature']",
            name.local
        );
        self.xmlsec1(
            &[
                "--verify",
                "--pubkey-cert-pem",
                "cert.pem",
                "--node-xpath",
                &place,
            ],
            text,
        )
        .status
        .success()
    }

    /// Returns the text after `xmlsec1` has filled in its signature template.
    fn sign(&self, text: &str) -> String {
        let output = self.xmlsec1(&["--sign", "--privkey-pem", "key.pem,cert.pem"], text);
        assert!(
            output.status.success(),
            "{}: {text}",
            String::from_utf8_lossy(&output.stderr)
        );
        utf8(output.stdout)
    }

    fn verify(&self, text: &str) -> Result<SignedDocument, SignatureError> {
        let document = Document::read(text.as_bytes(), XmlLimits::MESSAGE)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        document.verify(slice::from_ref(&self.trusted))
    }
}

/// Returns a response with an assertion, both signed. The type of a value uses a prefix.
fn response(signer: &Signer, value: &str) -> String {
    let issuer = |writer: &mut Writer| writer.open(ISSUER).text("https://id.example.org/oidc");
    let mut writer = Writer::new();
    writer
        .open(RESPONSE)
        .attribute("Version", "2.0")
        .signed("_r", signer, issuer, |response| {
            response.open(SAMLP.name("Status")).empty();
            response.open(ASSERTION).attribute("Version", "2.0").signed(
                "_a",
                signer,
                issuer,
                |assertion| {
                    let start = assertion.open(SAML.name("AttributeValue")).declare(XS);
                    start
                        .qualified_attribute(XSI.name("type"), "xs:string")
                        .text(value);
                },
            );
        });
    writer.finish().expect("a response")
}

#[test]
fn xmlsec1_and_the_schema_accept_a_sign_on_response() {
    let key_holder = KeyHolder::rsa();
    let now = Timestamp::from_seconds(1_795_248_000);
    let envelope = Envelope {
        id: "_r",
        issuer: "https://id.example.org/oidc",
        destination: "https://sp.example/acs?a=b&c",
        in_response_to: Some("_q"),
        now,
    };
    let types = [
        (ValueType::String, vec!["Ada <&> \"Lovelace\"", ""]),
        (ValueType::Boolean, vec!["true"]),
        (ValueType::Integer, vec!["-42"]),
        (ValueType::DateTime, vec!["2026-11-21T08:00:00Z"]),
        (ValueType::AnyUri, vec!["https://sp.example/"]),
        (ValueType::Base64Binary, vec!["AAEC"]),
    ];
    let attributes = types.map(|(value_type, values)| SamlAttribute {
        name: value_type.as_str().to_owned(),
        name_format: None,
        friendly_name: Some("a \u{1f600}".to_owned()),
        value_type,
        values: values.into_iter().map(str::to_owned).collect(),
    });
    let assertion = Assertion {
        id: "_a",
        audience: "https://sp.example/saml",
        name_id: &NameId {
            format: NameIdFormat::EmailAddress,
            value: "ada@example.org".to_owned(),
        },
        authentication: &Authentication {
            at: now,
            amr: vec![Amr::Swk, Amr::User],
            channel: None,
        },
        session_index: "session",
        unspecified_context: false,
        passkey_context: PasskeyContext::Free,
        lifetime: std::time::Duration::from_secs(300),
        margin: std::time::Duration::ZERO,
        attributes: &attributes,
    };
    let text = success(envelope, &assertion, key_holder.signer()).expect("a response");
    validate(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    for name in [RESPONSE, ASSERTION] {
        assert!(key_holder.accepts(&text, name), "{name:?}: {text}");
    }
    // Each signature covers its own element. A change in the assertion invalidates both the assertion and the response.
    let changed = text.replace("ada@example.org", "eve@example.org");
    assert!(!key_holder.accepts(&changed, RESPONSE) && !key_holder.accepts(&changed, ASSERTION));
    let changed = text.replace(
        "Destination=\"https://sp.example",
        "Destination=\"https://evil.example",
    );
    assert!(!key_holder.accepts(&changed, RESPONSE) && key_holder.accepts(&changed, ASSERTION));
    assert_eq!(text.matches("xsi:type=\"xs:").count(), 7, "{text}");
    assert_eq!(text.matches("PrefixList=\"xs\"").count(), 2, "{text}");
}

#[test]
fn xmlsec1_accepts_signatures_of_assent() {
    let key_holder = KeyHolder::rsa();
    let text = response(key_holder.signer(), "Ada <&> \"Lovelace\"\r\n\t\u{1f600}");
    for name in [RESPONSE, ASSERTION] {
        assert!(key_holder.accepts(&text, name), "{name:?}: {text}");
        assert!(!KeyHolder::rsa().accepts(&text, name));
    }
    let changed = text.replace("Lovelace", "Byron");
    assert!(!key_holder.accepts(&changed, RESPONSE) && !key_holder.accepts(&changed, ASSERTION));
    // The type of the value is signed, although XML treats it as text.
    let changed = text.replace(XS.uri, "urn:other");
    assert!(!key_holder.accepts(&changed, RESPONSE) && !key_holder.accepts(&changed, ASSERTION));
}

/// Returns the template of a signature over the root, in several lines as users write it.
fn template(method: &str, digest: &str, parameter: &str) -> String {
    format!(
        r##"<Signature xmlns="http://www.w3.org/2000/09/xmldsig#">
  <SignedInfo>
    <CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
    <!-- the method -->
    <SignatureMethod Algorithm="{method}"/>
    <Reference URI="#_r">
      <Transforms>
        <Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>
        <Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#">{parameter}</Transform>
      </Transforms>
      <DigestMethod Algorithm="{digest}"/>
      <DigestValue></DigestValue>
    </Reference>
  </SignedInfo>
  <SignatureValue/>
  <KeyInfo><X509Data/></KeyInfo>
</Signature>"##
    )
}

fn message(signature: &str, content: &str) -> String {
    let uri = SAMLP.uri;
    format!(
        "<?xml version='1.0'?>\r\n<p:Response xmlns:p='{uri}' xmlns:xs='urn:xs' xmlns='urn:d' \
         ID='_r'>{signature}\r\n{content}</p:Response>\n"
    )
}

const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";

#[test]
fn assent_accepts_signatures_of_xmlsec1() {
    let (rsa, ec) = (KeyHolder::rsa(), KeyHolder::ec());
    let digests = [
        SHA256,
        "http://www.w3.org/2001/04/xmldsig-more#sha384",
        "http://www.w3.org/2001/04/xmlenc#sha512",
    ];
    for algorithm in SignatureAlgorithm::ALL {
        let key_holder = if algorithm.uri().contains("ecdsa") {
            &ec
        } else {
            &rsa
        };
        for digest in digests {
            let text = key_holder.sign(&message(
                &template(algorithm.uri(), digest, ""),
                "<a>text</a><!-- not text -->",
            ));
            let verified = key_holder
                .verify(&text)
                .unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(verified.algorithm(), algorithm);
            let changed = key_holder.verify(&text.replace("<a>text", "<a>Text"));
            assert!(
                matches!(changed, Err(SignatureError::Digest)),
                "{changed:?}"
            );
            let other = Document::read(text.as_bytes(), XmlLimits::MESSAGE).expect("a document");
            assert!(matches!(
                other.verify(&[KeyHolder::rsa().trusted]),
                Err(SignatureError::Untrusted)
            ));
        }
    }
}

#[test]
fn random_documents_signed_by_xmlsec1_are_read_identically() {
    let key_holder = KeyHolder::rsa();
    let list = "<ec:InclusiveNamespaces xmlns:ec='http://www.w3.org/2001/10/xml-exc-c14n#' PrefixList='xs #default\n \
         a'/>";
    let method = SignatureAlgorithm::RsaSha256.uri();
    for seed in 0..40 {
        let content = element(&mut Dice::new(seed));
        let parameter = if seed % 2 == 0 { "" } else { list };
        let text = key_holder.sign(&message(&template(method, SHA256, parameter), &content));
        key_holder
            .verify(&text)
            .unwrap_or_else(|error| panic!("{seed}: {error}: {text}"));
    }
}

#[test]
fn sha_1_signatures_of_xmlsec1_are_rejected() {
    let key_holder = KeyHolder::rsa();
    let sha1 = template(
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#sha1",
        "",
    );
    let error = key_holder
        .verify(&key_holder.sign(&message(&sha1, "")))
        .expect_err("SHA-1");
    assert!(matches!(error, SignatureError::Algorithm(_)), "{error}");
}
