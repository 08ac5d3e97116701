//! Attacks that must fail, at a running instance with an open session in the browser.

mod content;
mod subject;

use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::service_provider::{
    ACS, ENTITY_ID, RESPONDER, Request, Response, TestServiceProvider, deflated, escaped, identify,
    instant, query,
};
use crate::harness::{
    Browser, Database, HostOptions, Page, TestHost, between, certificate, component,
};

/// An instance with a service provider that must sign its requests, and a browser in which Ada is signed in to it.
struct Fixture {
    host: TestHost,
    service_provider: TestServiceProvider,
    browser: Browser,
}

impl Fixture {
    async fn set() -> Self {
        Self::with(json!({"require_signed_requests": true})).await
    }

    async fn with(changes: serde_json::Value) -> Self {
        let host = TestHost::start().await;
        let service_provider = TestServiceProvider::register(&host, changes).await;
        let ada = service_provider.ada(&host).await;
        let browser = Browser::new(&host.base);
        service_provider
            .sign_in(&ada, &browser, &service_provider.request(&host))
            .await;
        Self {
            host,
            service_provider,
            browser,
        }
    }

    fn request(&self) -> Request {
        self.service_provider.request(&self.host)
    }

    /// Posts a message that the server must reject with a page.
    async fn refused(&self, xml: &str, what: &str) {
        let page = self.service_provider.post(&self.browser, xml, None).await;
        assert_page(&page, what);
    }

    /// Sends a query that the server must reject with a page.
    async fn refused_query(&self, query: &str, what: &str) {
        let page = self
            .browser
            .get(&format!("{}?{query}", self.service_provider.sign_on()))
            .await;
        assert_page(&page, what);
    }
}

/// Checks that the page has a reference number, and that the browser sends no message to any service provider.
fn assert_page(page: &Page, what: &str) {
    assert!(
        page.status.is_client_error(),
        "{what}: {} {}",
        page.status,
        page.body
    );
    assert!(
        !page.body.contains("name=\"SAMLResponse\"") && !page.headers.contains_key("location"),
        "{what}"
    );
    assert!(
        page.body.contains("Reference <code>"),
        "{what}: {}",
        page.body
    );
}

fn signature_of(xml: &str) -> &str {
    let from = xml.find("<ds:Signature").expect("a signature");
    let to = xml.find("</ds:Signature>").expect("an end") + "</ds:Signature>".len();
    &xml[from..to]
}

#[tokio::test(flavor = "multi_thread")]
async fn signature_wrapping_is_rejected() {
    let scene = Fixture::set().await;
    let signed = scene.request().signed(&scene.service_provider);
    let signature = signature_of(&signed).to_owned();
    let bare = signed.replace(&signature, "");
    // The attacker's goals: a response to another registered ACS, a new sign-in, or a response to any id.
    let forged = scene.request().with("ForceAuthn", "true").xml();
    let head_end = forged.find("</saml:Issuer>").expect("an issuer") + "</saml:Issuer>".len();
    let (head, tail) = forged.split_at(head_end);
    let object = |inside: &str| {
        signature.replace(
            "</ds:Signature>",
            &format!("<ds:Object>{inside}</ds:Object></ds:Signature>"),
        )
    };
    let extensions = |inside: &str| format!("<samlp:Extensions>{inside}</samlp:Extensions>");
    for (what, xml) in [
        (
            "the signed message in the signature's Object",
            format!("{head}{}{tail}", object(&bare)),
        ),
        (
            "the signed message in Extensions, its signature at the top",
            format!("{head}{signature}{}{tail}", extensions(&bare)),
        ),
        (
            "the signed message whole in Extensions",
            format!("{head}{}{tail}", extensions(&signed)),
        ),
        (
            "the signed message after the forged one",
            forged.replace(
                "</samlp:AuthnRequest>",
                &format!("{signed}</samlp:AuthnRequest>"),
            ),
        ),
        (
            "the forged one inside the signed one",
            signed.replace(
                "</samlp:AuthnRequest>",
                &format!("{forged}</samlp:AuthnRequest>"),
            ),
        ),
        (
            "the forged one around the signed one, by its ID",
            forged.replace(
                "</samlp:AuthnRequest>",
                &format!("{signature}{bare}</samlp:AuthnRequest>"),
            ),
        ),
        ("two roots", format!("{signed}{forged}")),
        (
            "the signature of another message",
            format!("{head}{signature}{tail}"),
        ),
    ] {
        scene.refused(&xml, what).await;
    }
    let good = scene
        .service_provider
        .post(&scene.browser, &signed, None)
        .await;
    assert_eq!(good.status, StatusCode::SEE_OTHER, "{}", good.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stripped_empty_duplicated_or_misplaced_signature_is_rejected() {
    let scene = Fixture::set().await;
    let signed = scene.request().signed(&scene.service_provider);
    let signature = signature_of(&signed).to_owned();
    let moved = signed.replace(&signature, "").replace(
        "</samlp:AuthnRequest>",
        &format!("<samlp:Extensions>{signature}</samlp:Extensions></samlp:AuthnRequest>"),
    );
    let value = between(&signature, "<ds:SignatureValue>", "<");
    for (what, xml) in [
        ("stripped", signed.replace(&signature, "")),
        (
            "empty",
            signed.replace(
                &signature,
                r#"<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"></ds:Signature>"#,
            ),
        ),
        ("an empty value", signed.replace(value, "")),
        ("doubled", signed.replace(&signature, &signature.repeat(2))),
        ("not a child of the root", moved),
    ] {
        scene.refused(&xml, what).await;
    }
    // The redirect binding: no signature, a signature only in the message, and a signature with another key.
    let xml = scene.request().xml();
    scene
        .refused_query(&query("SAMLRequest", &xml, None), "unsigned")
        .await;
    scene
        .refused_query(
            &query("SAMLRequest", &signed, None),
            "signed only inside the message",
        )
        .await;
    let other =
        TestServiceProvider::register(&scene.host, json!({"entity_id": "https://other.example"}))
            .await;
    scene
        .refused_query(
            &other.signed_query("SAMLRequest", &xml, None),
            "signed by another",
        )
        .await;
    let good = scene
        .service_provider
        .signed_query("SAMLRequest", &xml, Some("a"));
    scene
        .refused_query(
            &good.replace("RelayState=a", "RelayState=b"),
            "another RelayState",
        )
        .await;
    scene
        .refused_query(&good.replace("&RelayState=a", ""), "no RelayState")
        .await;
    scene
        .refused_query(
            &format!("{}&SigAlg=x&Signature=", query("SAMLRequest", &xml, None)),
            "an empty one",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctypes_entities_and_external_references_are_rejected() {
    let scene = Fixture::with(json!({})).await;
    let xml = scene.request().xml();
    for doctype in [
        "<!DOCTYPE x>",
        r#"<!DOCTYPE x SYSTEM "file:///etc/passwd">"#,
        r#"<!DOCTYPE x [<!ENTITY a "b">]>"#,
        r#"<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1/"> %a;]>"#,
    ] {
        scene.refused(&format!("{doctype}{xml}"), doctype).await;
    }
    scene
        .refused(&xml.replace(ENTITY_ID, "&xxe;"), "an entity")
        .await;
    scene
        .refused(
            &format!("<?xml-stylesheet href=\"x\"?>{xml}"),
            "a stylesheet",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_and_processing_instructions_in_issuer_or_name_id_are_rejected() {
    let scene = Fixture::with(json!({})).await;
    let subject = "<saml:Subject><saml:NameID>ada@example.org</saml:NameID></saml:Subject>";
    let xml = scene.request().containing(subject).xml();
    for (from, to) in [
        (ENTITY_ID, "https://sp.example/saml<!-- x -->"),
        (ENTITY_ID, "https://sp<!-- x -->.example/saml"),
        (ENTITY_ID, "https://sp.example/saml<?x?>"),
        ("ada@example.org", "ada@example.org<!---->.evil.example"),
        ("ada@example.org", "ada@example.org<?x?>.evil.example"),
    ] {
        scene.refused(&xml.replace(from, to), to).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_ids_wrong_digests_and_key_info_keys_are_rejected() {
    let scene = Fixture::set().await;
    let request = scene.request();
    let signed = request.signed(&scene.service_provider);
    let twin = format!(
        r#"<samlp:Extensions><x:a xmlns:x="urn:x" ID="{}"/></samlp:Extensions>"#,
        request.id
    );
    scene
        .refused(
            &signed.replace(
                "</samlp:AuthnRequest>",
                &format!("{twin}</samlp:AuthnRequest>"),
            ),
            "an ID twice",
        )
        .await;
    scene
        .refused(
            &signed.replace("Version=", "IsPassive=\"true\" Version="),
            "changed after it was signed",
        )
        .await;
    // The signature has a key that the message itself contains.
    let attacker =
        TestServiceProvider::register(&scene.host, json!({"entity_id": "https://other.example"}))
            .await;
    let own_key = request.signed(&attacker);
    assert!(own_key.contains("X509Certificate"));
    scene.refused(&own_key, "a key in KeyInfo").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hmac_sha_1_and_other_transforms_are_rejected() {
    let scene = Fixture::set().await;
    let signed = scene.request().signed(&scene.service_provider);
    let sha256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
    let c14n =
        r#"<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>"#;
    assert!(signed.contains(c14n));
    let xslt =
        r#"<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"></ds:Transform>"#;
    let xpath =
        r#"<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"></ds:Transform>"#;
    let reference = signed
        .find("<ds:Reference")
        .zip(signed.find("</ds:Reference>"))
        .expect("a reference");
    let reference = signed[reference.0..reference.1 + "</ds:Reference>".len()].to_owned();
    for (what, xml) in [
        (
            "HMAC",
            signed.replace(sha256, "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"),
        ),
        (
            "SHA-1",
            signed.replace(sha256, "http://www.w3.org/2000/09/xmldsig#rsa-sha1"),
        ),
        (
            "a digest of SHA-1",
            signed.replace(
                "http://www.w3.org/2001/04/xmlenc#sha256",
                "http://www.w3.org/2000/09/xmldsig#sha1",
            ),
        ),
        ("XSLT", signed.replace(c14n, xslt)),
        ("XPath", signed.replace(c14n, xpath)),
        ("a third transform", signed.replace(c14n, &c14n.repeat(2))),
        ("no reference", signed.replace(&reference, "")),
        (
            "two references",
            signed.replace(&reference, &reference.repeat(2)),
        ),
    ] {
        assert_ne!(xml, signed, "{what}");
        scene.refused(&xml, what).await;
    }
    let query = scene
        .service_provider
        .signed_query("SAMLRequest", &scene.request().xml(), None);
    for algorithm in [
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
        "",
    ] {
        scene
            .refused_query(
                &query.replace(&escaped(sha256), &escaped(algorithm)),
                algorithm,
            )
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unregistered_acs_url_is_rejected() {
    let scene = Fixture::with(json!({})).await;
    for acs in [
        "https://sp.example/ac",
        "https://sp.example/acs/",
        "https://sp.example/acs/../evil",
        "https://sp.example/acs?x=1",
        "https://sp.example/acs#x",
        "https://sp.example/ACS",
        "https://SP.example/acs",
        "https://sp.example:443/acs",
        "https://sp.example:8443/acs",
        "http://sp.example/acs",
        "https://sp.example@evil.example/acs",
        "https://user@sp.example/acs",
        "https://sp.example.evil.example/acs",
        "https://evil.example/acs",
        "javascript:alert(1)",
        "https://sp.example/%61cs",
    ] {
        let request = scene.request().with("AssertionConsumerServiceURL", acs);
        scene.refused(&request.xml(), acs).await;
        scene
            .refused_query(
                &scene
                    .service_provider
                    .signed_query("SAMLRequest", &request.xml(), None),
                acs,
            )
            .await;
    }
    scene
        .refused(
            &scene
                .request()
                .with("AssertionConsumerServiceIndex", "1")
                .xml(),
            "an index",
        )
        .await;
    let both = scene
        .request()
        .with("AssertionConsumerServiceIndex", "0")
        .with("AssertionConsumerServiceURL", ACS);
    scene.refused(&both.xml(), "both").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_destination_issuer_or_time_is_rejected() {
    let scene = Fixture::with(json!({"clock_skew_seconds": 30})).await;
    let other =
        TestServiceProvider::register(&scene.host, json!({"entity_id": "https://other.example"}))
            .await;
    for destination in [
        format!("{}{}", scene.host.base, other.sign_on()),
        format!("{}{}/", scene.host.base, scene.service_provider.sign_on()),
        format!("https://evil.example{}", scene.service_provider.sign_on()),
        format!(
            "{}{}",
            scene.host.base,
            scene.service_provider.single_logout()
        ),
    ] {
        let request = Request {
            destination: Some(destination.clone()),
            ..scene.request()
        };
        scene.refused(&request.xml(), &destination).await;
    }
    for issuer in [
        "https://other.example",
        "https://sp.example/SAML",
        "https://sp.example/saml/",
        "",
    ] {
        scene
            .refused(
                &Request {
                    issuer: issuer.to_owned(),
                    ..scene.request()
                }
                .xml(),
                issuer,
            )
            .await;
    }
    for seconds in [-331, 31, -86_400 * 365 * 100] {
        let issue_instant = instant(&scene.host, seconds);
        scene
            .refused(
                &Request {
                    issue_instant,
                    ..scene.request()
                }
                .xml(),
                &seconds.to_string(),
            )
            .await;
    }
    for seconds in [-329, 29] {
        let issue_instant = instant(&scene.host, seconds);
        let page = scene
            .service_provider
            .post(
                &scene.browser,
                &Request {
                    issue_instant,
                    ..scene.request()
                }
                .xml(),
                None,
            )
            .await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{seconds}");
    }
    // A signed request must have a `Destination`. An unsigned request need not.
    let nowhere = Request {
        destination: None,
        ..scene.request()
    };
    scene
        .refused_query(
            &scene
                .service_provider
                .signed_query("SAMLRequest", &nowhere.xml(), None),
            "signed without a destination",
        )
        .await;
    let page = scene
        .service_provider
        .post(
            &scene.browser,
            &Request {
                destination: None,
                ..scene.request()
            }
            .xml(),
            None,
        )
        .await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
}

#[both_databases(flavor = "multi_thread")]
async fn a_repeated_request_id_is_rejected_concurrently_and_later(database: Database) {
    let host = TestHost::start_on(database).await;
    let (_second, _running, elsewhere) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let request = service_provider.request(&host);
    // The requests are concurrent, on two instances, and each is a different document.
    let tries = (0..20).map(|turn| {
        let browser = Browser::new(if turn % 2 == 0 {
            &host.base
        } else {
            &elsewhere
        });
        let request = Request {
            destination: None,
            ..request.clone()
        }
        .with("ProviderName", &turn.to_string());
        let service_provider = &service_provider;
        async move {
            service_provider
                .post(&browser, &request.xml(), None)
                .await
                .status
        }
    });
    let statuses = join_all(tries).await;
    assert_eq!(
        statuses
            .iter()
            .filter(|status| **status == StatusCode::SEE_OTHER)
            .count(),
        1,
        "{statuses:?}"
    );
    // At the end of the validity of the request.
    host.advance(299);
    let page = service_provider
        .post(&Browser::new(&host.base), &request.xml(), None)
        .await;
    assert_page(&page, "later");
    assert!(page.body.contains("already used"), "{}", page.body);
    // Another service provider may use the same id.
    let other =
        TestServiceProvider::register(&host, json!({"entity_id": "https://other.example"})).await;
    let same = Request {
        id: request.id.clone(),
        ..other.request(&host)
    };
    assert_eq!(
        other
            .post(&Browser::new(&host.base), &same.xml(), None)
            .await
            .status,
        StatusCode::SEE_OTHER
    );
}

#[both_databases(flavor = "multi_thread")]
async fn concurrent_requests_have_one_browser_each(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let sent = (0..20).map(|_| async {
        let request = Request {
            destination: None,
            ..service_provider.request(&host)
        };
        let page = service_provider
            .post(&Browser::new(&host.base), &request.xml(), None)
            .await;
        page.location()
    });
    let visits = join_all(sent).await.into_iter().map(|address| {
        let host = &host;
        async move {
            let browsers = (0..3).map(|_| Browser::new(&host.base));
            let pages = browsers.map(|browser| {
                let address = address.clone();
                async move { browser.get(address.as_str()).await }
            });
            join_all(pages).await
        }
    });
    let mut logins = Vec::new();
    for pages in join_all(visits).await {
        let went_on: Vec<_> = pages
            .iter()
            .filter(|page| page.status == StatusCode::SEE_OTHER)
            .map(|page| page.location().to_string())
            .collect();
        assert_eq!(went_on.len(), 1, "{went_on:?}");
        logins.extend(went_on);
    }
    logins.sort();
    logins.dedup();
    assert_eq!(logins.len(), 20, "{logins:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn deflate_bombs_trailing_bytes_and_repeated_parameters_are_rejected() {
    let scene = Fixture::with(json!({})).await;
    let xml = scene.request().xml();
    let parameter = |bytes: &[u8]| format!("SAMLRequest={}", escaped(&STANDARD.encode(bytes)));
    // Compressed, a hundred megabytes of blanks would fit into the longest URL that the server accepts.
    let bomb = deflated(&vec![b' '; 8_000_000]);
    assert!(bomb.len() < 10_000);
    scene.refused_query(&parameter(&bomb), "a bomb").await;
    let mut trailing = deflated(xml.as_bytes());
    trailing.push(0);
    scene
        .refused_query(&parameter(&trailing), "a trailing byte")
        .await;
    let full_flow = deflated(xml.as_bytes());
    scene
        .refused_query(&parameter(&full_flow[..full_flow.len() - 2]), "cut off")
        .await;
    let good = scene
        .service_provider
        .signed_query("SAMLRequest", &xml, Some("a"));
    for pair in good.split('&') {
        scene
            .refused_query(
                &format!("{good}&{pair}"),
                pair.split('=').next().expect("a name"),
            )
            .await;
    }
    scene
        .refused_query(&format!("{good}&SAMLResponse=x"), "a response too")
        .await;
    let encoded = STANDARD.encode(&xml);
    let twice = [
        ("SAMLRequest", encoded.as_str()),
        ("SAMLRequest", encoded.as_str()),
    ];
    assert_page(
        &scene
            .browser
            .post(&scene.service_provider.sign_on(), &twice)
            .await,
        "a form that repeats",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn relay_state_is_escaped_and_bounded() {
    let scene = Fixture::with(json!({})).await;
    let state = r#""><script>alert(1)</script>&quot;'`{{x}}"#;
    let stored = scene
        .service_provider
        .post(&scene.browser, &scene.request().xml(), Some(state))
        .await;
    let page = scene.browser.get(stored.location().as_str()).await;
    assert!(!page.body.contains("<script>"), "{}", page.body);
    assert_eq!(
        Response::from_page(&page).relay_state.as_deref(),
        Some(state)
    );
    // The limit is 2,048 bytes.
    let page = scene
        .service_provider
        .post(
            &scene.browser,
            &scene.request().xml(),
            Some(&"é".repeat(1024)),
        )
        .await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    let page = scene
        .service_provider
        .post(
            &scene.browser,
            &scene.request().xml(),
            Some(&"x".repeat(2049)),
        )
        .await;
    assert_page(&page, "too long");
    assert!(page.body.contains("2,048 bytes"), "{}", page.body);
}
