//! Signature wrapping: the document contains the signed content, and other content for the reader.

use super::*;

/// XSW1: the signed message moves into the signature of another.
#[test]
fn wrapping_1_the_original_inside_the_signature() {
    let pieces = RequestParts::new();
    let text = [
        &pieces.evil("_e"),
        &pieces.before,
        &pieces.signature_with(&pieces.bare()),
        &pieces.after,
        END,
    ]
    .concat();
    assert_refused!(text, SignatureError::Malformed(_));
}

/// XSW2: the signature is detached; the original precedes it.
#[test]
fn wrapping_2_the_original_beside_the_signature() {
    let pieces = RequestParts::new();
    let text = [
        &pieces.evil("_e"),
        &pieces.bare(),
        &pieces.signature,
        &pieces.after,
        END,
    ]
    .concat();
    assert_refused!(text, SignatureError::Reference);
}

/// XSW3: a malicious element precedes the original, in an unsigned root element.
#[test]
fn wrapping_3_the_original_after_the_malicious_element() {
    let pieces = RequestParts::new();
    let evil = [&pieces.evil("_e"), &pieces.before, &pieces.after, END].concat();
    assert_refused!(
        format!("<Outer>{evil}{}</Outer>", pieces.whole()),
        SignatureError::Misplaced
    );
}

/// XSW4: the original moves into the malicious element.
#[test]
fn wrapping_4_the_original_inside_another() {
    let pieces = RequestParts::new();
    let text = [&pieces.evil("_e"), &pieces.before, &pieces.whole(), END].concat();
    assert_refused!(text, SignatureError::Misplaced);
}

/// XSW5: the malicious element has the signature; the original follows without it.
#[test]
fn wrapping_5_the_original_after_the_signed_malicious_element() {
    let pieces = RequestParts::new();
    let evil = [
        &pieces.evil("_e"),
        &pieces.before,
        &pieces.signature,
        &pieces.after,
        END,
    ]
    .concat();
    assert_refused!(
        format!("<Outer>{evil}{}</Outer>", pieces.bare()),
        SignatureError::Misplaced
    );
    let text = [
        &pieces.evil("_e"),
        &pieces.before,
        &pieces.signature,
        &pieces.after,
        &pieces.bare(),
        END,
    ]
    .concat();
    assert_refused!(text, SignatureError::Reference);
}

/// XSW6: the original moves into the signature of the malicious element.
#[test]
fn wrapping_6_the_original_in_the_signature_of_the_malicious_element() {
    let pieces = RequestParts::new();
    let evil = [
        &pieces.evil("_e"),
        &pieces.before,
        &pieces.signature_with(&pieces.bare()),
        END,
    ]
    .concat();
    assert_refused!(format!("<Outer>{evil}</Outer>"), SignatureError::Misplaced);
    let evil = [
        &pieces.evil("_r1"),
        &pieces.before,
        &pieces.signature_with(&pieces.bare()),
        END,
    ]
    .concat();
    assert_refused!(evil, SignatureError::RepeatedId);
}

/// XSW7: the malicious element, with the same ID, is in an extension element with arbitrary content.
#[test]
fn wrapping_7_the_malicious_element_in_extensions() {
    let pieces = RequestParts::new();
    for id in ["_r1", "_e"] {
        let evil = [&pieces.evil(id), &pieces.before, &pieces.after, END].concat();
        let extensions = format!("<samlp:Extensions>{evil}</samlp:Extensions>");
        let text = [
            &pieces.start,
            &pieces.before,
            &pieces.signature,
            &extensions,
            &pieces.after,
            END,
        ]
        .concat();
        assert_refused!(text, SignatureError::RepeatedId | SignatureError::Digest);
        let text = [
            &pieces.evil(id),
            &format!("<samlp:Extensions>{}</samlp:Extensions>", pieces.bare()),
            &pieces.signature,
            END,
        ];
        assert_refused!(
            text.concat(),
            SignatureError::RepeatedId | SignatureError::Reference
        );
    }
}

/// XSW8: the original is in an object of the signature.
#[test]
fn wrapping_8_the_original_in_an_object() {
    let pieces = RequestParts::new();
    for id in ["_r1", "_e"] {
        let object = format!("<ds:Object>{}</ds:Object>", pieces.bare());
        let text = [
            &pieces.evil(id),
            &pieces.before,
            &pieces.signature_with(&object),
            &pieces.after,
            END,
        ]
        .concat();
        assert_refused!(
            text,
            SignatureError::RepeatedId | SignatureError::Malformed(_)
        );
    }
    // The same in a `KeyInfo`, which the verifier ignores.
    let hidden = pieces
        .signature
        .replace("<ds:X509Data>", &format!("{}<ds:X509Data>", pieces.bare()));
    assert_refused!(
        [&pieces.evil("_e"), &pieces.before, &hidden, END].concat(),
        SignatureError::Reference
    );
    assert_refused!(
        [&pieces.evil("_r1"), &pieces.before, &hidden, END].concat(),
        SignatureError::RepeatedId
    );
}

#[test]
fn the_verified_content_excludes_the_signature() {
    let pieces = RequestParts::new();
    let hidden = pieces.signature.replace(
        "<ds:X509Data>",
        "<evil xmlns='urn:evil'>x</evil><ds:X509Data>",
    );
    let text = [&pieces.start, &pieces.before, &hidden, &pieces.after, END].concat();
    let verified = verify(&text).unwrap();
    assert_eq!(
        canonical(verified.root(), &[], None).unwrap(),
        pieces.bare()
    );
}

#[test]
fn a_stripped_empty_repeated_or_misplaced_signature_is_rejected() {
    let pieces = RequestParts::new();
    assert_refused!(pieces.bare(), SignatureError::Missing);
    assert!(!read(&pieces.bare()).has_signature() && read(&pieces.whole()).has_signature());
    let with =
        |signature: &str| [&pieces.start, &pieces.before, signature, &pieces.after, END].concat();
    assert_refused!(
        with(&format!("<ds:Signature xmlns:ds=\"{}\"/>", DSIG.uri)),
        SignatureError::Malformed(_)
    );
    assert_refused!(with(&pieces.signature.repeat(2)), SignatureError::Several);
    let empty = format!("<ds:Signature xmlns:ds=\"{}\"/>", DSIG.uri);
    assert_refused!(
        with(&format!("{}{empty}", pieces.signature)),
        SignatureError::Several
    );
    assert_refused!(
        with(&format!("{empty}{}", pieces.signature)),
        SignatureError::Several
    );
    assert_refused!(
        with(&format!(
            "<samlp:Extensions>{}</samlp:Extensions>",
            pieces.signature
        )),
        SignatureError::Misplaced
    );
    let other = request(&STRANGER.signer);
    let other =
        &other[other.find("<ds:Signature ").unwrap()..other.find("<samlp:NameIDPolicy").unwrap()];
    assert_refused!(
        with(&format!("{other}{}", pieces.signature)),
        SignatureError::Several
    );
    assert_refused!(
        with(
            &pieces
                .signature
                .replace("ds:Signature ", "ds:Signature2 ")
                .replace("/ds:Signature>", "/ds:Signature2>")
        ),
        SignatureError::Missing
    );
    // A second `SignedInfo` at any place.
    let info = &pieces.signature[pieces.signature.find("<ds:SignedInfo").unwrap()
        ..pieces.signature.find("<ds:SignatureValue").unwrap()];
    assert_refused!(
        with(
            &pieces
                .signature
                .replace("<ds:X509Data>", &format!("{info}<ds:X509Data>"))
        ),
        SignatureError::Several
    );
    assert_refused!(
        with(
            &pieces
                .signature
                .replace("<ds:SignedInfo>", &format!("{info}<ds:SignedInfo>"))
        ),
        SignatureError::Several
    );
}

#[test]
fn repeated_ids_are_rejected() {
    let text = RequestParts::new().whole();
    for attribute in ["ID", "Id", "id", "xml:id"] {
        let text = text.replace("AllowCreate=", &format!("{attribute}='_r1' AllowCreate="));
        assert_refused!(text, SignatureError::RepeatedId);
    }
    assert_refused!(
        text.replace(" ID=", " Id='_r1' ID="),
        SignatureError::RepeatedId
    );
}
