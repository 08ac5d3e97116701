//! Reading and writing messages, well-formed and malformed.

use super::*;
use crate::xml::testing::read;
use crate::xml::{Document, ShapeError, XmlLimits, XmlProblem};
use assent_model::clock::Timestamp;

const AT: Timestamp = Timestamp::from_seconds(1_795_248_000);
const ISSUER: &str = "<saml:Issuer>https://sp.example.org/</saml:Issuer>";
const NAME_ID: &str = "<saml:NameID>ada@example.org</saml:NameID>";
const STATUS: &str = r#"<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>"#;
const HEAD: &str = r#"ID="_m1" Version="2.0" IssueInstant="2026-11-21T08:00:00Z""#;

/// A message with these attributes and this content.
fn message(name: &str, attributes: &str, content: &str) -> String {
    format!(
        r#"<samlp:{name} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" {attributes}>{content}</samlp:{name}>"#
    )
}

fn authn(attributes: &str, content: &str) -> Result<AuthnRequest, MessageError> {
    let text = message("AuthnRequest", &format!("{HEAD} {attributes}"), content);
    AuthnRequest::read(read(&text).unverified())
}

fn logout(attributes: &str, content: &str) -> Result<LogoutRequest, MessageError> {
    let text = message("LogoutRequest", &format!("{HEAD} {attributes}"), content);
    LogoutRequest::read(read(&text).unverified())
}

fn response(attributes: &str, content: &str) -> Result<LogoutResponse, MessageError> {
    let text = message("LogoutResponse", &format!("{HEAD} {attributes}"), content);
    LogoutResponse::read(read(&text).unverified())
}

fn header(id: &str) -> Header {
    Header {
        id: id.into(),
        issuer: Some("https://sp.example.org/".into()),
        issue_instant: AT,
        destination: None,
    }
}

fn name_id(value: &str) -> NameId {
    NameId {
        value: value.into(),
        format: None,
        name_qualifier: None,
        sp_name_qualifier: None,
    }
}

fn logout_request() -> LogoutRequest {
    LogoutRequest {
        header: Header {
            destination: Some("https://sp.example.org/slo?a=1&b=2".into()),
            ..header("_l1")
        },
        not_on_or_after: Some(Timestamp::from_millis(AT.millis() + 300_001)),
        name_id: NameId {
            value: "ada <&> \"lovelace\"\r\n".into(),
            format: Some("urn:oasis:names:tc:SAML:2.0:nameid-format:persistent".into()),
            name_qualifier: Some("https://id.example.org/oidc".into()),
            sp_name_qualifier: Some("https://sp.example.org/".into()),
        },
        session_indexes: vec!["s1".into(), "s2".into()],
        reason: Some("urn:oasis:names:tc:SAML:2.0:logout:user".into()),
    }
}

macro_rules! assert_malformed {
    ($read:expr, $flaw:pat) => {
        let read = $read;
        assert!(
            matches!(read, Err(MessageError::Malformed($flaw))),
            "{read:?}"
        );
    };
}

/// Asserts that a message is rejected, and that its sender can be answered with this status.
fn assert_unsupported<T: std::fmt::Debug>(
    read: Result<T, MessageError>,
    expected: UnsupportedError,
    status: &str,
) {
    match read {
        Err(MessageError::Unsupported { header, what }) => {
            assert_eq!((header.id.as_str(), what), ("_m1", expected));
            assert_eq!(
                what.status().code,
                format!("urn:oasis:names:tc:SAML:2.0:status:{status}")
            );
        }
        other => panic!("{other:?}"),
    }
}

mod authn_request;
mod logout;

#[test]
fn only_the_expected_message_type_is_accepted() {
    let text = message("LogoutRequest", HEAD, NAME_ID);
    assert_malformed!(
        AuthnRequest::read(read(&text).unverified()),
        FormError::Root("AuthnRequest")
    );
    assert_malformed!(
        LogoutResponse::read(read(&text).unverified()),
        FormError::Root("LogoutResponse")
    );
    let other = text.replace("SAML:2.0:protocol", "SAML:1.0:protocol");
    assert_malformed!(
        LogoutRequest::read(read(&other).unverified()),
        FormError::Root("LogoutRequest")
    );
}

#[test]
fn the_header_is_checked() {
    let of = |attributes: &str| {
        AuthnRequest::read(read(&message("AuthnRequest", attributes, ISSUER)).unverified())
    };
    for (name, other) in [
        ("ID", "Id"),
        ("Version", "version"),
        ("IssueInstant", "IssueTime"),
    ] {
        let error = of(&HEAD.replace(&format!("{name}="), &format!("{other}="))).unwrap_err();
        assert_eq!(error, MessageError::Malformed(FormError::Missing(name)));
    }
    assert_malformed!(of(&HEAD.replace("_m1", "")), FormError::Missing("ID"));
    for id in ["1", "a b", "a:b", "../x", &"a".repeat(257)] {
        assert_malformed!(
            of(&HEAD.replace("_m1", id)),
            FormError::Value { name: "ID", .. }
        );
    }
    assert!(of(&HEAD.replace("_m1", &"a".repeat(256))).is_ok());
    for time in ["2026-11-21T08:00:00", "2026-11-21T08:00:00+15:00", "now"] {
        assert_malformed!(
            of(&HEAD.replace("2026-11-21T08:00:00Z", time)),
            FormError::Value {
                name: "IssueInstant",
                ..
            }
        );
    }
    assert_malformed!(
        of(&HEAD.replace("2026-11-21T08:00:00Z", "")),
        FormError::Missing("IssueInstant")
    );
}

/// Programs write their empty settings as empty attributes.

#[test]
fn an_unsupported_version_has_an_error_status() {
    for version in ["1.1", "2.1", "2", "2.0.0"] {
        let text = message("AuthnRequest", &HEAD.replace("2.0", version), ISSUER);
        let read = AuthnRequest::read(read(&text).unverified());
        assert_unsupported(read, UnsupportedError::Version, "VersionMismatch");
    }
    // A message without an ID cannot be answered.
    let text = message(
        "AuthnRequest",
        r#"Version="1.1" IssueInstant="2026-11-21T08:00:00Z""#,
        ISSUER,
    );
    assert_malformed!(
        AuthnRequest::read(read(&text).unverified()),
        FormError::Missing("ID")
    );
}

#[test]
fn the_issuer_must_be_an_entity() {
    let with = |attribute: &str| {
        authn(
            "",
            &ISSUER.replace("<saml:Issuer", &format!("<saml:Issuer {attribute}")),
        )
    };
    assert!(with("NameQualifier='x'").is_ok());
    let email = "Format='urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'";
    assert_malformed!(
        with(email),
        FormError::Value {
            name: "the Format of the Issuer",
            ..
        }
    );
    assert_malformed!(
        authn("", &ISSUER.repeat(2)),
        FormError::Shape(ShapeError::Repeated("Issuer"))
    );
    assert_malformed!(
        authn("", "<saml:Issuer> </saml:Issuer>"),
        FormError::Value {
            name: "the Issuer",
            ..
        }
    );
    let nested = "<saml:Issuer><saml:Issuer>a</saml:Issuer></saml:Issuer>";
    assert_malformed!(authn("", nested), FormError::Shape(ShapeError::NotText));
    let long = format!("<saml:Issuer>{}</saml:Issuer>", "x".repeat(4097));
    assert_malformed!(
        authn("", &long),
        FormError::Value {
            name: "the Issuer",
            ..
        }
    );
}

/// Otherwise, readers that join the text around a comment and readers that stop at it would read different names.
#[test]
fn a_comment_in_an_issuer_or_a_name_is_rejected() {
    for (text, name) in [(ISSUER, "AuthnRequest"), (NAME_ID, "LogoutRequest")] {
        for inside in ["<!-- -->", "<?x y?>"] {
            let text = message(
                name,
                HEAD,
                &text.replace(".org", &format!(".org{inside}.evil.example")),
            );
            let problem = Document::read(text.as_bytes(), XmlLimits::MESSAGE)
                .unwrap_err()
                .problem;
            assert!(
                matches!(problem, XmlProblem::CommentInText | XmlProblem::Instruction),
                "{problem}"
            );
        }
    }
}

#[test]
fn elements_of_other_namespaces_are_ignored() {
    let foreign: String = ["Issuer", "NameIDPolicy", "Subject", "RequestedAuthnContext"]
        .map(|name| format!("<x:{name} xmlns:x='urn:x'>x</x:{name}><{name}/>"))
        .concat();
    assert_eq!(authn("", &foreign), authn("", ""));
    // A name in the wrong one of the two namespaces is ignored, too.
    assert_eq!(authn("", &ISSUER.replace("saml:", "samlp:")), authn("", ""));
    assert_malformed!(
        logout("", &NAME_ID.replace("saml:", "samlp:")),
        FormError::Shape(ShapeError::Missing("NameID"))
    );
    // An attribute in a namespace is a different attribute.
    assert_eq!(authn("samlp:ForceAuthn='true'", ""), authn("", ""));
}
