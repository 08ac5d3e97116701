//! Signatures: the key signed two messages, and its private key was deleted. Each valid document is one of these
//! messages.

#![no_main]

use std::sync::LazyLock;

use assent_saml_core::xml::{Document, TrustedKey, XmlLimits, canonical};
use libfuzzer_sys::fuzz_target;
use openssl::pkey::PKey;

const KEY: &str = "\
-----BEGIN PUBLIC KEY-----\n\
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvt9hVn+fZAhJbYRgd0C4\n\
1evZw0olym5TZgqKkxz5TcJ5PIS4yNNExQPmHXt5CL2xRMIvpdIy8Vck4QQptlxq\n\
dW7xp0zmFJz2mkaKvryeLJMazI1YPJLYTWZIw89uj7yGBKNHAs6AJBTKESNclApD\n\
pvZU2RY06r+prE+Uwwx0p4iCbZVsJOMd8to7/2Cuw+PJ6xh9grgVFnpfQ8tsbVAr\n\
7MGJ2j7mHHsA/TV4xoVQsYyHOKzay/88b0ZCJAPFT38Uuh76zPxToEmYrafae9BJ\n\
kDNRrNr7wrqPQI82rpqFvq+hB4j80LpBcdIcTV8jVXoNInhpA2oV5mp+E3SKiYAH\n\
gQIDAQAB\n\
-----END PUBLIC KEY-----";

/// The signed messages, in canonical form.
const SIGNED: [&str; 2] = [
    r#"<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r1" Version="2.0"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://sp.example.org/</saml:Issuer><samlp:NameIDPolicy AllowCreate="true"></samlp:NameIDPolicy></samlp:AuthnRequest>"#,
    r#"<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:xs="http://www.w3.org/2001/XMLSchema" ID="_r1"><p:SessionIndex a="&#x9;&quot;">x &amp; y</p:SessionIndex></p:LogoutRequest>"#,
];

static TRUSTED: LazyLock<[TrustedKey; 1]> = LazyLock::new(|| {
    let key = PKey::public_key_from_pem(KEY.as_bytes()).expect("a key");
    let trusted = [TrustedKey::new(key).expect("a key that can be trusted")];
    for message in [
        include_str!("../corpus/xml_signature/request"),
        include_str!("../corpus/xml_signature/inclusive"),
    ] {
        let document = Document::read(message.as_bytes(), XmlLimits::MESSAGE).expect("a document");
        document
            .verify(&trusted)
            .expect("a signed document is accepted");
    }
    trusted
});

fuzz_target!(|input: &[u8]| {
    let trusted = &*TRUSTED;
    let Ok(document) = Document::read(input, XmlLimits::MESSAGE) else {
        return;
    };
    let Ok(verified) = document.verify(trusted) else {
        return;
    };
    assert!(document.has_signature());
    let form = canonical(verified.root(), &["xs"], None).expect("a form");
    assert!(SIGNED.contains(&form.as_str()), "{form} is not signed");
});
