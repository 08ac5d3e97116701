//! Certificates in metadata, as the metadata of real service providers has them.

use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::metadata_import::{Certificates, pem};
use crate::harness::{Json, TestHost, Text, certificate, id};

const ENTITY: &str = "https://forms.example/saml";

/// Returns metadata with these key descriptors: the `use`, and the content of each `X509Certificate`.
fn metadata(descriptors: &[(Option<&str>, &[String])]) -> String {
    let descriptors: String = descriptors
        .iter()
        .map(|(used, certificates)| {
            let used = used
                .map(|used| format!(" use=\"{used}\""))
                .unwrap_or_default();
            let certificates: String = certificates
                .iter()
                .map(|text| format!("<ds:X509Certificate>{text}</ds:X509Certificate>"))
                .collect();
            let info =
                format!("<ds:KeyInfo><ds:X509Data>{certificates}</ds:X509Data></ds:KeyInfo>");
            format!("<KeyDescriptor{used}>{info}</KeyDescriptor>")
        })
        .collect();
    format!(
        r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="{ENTITY}">
  <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" AuthnRequestsSigned="true">
    {descriptors}
    <AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" index="0" Location="https://forms.example/acs"/>
  </SPSSODescriptor>
</EntityDescriptor>"#
    )
}

async fn imported(host: &TestHost, metadata: &str) -> (StatusCode, Value) {
    let body = json!({"protocol": "saml", "name": "Forms", "metadata": metadata});
    let (status, created) = host.admin(Method::POST, "/applications", body).await;
    if status == StatusCode::CREATED {
        let path = format!("/applications/{}", id(&created));
        host.admin(Method::DELETE, &path, Value::Null).await;
    }
    (status, created)
}

#[tokio::test]
async fn certificates_are_imported_in_the_forms_of_real_metadata() {
    let host = TestHost::start().await;
    let Certificates { first, second } = Certificates::new();
    let (first, second) = (pem(&first), pem(&second));
    let base64: String = first
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let several = "A key has several certificates; only the first one was used.";
    for (program, used, texts, expected, note) in [
        ("Shibboleth", None, vec![base64.clone()], &first, None),
        (
            "ADFS",
            Some("signing"),
            vec![format!("\n  {base64}\n")],
            &first,
            None,
        ),
        (
            "BEGIN and END",
            Some("signing"),
            vec![first.clone()],
            &first,
            None,
        ),
        (
            "BEGIN and END with CRLF",
            Some("signing"),
            vec![first.replace('\n', "&#13;\n")],
            &first,
            None,
        ),
        (
            "one line",
            Some("signing"),
            vec![first.replace('\n', " ")],
            &first,
            None,
        ),
        (
            "a chain in one element",
            Some("signing"),
            vec![format!("{first}{second}")],
            &first,
            None,
        ),
        (
            "a chain in several elements",
            Some("signing"),
            vec![base64.clone(), second.clone()],
            &first,
            Some(several),
        ),
        (
            "an empty element",
            Some("signing"),
            vec![String::new(), base64.clone()],
            &first,
            None,
        ),
        ("an empty use", Some(""), vec![base64.clone()], &first, None),
    ] {
        let (status, created) = imported(&host, &metadata(&[(used, &texts)])).await;
        assert_eq!(status, StatusCode::CREATED, "{program}: {created}");
        assert_eq!(created["certificates"], json!([expected]), "{program}");
        assert_eq!(created["require_signed_requests"], true, "{program}");
        let notes: Vec<&str> = created["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::text)
            .collect();
        assert_eq!(notes, note.into_iter().collect::<Vec<_>>(), "{program}");
    }
    // The same certificate in two forms is one.
    let (status, created) = imported(
        &host,
        &metadata(&[
            (Some("signing"), std::slice::from_ref(&first)),
            (None, std::slice::from_ref(&base64)),
            (Some("signing"), std::slice::from_ref(&second)),
        ]),
    )
    .await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    assert_eq!(created["certificates"], json!([first, second]));
}

#[tokio::test]
async fn an_unusable_certificate_is_a_note_beside_a_usable_one_and_otherwise_an_error() {
    let host = TestHost::start().await;
    let good = pem(&Certificates::new().first);
    let short = certificate(&PKey::from_rsa(Rsa::generate(1024).expect("a key")).expect("a key"));
    let short = pem(&short);
    for (bad, reason) in [
        ("AAAA".to_owned(), "expected an X.509 certificate"),
        (good.replace('A', "!"), "expected an X.509 certificate"),
        (short.clone(), "RSA of 2,048 to 8,192 bits"),
    ] {
        for (descriptors, number) in [
            (
                [
                    (Some("signing"), [bad.clone()]),
                    (Some("signing"), [good.clone()]),
                ],
                1,
            ),
            (
                [(Some("signing"), [good.clone()]), (None, [bad.clone()])],
                2,
            ),
        ] {
            let descriptors: Vec<(Option<&str>, &[String])> = descriptors
                .iter()
                .map(|(used, texts)| (*used, &texts[..]))
                .collect();
            let (status, created) = imported(&host, &metadata(&descriptors)).await;
            assert_eq!(status, StatusCode::CREATED, "{created}");
            assert_eq!(created["certificates"], json!([good]));
            let note = created["notes"][0].text();
            let expected = format!("The certificate of KeyDescriptor {number} was omitted: ");
            assert!(
                note.starts_with(&expected) && note.contains(reason),
                "{note}"
            );
        }
        let (status, problem) = imported(&host, &metadata(&[(Some("signing"), &[bad])])).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        let detail = problem["errors"][0]["detail"].text();
        for words in [ENTITY, "KeyDescriptor 1", reason] {
            assert!(detail.contains(words), "{detail}");
        }
    }
    let unknown = metadata(&[
        (Some("future"), std::slice::from_ref(&good)),
        (Some("signing"), std::slice::from_ref(&good)),
    ]);
    let (status, created) = imported(&host, &unknown).await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    assert!(
        created["notes"][0].text().contains("KeyDescriptor 1"),
        "{created}"
    );

    // Without metadata the error names the position in the list.
    let body = json!({"protocol": "saml", "name": "x", "entity_id": ENTITY,
        "acs": [{"url": "https://forms.example/acs"}], "certificates": [good, short]});
    let (status, problem) = host.admin(Method::POST, "/applications", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let detail = problem["errors"][0]["detail"].text();
    assert!(
        detail.starts_with("[1]: ") && detail.contains("2,048"),
        "{detail}"
    );
    assert!(!problem.members().is_empty());
}
