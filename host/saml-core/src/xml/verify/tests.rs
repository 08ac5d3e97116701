//! Attacks on signatures. Some rules must hold even for a valid digest. For these the partner's own key signs the
//! forged content, so that an invalid digest cannot be the reason of the rejection.

mod forms;
mod wrapping;

use std::slice;

use super::*;
use crate::xml::testing::{ISSUER, PARTNER, POLICY, STRANGER, read, request};
use crate::xml::{DSIG, XmlLimits};

fn verify(text: &str) -> Result<SignedDocument, SignatureError> {
    read(text).verify(slice::from_ref(&PARTNER.trusted))
}

fn refused(text: &str) -> SignatureError {
    match verify(text) {
        Ok(verified) => panic!("{:?} was verified", verified.root()),
        Err(error) => error,
    }
}

macro_rules! assert_refused {
    ($text:expr, $($error:pat_param)|+) => {
        let text: String = $text;
        let error = refused(&text);
        assert!(matches!(error, $($error)|+), "{error:?}: {text}");
    };
}
use assert_refused;

const START: &str =
    r#"<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r1">"#;
const CONTENT: &str = r#"<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://sp.example.org/</saml:Issuer>"#;
const END: &str = "</samlp:AuthnRequest>";
const ENVELOPED: &str = r#"<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>"#;
const EXCLUSIVE: &str =
    r#"<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>"#;

/// A signature by the partner's key, with replaceable parts. A lax verifier would always accept it.
struct ForgedSignature {
    start: String,
    content: String,
    uri: String,
    form: String,
    method: String,
    transforms: String,
    digest_method: String,
    key_info: String,
    references: usize,
}

impl Default for ForgedSignature {
    fn default() -> Self {
        Self {
            start: START.into(),
            content: CONTENT.into(),
            uri: "URI=\"#_r1\"".into(),
            form: EXC_C14N.uri.into(),
            method: SignatureAlgorithm::RsaSha256.uri().into(),
            transforms: format!("{ENVELOPED}{EXCLUSIVE}"),
            digest_method: DigestAlgorithm::Sha256.uri().into(),
            key_info: String::new(),
            references: 1,
        }
    }
}

impl ForgedSignature {
    fn signature(&self, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
        let algorithm =
            DigestAlgorithm::from_uri(&self.digest_method).unwrap_or(DigestAlgorithm::Sha256);
        let covered = [&self.start, &self.content, END].concat();
        let digest = STANDARD.encode(algorithm.digest(covered.as_bytes()).unwrap());
        let reference = format!(
            "<ds:Reference {}><ds:Transforms>{}</ds:Transforms><ds:DigestMethod \
             Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{digest}</ds:DigestValue></ds:Reference>",
            self.uri, self.transforms, self.digest_method
        );
        let signed_info = format!(
            "<ds:SignedInfo xmlns:ds=\"{}\"><ds:CanonicalizationMethod \
             Algorithm=\"{}\"></ds:CanonicalizationMethod><ds:SignatureMethod \
             Algorithm=\"{}\"></ds:SignatureMethod>{}</ds:SignedInfo>",
            DSIG.uri,
            self.form,
            self.method,
            reference.repeat(self.references)
        );
        let value = STANDARD.encode(sign(signed_info.as_bytes()));
        format!(
            "<ds:Signature \
             xmlns:ds=\"{}\">{signed_info}<ds:SignatureValue>{value}</ds:SignatureValue>{}</ds:Signature>",
            DSIG.uri, self.key_info
        )
    }

    fn message(&self) -> String {
        let signature = self.signature(|message| PARTNER.signer.sign(message).unwrap());
        [&self.start, &signature, &self.content, END].concat()
    }
}

/// The parts of the partner's request, for other combinations.
struct RequestParts {
    start: String,
    before: String,
    signature: String,
    after: String,
}

impl RequestParts {
    fn new() -> Self {
        let text = request(&PARTNER.signer);
        let (start, rest) = text.split_at(text.find("<saml:Issuer").unwrap());
        let (before, rest) = rest.split_at(rest.find("<ds:Signature ").unwrap());
        let (signature, rest) =
            rest.split_at(rest.find("</ds:Signature>").unwrap() + "</ds:Signature>".len());
        let after = rest.strip_suffix(END).unwrap();
        Self {
            start: start.into(),
            before: before.into(),
            signature: signature.into(),
            after: after.into(),
        }
    }

    /// Returns the request with its signature.
    fn whole(&self) -> String {
        [&self.start, &self.before, &self.signature, &self.after, END].concat()
    }

    fn bare(&self) -> String {
        [&self.start, &self.before, &self.after, END].concat()
    }

    /// Returns the start of the attacker's content.
    fn evil(&self, id: &str) -> String {
        self.start
            .replace("_r1", id)
            .replace("https://sp.example.org/acs", "https://evil.example/acs")
    }

    /// Returns the signature with inserted content.
    fn signature_with(&self, inside: &str) -> String {
        self.signature
            .replace("</ds:Signature>", &format!("{inside}</ds:Signature>"))
    }
}

#[test]
fn a_signed_request_is_read_from_the_signed_content() {
    let pieces = RequestParts::new();
    let verified = verify(&pieces.whole()).unwrap();
    assert_eq!(
        verified.root().attribute("AssertionConsumerServiceURL"),
        Some("https://sp.example.org/acs?a=1&b=2")
    );
    assert!(verified.root().child(ISSUER).is_ok() && verified.root().child(POLICY).is_ok());
    assert_eq!(verified.algorithm(), SignatureAlgorithm::RsaSha256);
    let form = canonical(verified.root(), &[], None).unwrap();
    assert_eq!(form, pieces.bare());
}

#[test]
fn an_unchanged_signature_of_the_forging_fixture_is_valid() {
    verify(&ForgedSignature::default().message()).unwrap();
    let uri = "URI=\"\"".into();
    verify(
        &ForgedSignature {
            uri,
            ..ForgedSignature::default()
        }
        .message(),
    )
    .unwrap();
    for algorithm in DigestAlgorithm::ALL {
        verify(
            &ForgedSignature {
                digest_method: algorithm.uri().into(),
                ..ForgedSignature::default()
            }
            .message(),
        )
        .unwrap();
    }
}

#[test]
fn white_space_comments_and_a_declaration_do_not_affect_verification() {
    let text = RequestParts::new().whole();
    let signature = text.find("<ds:SignatureValue>").unwrap() + "<ds:SignatureValue>".len();
    let mut wrapped = text.clone();
    wrapped.insert_str(signature + 76, "\r\n\t ");
    verify(&wrapped).unwrap();
    verify(&text.replace("<ds:KeyInfo>", "<!-- the key --> <ds:KeyInfo>")).unwrap();
    verify(&format!(
        "<?xml version=\"1.0\"?>\n<!-- sent by -->{text}\n"
    ))
    .unwrap();
}

#[test]
fn empty_wrong_and_non_base64_values_are_rejected() {
    let text = RequestParts::new().whole();
    for name in ["DigestValue", "SignatureValue"] {
        let (open, close) = (format!("<ds:{name}>"), format!("</ds:{name}>"));
        let (from, to) = (
            text.find(&open).unwrap() + open.len(),
            text.find(&close).unwrap(),
        );
        for value in ["", "AAAA"] {
            let text = [&text[..from], value, &text[to..]].concat();
            assert_refused!(text, SignatureError::Untrusted);
        }
        for value in ["====", "!", "A", "<a/>"] {
            let text = [&text[..from], value, &text[to..]].concat();
            assert_refused!(text, SignatureError::Malformed(_));
        }
    }
}

/// A comment in a signed text does not invalidate the signature, because the canonical form omits it. So the reader
/// must reject the document.
#[test]
fn a_comment_in_a_signed_text_truncates_nothing() {
    let text = RequestParts::new().whole();
    for (part, commented) in [
        (
            "https://sp.example.org/<",
            "https://sp.example.org<!-- -->/<",
        ),
        (
            "https://sp.example.org/<",
            "https://sp.example.org/<!---->.evil.example<",
        ),
        ("<ds:DigestValue>", "<ds:DigestValue><!-- -->"),
    ] {
        assert!(text.contains(part));
        let error = Document::read(
            text.replacen(part, commented, 1).as_bytes(),
            XmlLimits::MESSAGE,
        )
        .unwrap_err();
        assert_eq!(error.problem, XmlProblem::CommentInText);
    }
}

#[test]
fn entities_in_a_signed_message_are_rejected() {
    let text = RequestParts::new().whole();
    for (text, problem) in [
        (
            format!("<!DOCTYPE x [<!ENTITY e 'https://sp.example.org/'>]>{text}"),
            XmlProblem::Doctype,
        ),
        (
            text.replace("https://sp.example.org/<", "&e;<"),
            XmlProblem::Entity,
        ),
        (
            text.replace("https://sp.example.org/<", "https://sp.example.org/<?x?><"),
            XmlProblem::Instruction,
        ),
    ] {
        assert_eq!(
            Document::read(text.as_bytes(), XmlLimits::MESSAGE)
                .unwrap_err()
                .problem,
            problem
        );
    }
    // The same content in another notation is valid.
    verify(&text.replace(
        "https://sp.example.org/<",
        "&#104;ttps://sp.example.org<![CDATA[/]]><",
    ))
    .unwrap();
}

#[test]
fn a_changed_content_or_digest_is_rejected() {
    let text = RequestParts::new().whole();
    for (part, other) in [
        ("https://sp.example.org/acs", "https://evil.example/acs"),
        ("AllowCreate=\"true\"", "AllowCreate=\"false\""),
        ("AllowCreate=\"true\"", ""),
        ("<samlp:NameIDPolicy", " <samlp:NameIDPolicy"),
        ("</samlp:AuthnRequest>", "<x/></samlp:AuthnRequest>"),
    ] {
        assert!(text.contains(part));
        assert_refused!(text.replacen(part, other, 1), SignatureError::Digest);
    }
    // The signature covers the digest.
    let (from, to) = (
        text.find("<ds:DigestValue>").unwrap(),
        text.find("</ds:DigestValue>").unwrap(),
    );
    let zeros = format!("<ds:DigestValue>{}", STANDARD.encode([0; 32]));
    assert_refused!(
        [&text[..from], &zeros, &text[to..]].concat(),
        SignatureError::Untrusted
    );
}

/// After any change of a bit, the message is rejected, or its returned content is unchanged.
#[test]
fn no_changed_byte_changes_the_verified_content() {
    let pieces = RequestParts::new();
    let (text, bare) = (pieces.whole(), pieces.bare());
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(document) = Document::read(&bytes, XmlLimits::MESSAGE) else {
            continue;
        };
        if let Ok(verified) = document.verify(slice::from_ref(&PARTNER.trusted)) {
            assert_eq!(canonical(verified.root(), &[], None).unwrap(), bare);
        }
    }
}

/// Namespaces that expand the canonical form of a short message. The form is rejected before much of it is written.
#[test]
fn a_canonical_form_that_grows_without_bounds_is_rejected() {
    let long = format!("urn:{}", "x".repeat(20_000));
    let content = format!("{}{CONTENT}", format!("<a:b xmlns:a='{long}'/>").repeat(5));
    let text = [
        START,
        &ForgedSignature::default().signature(|bytes| PARTNER.signer.sign(bytes).unwrap()),
        &content,
        END,
    ]
    .concat();
    assert_refused!(text, SignatureError::Digest);
    let info = "<ds:SignedInfo><a:x xmlns:a='urn:a'/>";
    assert_refused!(
        ForgedSignature::default().message().replace(
            "<ds:SignedInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">",
            info
        ),
        SignatureError::Malformed(_)
    );
}
