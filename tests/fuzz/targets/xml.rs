//! The XML reader: a parsed document is within the limits, and contains only characters that XML allows.

#![no_main]

use assent_saml_core::xml::{Document, ShapeError, XmlLimits, is_ncname, is_text};
use libfuzzer_sys::fuzz_target;

/// Small limits, so that inputs reach them.
const LIMITS: XmlLimits = XmlLimits {
    bytes: 5_000,
    nodes: 300,
};

fuzz_target!(|input: &[u8]| {
    let read = Document::read(input, LIMITS);
    assert_eq!(read.is_ok(), Document::read(input, LIMITS).is_ok());
    let Ok(document) = read else { return };
    assert!(input.len() <= LIMITS.bytes);
    let root = document.unverified();
    let elements: Vec<_> = root.descendants().collect();
    assert!(
        elements.len() <= LIMITS.nodes + 1,
        "{} elements",
        elements.len()
    );
    let children: usize = elements
        .iter()
        .map(|element| element.children().count())
        .sum();
    assert_eq!(
        children + 1,
        elements.len(),
        "each element but the root is the child of one"
    );
    for element in &elements {
        assert!(is_ncname(element.local_name()));
        assert!(element.namespace().is_empty() || element.namespace().contains(':'));
        let names: Vec<_> = element
            .children()
            .map(|child| (child.namespace(), child.local_name()))
            .collect();
        match element.text() {
            Ok(text) => assert!(names.is_empty() && is_text(text) && text.len() <= input.len()),
            Err(error) => assert!(error == ShapeError::NotText && !names.is_empty()),
        }
        let id = ["ID", "Id", "id"].map(|name| element.attribute(name));
        assert!(id.into_iter().flatten().all(is_text));
    }
});
