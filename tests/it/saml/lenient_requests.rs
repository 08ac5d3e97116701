//! Requests of real service providers that request nothing in particular, in the ways in which their programs write it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;

use super::service_provider::{Response, TestServiceProvider, deflated, escaped, identify};
use crate::harness::{Browser, Page, TestHost, TestUser};

const UNSPECIFIED_2: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified";
const EMAIL_2: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress";
const BEARER: &str = r#"<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"></saml:SubjectConfirmation>"#;

struct Scene {
    host: TestHost,
    service_provider: TestServiceProvider,
    ada: TestUser,
    browser: Browser,
}

impl Scene {
    /// Returns an instance at which Ada is signed in to a service provider.
    async fn new() -> Self {
        let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
        let browser = Browser::new(&host.base);
        let request = service_provider.request(&host);
        service_provider.sign_in(&ada, &browser, &request).await;
        Self {
            host,
            service_provider,
            ada,
            browser,
        }
    }

    /// Sends the bytes of a request by POST, and returns the response for the session of the browser.
    async fn posted(&self, bytes: &[u8]) -> Response {
        let message = STANDARD.encode(bytes);
        let elsewhere = Browser::new(&self.host.base);
        let form = [("SAMLRequest", message.as_str())];
        let stored = elsewhere
            .post(&self.service_provider.sign_on(), &form)
            .await;
        assert!(stored.status.is_redirection(), "{}", stored.body);
        self.answered(self.browser.get(stored.location().as_str()).await)
            .await
    }

    /// Sends the bytes of a request by redirect.
    async fn redirected(&self, bytes: &[u8]) -> Response {
        let message = escaped(&STANDARD.encode(deflated(bytes)));
        let path = format!("{}?SAMLRequest={message}", self.service_provider.sign_on());
        self.answered(self.browser.get(&path).await).await
    }

    async fn answered(&self, page: Page) -> Response {
        let page = if page.status.is_redirection() {
            page.followed().await
        } else {
            page
        };
        Response::from_page(&page)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_attributes_and_old_values_request_nothing_in_particular() {
    let scene = Scene::new().await;
    let empty = [
        "ForceAuthn",
        "IsPassive",
        "ProtocolBinding",
        "AssertionConsumerServiceURL",
        "AssertionConsumerServiceIndex",
        "AttributeConsumingServiceIndex",
        "Consent",
        "ProviderName",
    ];
    let policy =
        |format: &str| format!(r#"<samlp:NameIDPolicy Format="{format}" AllowCreate="True"/>"#);
    let mut requests: Vec<(String, String)> = Vec::new();
    for name in empty {
        requests.push((format!(" {name}=\"\""), String::new()));
    }
    for value in ["false", "False", "FALSE", "0"] {
        requests.push((
            format!(" ForceAuthn=\"{value}\" IsPassive=\"{value}\""),
            String::new(),
        ));
    }
    for format in [
        "",
        UNSPECIFIED_2,
        EMAIL_2,
        "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
    ] {
        requests.push((String::new(), policy(format)));
    }
    for content in [
        r#"<samlp:NameIDPolicy Format="" SPNameQualifier="" AllowCreate=""/>"#,
        "<samlp:RequestedAuthnContext/>",
        r#"<samlp:RequestedAuthnContext Comparison=""><saml:AuthnContextClassRef></saml:AuthnContextClassRef></samlp:RequestedAuthnContext>"#,
    ] {
        requests.push((String::new(), content.to_owned()));
    }
    let subject = format!(
        "<saml:Subject><saml:NameID NameQualifier=\"\">ada@example.org</saml:NameID>{BEARER}</saml:Subject>"
    );
    requests.push((String::new(), subject));
    for (attributes, content) in requests {
        let xml = scene
            .service_provider
            .request(&scene.host)
            .containing(&content)
            .xml();
        let xml = xml.replace(" Version=\"2.0\"", &format!(" Version=\"2.0\"{attributes}"));
        let response = scene.redirected(xml.as_bytes()).await;
        assert!(
            response.is_success(),
            "{attributes}{content}: {}",
            response.xml
        );
        assert_eq!(
            response.text("NameID"),
            "ada@example.org",
            "{attributes}{content}"
        );
    }
    // An empty Destination is none; a signed message needs one.
    let mut request = scene.service_provider.request(&scene.host);
    request.destination = Some(String::new());
    assert!(
        scene
            .redirected(request.xml().as_bytes())
            .await
            .is_success()
    );
    let signed = scene
        .service_provider
        .begin_raw(&scene.browser, &request)
        .await;
    assert!(signed.status.is_client_error(), "{}", signed.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn booleans_in_any_case_have_their_effect() {
    let scene = Scene::new().await;
    for value in ["true", "True", "TRUE", "1"] {
        let force = scene
            .service_provider
            .request(&scene.host)
            .with("ForceAuthn", value);
        let login = scene
            .service_provider
            .begin(&scene.browser, &force, None)
            .await;
        assert!(
            login.body.contains("name=\"name\""),
            "{value}: {}",
            login.body
        );
        let passive = scene
            .service_provider
            .request(&scene.host)
            .with("IsPassive", value);
        let stranger = Browser::new(&scene.host.base);
        let page = scene
            .service_provider
            .begin(&stranger, &passive, None)
            .await;
        let status = Response::from_page(&page).status()[1].to_owned();
        assert!(status.ends_with(":NoPassive"), "{value}: {status}");
    }
}

/// XML 1.0 section 4.3.3 requires UTF-16 of every processor. ISO 8859-1 is common in older programs.
#[tokio::test(flavor = "multi_thread")]
async fn messages_may_be_in_utf16_and_latin1() {
    let scene = Scene::new().await;
    let utf16 = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(unit)
            .collect()
    };
    let latin1 = |text: &str| -> Vec<u8> {
        text.chars()
            .map(|c| u8::try_from(u32::from(c)).expect("Latin-1"))
            .collect()
    };
    let text = |encoding: &str| {
        let request = scene
            .service_provider
            .request(&scene.host)
            .with("ProviderName", "Zürich");
        format!(
            "<?xml version=\"1.0\" encoding=\"{encoding}\"?>{}",
            request.xml()
        )
    };
    for (what, bytes) in [
        ("UTF-16 LE", utf16(&text("UTF-16"), u16::to_le_bytes)),
        ("UTF-16 BE", utf16(&text("UTF-16"), u16::to_be_bytes)),
        ("ISO-8859-1", latin1(&text("ISO-8859-1"))),
        ("US-ASCII", latin1(&text("US-ASCII").replace('ü', "&#252;"))),
        (
            "UTF-8 with a mark",
            format!("\u{feff}{}", text("UTF-8")).into_bytes(),
        ),
        (
            "UTF-8 that .NET declares as UTF-16",
            text("utf-16").into_bytes(),
        ),
    ] {
        assert!(scene.posted(&bytes).await.is_success(), "{what}");
        let replayed = STANDARD.encode(&bytes);
        let form = [("SAMLRequest", replayed.as_str())];
        let page = Browser::new(&scene.host.base)
            .post(&scene.service_provider.sign_on(), &form)
            .await;
        // The same message leads to the same sign-on, which is that of the first browser.
        assert_eq!(
            page.followed().await.status.as_u16(),
            400,
            "{what}: a message is valid once, in each encoding"
        );
    }
    for (what, bytes) in [
        ("UTF-16 LE", utf16(&text("UTF-16"), u16::to_le_bytes)),
        ("ISO-8859-1", latin1(&text("ISO-8859-1"))),
    ] {
        assert!(scene.redirected(&bytes).await.is_success(), "{what}");
    }
    // There are no other encodings, and the bytes must be valid.
    let mut odd = utf16(&text("UTF-16"), u16::to_le_bytes);
    odd.pop();
    for (what, bytes) in [
        ("windows-1252", latin1(&text("windows-1252"))),
        ("UTF-7", text("UTF-7").replace('ü', "u").into_bytes()),
        ("UTF-8 with other bytes", latin1(&text("UTF-8"))),
        ("half a character of UTF-16", odd),
    ] {
        let message = STANDARD.encode(bytes);
        let form = [("SAMLRequest", message.as_str())];
        let page = scene
            .browser
            .post(&scene.service_provider.sign_on(), &form)
            .await;
        assert_eq!(page.status.as_u16(), 400, "{what}: {}", page.body);
    }
}

/// The signature of the POST binding covers the canonical form, which is in UTF-8 in every encoding of the document.
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_message_in_utf16_is_verified() {
    let scene = Scene::new().await;
    let path = format!("/applications/{}", scene.service_provider.id);
    let required = json!({"require_signed_requests": true});
    scene.host.admin_ok(Method::PATCH, &path, required).await;
    let utf16 = |text: &str| -> Vec<u8> {
        format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let request = || {
        scene
            .service_provider
            .request(&scene.host)
            .with("ProviderName", "Zürich")
            .signed(&scene.service_provider)
    };
    assert!(scene.posted(&utf16(&request())).await.is_success());
    let forged = request().replace("Zürich", "Zurich");
    let message = STANDARD.encode(utf16(&forged));
    let form = [("SAMLRequest", message.as_str())];
    let page = scene
        .browser
        .post(&scene.service_provider.sign_on(), &form)
        .await;
    assert!(page.status.is_client_error(), "{}", page.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_is_valid_earlier_for_a_slow_clock() {
    let scene = Scene::new().await;
    let path = format!("/applications/{}", scene.service_provider.id);
    let moment = |text: &str| {
        assent_saml_core::message::instant(text)
            .expect("a time")
            .seconds()
    };
    for margin in [0, 1, 120] {
        let setting = json!({"not_before_margin_seconds": margin});
        let changed = scene.host.admin_ok(Method::PATCH, &path, setting).await;
        assert_eq!(changed["not_before_margin_seconds"], margin);
        let xml = scene.service_provider.request(&scene.host).xml();
        let response = scene.redirected(xml.as_bytes()).await;
        let issued = moment(response.attribute("Assertion", "IssueInstant"));
        assert_eq!(
            issued,
            scene.host.host.now().seconds(),
            "the issue stays the current time"
        );
        assert_eq!(
            moment(response.attribute("Conditions", "NotBefore")),
            issued - margin
        );
        assert_eq!(
            moment(response.attribute("Conditions", "NotOnOrAfter")),
            issued + 300
        );
    }
    // Another user of the same service provider, with a new sign-in.
    let browser = Browser::new(&scene.host.base);
    scene.host.advance(120);
    let request = scene.service_provider.request(&scene.host);
    let login = scene.service_provider.begin(&browser, &request, None).await;
    let waiting = identify(&scene.ada, &login).await;
    scene.ada.approve(&waiting).await;
    let response = Response::from_page(&browser.finish(&waiting.url).await);
    let issued = moment(response.attribute("Assertion", "IssueInstant"));
    assert_eq!(
        moment(response.attribute("Conditions", "NotBefore")),
        issued - 120
    );
}
