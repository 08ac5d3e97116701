//! The messages of SAML: a parsed message is within its limits, and a written message is read back unchanged.

#![no_main]

use assent_saml_core::message::{
    AuthnRequest, Header, LogoutRequest, LogoutResponse, MessageError, NameId, instant,
    instant_text,
};
use assent_saml_core::xml::{Document, XmlLimits, is_ncname, to_utf8};
use libfuzzer_sys::fuzz_target;

fn check_header(header: &Header) {
    assert!(header.id.len() <= 256 && is_ncname(&header.id));
    assert_eq!(
        instant(&instant_text(header.issue_instant)),
        Some(header.issue_instant)
    );
    for text in [&header.issuer, &header.destination].into_iter().flatten() {
        assert!(
            !text.is_empty()
                && text.len() <= 4096
                && !text.starts_with(' ')
                && !text.ends_with('\n')
        );
    }
}

fn check_name(name: &NameId) {
    assert!(
        !name.value.trim_matches([' ', '\t', '\n', '\r']).is_empty() && name.value.len() <= 4096
    );
}

/// An error that can be answered contains the header that the answer refers to.
fn check_error(error: &MessageError) {
    if let MessageError::Unsupported { header, what } = error {
        check_header(header);
        assert!(!what.status().is_success());
    }
}

fn read(text: &str) -> Document {
    Document::read(text.as_bytes(), XmlLimits::METADATA).expect("a written message is well-formed")
}

fuzz_target!(|input: &[u8]| {
    if let Some(at) = std::str::from_utf8(input).ok().and_then(instant) {
        assert_eq!(instant(&instant_text(at)), Some(at));
    }
    let Ok(converted) = to_utf8(input) else {
        return;
    };
    let Ok(document) = Document::read(&converted, XmlLimits::MESSAGE) else {
        return;
    };
    let root = document.unverified();
    match AuthnRequest::read(root) {
        Ok(request) => {
            check_header(&request.header);
            let is_named = request.acs_url.is_some() || request.protocol_binding.is_some();
            assert!(!(request.acs_index.is_some() && is_named));
            if let Some(context) = request.requested_authn_context {
                assert_eq!(context.classes.is_empty(), context.declarations);
            }
            if let Some(subject) = request.subject {
                check_name(&subject.name_id);
            }
        }
        Err(error) => check_error(&error),
    }
    match LogoutRequest::read(root) {
        Ok(request) => {
            check_header(&request.header);
            check_name(&request.name_id);
            let text = request
                .write(None)
                .expect("a message that was read can be written");
            assert_eq!(LogoutRequest::read(read(&text).unverified()), Ok(request));
        }
        Err(error) => check_error(&error),
    }
    match LogoutResponse::read(root) {
        Ok(response) => {
            check_header(&response.header);
            let text = response
                .write(None)
                .expect("a message that was read can be written");
            assert_eq!(LogoutResponse::read(read(&text).unverified()), Ok(response));
        }
        Err(error) => check_error(&error),
    }
});
