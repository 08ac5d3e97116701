//! Reading and writing messages, well-formed and malformed.

use std::slice;

use proptest::prelude::*;

use super::status::RESPONDER;
use super::*;
use crate::xml::testing::{PARTNER, read};
use crate::xml::{Document, ShapeError, WriteError, XmlLimits, XmlProblem};
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

#[test]
fn a_minimal_request_has_no_optional_members() {
    let expected = AuthnRequest {
        header: Header {
            id: "_m1".into(),
            issuer: None,
            issue_instant: AT,
            destination: None,
        },
        force_authn: false,
        is_passive: false,
        protocol_binding: None,
        acs_url: None,
        acs_index: None,
        name_id_policy: None,
        requested_authn_context: None,
        subject: None,
    };
    assert_eq!(authn("", ""), Ok(expected));
}

#[test]
fn every_member_of_a_request_is_read() {
    let attributes = r#"Destination=" https://id.example.org/sso " ForceAuthn="true" IsPassive=" 1 " ProviderName="SP"
        ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" AttributeConsumingServiceIndex="x"
        AssertionConsumerServiceURL="https://sp.example.org/acs?a=1&amp;b=2""#;
    let content = r#"
        <saml:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">
          https://sp.example.org/
        </saml:Issuer>
        <samlp:Extensions><x xmlns="urn:x"><saml:Issuer>other</saml:Issuer></x></samlp:Extensions>
        <saml:Subject>
          <saml:NameID Format="urn:f" NameQualifier="idp" SPNameQualifier="sp"> ada </saml:NameID>
          <saml:SubjectConfirmation Method="urn:m"/>
        </saml:Subject>
        <samlp:NameIDPolicy Format="urn:p" SPNameQualifier="group" AllowCreate="1"/>
        <saml:Conditions NotOnOrAfter="x"/>
        <samlp:RequestedAuthnContext Comparison="minimum">
          <saml:AuthnContextClassRef>urn:a</saml:AuthnContextClassRef>
          <saml:AuthnContextClassRef> urn:b </saml:AuthnContextClassRef>
        </samlp:RequestedAuthnContext>
        <samlp:Scoping ProxyCount="0"/>"#;
    let name_id = NameId {
        value: " ada ".into(),
        format: Some("urn:f".into()),
        name_qualifier: Some("idp".into()),
        sp_name_qualifier: Some("sp".into()),
    };
    let expected = AuthnRequest {
        header: Header {
            destination: Some("https://id.example.org/sso".into()),
            ..header("_m1")
        },
        force_authn: true,
        is_passive: true,
        protocol_binding: Some("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST".into()),
        acs_url: Some("https://sp.example.org/acs?a=1&b=2".into()),
        acs_index: None,
        name_id_policy: Some(NameIdPolicy {
            format: Some("urn:p".into()),
            sp_name_qualifier: Some("group".into()),
            allow_create: true,
        }),
        requested_authn_context: Some(RequestedAuthnContext {
            comparison: Comparison::Minimum,
            classes: vec!["urn:a".into(), "urn:b".into()],
            declarations: false,
        }),
        subject: Some(Subject {
            name_id,
            has_confirmation: true,
        }),
    };
    assert_eq!(authn(attributes, content), Ok(expected));
    assert_eq!(
        authn(r#"AssertionConsumerServiceIndex="7""#, "")
            .unwrap()
            .acs_index,
        Some(7)
    );
}

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
fn an_empty_optional_attribute_counts_as_absent() {
    let plain = authn("", "");
    for name in [
        "Destination",
        "Consent",
        "ForceAuthn",
        "IsPassive",
        "ProtocolBinding",
        "AssertionConsumerServiceURL",
        "AssertionConsumerServiceIndex",
        "AttributeConsumingServiceIndex",
        "ProviderName",
    ] {
        for empty in ["", " ", "\n\t"] {
            assert_eq!(authn(&format!("{name}='{empty}'"), ""), plain, "{name}");
        }
    }
    // An empty index does not exclude an address.
    let both =
        "AssertionConsumerServiceIndex='' AssertionConsumerServiceURL='https://sp.example.org/acs'";
    assert!(authn(both, "").is_ok());
    let policy = authn("", "<samlp:NameIDPolicy/>");
    let empty = "<samlp:NameIDPolicy Format='' SPNameQualifier='' AllowCreate=''/>";
    assert_eq!(authn("", empty), policy);
    for context in [
        "<samlp:RequestedAuthnContext/>",
        "<samlp:RequestedAuthnContext Comparison=''/>",
        "<samlp:RequestedAuthnContext Comparison='exact'><saml:AuthnContextClassRef/></samlp:RequestedAuthnContext>",
    ] {
        assert_eq!(authn("", context), plain, "{context}");
    }
    let subject = format!("<saml:Subject>{NAME_ID}</saml:Subject>");
    let with_empty = subject.replace(
        "<saml:NameID",
        "<saml:NameID NameQualifier='' SPNameQualifier='' SPProvidedID=''",
    );
    assert_eq!(authn("", &with_empty), authn("", &subject));
    let issuer = ISSUER.replace("<saml:Issuer", "<saml:Issuer Format='' NameQualifier=''");
    assert_eq!(authn("", &issuer), authn("", ISSUER));
    for name in ["Destination", "Consent", "NotOnOrAfter", "Reason"] {
        let request = logout(&format!("{name}=''"), NAME_ID);
        assert_eq!(request, logout("", NAME_ID), "{name}");
    }
}

/// Programs in Python and .NET write `True`.
#[test]
fn booleans_have_any_case() {
    let of = |value: &str| {
        let request = authn(&format!("ForceAuthn='{value}' IsPassive='{value}'"), "");
        request.map(|request| (request.force_authn, request.is_passive))
    };
    for value in ["true", "True", "TRUE", "1", " true "] {
        assert_eq!(of(value), Ok((true, true)), "{value}");
    }
    for value in ["false", "False", "FALSE", "0", ""] {
        assert_eq!(of(value), Ok((false, false)), "{value}");
    }
    for value in ["yes", "on", "2", "t"] {
        assert!(of(value).is_err(), "{value}");
    }
}

#[test]
fn a_bearer_confirmation_without_data_requests_nothing() {
    let subject = |confirmation: &str| {
        let content = format!("<saml:Subject>{NAME_ID}{confirmation}</saml:Subject>");
        authn("", &content).map(|request| request.subject.unwrap().has_confirmation)
    };
    let bearer = "<saml:SubjectConfirmation Method='urn:oasis:names:tc:SAML:2.0:cm:bearer'";
    for (confirmation, has_confirmation) in [
        (String::new(), false),
        (format!("{bearer}/>"), false),
        (format!("{bearer}> </saml:SubjectConfirmation>"), false),
        (format!("{bearer}/>{bearer}/>"), false),
        (
            format!("{bearer}><saml:SubjectConfirmationData/></saml:SubjectConfirmation>"),
            false,
        ),
        (
            format!(
                "{bearer}><saml:SubjectConfirmationData Recipient='x'/></saml:SubjectConfirmation>"
            ),
            true,
        ),
        (
            format!(
                "{bearer}><saml:SubjectConfirmationData>x</saml:SubjectConfirmationData></saml:SubjectConfirmation>"
            ),
            true,
        ),
        (
            format!("{bearer}>{NAME_ID}</saml:SubjectConfirmation>"),
            true,
        ),
        (bearer.replace("bearer", "holder-of-key") + "/>", true),
        ("<saml:SubjectConfirmation/>".to_owned(), true),
    ] {
        assert_eq!(
            subject(&confirmation),
            Ok(has_confirmation),
            "{confirmation}"
        );
    }
}

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

#[test]
fn the_members_of_an_authn_request_are_validated() {
    for name in ["ForceAuthn", "IsPassive"] {
        for value in ["yes", "2"] {
            assert_malformed!(
                authn(&format!("{name}='{value}'"), ""),
                FormError::Value {
                    must: "true or false",
                    ..
                }
            );
        }
        assert_eq!(authn(&format!("{name}='0'"), ""), authn("", ""));
        assert_eq!(authn(&format!("{name}='false'"), ""), authn("", ""));
    }
    for index in ["-1", "65536", "1.0", "x"] {
        let read = authn(&format!("AssertionConsumerServiceIndex='{index}'"), "");
        assert_malformed!(
            read,
            FormError::Value {
                name: "AssertionConsumerServiceIndex",
                ..
            }
        );
    }
    for other in [
        "AssertionConsumerServiceURL='https://sp.example.org/acs'",
        "ProtocolBinding='urn:b'",
    ] {
        assert!(authn(other, "").is_ok());
        assert_malformed!(
            authn(&format!("AssertionConsumerServiceIndex='0' {other}"), ""),
            FormError::TwoEndpoints
        );
    }
    let policy = "<samlp:NameIDPolicy/>";
    assert!(
        !authn("", policy)
            .unwrap()
            .name_id_policy
            .unwrap()
            .allow_create
    );
    assert_malformed!(
        authn("", &policy.repeat(2)),
        FormError::Shape(ShapeError::Repeated("NameIDPolicy"))
    );
    assert_malformed!(
        authn("", "<samlp:NameIDPolicy AllowCreate='yes'/>"),
        FormError::Value {
            name: "AllowCreate",
            ..
        }
    );
}

#[test]
fn a_requested_context_lists_classes_or_declarations() {
    let context = |attributes: &str, content: &str| {
        let content = format!(
            "<samlp:RequestedAuthnContext {attributes}>{content}</samlp:RequestedAuthnContext>"
        );
        authn("", &content).map(|request| request.requested_authn_context.unwrap())
    };
    let class = "<saml:AuthnContextClassRef>urn:a</saml:AuthnContextClassRef>";
    let declaration = class.replace("ClassRef", "DeclRef");
    for (text, comparison) in [
        ("", Comparison::Exact),
        ("Comparison='exact'", Comparison::Exact),
        ("Comparison='minimum'", Comparison::Minimum),
        ("Comparison='maximum'", Comparison::Maximum),
        ("Comparison='better'", Comparison::Better),
    ] {
        let expected = RequestedAuthnContext {
            comparison,
            classes: vec!["urn:a".into()],
            declarations: false,
        };
        assert_eq!(context(text, class), Ok(expected));
    }
    assert_malformed!(
        context("Comparison='best'", class),
        FormError::Value {
            name: "Comparison",
            ..
        }
    );
    let declared = context("", &declaration).unwrap();
    assert!(declared.declarations && declared.classes.is_empty());
    assert_malformed!(
        context("", &format!("{class}{declaration}")),
        FormError::Value {
            name: "RequestedAuthnContext",
            ..
        }
    );
}

#[test]
fn a_subject_must_have_a_name_id() {
    let subject = |content: &str| authn("", &format!("<saml:Subject>{content}</saml:Subject>"));
    assert_eq!(
        subject(NAME_ID).unwrap().subject,
        Some(Subject {
            name_id: name_id("ada@example.org"),
            has_confirmation: false
        })
    );
    assert_eq!(
        logout("", NAME_ID).unwrap().name_id,
        name_id("ada@example.org")
    );
    let confirmation = "<saml:SubjectConfirmation Method='urn:m'/>";
    assert_unsupported(
        subject(confirmation),
        UnsupportedError::SubjectConfirmation,
        "Requester",
    );
    assert_unsupported(subject(""), UnsupportedError::UnnamedSubject, "Requester");
    for (other, expected) in [
        ("<saml:EncryptedID/>", UnsupportedError::EncryptedId),
        ("<saml:BaseID/>", UnsupportedError::BaseId),
    ] {
        assert_unsupported(subject(other), expected, "Requester");
        assert_unsupported(logout("", other), expected, "Requester");
        // The server must not choose one of two identifiers.
        let both = format!("{NAME_ID}{other}");
        assert_malformed!(subject(&both), FormError::Shape(ShapeError::Repeated(_)));
        assert_malformed!(logout("", &both), FormError::Shape(ShapeError::Repeated(_)));
    }
    assert_malformed!(
        logout("", &NAME_ID.repeat(2)),
        FormError::Shape(ShapeError::Repeated(_))
    );
    assert_malformed!(
        logout("", "<saml:NameID/>"),
        FormError::Value {
            name: "a NameID",
            ..
        }
    );
    assert_malformed!(
        logout("", ""),
        FormError::Shape(ShapeError::Missing("NameID"))
    );
}

#[test]
fn a_logout_request_names_sessions() {
    let content = format!(
        "{ISSUER}{NAME_ID}<samlp:SessionIndex>a</samlp:SessionIndex><x:SessionIndex \
         xmlns:x='urn:x'/><samlp:SessionIndex> b</samlp:SessionIndex>"
    );
    let request = logout(
        "NotOnOrAfter='2026-11-21T08:00:00.5Z' Reason='why'",
        &content,
    )
    .unwrap();
    assert_eq!(request.session_indexes, ["a", " b"]);
    assert_eq!(
        request.not_on_or_after.map(Timestamp::millis),
        Some(AT.millis() + 500)
    );
    assert_eq!(
        (request.reason.as_deref(), request.header),
        (Some("why"), header("_m1"))
    );
    assert_eq!(logout("Reason=''", NAME_ID).unwrap().reason, None);
    assert_malformed!(
        logout("NotOnOrAfter='soon'", NAME_ID),
        FormError::Value {
            name: "NotOnOrAfter",
            ..
        }
    );
    for (indexes, expected) in [
        ("<samlp:SessionIndex/>", &[][..]),
        ("<samlp:SessionIndex>\n </samlp:SessionIndex>", &[]),
        (
            "<samlp:SessionIndex/><samlp:SessionIndex>a</samlp:SessionIndex>",
            &["a"],
        ),
    ] {
        let request = logout("", &format!("{NAME_ID}{indexes}")).unwrap();
        assert_eq!(request.session_indexes, expected, "{indexes}");
    }
    let long = format!(
        "{NAME_ID}<samlp:SessionIndex>{}</samlp:SessionIndex>",
        "a".repeat(4097)
    );
    assert_malformed!(
        logout("", &long),
        FormError::Value {
            name: "a SessionIndex",
            ..
        }
    );
}

#[test]
fn a_logout_response_has_a_status() {
    let read = response("InResponseTo='_l1'", STATUS).unwrap();
    assert_eq!(
        (read.in_response_to.as_deref(), read.status),
        (Some("_l1"), Status::success())
    );
    let codes = r#"<samlp:Status><samlp:StatusCode Value="urn:1"><samlp:StatusCode Value="urn:2"><samlp:StatusCode Value="urn:3"/></samlp:StatusCode></samlp:StatusCode><samlp:StatusMessage>No</samlp:StatusMessage><samlp:StatusDetail/></samlp:Status>"#;
    let status = response("", codes).unwrap().status;
    assert_eq!(
        status,
        Status {
            message: Some("No".into()),
            ..Status::new("urn:1", Some("urn:2"))
        }
    );
    assert!(!status.is_success() && Status::partial_logout().is_success());
    assert_malformed!(
        response("InResponseTo='1'", STATUS),
        FormError::Value {
            name: "InResponseTo",
            ..
        }
    );
    assert_malformed!(
        response("", ""),
        FormError::Shape(ShapeError::Missing("Status"))
    );
    assert_malformed!(
        response("", "<samlp:Status/>"),
        FormError::Shape(ShapeError::Missing("StatusCode"))
    );
    assert_malformed!(
        response("", "<samlp:Status><samlp:StatusCode/></samlp:Status>"),
        FormError::Missing("Value")
    );
    let two = STATUS.replace(
        "<samlp:StatusCode",
        "<samlp:StatusCode Value='urn:x'/><samlp:StatusCode",
    );
    assert_malformed!(
        response("", &two),
        FormError::Shape(ShapeError::Repeated("StatusCode"))
    );
}

#[test]
fn a_written_message_has_the_order_of_the_schema() {
    let text = logout_request().write(Some(&PARTNER.signer)).unwrap();
    let places = [
        "<saml:Issuer ",
        "<ds:Signature ",
        "<saml:NameID ",
        "<samlp:SessionIndex>s1",
        "<samlp:SessionIndex>s2",
    ]
    .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
    assert!(places.is_sorted(), "{text}");
    let plain = LogoutResponse {
        header: header("_a1"),
        in_response_to: Some("_l1".into()),
        status: Status::success(),
    };
    let expected = r#"<samlp:LogoutResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_a1" InResponseTo="_l1" IssueInstant="2026-11-21T08:00:00Z" Version="2.0"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://sp.example.org/</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"></samlp:StatusCode></samlp:Status></samlp:LogoutResponse>"#;
    assert_eq!(plain.write(None).unwrap(), expected);
}

#[test]
fn messages_are_read_back_with_and_without_a_signature() {
    let request = logout_request();
    let statuses = [
        Status::success(),
        Status::partial_logout(),
        Status::new(RESPONDER, None),
        Status {
            message: Some("a <b> & \"c\"".into()),
            ..UnsupportedError::EncryptedId.status()
        },
    ];
    let responses = statuses.map(|status| LogoutResponse {
        header: header("_a1"),
        in_response_to: Some("_l1".into()),
        status,
    });
    let document = read(&request.write(None).unwrap());
    assert!(!document.has_signature());
    assert_eq!(
        LogoutRequest::read(document.unverified()).as_ref(),
        Ok(&request)
    );
    let signed = read(&request.write(Some(&PARTNER.signer)).unwrap());
    let verified = signed.verify(slice::from_ref(&PARTNER.trusted)).unwrap();
    assert_eq!(LogoutRequest::read(verified.root()).as_ref(), Ok(&request));
    for response in responses {
        let document = read(&response.write(None).unwrap());
        assert_eq!(
            LogoutResponse::read(document.unverified()).as_ref(),
            Ok(&response)
        );
        let signed = read(&response.write(Some(&PARTNER.signer)).unwrap());
        let verified = signed.verify(slice::from_ref(&PARTNER.trusted)).unwrap();
        assert_eq!(
            LogoutResponse::read(verified.root()).as_ref(),
            Ok(&response)
        );
    }
}

#[test]
fn characters_that_xml_cannot_contain_are_not_written() {
    let request = LogoutRequest {
        name_id: name_id("a\0"),
        ..logout_request()
    };
    assert!(matches!(request.write(None), Err(WriteError::Character)));
}

proptest! {
    #[test]
    fn written_messages_round_trip(
        id in "[A-Za-z_][A-Za-z0-9._-]{0,40}",
        names in proptest::collection::vec("[^\\x00-\\x1f\\x7f\\u{fffe}\\u{ffff} \
             ][^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u{fffe}\\u{ffff}]{0,20}", 1..4),
        uri in proptest::option::of("[a-z]{1,5}:[!-~]{1,30}"),
        millis in proptest::option::of(0i64..253_402_200_000_000),
    ) {
        let header = Header { id, issuer: uri.clone(), issue_instant: AT, destination: uri.clone() };
        let request = LogoutRequest {
            header: header.clone(),
            not_on_or_after: millis.map(Timestamp::from_millis),
            name_id: NameId {
                value: names[0].clone(),
                format: uri.clone(),
                name_qualifier: Some(names[0].clone()),
                sp_name_qualifier: uri.clone(),
            },
            session_indexes: names[1..].to_vec(),
            reason: uri.clone(),
        };
        let text = request.write(None).unwrap();
        prop_assert_eq!(LogoutRequest::read(read(&text).unverified()), Ok(request));
        let status = Status { message: Some(names[0].clone()), ..Status::new("urn:a", uri.as_deref()) };
        let response = LogoutResponse { in_response_to: Some(header.id.clone()), header, status };
        let text = response.write(None).unwrap();
        prop_assert_eq!(LogoutResponse::read(read(&text).unverified()), Ok(response));
    }
}
