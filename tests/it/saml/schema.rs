//! The schemas of OASIS from Debian's package.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Validates a message, an assertion or metadata with the schemas of SAML 2.0, including signatures and known
/// extensions. It fetches no files.
///
/// # Errors
///
/// The message of libxml2.
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
    // `xmllint` stops reading if the input is no XML.
    let _ = input.write_all(xml.as_bytes());
    drop(input);
    let output = process.wait_with_output().expect("its end");
    if output.status.success() {
        return Ok(());
    }
    // `xmllint` always warns about schemas that are imported twice.
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
    // The content of an extension or a signature is validated too.
    let metadata = |algorithm: &str| {
        format!(
            r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="a"><Extensions><SigningMethod xmlns="urn:oasis:names:tc:SAML:metadata:algsupport" {algorithm}="urn:x"/></Extensions><SPSSODescriptor protocolSupportEnumeration="urn:x"><AssertionConsumerService index="0" Binding="urn:x" Location="urn:x"/></SPSSODescriptor></EntityDescriptor>"#
        )
    };
    assert_eq!(validate(&metadata("Algorithm")), Ok(()));
    assert!(validate(&metadata("Method")).is_err());
}
