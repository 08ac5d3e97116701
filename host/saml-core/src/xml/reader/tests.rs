use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::xml::testing::{read, text_of};
use crate::xml::{Namespace, ShapeError};

const A: Namespace = Namespace::new("a", "urn:a");

fn refused(text: impl AsRef<[u8]>) -> XmlProblem {
    match Document::read(text.as_ref(), XmlLimits::MESSAGE) {
        Ok(document) => panic!("{document:?} was read"),
        Err(error) => error.problem,
    }
}

#[test]
fn a_document_is_read_as_a_tree() {
    let document = read(
        "\u{feff}<?xml version='1.0' encoding=\"utf-8\" standalone='no' ?>\r\n<!-- before -->\n\
         <a:r xmlns:a = 'urn:a' xmlns=\"urn:d\" x='1' a:x=\"2\">\r\n <one/><a:two>t&#x20;&lt;<![CDATA[<&]]>\r\n</a:two \
              ><one></one></a:r>\n<!-- after -->",
    );
    let root = document.unverified();
    assert!(root.is(A.name("r")) && !root.is(Namespace::new("", "urn:d").name("r")));
    assert_eq!(
        (root.attribute("x"), root.qualified_attribute(A.name("x"))),
        (Some("1"), Some("2"))
    );
    assert_eq!((root.attribute("xmlns"), root.attribute("y")), (None, None));
    let names: Vec<_> = root
        .children()
        .map(|child| (child.namespace(), child.local_name()))
        .collect();
    assert_eq!(
        names,
        [("urn:d", "one"), ("urn:a", "two"), ("urn:d", "one")]
    );
    assert_eq!(root.child(A.name("two")).unwrap().text(), Ok("t <<&\n"));
    assert_eq!(root.text(), Err(ShapeError::NotText));
    assert_eq!(
        root.child(A.name("no")).unwrap_err(),
        ShapeError::Missing("no")
    );
    assert_eq!(
        root.child(Namespace::new("", "urn:d").name("one"))
            .unwrap_err(),
        ShapeError::Repeated("one")
    );
    assert_eq!(root.descendants().count(), 4);
}

#[test]
fn text_belongs_to_its_enclosing_element() {
    let document = read("<r>1<a>2<b/>3</a>4<![CDATA[5]]>&#54;<c/><d>7</d></r>");
    let canonical = crate::xml::canonical(document.unverified(), &[], None).unwrap();
    assert_eq!(canonical, "<r>1<a>2<b></b>3</a>456<c></c><d>7</d></r>");
}

#[test]
fn line_ends_and_white_space_are_normalized() {
    let document = read("<r a='1\r\n2\r3\t4&#13;&#10;&#9;'>\r\n\r&#xD;</r>");
    assert_eq!(document.unverified().attribute("a"), Some("1 2 3 4\r\n\t"));
    assert_eq!(document.unverified().text(), Ok("\n\n\r"));
}

#[test]
fn a_doctype_is_rejected_before_anything_is_expanded() {
    for text in [
        "<!DOCTYPE r><r/>",
        "<!DOCTYPE r [<!ENTITY x 'y'>]><r>&x;</r>",
        "<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r/>",
        "<?xml version='1.0'?>\n<!doctype r><r/>",
        "<r><!DOCTYPE r></r>",
        "<r/><!DOCTYPE r",
        "<!D",
    ] {
        assert_eq!(refused(text), XmlProblem::Doctype, "{text}");
    }
}

#[test]
fn entities_are_rejected() {
    for text in [
        "<r>&x;</r>",
        "<r a='&x;'/>",
        "<r>&nbsp;</r>",
        "<r a='&'/>",
        "<r>&#X41;</r>",
        "<r>&#+65;</r>",
        "<r>&#4a;</r>",
    ] {
        assert_eq!(refused(text), XmlProblem::Entity, "{text}");
    }
    assert_eq!(refused("<r>&lt</r>"), XmlProblem::Syntax);
    for text in [
        "<r>&#0;</r>",
        "<r>&#xFFFE;</r>",
        "<r a='&#x1b;'/>",
        "<r>&#xD800;</r>",
        "<r>&#x110000;</r>",
        "<r>&#;</r>",
    ] {
        assert_eq!(refused(text), XmlProblem::Character, "{text}");
    }
}

#[test]
fn a_comment_inside_issuer_or_name_id_is_rejected() {
    for text in [
        "<r><NameID>ada@example.org<!-- -->.evil.example</NameID></r>",
        "<r><Issuer>https://sp<!---->.example.org</Issuer></r>",
        "<r><Issuer><!-- x -->https://sp.example.org</Issuer></r>",
        "<r><Issuer>https://sp.example.org<!-- x --></Issuer></r>",
        "<r><Issuer>a<b/><!-- x --></Issuer></r>",
        "<r><Issuer><!-- x --><![CDATA[a]]></Issuer></r>",
    ] {
        assert_eq!(refused(text), XmlProblem::CommentInText, "{text}");
    }
    assert_eq!(
        text_of("<r> <!-- between --> <a/> <!-- elements --> </r>"),
        "  <a></a>  "
    );
}

#[test]
fn a_processing_instruction_is_rejected_at_any_place() {
    for text in [
        "<r><NameID>ada<?x y?>.evil</NameID></r>",
        "<?x?><r/>",
        "<r/><?x y?>",
        "<r><?xml-x?></r>",
        "<r><?XML?></r>",
    ] {
        assert_eq!(refused(text), XmlProblem::Instruction, "{text}");
    }
}

#[test]
fn the_declaration_must_be_of_xml_1_0_in_utf_8_at_the_beginning() {
    for text in [
        " <?xml version='1.0'?><r/>",
        "<r><?xml version='1.0'?></r>",
        "<?xml version='1.1'?><r/>",
        "<?xml?><r/>",
        "<?xml encoding='utf-8'?><r/>",
        "<?xml version='1.0' standalone='maybe'?><r/>",
        "<?xml version='1.0' standalone='no' encoding='utf-8'?><r/>",
        "<?xml version='1.0' x='y'?><r/>",
        "<?xml version='1.0'?><?xml version='1.0'?><r/>",
    ] {
        assert_eq!(refused(text), XmlProblem::Declaration, "{text}");
    }
    assert_eq!(
        refused("<?xml version='1.0' encoding='iso-8859-1'?><r/>"),
        XmlProblem::Encoding
    );
    assert_eq!(refused(b"<r>\xe4</r>"), XmlProblem::Encoding);
    assert_eq!(refused(b"\xff\xfe<\0r\0/\0>\0"), XmlProblem::Encoding);
}

#[test]
fn documents_that_are_not_well_formed_are_rejected() {
    use XmlProblem::*;
    for (text, problem) in [
        ("", NotOneRoot),
        (" ", NotOneRoot),
        ("x<r/>", NotOneRoot),
        ("<r/>x", NotOneRoot),
        ("<r/><r/>", NotOneRoot),
        ("<r/><![CDATA[ ]]>", NotOneRoot),
        ("<r/>&#32;", NotOneRoot),
        ("<r>", Tags),
        ("<r></s>", Tags),
        ("</r>", Tags),
        ("<r></ r>", Tags),
        ("<r></r x='y'>", Tags),
        ("<r>]]></r>", Syntax),
        ("<r><!-- a -- b --></r>", Syntax),
        ("<r><!-- a ---></r>", Syntax),
        ("<r><!--></r>", Syntax),
        ("<r><![CDATA[</r>", Syntax),
        ("<r><![cdata[]]></r>", Syntax),
        ("<r><!X></r>", Syntax),
        ("<r", Syntax),
        ("<>", Name),
        ("< r/>", Attribute),
        ("<1/>", Name),
        ("<r/ >", Name),
        ("<a:b:c xmlns:a='urn:a'/>", Name),
        ("<:r/>", Name),
        ("<r a:='1'/>", Name),
        ("<r xmlns:='urn:a'/>", Name),
        ("<r 1='1'/>", Name),
        ("<r a/>", Attribute),
        ("<r a=1/>", Attribute),
        ("<r a='1'b='2'/>", Attribute),
        ("<r a='<'/>", Attribute),
        ("<r a='1/>", Syntax),
        ("<r>\0</r>", Character),
        ("<r a='\u{fffe}'/>", Character),
        ("<r>\u{ffff}</r>", Character),
        ("<!-- \u{1} --><r/>", Character),
    ] {
        assert_eq!(refused(text), problem, "{text}");
    }
}

#[test]
fn namespaces_are_checked() {
    use XmlProblem::*;
    for (text, problem) in [
        ("<a:r/>", UnboundPrefix),
        ("<r a:b='1'/>", UnboundPrefix),
        ("<r><a xmlns:p='urn:p'/><p:b/></r>", UnboundPrefix),
        ("<r xmlns:a=''/>", Namespace),
        ("<r xmlns='relative'/>", Namespace),
        ("<r xmlns:a='../up'/>", Namespace),
        ("<r xmlns:a='urn:&quot;'/>", Namespace),
        ("<r xmlns:a='urn:é'/>", Namespace),
        ("<r xmlns:a=' urn:a'/>", Namespace),
        ("<xmlns:r/>", ReservedPrefix),
        ("<r xmlns:xmlns='urn:a'/>", ReservedPrefix),
        ("<r xmlns:xml='urn:a'/>", ReservedPrefix),
        (
            "<r xmlns:a='http://www.w3.org/XML/1998/namespace'/>",
            ReservedPrefix,
        ),
        ("<r xmlns='http://www.w3.org/2000/xmlns/'/>", ReservedPrefix),
    ] {
        assert_eq!(refused(text), problem, "{text}");
    }
    let document = read(
        "<r xmlns:xml='http://www.w3.org/XML/1998/namespace' xml:lang='en' xmlns='urn:d'><s xmlns=''/></r>",
    );
    assert_eq!(
        document
            .unverified()
            .children()
            .next()
            .map(|child| child.namespace()),
        Some("")
    );
}

#[test]
fn attributes_with_the_same_or_an_equivalent_name_are_rejected() {
    for text in [
        "<r a='1' a='2'/>",
        "<r ID='1' ID='1'/>",
        "<r xmlns:a='urn:a' xmlns:a='urn:a'/>",
        "<r xmlns='urn:a' xmlns='urn:b'/>",
        "<r xmlns:a='urn:a' xmlns:b='urn:a' a:x='1' b:x='2'/>",
        "<r xmlns:a='urn:a' xmlns:b='urn:&#97;' a:x='1' b:x='2'/>",
    ] {
        assert_eq!(refused(text), XmlProblem::RepeatedAttribute, "{text}");
    }
    read("<r xmlns='urn:a' xmlns:a='urn:a' x='1' a:x='2'/>");
}

#[test]
fn an_error_names_the_line() {
    let error = Document::read(b"<r>\r\n<a>\r\n</b></r>", XmlLimits::MESSAGE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3: the end tags do not match the start tags"
    );
}

/// Returns the shortest of several reading times, because other load on the machine only increases them.
fn fastest(text: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        let _ = std::hint::black_box(Document::read(text.as_bytes(), XmlLimits::METADATA));
        start.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap_or_default()
}

/// Returns an ordinary document of about this length, up to the limits.
fn ordinary(length: usize) -> String {
    let element =
        "<md:a xmlns:md='urn:md' one='of some length' two='and another'>text &amp; text</md:a>\n";
    format!(
        "<r>{}</r>",
        element
            .repeat((length.min(XmlLimits::METADATA.bytes - 100) / element.len()).clamp(1, 10_000))
    )
}

/// Asserts that the text is rejected quickly: in at most eight times the reading time of an ordinary document of the
/// same length. On a busy machine the measured ratio varies between one and four. A quadratic algorithm would exceed it
/// by a factor of hundreds. The benchmark `saml_xml` asserts that each takes less than 10 ms in a release build.
fn refused_at_once(text: &str) -> XmlProblem {
    let problem = match Document::read(text.as_bytes(), XmlLimits::METADATA) {
        Ok(_) => panic!("it was read"),
        Err(error) => error.problem,
    };
    let ordinary = ordinary(text.len());
    assert!(Document::read(ordinary.as_bytes(), XmlLimits::METADATA).is_ok());
    let (refused, read) = (fastest(text), fastest(&ordinary));
    assert!(
        refused < read * 8,
        "{refused:?} for {problem}, and {read:?} for an ordinary document of that length"
    );
    problem
}

#[test]
fn seven_thousand_attributes_in_one_element_are_rejected_at_once() {
    let attributes: String = (0..7_000).map(|n| format!(" a{n}='x'")).collect();
    assert_eq!(
        refused_at_once(&format!("<r{attributes}/>")),
        XmlProblem::TooManyAttributes
    );
}

#[test]
fn ten_thousand_levels_are_rejected_at_once() {
    let text = format!("{}{}", "<r>".repeat(10_000), "</r>".repeat(10_000));
    assert_eq!(refused_at_once(&text), XmlProblem::TooDeep);
}

#[test]
fn a_megabyte_of_namespaces_is_rejected_at_once() {
    let declarations: String = (0..40_000)
        .map(|n| format!(" xmlns:p{n}='urn:{n}'"))
        .collect();
    assert_eq!(
        refused_at_once(&format!("<r{declarations}/>")),
        XmlProblem::TooManyAttributes
    );
    let nested: String = (0..30)
        .map(|n| format!("<p{n}:r xmlns:p{n}='urn:{n}' xmlns:q{n}='urn:{n}' xmlns:s{n}='urn:{n}'>"))
        .collect();
    assert_eq!(refused_at_once(&nested), XmlProblem::TooManyNamespaces);
}

#[test]
fn a_long_document_is_rejected_at_once() {
    assert_eq!(
        refused_at_once(&format!("<r>{}</r>", " ".repeat(1024 * 1024))),
        XmlProblem::TooLong
    );
    assert_eq!(
        refused_at_once(&format!("<r>{}</r>", "<a/>".repeat(50_000))),
        XmlProblem::TooManyNodes
    );
    assert_eq!(
        refused_at_once(&format!("<r>{}</r>", "<!DOCTYPE[".repeat(50_000))),
        XmlProblem::Doctype
    );
    assert_eq!(
        refused_at_once(&format!("<r {}", "a='>' ".repeat(100_000))),
        XmlProblem::Syntax
    );
    assert_eq!(
        refused_at_once(&format!("<r>{}", "&lt;".repeat(200_000))),
        XmlProblem::Tags
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Document::read(&bytes, XmlLimits::MESSAGE);
    }

    #[test]
    fn no_markup_panics(parts in proptest::collection::vec(
        proptest::sample::select(vec![
            "<r>", "</r>", "<r", "/>", ">", " a='1'", " xmlns='urn:a'", " xmlns:p=\"urn:p\"", "p:", "<!--", "-->",
                "<![CDATA[",
            "]]>", "<?xml", "?>", "&lt;", "&#1", ";", "&", "=", "'", "x", "\r\n", "<!DOCTYPE", "]", "\u{feff}", "é",
        ]),
        0..30,
    )) {
        let _ = Document::read(parts.concat().as_bytes(), XmlLimits::MESSAGE);
    }
}
