//! Reading requests for authentication.

use super::*;

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
