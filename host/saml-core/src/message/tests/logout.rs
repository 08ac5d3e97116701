//! Reading and writing the messages of a logout.

use std::slice;

use proptest::prelude::*;

use super::*;
use crate::message::status::RESPONDER;
use crate::xml::WriteError;
use crate::xml::testing::PARTNER;

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
