//! Exclusive canonicalization is idempotent and preserves the content. An input is the inclusive prefixes on one line,
//! then a document.

#![no_main]

use assent_fuzz::lines;
use assent_saml_core::xml::{Document, XmlLimits, canonical};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some([prefixes, text]) = lines(input) else {
        return;
    };
    let Ok(document) = Document::read(text.as_bytes(), XmlLimits::MESSAGE) else {
        return;
    };
    let prefixes: Vec<&str> = prefixes.split(' ').collect();
    let Ok(form) = canonical(document.unverified(), &prefixes, None) else {
        return;
    };
    // An element may exceed the limit of declarations, because its canonical form repeats inherited declarations.
    let Ok(again) = Document::read(form.as_bytes(), XmlLimits::MESSAGE) else {
        return;
    };
    assert_eq!(
        canonical(again.unverified(), &prefixes, None).as_deref(),
        Ok(form.as_str())
    );

    let mut elements = document
        .unverified()
        .descendants()
        .zip(again.unverified().descendants());
    assert!(elements.all(|(before, after)| {
        let name =
            (before.namespace(), before.local_name()) == (after.namespace(), after.local_name());
        name && before.text() == after.text() && before.attribute("ID") == after.attribute("ID")
    }));

    // Each element's form is self-contained: it needs no declaration outside.
    for element in document.unverified().descendants().take(20) {
        let Ok(part) = canonical(element, &[], None) else {
            continue;
        };
        let Ok(separate) = Document::read(part.as_bytes(), XmlLimits::MESSAGE) else {
            continue;
        };
        assert_eq!(
            canonical(separate.unverified(), &[], None).as_deref(),
            Ok(part.as_str())
        );
    }
});
