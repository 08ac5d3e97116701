use super::*;
use crate::xml::testing::read;

/// Returns the canonical form of the first element with this local name.
fn form_of(text: &str, local: &str, inclusive: &[&str]) -> String {
    let document = read(text);
    let element = document
        .unverified()
        .descendants()
        .find(|element| element.local_name() == local)
        .unwrap();
    canonical(element, inclusive, None).unwrap()
}

fn form(text: &str) -> String {
    canonical(read(text).unverified(), &[], None).unwrap()
}

/// Exclusive XML Canonicalization 1.0, section 2.1.
#[test]
fn w3c_an_envelope_does_not_change_its_content() {
    let element = r#"<n1:elem1 xmlns:n1="http://b.example">content</n1:elem1>"#;
    let enveloped = format!(r#"<n0:pdu xmlns:n0="http://a.example">{element}</n0:pdu>"#);
    assert_eq!(form_of(&enveloped, "elem1", &[]), element);
    assert_eq!(form(&enveloped), enveloped);
}

/// Exclusive XML Canonicalization 1.0, section 2.2.
#[test]
fn w3c_two_envelopes_of_one_element() {
    let element = concat!(
        "<n1:elem2 xmlns:n1=\"http://example.net\"\n         xml:lang=\"en\">\n",
        "  <n3:stuff xmlns:n3=\"ftp://example.org\"/>\n</n1:elem2>",
    );
    let first = format!(
        "<n0:local xmlns:n0=\"http://something.example\"\n    xmlns:n3=\"ftp://example.org\">\n{element}</n0:local>"
    );
    let second = format!(
        "<n2:pdu xmlns:n1=\"http://example.com\"\n  xmlns:n2=\"http://foo.example\"\n  \
         xml:lang=\"fr\" xml:space=\"retain\">\n{element}</n2:pdu>"
    );
    let expected = concat!(
        "<n1:elem2 xmlns:n1=\"http://example.net\" xml:lang=\"en\">\n",
        "  <n3:stuff xmlns:n3=\"ftp://example.org\"></n3:stuff>\n</n1:elem2>",
    );
    assert_eq!(form_of(&first, "elem2", &[]), expected);
    assert_eq!(form_of(&second, "elem2", &[]), expected);
}

/// Canonical XML 1.0, section 3.2.
#[test]
fn w3c_white_space_in_content_stays() {
    let text = concat!(
        "<doc>\n   <clean>   </clean>\n   <dirty>   A   B   </dirty>\n   <mixed>\n      A\n",
        "      <clean>   </clean>\n      B\n      <dirty>   A   B   </dirty>\n      C\n   </mixed>\n",
        "</doc>",
    );
    assert_eq!(form(text), text);
}

/// Canonical XML 1.0, section 3.3, without the document type.
#[test]
fn w3c_start_and_end_tags() {
    let text = r#"<doc>
   <e1   />
   <e2   ></e2>
   <e3   name = "elem3"   id="elem3"   />
   <e4   name="elem4"   id="elem4"   ></e4>
   <e5 a:attr="out" b:attr="sorted" attr2="all" attr="I'm"
      xmlns:b="http://www.ietf.org"
      xmlns:a="http://www.w3.org"
      xmlns="http://example.org"/>
   <e6 xmlns="" xmlns:a="http://www.w3.org">
      <e7 xmlns="http://www.ietf.org">
         <e8 xmlns="" xmlns:a="http://www.w3.org">
            <e9 xmlns="" xmlns:a="http://www.ietf.org"/>
         </e8>
      </e7>
   </e6>
</doc>"#;
    // In contrast to inclusive canonicalization, exclusive canonicalization omits unused declarations.
    let expected = r#"<doc>
   <e1></e1>
   <e2></e2>
   <e3 id="elem3" name="elem3"></e3>
   <e4 id="elem4" name="elem4"></e4>
   <e5 xmlns="http://example.org" xmlns:a="http://www.w3.org" xmlns:b="http://www.ietf.org" attr="I'm" attr2="all" b:attr="sorted" a:attr="out"></e5>
   <e6>
      <e7 xmlns="http://www.ietf.org">
         <e8 xmlns="">
            <e9></e9>
         </e8>
      </e7>
   </e6>
</doc>"#;
    assert_eq!(form(text), expected);
}

/// Canonical XML 1.0, section 3.4, without the document type.
#[test]
fn w3c_character_modifications_and_references() {
    let text = concat!(
        "<doc>\r\n   <text>First line&#x0d;&#10;Second line</text>\r\n   <value>&#x32;</value>\r\n",
        "   <compute><![CDATA[value>\"0\" && value<\"10\" ?\"valid\":\"error\"]]></compute>\r\n",
        "   <compute expr='value>\"0\" &amp;&amp; value&lt;\"10\" ?\"valid\":\"error\"'>valid</compute>\r\n",
        "   <norm attr=' &apos;   &#x20;&#13;&#xa;&#9;   &apos; '/>\r\n</doc>",
    );
    let expected = concat!(
        "<doc>\n   <text>First line&#xD;\nSecond line</text>\n   <value>2</value>\n",
        "   <compute>value&gt;\"0\" &amp;&amp; value&lt;\"10\" ?\"valid\":\"error\"</compute>\n",
        "   <compute expr=\"value>&quot;0&quot; &amp;&amp; value&lt;&quot;10&quot;",
        " ?&quot;valid&quot;:&quot;error&quot;\">valid</compute>\n",
        "   <norm attr=\" '    &#xD;&#xA;&#x9;   ' \"></norm>\n</doc>",
    );
    assert_eq!(form(text), expected);
}

/// Canonical XML 1.0, section 3.6: UTF-8, independent of the source encoding of characters.
#[test]
fn w3c_utf_8() {
    assert_eq!(form("<doc>&#169;&#x1F600;</doc>"), "<doc>©😀</doc>");
}

/// Exclusive XML Canonicalization 1.0, section 3, and the example of its introduction.
#[test]
fn inclusive_prefixes_are_written_where_they_are_declared() {
    let text = r#"<a:r xmlns:a="urn:a" xmlns:xs="urn:xs" xmlns="urn:d"><a:s xmlns:un="urn:un"><a:t xmlns:xs="urn:xs2"/></a:s></a:r>"#;
    assert_eq!(
        form_of(text, "s", &[]),
        r#"<a:s xmlns:a="urn:a"><a:t></a:t></a:s>"#
    );
    assert_eq!(
        form_of(text, "s", &["xs", "#default", "unknown"]),
        r#"<a:s xmlns="urn:d" xmlns:a="urn:a" xmlns:xs="urn:xs"><a:t xmlns:xs="urn:xs2"></a:t></a:s>"#
    );
}

#[test]
fn one_element_can_be_left_out() {
    let document = read("<r> <a/><b>x</b> <a/></r>");
    let left_out = document.unverified().children().nth(1);
    assert_eq!(
        canonical(document.unverified(), &[], left_out).unwrap(),
        "<r> <a></a> <a></a></r>"
    );
}

/// A long namespace that each of many elements must declare.
#[test]
fn a_form_that_grows_without_bounds_is_rejected() {
    let long = "x".repeat(20_000);
    let text = format!("<r xmlns:a='urn:{long}'>{}</r>", "<a:b/>".repeat(3_000));
    assert_eq!(
        canonical(read(&text).unverified(), &[], None),
        Err(XmlProblem::TooLong)
    );
}
