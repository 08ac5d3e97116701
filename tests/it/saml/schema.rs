//! The schemas of OASIS, as Debian packages them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Checks a message, an assertion or metadata against the schemas of SAML 2.0, signatures and known extensions
/// included. Nothing is fetched. The error is libxml2's own.
pub fn validate(xml: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/saml/schema");
    let mut process = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema", "saml.xsd", "-"])
        .current_dir(folder)
        .env("XML_CATALOG_FILES", "catalog.xml")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xmllint is missing: run `make test`");
    let mut input = process.stdin.take().expect("its input");
    // What is no XML is not read to its end.
    let _ = input.write_all(xml.as_bytes());
    drop(input);
    let output = process.wait_with_output().expect("its end");
    if output.status.success() {
        return Ok(());
    }
    // It always warns about double imports.
    let returned = String::from_utf8_lossy(&output.stderr);
    let errors = returned
        .lines()
        .filter(|line| !line.contains(" parser warning : "));
    Err(errors.collect::<Vec<_>>().join("\n"))
}

const SAML: &str = r#"xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion""#;
const ASSERTION: &str = r#" ID="_a" Version="2.0" IssueInstant="2026-11-21T08:00:00Z""#;

#[test]
fn the_schemas_separate_valid_from_invalid_documents() {
    let good = format!(
        r##"<saml:Assertion {SAML}{ASSERTION}><saml:Issuer>a</saml:Issuer><saml:Subject><saml:NameID>b</saml:NameID></saml:Subject></saml:Assertion>"##
    );
    assert_eq!(validate(&good), Ok(()));
    for (part, other, why) in [
        (ASSERTION, "", "The attribute 'ID' is required"),
        ("NameID>", "Name>", "This element is not expected"),
        ("saml:Issuer>", "Issuer>", "This element is not expected"),
        (
            "saml:Assertion",
            "saml:Answer",
            "No matching global declaration",
        ),
        ("</saml:Assertion>", "", "Premature end"),
    ] {
        let bad = good.replace(part, other);
        let error = validate(&bad).expect_err(&bad);
        assert!(error.contains(why), "{bad}: {error}");
    }
    // What is within an extension or a signature counts too.
    let metadata = |algorithm: &str| {
        format!(
            r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="a"><Extensions><SigningMethod xmlns="urn:oasis:names:tc:SAML:metadata:algsupport" {algorithm}="urn:x"/></Extensions><SPSSODescriptor protocolSupportEnumeration="urn:x"><AssertionConsumerService index="0" Binding="urn:x" Location="urn:x"/></SPSSODescriptor></EntityDescriptor>"#
        )
    };
    assert_eq!(validate(&metadata("Algorithm")), Ok(()));
    assert!(validate(&metadata("Method")).is_err());
}
