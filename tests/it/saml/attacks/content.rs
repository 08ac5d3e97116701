//! Attacks with the content of messages and attributes.

use super::*;
use crate::harness::EncodedCertificate;

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_certificate_is_rejected() {
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::PKey;
    let scene = Fixture::with(json!({})).await;
    let curve = EcGroup::from_curve_name(Nid::SECP256K1).expect("a curve");
    let keys = [
        PKey::from_ec_key(EcKey::generate(&curve).expect("a key")).expect("a key"),
        PKey::from_rsa(openssl::rsa::Rsa::generate(1024).expect("a key")).expect("a key"),
    ];
    for key in keys {
        let certificate = certificate(&key);
        let pem = certificate.pem();
        let path = format!("/applications/{}", scene.service_provider.id);
        let (status, problem) = scene
            .host
            .admin(Method::PATCH, &path, json!({"certificates": [pem]}))
            .await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    }
}

/// Starts an instance whose only plugin creates this attribute. Returns it with the page of a sign-in.
async fn with_attribute(value: &str) -> (TestHost, Page) {
    let settings = format!(
        r#"
        [[plugins.claim_mappers]]
        name = "hostile-mapper"
        file = "{}"
        writes = ["attribute:*"]
        [plugins.claim_mappers.config]
        {value}
        "#,
        component("hostile-mapper").display(),
    );
    let host = TestHost::start_with_plugins(&settings).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    let page = service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    (host, page)
}

#[tokio::test(flavor = "multi_thread")]
async fn attribute_values_with_markup_are_escaped() {
    let (_host, page) = with_attribute(
        r#"behaviour = "attribute"
        claim = "dep<art>&\"ment"
        value = "<saml:NameID>eve</saml:NameID>]]>&amp;""#,
    )
    .await;
    let response = Response::from_page(&page);
    assert!(response.is_success(), "{}", response.xml);
    let values = response.values("dep<art>&\"ment");
    assert_eq!(
        values,
        [("xs:string", "<saml:NameID>eve</saml:NameID>]]>&amp;")]
    );
    assert_eq!(
        response
            .root()
            .descendants()
            .filter(|element| element.local_name() == "NameID")
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn attribute_values_with_nul_u_fffe_or_ten_megabytes_are_faults() {
    for (behaviour, value) in [
        ("attribute", "a\\u0000b"),
        ("attribute", "a\\uFFFEb"),
        ("huge-attribute", "x"),
    ] {
        let settings =
            format!("behaviour = \"{behaviour}\"\nclaim = \"department\"\nvalue = \"{value}\"");
        let (_host, page) = with_attribute(&settings).await;
        let response = Response::from_page(&page);
        assert_eq!(response.status(), [RESPONDER], "{value}: {}", response.xml);
        assert!(response.element("Assertion").is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_documents_are_rejected_quickly() {
    let scene = Fixture::with(json!({})).await;
    let many: String = (0..7000).map(|n| format!(" a{n}=''")).collect();
    let deep = format!("{}{}", "<a>".repeat(10_000), "</a>".repeat(10_000));
    let namespaces: String = (0..40_000)
        .map(|n| format!(" xmlns:n{n}='urn:{n}'"))
        .collect();
    for (what, xml) in [
        (
            "attributes",
            scene
                .request()
                .xml()
                .replace(" Version", &format!("{many} Version")),
        ),
        ("levels", scene.request().containing(&deep).xml()),
        (
            "namespaces",
            scene
                .request()
                .xml()
                .replace(" Version", &format!("{namespaces} Version")),
        ),
    ] {
        // A form may exceed the size limit of a request. In a redirect, the message is compressed.
        let page = scene
            .service_provider
            .post(&scene.browser, &xml, None)
            .await;
        assert!(page.status.is_client_error(), "{what}: {}", page.status);
        let query = query("SAMLRequest", &xml, None);
        if query.len() < 15_000 {
            scene.refused_query(&query, what).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_applications_and_message_types_are_rejected() {
    let scene = Fixture::with(json!({})).await;
    let client = scene.host.web_application().await;
    let query = query("SAMLRequest", &scene.request().xml(), None);
    for id in [
        "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        "x",
        client.id.as_str(),
    ] {
        for service in ["SingleSignOnService", "SingleLogoutService"] {
            let page = scene
                .browser
                .get(&format!("/sso/{service}/{id}?{query}"))
                .await;
            assert_page(&page, id);
            assert_eq!(page.status, StatusCode::NOT_FOUND);
        }
    }
    for (what, xml) in [
        ("no XML", "hello".to_owned()),
        ("nothing", String::new()),
        (
            "another message",
            scene
                .request()
                .xml()
                .replace("AuthnRequest", "LogoutRequest"),
        ),
        (
            "another namespace",
            scene
                .request()
                .xml()
                .replace("SAML:2.0:protocol", "SAML:1.0:protocol"),
        ),
        ("no ID", scene.request().xml().replace(" ID=", " Id=")),
        (
            "an ID that is none",
            Request {
                id: "1<".to_owned(),
                ..scene.request()
            }
            .xml(),
        ),
        (
            "no time",
            scene.request().xml().replace("IssueInstant=", "IssuedAt="),
        ),
    ] {
        scene.refused(&xml, what).await;
    }
    let response = [("SAMLResponse", STANDARD.encode(scene.request().xml()))];
    let form: Vec<(&str, &str)> = response
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_page(
        &scene
            .browser
            .post(&scene.service_provider.sign_on(), &form)
            .await,
        "a response",
    );
}

/// An application cannot use both protocols.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_provider_cannot_use_openid_connect() {
    let scene = Fixture::with(json!({})).await;
    let path = format!(
        "/oidc/auth?client_id={}&redirect_uri={}&response_type=code&scope=openid",
        scene.service_provider.id,
        escaped(ACS)
    );
    let page = scene.browser.get(&path).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(!page.headers.contains_key("location"));
}
