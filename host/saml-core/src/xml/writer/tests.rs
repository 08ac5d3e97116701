use proptest::prelude::*;

use super::*;
use crate::xml::testing::{ISSUER, PARTNER, POLICY, REQUEST, SAML, SAMLP, read, request};
use crate::xml::{DSIG, Document, XS, XSI, XmlLimits, canonical};

/// Returns the output of this function, and asserts that it is its own canonical form, as is each signed element.
fn written(write: impl FnOnce(&mut Writer)) -> String {
    let mut writer = Writer::new();
    write(&mut writer);
    let text = writer.finish().unwrap();
    let document = read(&text);
    assert_eq!(
        canonical(document.unverified(), &["xs"], None).unwrap(),
        text
    );
    for element in document
        .unverified()
        .descendants()
        .filter(|element| element.attribute("ID").is_some())
    {
        let form = canonical(element, &["xs"], None).unwrap();
        assert!(text.contains(&form), "{form} is not in {text}");
    }
    text
}

fn refused(write: impl FnOnce(&mut Writer)) -> WriteError {
    let mut writer = Writer::new();
    write(&mut writer);
    writer.finish().unwrap_err()
}

#[test]
fn a_namespace_is_declared_where_it_is_used_first() {
    let text = written(|writer| {
        writer
            .open(REQUEST)
            .attribute("b", "2")
            .attribute("a", "1")
            .content(|request| {
                request.open(ISSUER).text("x");
                request
                    .open(ISSUER)
                    .qualified_attribute(XSI.name("type"), "y")
                    .attribute("z", "")
                    .empty();
                request
                    .open(POLICY)
                    .optional_attribute("no", None::<&str>)
                    .empty();
            });
    });
    assert_eq!(
        text,
        "<samlp:AuthnRequest xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\" a=\"1\" b=\"2\">\
         <saml:Issuer xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\">x</saml:Issuer>\
         <saml:Issuer xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" \
              xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" z=\"\" xsi:type=\"y\"></saml:Issuer>\
         <samlp:NameIDPolicy></samlp:NameIDPolicy></samlp:AuthnRequest>"
    );
}

#[test]
fn no_value_becomes_markup() {
    let value = "</saml:Issuer><x a=\"'&amp;]]><!-- \t\r\n ü\u{10ffff}";
    let text = written(|writer| {
        writer
            .open(REQUEST)
            .attribute("a", value)
            .content(|request| request.open(ISSUER).text(value));
    });
    let document = read(&text);
    assert_eq!(document.unverified().attribute("a"), Some(value));
    assert_eq!(
        document.unverified().child(ISSUER).unwrap().text(),
        Ok(value)
    );
    assert_eq!(document.unverified().descendants().count(), 2);
}

#[test]
fn values_that_xml_cannot_hold_are_errors() {
    for value in ["\0", "a\u{fffe}", "\u{ffff}", "\u{8}"] {
        assert!(matches!(
            refused(|writer| writer.open(ISSUER).text(value)),
            WriteError::Character
        ));
        assert!(matches!(
            refused(|writer| writer.open(ISSUER).attribute("a", value).empty()),
            WriteError::Character
        ));
    }
    let long = "x".repeat(10 * 1024 * 1024);
    assert!(matches!(
        refused(|writer| writer.open(ISSUER).text(&long)),
        WriteError::TooLong
    ));
    assert!(matches!(
        refused(|writer| writer.open(ISSUER).attribute("a", &long).empty()),
        WriteError::TooLong
    ));
    let quotes = "\"".repeat(300 * 1024);
    assert!(matches!(
        refused(|writer| writer.open(ISSUER).attribute("a", &quotes).empty()),
        WriteError::TooLong
    ));
    let twice = |writer: &mut Writer| {
        writer
            .open(ISSUER)
            .attribute("a", "1")
            .attribute("a", "2")
            .empty();
    };
    assert!(matches!(refused(twice), WriteError::RepeatedAttribute));
}

#[test]
fn an_id_is_an_xs_id() {
    for id in ["", "1a", "a b", "a:b", "_\"", "#a"] {
        let signed = |writer: &mut Writer| {
            writer
                .open(REQUEST)
                .signed(id, &PARTNER.signer, |_| {}, |_| {});
        };
        assert!(matches!(refused(signed), WriteError::Id), "{id}");
    }
}

/// Writes a signed assertion in a signed response.
fn response(writer: &mut Writer) {
    let issuer = |writer: &mut Writer| writer.open(ISSUER).text("https://id.example.org/oidc");
    writer
        .open(SAMLP.name("Response"))
        .attribute("Version", "2.0")
        .signed("_a", &PARTNER.signer, issuer, |response| {
            response.open(SAMLP.name("Status")).empty();
            response
                .open(SAML.name("Assertion"))
                .attribute("Version", "2.0")
                .signed("_b", &PARTNER.signer, issuer, |assertion| {
                    for value in ["1", "2"] {
                        let start = assertion.open(SAML.name("AttributeValue")).declare(XS);
                        start
                            .qualified_attribute(XSI.name("type"), "xs:string")
                            .text(value);
                    }
                });
        });
}

#[test]
fn nested_signed_elements_are_written_in_canonical_form() {
    let text = written(response);
    // Both signatures list `xs`, although no element or attribute uses it.
    assert_eq!(
        text.matches("<ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"xs\">")
            .count(),
        2
    );
    assert!(!request(&PARTNER.signer).contains("PrefixList"));
}

#[test]
fn a_signed_element_cannot_use_a_namespace_of_its_ancestors() {
    let error = refused(|writer| {
        writer.open(SAML.name("Outer")).content(|outer| {
            outer
                .open(SAML.name("Assertion"))
                .signed("_b", &PARTNER.signer, |_| {}, |_| {});
        });
    });
    assert!(
        matches!(error, WriteError::Namespace(uri) if uri == SAML.uri),
        "{error}"
    );
    let error = refused(|writer| {
        writer
            .open(REQUEST)
            .declare(DSIG)
            .signed("_b", &PARTNER.signer, |_| {}, |_| {});
    });
    assert!(matches!(error, WriteError::Namespace(_)), "{error}");
    let error = refused(|writer| {
        writer.open(REQUEST).content(|request| {
            request
                .open(Namespace::new("samlp", "urn:other").name("x"))
                .empty();
        });
    });
    assert!(
        matches!(error, WriteError::Namespace("urn:other")),
        "{error}"
    );
}

#[test]
fn a_signature_covers_its_enclosing_element() {
    let text = request(&PARTNER.signer);
    let document = Document::read(text.as_bytes(), XmlLimits::MESSAGE).unwrap();
    let verified = document
        .verify(std::slice::from_ref(&PARTNER.trusted))
        .unwrap();
    assert_eq!(
        verified.root().child(ISSUER).unwrap().text(),
        Ok("https://sp.example.org/")
    );
    let order: Vec<_> = document
        .unverified()
        .children()
        .map(|child| child.local_name())
        .collect();
    assert_eq!(order, ["Issuer", "Signature", "NameIDPolicy"]);
}

proptest! {
    #[test]
    fn any_value_round_trips_or_is_an_error(value in any::<String>(), text in "[\\x00-\\x7f]{0,20}") {
        let mut writer = Writer::new();
        writer.open(ISSUER).attribute("a", &value).text(&text);
        match writer.finish() {
            Ok(written) => {
                let document = read(&written);
                prop_assert_eq!(document.unverified().attribute("a"), Some(value.as_str()));
                prop_assert_eq!(document.unverified().text(), Ok(text.as_str()));
            }
            Err(error) => prop_assert!(matches!(error, WriteError::Character) && !(is_text(&value) && is_text(&text))),
        }
    }
}
