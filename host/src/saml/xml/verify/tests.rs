//! The attacks. What an attacker would sign with the partner's own key is signed so here, where the rule is meant to hold
//! even then: a broken digest is not what refuses it.

use std::slice;

use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;

use super::*;
use crate::saml::xml::testing::{ISSUER, PARTNER, POLICY, STRANGER, certificate, read, request};
use crate::saml::xml::{DSIG, Limits, Signer, UnfitKey};

fn verify(text: &str) -> Result<Verified, SignatureError> {
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

const START: &str = r#"<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r1">"#;
const CONTENT: &str =
    r#"<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://sp.example.org/</saml:Issuer>"#;
const END: &str = "</samlp:AuthnRequest>";
const ENVELOPED: &str =
    r#"<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>"#;
const EXCLUSIVE: &str = r#"<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>"#;

/// A signature by the partner's key, each part of which can be another than it should be. It is always one that a lax
/// verifier would accept.
struct Forged {
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

impl Default for Forged {
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

impl Forged {
    fn signature(&self, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
        let algorithm = DigestAlgorithm::from_uri(&self.digest_method).unwrap_or(DigestAlgorithm::Sha256);
        let covered = [&self.start, &self.content, END].concat();
        let digest = STANDARD.encode(algorithm.digest(covered.as_bytes()).unwrap());
        let reference = format!(
            "<ds:Reference {}><ds:Transforms>{}</ds:Transforms><ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{digest}</ds:DigestValue></ds:Reference>",
            self.uri, self.transforms, self.digest_method
        );
        let signed_info = format!(
            "<ds:SignedInfo xmlns:ds=\"{}\"><ds:CanonicalizationMethod Algorithm=\"{}\"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm=\"{}\"></ds:SignatureMethod>{}</ds:SignedInfo>",
            DSIG.uri,
            self.form,
            self.method,
            reference.repeat(self.references)
        );
        let value = STANDARD.encode(sign(signed_info.as_bytes()));
        format!(
            "<ds:Signature xmlns:ds=\"{}\">{signed_info}<ds:SignatureValue>{value}</ds:SignatureValue>{}</ds:Signature>",
            DSIG.uri, self.key_info
        )
    }

    fn message(&self) -> String {
        let signature = self.signature(|message| PARTNER.signer.sign(message).unwrap());
        [&self.start, &signature, &self.content, END].concat()
    }
}

/// The parts of the partner's request, to be put together in other ways.
struct Pieces {
    start: String,
    before: String,
    signature: String,
    after: String,
}

impl Pieces {
    fn new() -> Self {
        let text = request(&PARTNER.signer);
        let (start, rest) = text.split_at(text.find("<saml:Issuer").unwrap());
        let (before, rest) = rest.split_at(rest.find("<ds:Signature ").unwrap());
        let (signature, rest) = rest.split_at(rest.find("</ds:Signature>").unwrap() + "</ds:Signature>".len());
        let after = rest.strip_suffix(END).unwrap();
        Self { start: start.into(), before: before.into(), signature: signature.into(), after: after.into() }
    }

    /// The request, with and without its signature.
    fn whole(&self) -> String {
        [&self.start, &self.before, &self.signature, &self.after, END].concat()
    }

    fn bare(&self) -> String {
        [&self.start, &self.before, &self.after, END].concat()
    }

    /// What the attacker wants to be read.
    fn evil(&self, id: &str) -> String {
        self.start.replace("_r1", id).replace("https://sp.example.org/acs", "https://evil.example/acs")
    }

    /// The signature with something else put into it.
    fn signature_with(&self, inside: &str) -> String {
        self.signature.replace("</ds:Signature>", &format!("{inside}</ds:Signature>"))
    }
}

#[test]
fn a_signed_request_is_read_from_what_was_signed() {
    let pieces = Pieces::new();
    let verified = verify(&pieces.whole()).unwrap();
    assert_eq!(verified.root().attribute("AssertionConsumerServiceURL"), Some("https://sp.example.org/acs?a=1&b=2"));
    assert!(verified.root().child(ISSUER).is_ok() && verified.root().child(POLICY).is_ok());
    assert_eq!(verified.algorithm(), SignatureAlgorithm::RsaSha256);
    let form = canonical(verified.root(), &[], None).unwrap();
    assert_eq!(form, pieces.bare());
}

#[test]
fn a_forged_signature_that_is_not_forged_passes() {
    verify(&Forged::default().message()).unwrap();
    let uri = "URI=\"\"".into();
    verify(&Forged { uri, ..Forged::default() }.message()).unwrap();
    for algorithm in DigestAlgorithm::ALL {
        verify(&Forged { digest_method: algorithm.uri().into(), ..Forged::default() }.message()).unwrap();
    }
}

#[test]
fn other_prefixes_white_space_and_comments_between_elements_do_not_matter() {
    let text = Pieces::new().whole();
    let signature = text.find("<ds:SignatureValue>").unwrap() + "<ds:SignatureValue>".len();
    let mut wrapped = text.clone();
    wrapped.insert_str(signature + 76, "\r\n\t ");
    verify(&wrapped).unwrap();
    verify(&text.replace("<ds:KeyInfo>", "<!-- the key --> <ds:KeyInfo>")).unwrap();
    verify(&format!("<?xml version=\"1.0\"?>\n<!-- sent by -->{text}\n")).unwrap();
}

/// XSW1: the signed message moves into the signature of another.
#[test]
fn wrapping_1_the_original_inside_the_signature() {
    let pieces = Pieces::new();
    let text =
        [&pieces.evil("_e"), &pieces.before, &pieces.signature_with(&pieces.bare()), &pieces.after, END].concat();
    assert_refused!(text, SignatureError::Malformed(_));
}

/// XSW2: the signature is detached; the original stands before it.
#[test]
fn wrapping_2_the_original_beside_the_signature() {
    let pieces = Pieces::new();
    let text = [&pieces.evil("_e"), &pieces.bare(), &pieces.signature, &pieces.after, END].concat();
    assert_refused!(text, SignatureError::Reference);
}

/// XSW3: an evil element stands before the original, in one that is not signed.
#[test]
fn wrapping_3_the_original_after_another() {
    let pieces = Pieces::new();
    let evil = [&pieces.evil("_e"), &pieces.before, &pieces.after, END].concat();
    assert_refused!(format!("<Outer>{evil}{}</Outer>", pieces.whole()), SignatureError::Misplaced);
}

/// XSW4: the original moves into the evil one.
#[test]
fn wrapping_4_the_original_inside_another() {
    let pieces = Pieces::new();
    let text = [&pieces.evil("_e"), &pieces.before, &pieces.whole(), END].concat();
    assert_refused!(text, SignatureError::Misplaced);
}

/// XSW5: the evil one has the signature, the original follows without it.
#[test]
fn wrapping_5_the_original_behind_the_evil_one() {
    let pieces = Pieces::new();
    let evil = [&pieces.evil("_e"), &pieces.before, &pieces.signature, &pieces.after, END].concat();
    assert_refused!(format!("<Outer>{evil}{}</Outer>", pieces.bare()), SignatureError::Misplaced);
    let text = [&pieces.evil("_e"), &pieces.before, &pieces.signature, &pieces.after, &pieces.bare(), END].concat();
    assert_refused!(text, SignatureError::Reference);
}

/// XSW6: the original moves into the signature that the evil one has.
#[test]
fn wrapping_6_the_original_in_the_signature_of_the_evil_one() {
    let pieces = Pieces::new();
    let evil = [&pieces.evil("_e"), &pieces.before, &pieces.signature_with(&pieces.bare()), END].concat();
    assert_refused!(format!("<Outer>{evil}</Outer>"), SignatureError::Misplaced);
    let evil = [&pieces.evil("_r1"), &pieces.before, &pieces.signature_with(&pieces.bare()), END].concat();
    assert_refused!(evil, SignatureError::RepeatedId);
}

/// XSW7: the evil one, with the same ID, hides in an element that holds anything.
#[test]
fn wrapping_7_the_evil_one_in_extensions() {
    let pieces = Pieces::new();
    for id in ["_r1", "_e"] {
        let evil = [&pieces.evil(id), &pieces.before, &pieces.after, END].concat();
        let extensions = format!("<samlp:Extensions>{evil}</samlp:Extensions>");
        let text = [&pieces.start, &pieces.before, &pieces.signature, &extensions, &pieces.after, END].concat();
        assert_refused!(text, SignatureError::RepeatedId | SignatureError::Digest);
        let text = [
            &pieces.evil(id),
            &format!("<samlp:Extensions>{}</samlp:Extensions>", pieces.bare()),
            &pieces.signature,
            END,
        ];
        assert_refused!(text.concat(), SignatureError::RepeatedId | SignatureError::Reference);
    }
}

/// XSW8: the original hides in an object of the signature.
#[test]
fn wrapping_8_the_original_in_an_object() {
    let pieces = Pieces::new();
    for id in ["_r1", "_e"] {
        let object = format!("<ds:Object>{}</ds:Object>", pieces.bare());
        let text = [&pieces.evil(id), &pieces.before, &pieces.signature_with(&object), &pieces.after, END].concat();
        assert_refused!(text, SignatureError::RepeatedId | SignatureError::Malformed(_));
    }
    // Nor in a KeyInfo, which nobody reads.
    let hidden = pieces.signature.replace("<ds:X509Data>", &format!("{}<ds:X509Data>", pieces.bare()));
    assert_refused!([&pieces.evil("_e"), &pieces.before, &hidden, END].concat(), SignatureError::Reference);
    assert_refused!([&pieces.evil("_r1"), &pieces.before, &hidden, END].concat(), SignatureError::RepeatedId);
}

#[test]
fn nothing_of_the_signature_is_handed_out() {
    let pieces = Pieces::new();
    let hidden = pieces.signature.replace("<ds:X509Data>", "<evil xmlns='urn:evil'>x</evil><ds:X509Data>");
    let text = [&pieces.start, &pieces.before, &hidden, &pieces.after, END].concat();
    let verified = verify(&text).unwrap();
    assert_eq!(canonical(verified.root(), &[], None).unwrap(), pieces.bare());
}

#[test]
fn a_signature_that_is_stripped_empty_doubled_or_elsewhere() {
    let pieces = Pieces::new();
    assert_refused!(pieces.bare(), SignatureError::Missing);
    assert!(!read(&pieces.bare()).has_signature() && read(&pieces.whole()).has_signature());
    let with = |signature: &str| [&pieces.start, &pieces.before, signature, &pieces.after, END].concat();
    assert_refused!(with(&format!("<ds:Signature xmlns:ds=\"{}\"/>", DSIG.uri)), SignatureError::Malformed(_));
    assert_refused!(with(&pieces.signature.repeat(2)), SignatureError::Several);
    assert_refused!(
        with(&format!("<samlp:Extensions>{}</samlp:Extensions>", pieces.signature)),
        SignatureError::Misplaced
    );
    let other = request(&STRANGER.signer);
    let other = &other[other.find("<ds:Signature ").unwrap()..other.find("<samlp:NameIDPolicy").unwrap()];
    assert_refused!(with(&format!("{other}{}", pieces.signature)), SignatureError::Several);
    assert_refused!(
        with(&pieces.signature.replace("ds:Signature ", "ds:Signature2 ").replace("/ds:Signature>", "/ds:Signature2>")),
        SignatureError::Missing
    );
    // A second SignedInfo, wherever it hides.
    let info = &pieces.signature
        [pieces.signature.find("<ds:SignedInfo").unwrap()..pieces.signature.find("<ds:SignatureValue").unwrap()];
    assert_refused!(
        with(&pieces.signature.replace("<ds:X509Data>", &format!("{info}<ds:X509Data>"))),
        SignatureError::Several
    );
    assert_refused!(
        with(&pieces.signature.replace("<ds:SignedInfo>", &format!("{info}<ds:SignedInfo>"))),
        SignatureError::Several
    );
}

#[test]
fn empty_values_and_values_in_no_base64() {
    let text = Pieces::new().whole();
    for name in ["DigestValue", "SignatureValue"] {
        let (open, close) = (format!("<ds:{name}>"), format!("</ds:{name}>"));
        let (from, to) = (text.find(&open).unwrap() + open.len(), text.find(&close).unwrap());
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

/// A comment in a signed text does not break the signature, since the canonical form has none. So nothing is read.
#[test]
fn a_comment_in_a_signed_text_truncates_nothing() {
    let text = Pieces::new().whole();
    for (part, commented) in [
        ("https://sp.example.org/<", "https://sp.example.org<!-- -->/<"),
        ("https://sp.example.org/<", "https://sp.example.org/<!---->.evil.example<"),
        ("<ds:DigestValue>", "<ds:DigestValue><!-- -->"),
    ] {
        assert!(text.contains(part));
        let error = Document::read(text.replacen(part, commented, 1).as_bytes(), Limits::MESSAGE).unwrap_err();
        assert_eq!(error.problem, XmlProblem::CommentInText);
    }
}

#[test]
fn entities_in_a_signed_message() {
    let text = Pieces::new().whole();
    for (text, problem) in [
        (format!("<!DOCTYPE x [<!ENTITY e 'https://sp.example.org/'>]>{text}"), XmlProblem::Doctype),
        (text.replace("https://sp.example.org/<", "&e;<"), XmlProblem::Entity),
        (text.replace("https://sp.example.org/<", "https://sp.example.org/<?x?><"), XmlProblem::Instruction),
    ] {
        assert_eq!(Document::read(text.as_bytes(), Limits::MESSAGE).unwrap_err().problem, problem);
    }
    // What is only written in another way is the same.
    verify(&text.replace("https://sp.example.org/<", "&#104;ttps://sp.example.org<![CDATA[/]]><")).unwrap();
}

#[test]
fn repeated_ids() {
    let text = Pieces::new().whole();
    for attribute in ["ID", "Id", "id", "xml:id"] {
        let text = text.replace("AllowCreate=", &format!("{attribute}='_r1' AllowCreate="));
        assert_refused!(text, SignatureError::RepeatedId);
    }
    assert_refused!(text.replace(" ID=", " Id='_r1' ID="), SignatureError::RepeatedId);
}

#[test]
fn a_digest_that_differs() {
    let text = Pieces::new().whole();
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
    // The digest is covered by the signature.
    let (from, to) = (text.find("<ds:DigestValue>").unwrap(), text.find("</ds:DigestValue>").unwrap());
    let zeros = format!("<ds:DigestValue>{}", STANDARD.encode([0; 32]));
    assert_refused!([&text[..from], &zeros, &text[to..]].concat(), SignatureError::Untrusted);
}

/// Wherever a bit of a signed message is changed, it is refused, or what is handed out is the same.
#[test]
fn no_changed_byte_changes_what_is_read() {
    let pieces = Pieces::new();
    let (text, bare) = (pieces.whole(), pieces.bare());
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(document) = Document::read(&bytes, Limits::MESSAGE) else { continue };
        if let Ok(verified) = document.verify(slice::from_ref(&PARTNER.trusted)) {
            assert_eq!(canonical(verified.root(), &[], None).unwrap(), bare);
        }
    }
}

#[test]
fn a_key_in_key_info_is_not_trusted() {
    let text = request(&STRANGER.signer);
    assert_refused!(text.clone(), SignatureError::Untrusted);
    // Nor with the partner's certificate beside it.
    let certificate = format!("<ds:X509Certificate>{}</ds:X509Certificate>", PARTNER.signer.certificate());
    assert_refused!(text.replace("<ds:X509Data>", &format!("<ds:X509Data>{certificate}")), SignatureError::Untrusted);
    let rsa = STRANGER.key.rsa().unwrap();
    let value = format!(
        "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>{}</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>",
        STANDARD.encode(rsa.n().to_vec())
    );
    assert_refused!(text.replace("<ds:KeyInfo>", &value), SignatureError::Untrusted);
    let method = "<ds:KeyInfo><ds:RetrievalMethod URI='http://169.254.169.254/key'/>";
    assert_refused!(text.replace("<ds:KeyInfo>", method), SignatureError::Untrusted);
    assert!(matches!(read(&text).verify(&[]), Err(SignatureError::Untrusted)));
    // With it or without it, the partner's own is good; and one of several keys is enough.
    let own = Pieces::new();
    let (from, to) = (own.signature.find("<ds:KeyInfo>").unwrap(), own.signature.find("</ds:Signature>").unwrap());
    let signature = [&own.signature[..from], &own.signature[to..]].concat();
    let text = [&own.start, &own.before, &signature, &own.after, END].concat();
    read(&text).verify(&[STRANGER.trusted.clone(), PARTNER.trusted.clone()]).unwrap();
}

#[test]
fn sha_1_is_refused_by_name() {
    for method in [
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#dsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
    ] {
        let text = Forged { method: method.into(), ..Forged::default() }.message();
        assert_refused!(text, SignatureError::Algorithm(UnfitAlgorithm::Sha1));
    }
    let digest_method = "http://www.w3.org/2000/09/xmldsig#sha1".into();
    let error = refused(&Forged { digest_method, ..Forged::default() }.message());
    assert!(error.to_string().contains("SHA-1"), "{error}");
}

/// The public key as the secret of an HMAC, and what else is no signature.
#[test]
fn hmac_and_unknown_algorithms() {
    for method in [
        "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-md5",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-SHA256",
        "",
    ] {
        let text = Forged { method: method.into(), ..Forged::default() }.message();
        assert_refused!(text, SignatureError::Algorithm(UnfitAlgorithm::Unknown));
    }
    let text = Pieces::new().whole();
    let method = format!("Algorithm=\"{}\">", SignatureAlgorithm::RsaSha256.uri());
    assert_refused!(text.replace(&method, ">"), SignatureError::Malformed(_));
    let truncated = format!("{method}<ds:HMACOutputLength>1</ds:HMACOutputLength>");
    assert_refused!(text.replace(&method, &truncated), SignatureError::Malformed(_));
    // An algorithm of another kind of key.
    let method = SignatureAlgorithm::EcdsaSha256.uri().into();
    assert_refused!(Forged { method, ..Forged::default() }.message(), SignatureError::Untrusted);
}

#[test]
fn xslt_xpath_and_any_other_transforms() {
    let transform = |uri: &str| format!("<ds:Transform Algorithm=\"{uri}\"></ds:Transform>");
    let xpath = "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\"><ds:XPath>not(ancestor::evil)</ds:XPath></ds:Transform>";
    let xslt = transform("http://www.w3.org/TR/1999/REC-xslt-19991116");
    let base64 = transform("http://www.w3.org/2000/09/xmldsig#base64");
    let inclusive = transform("http://www.w3.org/TR/2001/REC-xml-c14n-20010315");
    let comments = transform("http://www.w3.org/2001/10/xml-exc-c14n#WithComments");
    for transforms in [
        String::new(),
        ENVELOPED.into(),
        EXCLUSIVE.into(),
        format!("{EXCLUSIVE}{ENVELOPED}"),
        format!("{ENVELOPED}{ENVELOPED}"),
        format!("{ENVELOPED}{EXCLUSIVE}{EXCLUSIVE}"),
        format!("{ENVELOPED}{xpath}{EXCLUSIVE}"),
        format!("{xpath}{EXCLUSIVE}"),
        format!("{xslt}{EXCLUSIVE}"),
        format!("{ENVELOPED}{xslt}"),
        format!("{ENVELOPED}{base64}"),
        format!("{ENVELOPED}{inclusive}"),
        format!("{ENVELOPED}{comments}"),
    ] {
        let text = Forged { transforms, ..Forged::default() }.message();
        assert_refused!(text, SignatureError::Transforms | SignatureError::Malformed(_));
    }
    for form in
        ["http://www.w3.org/TR/2001/REC-xml-c14n-20010315", "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"]
    {
        assert_refused!(Forged { form: form.into(), ..Forged::default() }.message(), SignatureError::Transforms);
    }
    let without =
        Pieces::new().whole().replace("<ds:Transforms>", "<ds:Other>").replace("</ds:Transforms>", "</ds:Other>");
    assert_refused!(without, SignatureError::Malformed(_));
}

#[test]
fn none_or_two_references() {
    for references in [0, 2] {
        assert_refused!(Forged { references, ..Forged::default() }.message(), SignatureError::Reference);
    }
}

#[test]
fn a_reference_to_anything_but_the_root() {
    let start = START.replace("_r1", "#xpointer(/)");
    let odd = Forged { start, uri: "URI=\"##xpointer(/)\"".into(), ..Forged::default() };
    assert_refused!(odd.message(), SignatureError::Reference);
    for uri in [
        "#",
        "#_r2",
        "_r1",
        "#_R1",
        "# _r1",
        "#xpointer(id('_r1'))",
        "#xpointer(/)",
        "http://evil.example/#_r1",
        "file:///etc/passwd",
    ] {
        let text = Forged { uri: format!("URI=\"{uri}\""), ..Forged::default() }.message();
        assert_refused!(text, SignatureError::Reference);
    }
    assert_refused!(Forged { uri: String::new(), ..Forged::default() }.message(), SignatureError::Reference);
    // The ID of an element inside.
    let content = format!("<samlp:Extensions ID=\"_x\"></samlp:Extensions>{CONTENT}");
    let inner = Forged { content, uri: "URI=\"#_x\"".into(), ..Forged::default() };
    assert_refused!(inner.message(), SignatureError::Reference);
    // An ID that SAML does not take for one.
    let start = START.replace(" ID=", " Id=");
    assert_refused!(Forged { start, ..Forged::default() }.message(), SignatureError::Reference);
    // No ID, and an empty one.
    let start = START.replace(" ID=\"_r1\"", " ID=\"\"");
    assert_refused!(
        Forged { start, uri: "URI=\"#\"".into(), ..Forged::default() }.message(),
        SignatureError::Reference
    );
}

#[test]
fn parts_in_another_order_or_namespace() {
    let text = Pieces::new().whole();
    for (part, other) in [
        ("ds:CanonicalizationMethod", "ds:Other"),
        ("ds:Reference", "samlp:Reference"),
        ("ds:DigestMethod", "ds:Other"),
        ("ds:KeyInfo", "ds:Object"),
    ] {
        assert_refused!(text.replace(part, other), SignatureError::Malformed(_) | SignatureError::Reference);
    }
}

#[test]
fn inclusive_prefixes_are_part_of_what_is_signed() {
    let list = "<ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"xs\"></ec:InclusiveNamespaces>";
    let transforms = format!("{ENVELOPED}{}", EXCLUSIVE.replace("></", &format!(">{list}</")));
    let start = START.replace(" ID=", " xmlns:xs=\"urn:xs\" ID=");
    let text = Forged { start, transforms, ..Forged::default() }.message();
    verify(&text).unwrap();
    assert_refused!(text.replace("urn:xs", "urn:other"), SignatureError::Digest);
    assert_refused!(text.replace("PrefixList=\"xs\"", ""), SignatureError::Untrusted);
    assert_refused!(text.replace("ec:Incl", "ec:Excl"), SignatureError::Transforms);
}

#[test]
fn ecdsa_signatures_are_checked_too() {
    for (curve, algorithm, length) in [
        (Nid::X9_62_PRIME256V1, SignatureAlgorithm::EcdsaSha256, 32),
        (Nid::SECP384R1, SignatureAlgorithm::EcdsaSha384, 48),
        (Nid::SECP521R1, SignatureAlgorithm::EcdsaSha512, 66),
    ] {
        let key = PKey::from_ec_key(EcKey::generate(&EcGroup::from_curve_name(curve).unwrap()).unwrap()).unwrap();
        let trusted = [TrustedKey::of_certificate(&certificate(&key)).unwrap()];
        let forged = Forged { method: algorithm.uri().into(), ..Forged::default() };
        let message = |signature: &str| [START, CONTENT, signature, END].concat();
        let raw = |bytes: &[u8]| {
            let mut signer = openssl::sign::Signer::new(algorithm.digest(), &key).unwrap();
            let parts = EcdsaSig::from_der(&signer.sign_oneshot_to_vec(bytes).unwrap()).unwrap();
            let pad = |number: &openssl::bn::BigNumRef| number.to_vec_padded(length).unwrap();
            [pad(parts.r()), pad(parts.s())].concat()
        };
        let good = message(&forged.signature(raw));
        assert_eq!(read(&good).verify(&trusted).unwrap().algorithm(), algorithm);
        assert_refused!(good, SignatureError::Untrusted);
        // In DER, as OpenSSL has it; too short; of zeros.
        let der = |bytes: &[u8]| {
            openssl::sign::Signer::new(algorithm.digest(), &key).unwrap().sign_oneshot_to_vec(bytes).unwrap()
        };
        for signature in [
            forged.signature(der),
            forged.signature(|bytes| raw(bytes)[1..].to_vec()),
            forged.signature(|_| vec![0; 2 * length as usize]),
        ] {
            let result = read(&message(&signature)).verify(&trusted);
            assert!(matches!(result, Err(SignatureError::Untrusted)), "{result:?}");
        }
    }
}

#[test]
fn keys_that_are_weak_or_of_another_kind() {
    let public = |key: &PKey<Private>| PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
    let weak = PKey::from_rsa(Rsa::generate(1024).unwrap()).unwrap();
    assert!(matches!(TrustedKey::new(public(&weak)), Err(UnfitKey::Kind)));
    let curve = EcGroup::from_curve_name(Nid::SECP256K1).unwrap();
    let other = PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap();
    assert!(matches!(TrustedKey::new(public(&other)), Err(UnfitKey::Kind)));
    assert!(matches!(TrustedKey::new(public(&PKey::generate_ed25519().unwrap())), Err(UnfitKey::Kind)));
    let result = Signer::new(PARTNER.key.clone(), &STRANGER.certificate);
    assert!(matches!(result, Err(UnfitKey::Certificate)));
    assert!(matches!(Signer::new(weak.clone(), &certificate(&weak)), Err(UnfitKey::Kind)));
    assert_eq!(format!("{:?}", PARTNER.signer), "Signer { .. }");
}

/// Namespaces that make the canonical form of a short message long, which is refused before much is written.
#[test]
fn a_canonical_form_that_grows_without_bounds() {
    let long = format!("urn:{}", "x".repeat(20_000));
    let content = format!("{}{CONTENT}", format!("<a:b xmlns:a='{long}'/>").repeat(5));
    let text =
        [START, &Forged::default().signature(|bytes| PARTNER.signer.sign(bytes).unwrap()), &content, END].concat();
    assert_refused!(text, SignatureError::Digest);
    let info = "<ds:SignedInfo><a:x xmlns:a='urn:a'/>";
    assert_refused!(
        Forged::default().message().replace("<ds:SignedInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">", info),
        SignatureError::Malformed(_)
    );
}
