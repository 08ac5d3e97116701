//! Messages from a browser, valid and forged.

use std::slice;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::deflate::deflate;
use super::*;
use crate::xml::testing::{ISSUER, PARTNER, STRANGER, request};
use crate::xml::{
    AlgorithmError, SignatureAlgorithm, SignatureError, Signer, TrustedKey, XmlLimits, XmlProblem,
};

const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const PLAIN: &str = r#"<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r1"></samlp:AuthnRequest>"#;

fn keys() -> &'static [TrustedKey] {
    slice::from_ref(&PARTNER.trusted)
}

fn escape(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn compressed(xml: &str) -> String {
    escape(&STANDARD.encode(deflate(xml.as_bytes()).unwrap()))
}

/// A query that the redirect binding creates.
fn query(relay_state: Option<&str>, signer: Option<&Signer>) -> String {
    let location = redirect_location(
        "https://id.example.org/sso",
        MessageKind::Request,
        PLAIN,
        relay_state,
        signer,
    )
    .unwrap();
    location
        .strip_prefix("https://id.example.org/sso?")
        .unwrap()
        .to_owned()
}

/// A query signed with the partner's key. The caller chooses the signed text and the algorithm.
fn signed(covered: &str, algorithm: &str) -> String {
    let covered = format!("{covered}&SigAlg={}", escape(algorithm));
    let signature = STANDARD.encode(PARTNER.signer.sign(covered.as_bytes()).unwrap());
    format!("{covered}&Signature={}", escape(&signature))
}

fn redirect(query: &str) -> Incoming {
    Incoming::read_redirect(query.as_bytes()).unwrap_or_else(|error| panic!("{error}: {query}"))
}

fn refused(query: &str) -> BindingError {
    Incoming::read_redirect(query.as_bytes()).expect_err(query)
}

fn post(xml: &str) -> Incoming {
    let body = format!("SAMLRequest={}", escape(&post_value(xml)));
    Incoming::read_post(body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

macro_rules! assert_untrusted {
    ($incoming:expr, $keys:expr, $signature:ident, $error:pat) => {
        let incoming: Incoming = $incoming;
        let trusted = incoming.trusted_message($keys, Signature::$signature);
        assert!(matches!(trusted, Err($error)), "{trusted:?}");
    };
}

#[test]
fn a_redirect_contains_a_message_and_its_relay_state() {
    let incoming = redirect(&query(Some("a b+c/<script>\r\n\u{1f600}"), None));
    assert_eq!(
        (incoming.kind(), incoming.is_signed()),
        (MessageKind::Request, false)
    );
    assert_eq!(incoming.relay_state(), Some("a b+c/<script>\r\n\u{1f600}"));
    let trusted = incoming
        .trusted_message(keys(), Signature::Optional)
        .unwrap();
    assert!(trusted.root().attribute("ID") == Some("_r1") && !trusted.is_signed());
    assert_eq!(redirect(&query(None, None)).relay_state(), None);
    // An empty relay state is present.
    assert_eq!(redirect(&query(Some(""), None)).relay_state(), Some(""));
}

#[test]
fn a_message_is_appended_to_an_existing_query() {
    let location = redirect_location(
        "https://sp.example.org/slo?a=1",
        MessageKind::Response,
        PLAIN,
        None,
        None,
    )
    .unwrap();
    assert!(location.starts_with("https://sp.example.org/slo?a=1&SAMLResponse="));
    let incoming = redirect(location.split_once('?').unwrap().1);
    assert_eq!(incoming.kind(), MessageKind::Response);
}

#[test]
fn a_post_contains_a_message_and_its_relay_state() {
    // The message has line breaks, as some libraries send it. The parameters of a redirect's signature are ignored in a
    // form.
    let mut message = post_value(PLAIN);
    message.insert_str(64, "\r\n ");
    let message = escape(&message);
    let body =
        format!("RelayState=%3Cb%3E+%26&Signature=%&SAMLResponse={message}&SigAlg=x&SigAlg=x");
    let incoming = Incoming::read_post(body.as_bytes()).unwrap();
    assert_eq!(
        (incoming.kind(), incoming.relay_state()),
        (MessageKind::Response, Some("<b> &"))
    );
    assert!(!incoming.is_signed());
    // The message of a form is not compressed.
    let compressed = format!("SAMLRequest={}", compressed(PLAIN));
    assert!(matches!(
        Incoming::read_post(compressed.as_bytes()),
        Err(BindingError::Xml(_))
    ));
    assert!(matches!(
        refused(&format!("SAMLRequest={}", escape(&post_value(PLAIN)))),
        BindingError::Deflate
    ));
}

#[test]
fn a_request_must_contain_exactly_one_message() {
    let message = compressed(PLAIN);
    assert_eq!(refused(""), BindingError::Missing);
    assert_eq!(refused("RelayState=a&samlrequest=a"), BindingError::Missing);
    assert_eq!(
        refused(&format!("SAMLRequest={message}&SAMLResponse={message}")),
        BindingError::Both
    );
    assert_eq!(
        refused(&format!("SAMLRequest={message}&SAMLResponse")),
        BindingError::Both
    );
    for body in ["", "a=SAMLRequest"] {
        assert_eq!(
            Incoming::read_post(body.as_bytes()).unwrap_err(),
            BindingError::Missing
        );
    }
}

#[test]
fn a_repeated_parameter_is_rejected() {
    let good = query(Some("state"), Some(&PARTNER.signer));
    for name in [
        "SAMLRequest",
        "RelayState",
        "SigAlg",
        "Signature",
        "SAMLEncoding",
    ] {
        let repeated = format!("{name}=a&{good}&{name}=b");
        assert_eq!(refused(&repeated), BindingError::Repeated(name));
        // A repeated name may be percent-encoded.
        let spelled = format!("%{:02x}{}", name.as_bytes()[0], &name[1..]);
        assert_eq!(
            refused(&format!("{name}&{good}&{spelled}=b")),
            BindingError::Repeated(name)
        );
    }
    let body = format!("SAMLRequest={}", escape(&post_value(PLAIN)));
    for (extra, name) in [
        ("&SAMLRequest=", "SAMLRequest"),
        ("&RelayState=a&RelayState=a", "RelayState"),
    ] {
        let repeated = Incoming::read_post(format!("{body}{extra}").as_bytes()).unwrap_err();
        assert_eq!(repeated, BindingError::Repeated(name));
    }
    // Unknown parameters may be repeated and may have any value.
    assert!(
        redirect(&format!("utm=%&{good}&utm=%zz&&=&"))
            .trusted_message(keys(), Signature::Required)
            .is_ok()
    );
}

#[test]
fn invalid_encodings_are_rejected() {
    for bad in ["%", "a%4", "%zz", "%%41", "a%4%41"] {
        assert_eq!(
            refused(&format!("SAMLRequest={bad}")),
            BindingError::Escape("SAMLRequest")
        );
        let state = format!("SAMLRequest={}&RelayState={bad}", compressed(PLAIN));
        assert_eq!(refused(&state), BindingError::Escape("RelayState"));
    }
    for bad in [
        "a",
        "YQ",
        "YQ=",
        "YR%3D%3D",
        "%00%00%00%00",
        "-_-_",
        "YQ%3D%3DYQ%3D%3D",
    ] {
        assert_eq!(
            refused(&format!("SAMLRequest={bad}")),
            BindingError::Base64("SAMLRequest"),
            "{bad}"
        );
    }
    let signed = query(None, Some(&PARTNER.signer));
    assert_eq!(
        refused(&format!("{signed}!")),
        BindingError::Base64("Signature")
    );
    let encoding =
        |value: &str| Incoming::read_redirect(format!("{signed}&SAMLEncoding={value}").as_bytes());
    let known = escape("urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE");
    assert!(encoding(&known).is_ok());
    assert_eq!(
        encoding(&format!("{known}x")).unwrap_err(),
        BindingError::Encoding
    );
    assert_eq!(encoding("").unwrap_err(), BindingError::Encoding);
}

#[test]
fn decompression_bombs_and_trailing_bytes_are_rejected() {
    let carried = |stream: &[u8]| format!("SAMLRequest={}", escape(&STANDARD.encode(stream)));
    let bomb = deflate(&vec![b' '; 20_000_000]).unwrap();
    assert_eq!(refused(&carried(&bomb)), BindingError::TooLong);
    let stream = deflate(PLAIN.as_bytes()).unwrap();
    assert_eq!(
        refused(&carried(&[&stream, &b"more"[..]].concat())),
        BindingError::Trailing
    );
    assert_eq!(
        refused(&carried(&stream[..stream.len() - 1])),
        BindingError::Deflate
    );
    // A value that is too long is not even decoded.
    let long = "A".repeat(XmlLimits::MESSAGE.bytes * 2);
    assert_eq!(
        refused(&format!("SAMLRequest={long}")),
        BindingError::TooLong
    );
    let body = format!("SAMLRequest={long}");
    assert_eq!(
        Incoming::read_post(body.as_bytes()).unwrap_err(),
        BindingError::TooLong
    );
}

#[test]
fn a_message_may_reach_the_length_limit_of_the_reader() {
    let of_length = |length: usize| {
        let xml = format!("<r>{}</r>", "x".repeat(length - "<r></r>".len()));
        let body = format!("SAMLRequest={}", escape(&post_value(&xml)));
        let post = Incoming::read_post(body.as_bytes()).is_ok();
        (
            post,
            Incoming::read_redirect(format!("SAMLRequest={}", compressed(&xml)).as_bytes()).is_ok(),
        )
    };
    assert_eq!(of_length(XmlLimits::MESSAGE.bytes), (true, true));
    assert_eq!(of_length(XmlLimits::MESSAGE.bytes + 1), (false, false));
}

#[test]
fn the_relay_state_is_text_of_at_most_2_kb() {
    let message = compressed(PLAIN);
    let with = |state: &str| {
        Incoming::read_redirect(format!("SAMLRequest={message}&RelayState={state}").as_bytes())
    };
    let longest = "%C3%A4".repeat(1024);
    assert_eq!(
        with(&longest).unwrap().relay_state(),
        Some(&*"ä".repeat(1024))
    );
    assert_eq!(
        with(&format!("{longest}a")).unwrap_err(),
        BindingError::RelayStateTooLong
    );
    assert_eq!(with("%C3").unwrap_err(), BindingError::RelayStateEncoding);
    let body = format!("SAMLRequest={}&RelayState=%FF", escape(&post_value(PLAIN)));
    assert_eq!(
        Incoming::read_post(body.as_bytes()).unwrap_err(),
        BindingError::RelayStateEncoding
    );
}

#[test]
fn doctypes_instructions_and_comments_in_text_are_rejected() {
    for (xml, expected) in [
        ("", XmlProblem::NotOneRoot),
        ("<!DOCTYPE r><r/>", XmlProblem::Doctype),
        ("<r><?x y?></r>", XmlProblem::Instruction),
        (
            "<Issuer>https://sp.example.org/<!-- -->.evil.example</Issuer>",
            XmlProblem::CommentInText,
        ),
    ] {
        let error = refused(&format!("SAMLRequest={}", compressed(xml)));
        assert!(
            matches!(&error, BindingError::Xml(error) if error.problem == expected),
            "{error:?}"
        );
        assert!(!error.to_string().contains("sp.example.org"));
    }
}

#[test]
fn a_signed_query_is_trusted_as_a_whole() {
    for state in [None, Some(""), Some("a state")] {
        let incoming = redirect(&query(state, Some(&PARTNER.signer)));
        assert!(incoming.is_signed());
        for rule in [Signature::Required, Signature::Optional] {
            let trusted = incoming.trusted_message(keys(), rule).unwrap();
            assert!(trusted.is_signed() && trusted.root().attribute("ID") == Some("_r1"));
        }
        let both = [STRANGER.trusted.clone(), PARTNER.trusted.clone()];
        assert!(incoming.trusted_message(&both, Signature::Required).is_ok());
        assert_untrusted!(
            incoming,
            slice::from_ref(&STRANGER.trusted),
            Optional,
            TrustError::Query
        );
    }
}

#[test]
fn the_signature_covers_the_received_octets_in_the_standard_order() {
    let message = compressed(PLAIN);
    // Escapes in lower case, and an unnecessary escape.
    let lower = message
        .replace("%2B", "%2b")
        .replace("%2F", "%2f")
        .replace("%3D", "%3d");
    let covered = format!("SAMLRequest={lower}&RelayState=%61+b%20c");
    let query = signed(&covered, RSA_SHA256);
    let incoming = redirect(&query);
    assert!(
        incoming.relay_state() == Some("a b c")
            && incoming
                .trusted_message(keys(), Signature::Required)
                .is_ok()
    );
    let mut parts: Vec<_> = query.split('&').collect();
    for _ in 0..parts.len() {
        parts.rotate_left(1);
        assert!(
            redirect(&parts.join("&"))
                .trusted_message(keys(), Signature::Required)
                .is_ok()
        );
    }
    // The same text in another encoding is not the signed one.
    assert_untrusted!(
        redirect(&query.replace("%61", "a")),
        keys(),
        Required,
        TrustError::Query
    );
    // A signature over another order than the standard's is invalid.
    let swapped = signed(&format!("RelayState=a&SAMLRequest={message}"), RSA_SHA256);
    assert_untrusted!(redirect(&swapped), keys(), Required, TrustError::Query);
}

#[test]
fn a_changed_query_is_rejected() {
    let good = query(Some("state"), Some(&PARTNER.signer));
    let stateless = query(None, Some(&PARTNER.signer));
    let other = compressed(&PLAIN.replace("_r1", "_r2"));
    let signature = good.split_once("&Signature=").unwrap().1;
    for bad in [
        good.replace("RelayState=state", "RelayState=other"),
        good.replace("&RelayState=state", ""),
        format!("{stateless}&RelayState=state"),
        good.replace("SAMLRequest=", "SAMLResponse="),
        good.replace(&compressed(PLAIN), &other),
        good.replace("rsa-sha256", "rsa-sha512"),
        good.replace("rsa-sha256", "ecdsa-sha256"),
        good.replace(signature, "YWJj"),
        good.replace(signature, ""),
    ] {
        assert_untrusted!(redirect(&bad), keys(), Required, TrustError::Query);
        assert_untrusted!(redirect(&bad), keys(), Optional, TrustError::Query);
    }
    let half = good.split_once("&Signature=").unwrap().0;
    assert_eq!(refused(half), BindingError::HalfSigned("Signature"));
    let half = good.replace(&format!("&SigAlg={}", escape(RSA_SHA256)), "");
    assert_eq!(refused(&half), BindingError::HalfSigned("SigAlg"));
}

#[test]
fn weak_algorithms_are_rejected() {
    let covered = format!("SAMLRequest={}", compressed(PLAIN));
    for (algorithm, expected) in [
        (
            "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
            AlgorithmError::Sha1,
        ),
        (
            "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
            AlgorithmError::Sha1,
        ),
        (
            "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
            AlgorithmError::Unknown,
        ),
        (
            "http://www.w3.org/2001/04/xmldsig-more#rsa-md5",
            AlgorithmError::Unknown,
        ),
        ("", AlgorithmError::Unknown),
    ] {
        let incoming = redirect(&signed(&covered, algorithm));
        for rule in [Signature::Required, Signature::Optional] {
            let trusted = incoming.trusted_message(keys(), rule);
            assert!(
                matches!(trusted, Err(TrustError::Algorithm(error)) if error == expected),
                "{trusted:?}"
            );
        }
        assert!(
            !incoming
                .trusted_message(&[], Signature::Optional)
                .unwrap()
                .is_signed()
        );
    }
    assert_eq!(
        SignatureAlgorithm::from_uri(RSA_SHA256),
        Ok(SignatureAlgorithm::RsaSha256)
    );
}

#[test]
fn a_posted_message_is_read_from_the_signed_content() {
    let xml = request(&PARTNER.signer);
    let incoming = post(&xml);
    assert!(incoming.is_signed());
    for rule in [Signature::Required, Signature::Optional] {
        let trusted = incoming.trusted_message(keys(), rule).unwrap();
        assert!(trusted.is_signed() && trusted.root().child(ISSUER).is_ok());
        assert!(
            trusted
                .root()
                .descendants()
                .all(|element| element.local_name() != "Signature")
        );
    }
    assert_untrusted!(
        post(&xml.replace("acs?a=1", "acs?a=2")),
        keys(),
        Optional,
        TrustError::Message(_)
    );
    assert_untrusted!(
        incoming,
        slice::from_ref(&STRANGER.trusted),
        Optional,
        TrustError::Message(_)
    );
}

#[test]
fn a_present_signature_must_be_valid() {
    let signed = request(&PARTNER.signer);
    let (before, after) = (
        signed.find("<ds:Signature ").unwrap(),
        signed.find("</ds:Signature>").unwrap(),
    );
    let signature = &signed[before..after + "</ds:Signature>".len()];
    let duplicate = signed.replace("<samlp:NameIDPolicy ", "<samlp:NameIDPolicy ID=\"_r1\" ");
    let nested = signed.replace(signature, "").replace(
        "<samlp:NameIDPolicy",
        &format!("<w>{signature}</w><samlp:NameIDPolicy"),
    );
    let bare = r#"<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>"#;
    for (xml, is_expected) in [
        (
            duplicate,
            (|error| matches!(error, SignatureError::RepeatedId)) as fn(&SignatureError) -> bool,
        ),
        (nested, |error| matches!(error, SignatureError::Misplaced)),
        (signed.replace(signature, bare), |error| {
            matches!(error, SignatureError::Malformed(_))
        }),
        (signed.replace(signature, &signature.repeat(2)), |error| {
            matches!(error, SignatureError::Several)
        }),
    ] {
        for incoming in [
            post(&xml),
            redirect(&format!("SAMLRequest={}", compressed(&xml))),
        ] {
            let trusted = incoming.trusted_message(keys(), Signature::Optional);
            assert!(
                matches!(&trusted, Err(TrustError::Message(error)) if is_expected(error)),
                "{trusted:?}"
            );
        }
    }
    // Without its signature, the message is unsigned.
    let stripped = post(&signed.replace(signature, ""));
    assert!(
        !stripped
            .trusted_message(keys(), Signature::Optional)
            .unwrap()
            .is_signed()
    );
    assert_untrusted!(stripped, keys(), Required, TrustError::Unsigned);
}

#[test]
fn a_required_signature_of_a_redirect_must_be_in_its_query() {
    let xml = request(&PARTNER.signer);
    let bare = redirect(&format!("SAMLRequest={}", compressed(&xml)));
    assert!(
        bare.trusted_message(keys(), Signature::Optional)
            .unwrap()
            .is_signed()
    );
    assert_untrusted!(bare, keys(), Required, TrustError::Unsigned);
    // If both signatures are present, both must be valid.
    let with = |xml: &str| {
        redirect(&signed(
            &format!("SAMLRequest={}", compressed(xml)),
            RSA_SHA256,
        ))
    };
    let both = with(&xml);
    let trusted = both.trusted_message(keys(), Signature::Required).unwrap();
    assert!(
        trusted
            .root()
            .descendants()
            .all(|element| element.local_name() != "Signature")
    );
    let foreign = with(&request(&STRANGER.signer));
    assert_untrusted!(
        foreign,
        keys(),
        Required,
        TrustError::Message(SignatureError::Untrusted)
    );
}

#[test]
fn without_keys_no_message_counts_as_signed() {
    for incoming in [
        redirect(&query(None, Some(&PARTNER.signer))),
        post(&request(&PARTNER.signer)),
    ] {
        let trusted = incoming.trusted_message(&[], Signature::Optional).unwrap();
        assert!(!trusted.is_signed() && trusted.root().attribute("ID") == Some("_r1"));
        assert_untrusted!(incoming, &[], Required, TrustError::NoKeys);
    }
    for incoming in [redirect(&query(None, None)), post(PLAIN)] {
        assert_untrusted!(incoming.clone(), &[], Required, TrustError::NoKeys);
        assert_untrusted!(incoming, keys(), Required, TrustError::Unsigned);
    }
}

proptest! {
    #[test]
    fn sent_messages_and_relay_states_round_trip(
        text in "[^\\x00-\\x08\\x0b\\x0c\\x0d-\\x1f<&>\\u{fffe}\\u{ffff}]{0,200}",
        state in any::<Option<String>>(),
    ) {
        prop_assume!(state.as_ref().is_none_or(|state| state.len() <= RELAY_STATE_BYTES));
        let xml = format!("<r>{text}</r>");
        let (to, kind) = ("https://sp.example.org/", MessageKind::Response);
            let location = redirect_location(to, kind, &xml, state.as_deref(), None);
        let location = location.unwrap();
        prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()));
        let incoming = redirect(location.split_once('?').unwrap().1);
        prop_assert_eq!(incoming.relay_state(), state.as_deref());
        let posted = post(&xml);
        for incoming in [incoming, posted] {
            let trusted = incoming.trusted_message(&[], Signature::Optional).unwrap();
            prop_assert_eq!(trusted.root().text().unwrap(), &text);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), value in "[A-Za-z0-9+/%=& ]{0,60}") {
        let _ = (Incoming::read_redirect(&bytes).is_ok(), Incoming::read_post(&bytes).is_ok());
        for query in [
            format!("SAMLRequest={value}&RelayState={value}"),
            format!("SAMLResponse={value}&SigAlg={value}&Signature={value}"),
        ] {
            let _ = (Incoming::read_redirect(query.as_bytes()).is_ok(), Incoming::read_post(query.as_bytes()).is_ok());
        }
    }
}
