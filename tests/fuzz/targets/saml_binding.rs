//! Messages that a browser carries: which parameters are read, and that a sent message is read back unchanged. The key
//! signed two queries, and its private key was deleted. So each input with a valid signature is one of these queries.

#![no_main]

use std::sync::LazyLock;

use assent_saml_core::binding::{
    Incoming, MessageKind, RELAY_STATE_BYTES, Signature, post_value, redirect_location,
};
use assent_saml_core::xml::{Document, TrustedKey, XmlLimits, canonical};
use libfuzzer_sys::fuzz_target;
use openssl::pkey::PKey;

const KEY: &str = "\
-----BEGIN PUBLIC KEY-----\n\
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAl9aS5TuHwqKVNETeQ9tE\n\
/bE0fqNFCAi4eh+QYY0DmAI4ZxfqHk53q1Ik8RKI8Tsy/MbDnlQDEy16okOoDYac\n\
wQMti9LHN5bPLsMI/plsOwxPj8N+FGKdD8yM2SaNVKIsQoCPmRIXAYfUSZYryNxZ\n\
z/VCqumtNpOu9+IXNs0TnAOTwn41EwpOY8mN3ZlCZg9TzO5WaZbkyvE9ZchtuCFO\n\
92cnY3VIf41n6UCEhr/KuRuYvYMoZBSpVY6U8CjUkF11mO5ghIzWISLQ0Ryl8iv4\n\
CFlXeAXJoZZffXgnDsF2H4lDXBtrw2y3q2VLBbTolL9Dm686HYDABNpvZx3xNsg1\n\
uwIDAQAB\n\
-----END PUBLIC KEY-----";

/// The signed relay states and messages. The messages are in canonical form.
const SIGNED: [(Option<&str>, &str); 2] = [
    (
        Some("a state&"),
        r#"<p:AuthnRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r1"></p:AuthnRequest>"#,
    ),
    (
        None,
        r#"<p:LogoutResponse xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r2"></p:LogoutResponse>"#,
    ),
];

static TRUSTED: LazyLock<[TrustedKey; 1]> = LazyLock::new(|| {
    let key = PKey::public_key_from_pem(KEY.as_bytes()).expect("a key");
    let trusted = [TrustedKey::new(key).expect("a key that can be trusted")];
    for query in [
        include_str!("../corpus/saml_binding/signed"),
        include_str!("../corpus/saml_binding/signed_response"),
    ] {
        let incoming = Incoming::read_redirect(query.as_bytes()).expect("a message");
        incoming
            .trusted_message(&trusted, Signature::Required)
            .expect("a signed message is accepted");
    }
    trusted
});

/// Compares the parsed parameters with the result of an independent form parser.
fn check_parameters(incoming: &Incoming, encoded: &[u8]) {
    let values = |wanted: &str| -> Vec<String> {
        let all = form_urlencoded::parse(encoded).filter(|(name, _)| name == wanted);
        all.map(|(_, value)| value.into_owned()).collect()
    };
    let messages =
        [MessageKind::Request, MessageKind::Response].map(|kind| values(kind.parameter()).len());
    let expected = if incoming.kind() == MessageKind::Request {
        [1, 0]
    } else {
        [0, 1]
    };
    assert_eq!(messages, expected);
    assert_eq!(
        values("RelayState"),
        Vec::from_iter(incoming.relay_state().map(str::to_owned))
    );
    assert!(
        incoming
            .relay_state()
            .is_none_or(|state| state.len() <= RELAY_STATE_BYTES)
    );
}

fn form(incoming: &Incoming, keys: &[TrustedKey], signature: Signature) -> Option<String> {
    let trusted = incoming.trusted_message(keys, signature).ok()?;
    canonical(trusted.root(), &[], None).ok()
}

/// Sends a message in canonical form with both bindings.
fn check_sent(kind: MessageKind, xml: &str, relay_state: Option<&str>) {
    // Repeated namespace declarations may exceed the limits.
    if Document::read(xml.as_bytes(), XmlLimits::MESSAGE).is_err() {
        return;
    }
    let location = redirect_location("https://sp.example.org/?a", kind, xml, relay_state, None)
        .expect("an address");
    let query = location
        .strip_prefix("https://sp.example.org/?a&")
        .expect("the message is appended to the query");
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.append_pair(kind.parameter(), &post_value(xml));
    if let Some(state) = relay_state {
        body.append_pair("RelayState", state);
    }
    let body = body.finish();
    for read in [
        Incoming::read_redirect(query.as_bytes()),
        Incoming::read_post(body.as_bytes()),
    ] {
        let incoming = read.expect("a sent message is read");
        assert_eq!(
            (incoming.kind(), incoming.relay_state()),
            (kind, relay_state)
        );
        assert_eq!(
            form(&incoming, &[], Signature::Optional).as_deref(),
            Some(xml)
        );
    }
}

fuzz_target!(|input: &[u8]| {
    let trusted = &*TRUSTED;
    for read in [Incoming::read_redirect(input), Incoming::read_post(input)] {
        let Ok(incoming) = read else { continue };
        check_parameters(&incoming, input);
        assert!(incoming.trusted_message(&[], Signature::Required).is_err());
        let was_signed = form(&incoming, trusted, Signature::Required);
        if let Some(form) = &was_signed {
            let found = (incoming.relay_state(), form.as_str());
            assert!(SIGNED.contains(&found), "{found:?} is not signed");
        }
        let is_optional_good = incoming
            .trusted_message(trusted, Signature::Optional)
            .is_ok();
        assert_eq!(
            is_optional_good,
            !incoming.is_signed() || was_signed.is_some()
        );
        if let Some(form) = form(&incoming, &[], Signature::Optional) {
            check_sent(incoming.kind(), &form, incoming.relay_state());
        }
    }
    let Some([state, xml]) = assent_fuzz::lines(input) else {
        return;
    };
    let Ok(document) = Document::read(xml.as_bytes(), XmlLimits::MESSAGE) else {
        return;
    };
    if let Ok(form) = canonical(document.unverified(), &[], None)
        && state.len() <= RELAY_STATE_BYTES
    {
        check_sent(MessageKind::Request, &form, Some(state));
    }
});
