//! Sign-on: the requests of a service provider and their responses.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::service_provider::{ACS, ENTITY_ID, RESPONDER, Response, TestServiceProvider, identify};
use crate::harness::{Browser, TestHost, Text, id};

const EMAIL: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_sign_on_returns_an_assertion_as_specified() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let request = service_provider.request(&host);
    let page = service_provider.sign_in(&ada, &browser, &request).await;
    let response = Response::from_page(&page);
    assert!(response.is_success(), "{}", response.xml);
    assert_eq!(response.action, ACS);
    assert_eq!(response.relay_state.as_deref(), Some("back to /here?a=b&c"));
    let root = response.root();
    assert_eq!(root.attribute("InResponseTo"), Some(request.id.as_str()));
    assert_eq!(root.attribute("Destination"), Some(ACS));
    assert_eq!(response.text("Issuer"), host.issuer());
    assert_eq!(response.attribute("NameID", "Format"), EMAIL);
    assert_eq!(response.text("NameID"), "ada@example.org");
    let now = host.host.now().seconds();
    let moment = |text: &str| {
        assent_saml_core::message::instant(text)
            .expect("a moment")
            .seconds()
    };
    assert_eq!(
        response.attribute("SubjectConfirmation", "Method"),
        "urn:oasis:names:tc:SAML:2.0:cm:bearer"
    );
    for (name, value) in [("Recipient", ACS), ("InResponseTo", request.id.as_str())] {
        assert_eq!(response.attribute("SubjectConfirmationData", name), value);
    }
    assert_eq!(
        moment(response.attribute("SubjectConfirmationData", "NotOnOrAfter")),
        now + 300
    );
    assert_eq!(moment(response.attribute("Conditions", "NotBefore")), now);
    assert_eq!(
        moment(response.attribute("Conditions", "NotOnOrAfter")),
        now + 300
    );
    assert_eq!(response.text("Audience"), ENTITY_ID);
    assert_eq!(
        moment(response.attribute("AuthnStatement", "AuthnInstant")),
        now
    );
    assert!(
        !response
            .attribute("AuthnStatement", "SessionIndex")
            .is_empty()
    );
    let class = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
    assert_eq!(response.text("AuthnContextClassRef"), class);
    assert!(
        response.element("AttributeStatement").is_none(),
        "none is configured"
    );

    let policy = page.headers["content-security-policy"].text();
    assert!(
        policy.contains("script-src 'nonce-") && policy.contains("form-action https:;"),
        "{policy}"
    );
    assert_eq!(page.headers["cache-control"], "no-store");
}

/// Checks the NameID of each format in repeated sign-ons, in another session, and for another application.
#[tokio::test(flavor = "multi_thread")]
async fn each_configured_name_id_format_is_issued() {
    let host = TestHost::start().await;
    let all = ["emailAddress", "persistent", "transient", "unspecified"];
    let service_provider =
        TestServiceProvider::register(&host, json!({"other_name_id_formats": all})).await;
    let other = TestServiceProvider::register(
        &host,
        json!({"other_name_id_formats": all, "entity_id": "https://other.example"}),
    )
    .await;
    let ada = service_provider.ada(&host).await;
    host.account(&ada.user, &other.application()).await;
    let (browser, second) = (Browser::new(&host.base), Browser::new(&host.base));
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    service_provider
        .sign_in(&ada, &second, &service_provider.request(&host))
        .await;

    let mut names = Vec::new();
    for format in [EMAIL, PERSISTENT, TRANSIENT] {
        for (sp, browser) in [
            (&service_provider, &browser),
            (&service_provider, &browser),
            (&service_provider, &second),
            (&other, &browser),
        ] {
            let response = Response::from_page(
                &sp.begin(browser, &sp.request(&host).name_id(format), None)
                    .await,
            );
            assert_eq!(response.attribute("NameID", "Format"), format);
            names.push(response.text("NameID").to_owned());
        }
    }
    let [email, persistent, transient] = [0, 4, 8].map(|at| &names[at..at + 4]);
    assert!(email.iter().all(|name| name == "ada@example.org"));
    assert!(
        persistent[0] == persistent[1]
            && persistent[0] == persistent[2]
            && persistent[0] != persistent[3]
    );
    assert!(transient[0] == transient[1], "one name in a session");
    assert!(
        transient[0] != transient[2]
            && transient[0] != transient[3]
            && transient[0] != persistent[0]
    );
    for name in [persistent, transient].concat() {
        assert!(
            assent_saml_core::xml::is_ncname(&name) && !name.contains("example"),
            "{name}"
        );
    }

    // The format `unspecified` leaves the choice to the server, unless it is registered as a format.
    for (registered, format) in [
        (json!(["transient"]), EMAIL),
        (json!(["unspecified"]), UNSPECIFIED),
    ] {
        let path = format!("/applications/{}", service_provider.id);
        host.admin_ok(
            Method::PATCH,
            &path,
            json!({"other_name_id_formats": registered}),
        )
        .await;
        let response = Response::from_page(
            &service_provider
                .begin(
                    &browser,
                    &service_provider.request(&host).name_id(UNSPECIFIED),
                    None,
                )
                .await,
        );
        assert_eq!(
            response.attribute("NameID", "Format"),
            format,
            "{registered}"
        );
        assert_eq!(response.text("NameID"), "ada@example.org");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_id_may_be_the_account_name() {
    let host = TestHost::start().await;
    let changes = json!({"name_id_format": "unspecified", "name_id_source": "account_name"});
    let service_provider = TestServiceProvider::register(&host, changes).await;
    let ada = service_provider.ada(&host).await;
    let page = service_provider
        .sign_in(
            &ada,
            &Browser::new(&host.base),
            &service_provider.request(&host),
        )
        .await;
    let response = Response::from_page(&page);
    assert_eq!(response.attribute("NameID", "Format"), UNSPECIFIED);
    assert_eq!(response.text("NameID"), ada.account["name"].text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_id_policy_for_an_unconfigured_format_is_rejected() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let browser = Browser::new(&host.base);
    let encrypted = "urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted";
    for format in [PERSISTENT, encrypted, "no format"] {
        let request = service_provider.request(&host).name_id(format);
        let page = browser
            .get(&service_provider.signed_redirect(&request.xml(), Some("state")))
            .await;
        let response = Response::from_page(&page);
        let requester = "urn:oasis:names:tc:SAML:2.0:status:Requester";
        assert_eq!(
            response.status(),
            [
                requester,
                "urn:oasis:names:tc:SAML:2.0:status:InvalidNameIDPolicy"
            ],
            "{format}"
        );
        assert_eq!(
            (response.action.as_str(), response.relay_state.as_deref()),
            (ACS, Some("state"))
        );
        assert!(response.element("Assertion").is_none());
    }
    // A policy for a group of service providers.
    let policy = format!(
        r#"<samlp:NameIDPolicy Format="{EMAIL}" SPNameQualifier="https://group.example"/>"#
    );
    let page = browser
        .get(&service_provider.signed_redirect(
            &service_provider.request(&host).containing(&policy).xml(),
            None,
        ))
        .await;
    assert!(Response::from_page(&page).status()[1].ends_with(":InvalidNameIDPolicy"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_sufficient_without_force_authn() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let first = Response::from_page(
        &service_provider
            .sign_in(&ada, &browser, &service_provider.request(&host))
            .await,
    );
    host.advance(60);
    let again = Response::from_page(
        &service_provider
            .begin(&browser, &service_provider.request(&host), None)
            .await,
    );
    assert!(again.is_success());
    for name in ["AuthnInstant", "SessionIndex"] {
        assert_eq!(
            first.attribute("AuthnStatement", name),
            again.attribute("AuthnStatement", name)
        );
    }
    let forced = service_provider.request(&host).with("ForceAuthn", "true");
    let login = service_provider.begin(&browser, &forced, None).await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    let fresh = Response::from_page(&browser.finish(&waiting.url).await);
    assert_ne!(
        first.attribute("AuthnStatement", "AuthnInstant"),
        fresh.attribute("AuthnStatement", "AuthnInstant")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passive_request_never_shows_a_page() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let passive = || service_provider.request(&host).with("IsPassive", "true");
    let response = Response::from_page(
        &service_provider
            .begin(&browser, &passive(), Some("x"))
            .await,
    );
    assert_eq!(
        response.status(),
        [RESPONDER, "urn:oasis:names:tc:SAML:2.0:status:NoPassive"]
    );
    assert_eq!(response.relay_state.as_deref(), Some("x"));
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    assert!(
        Response::from_page(&service_provider.begin(&browser, &passive(), None).await).is_success()
    );
    let both = passive().with("ForceAuthn", "1");
    assert!(
        Response::from_page(&service_provider.begin(&browser, &both, None).await).status()[1]
            .ends_with(":NoPassive")
    );
    // With `IsPassive`, the server does not ask a signed-in user without an account either.
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin(Method::DELETE, &account, serde_json::Value::Null)
        .await;
    let response = Response::from_page(&service_provider.begin(&browser, &passive(), None).await);
    assert_eq!(
        response.status(),
        [RESPONDER, "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsatisfiable_authentication_context_is_reported() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let browser = Browser::new(&host.base);
    let class = |name: &str| {
        format!(
            "<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:{name}</saml:AuthnContextClassRef>"
        )
    };
    let requested = |comparison: &str, classes: String| {
        let context = format!(
            r#"<samlp:RequestedAuthnContext Comparison="{comparison}">{classes}</samlp:RequestedAuthnContext>"#
        );
        service_provider.request(&host).containing(&context)
    };
    for (met, request) in [
        (
            true,
            requested("exact", class("PasswordProtectedTransport")),
        ),
        (
            true,
            requested(
                "exact",
                class("X509") + &class("PasswordProtectedTransport"),
            ),
        ),
        (true, requested("minimum", class("Password"))),
        (true, requested("better", class("Password"))),
        (true, requested("maximum", class("X509"))),
        (true, requested("exact", class("unspecified"))),
        (false, requested("exact", class("X509"))),
        (false, requested("minimum", class("SmartcardPKI"))),
        (
            false,
            requested("better", class("PasswordProtectedTransport")),
        ),
        (false, requested("maximum", class("Password"))),
        (
            false,
            requested(
                "exact",
                "<saml:AuthnContextDeclRef>https://sp.example/decl</saml:AuthnContextDeclRef>"
                    .to_owned(),
            ),
        ),
    ] {
        let page = browser
            .get(&service_provider.signed_redirect(&request.xml(), None))
            .await;
        if met {
            assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", request.content);
        } else {
            let response = Response::from_page(&page);
            assert_eq!(
                response.status(),
                [
                    RESPONDER,
                    "urn:oasis:names:tc:SAML:2.0:status:NoAuthnContext"
                ],
                "{}",
                request.content
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_exactly_unspecified_gets_unspecified() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    let name = |class: &str| format!("urn:oasis:names:tc:SAML:2.0:ac:classes:{class}");
    for (comparison, classes, returned) in [
        ("exact", vec!["unspecified"], "unspecified"),
        ("exact", vec!["X509", "unspecified"], "unspecified"),
        (
            "exact",
            vec!["unspecified", "PasswordProtectedTransport"],
            "PasswordProtectedTransport",
        ),
        ("minimum", vec!["unspecified"], "PasswordProtectedTransport"),
    ] {
        let classes = classes.iter().map(|class| {
            format!(
                "<saml:AuthnContextClassRef>{}</saml:AuthnContextClassRef>",
                name(class)
            )
        });
        let context = format!(
            r#"<samlp:RequestedAuthnContext Comparison="{comparison}">{}</samlp:RequestedAuthnContext>"#,
            classes.collect::<String>()
        );
        let request = service_provider.request(&host).containing(&context);
        let response = Response::from_page(&service_provider.begin(&browser, &request, None).await);
        assert_eq!(
            response.text("AuthnContextClassRef"),
            name(returned),
            "{context}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn assertion_lifetime_follows_the_settings() {
    for (settings, seconds) in [("", 300), ("[saml]\nassertion_validity = \"90s\"\n", 90)] {
        let host = TestHost::start_with_settings(settings).await;
        let service_provider = TestServiceProvider::register(&host, json!({})).await;
        let ada = service_provider.ada(&host).await;
        let response = Response::from_page(
            &service_provider
                .sign_in(
                    &ada,
                    &Browser::new(&host.base),
                    &service_provider.request(&host),
                )
                .await,
        );
        let moment = |text: &str| {
            assent_saml_core::message::instant(text)
                .expect("a moment")
                .seconds()
        };
        let begins = moment(response.attribute("Conditions", "NotBefore"));
        assert_eq!(
            moment(response.attribute("Conditions", "NotOnOrAfter")) - begins,
            seconds
        );
        assert_eq!(
            moment(response.attribute("SubjectConfirmationData", "NotOnOrAfter")) - begins,
            seconds
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_acs_is_chosen_by_url_by_index_or_by_default() {
    let host = TestHost::start().await;
    let second = "https://sp.example/acs/2?tenant=a";
    let acs = json!([{"url": ACS, "index": 3}, {"url": second, "index": 7, "default": true}]);
    let service_provider = TestServiceProvider::register(&host, json!({"acs": acs})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    let post = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
    let url = |url| {
        service_provider
            .request(&host)
            .with("AssertionConsumerServiceURL", url)
            .with("ProtocolBinding", post)
    };
    let index = |index| {
        service_provider
            .request(&host)
            .with("AssertionConsumerServiceIndex", index)
    };
    for (request, expected) in [
        (url(ACS), ACS),
        (url(second), second),
        (index("3"), ACS),
        (index("7"), second),
        (service_provider.request(&host), second),
    ] {
        let response = Response::from_page(&service_provider.begin(&browser, &request, None).await);
        assert!(response.is_success());
        assert_eq!(response.action, expected);
        assert_eq!(response.root().attribute("Destination"), Some(expected));
        assert_eq!(
            response.attribute("SubjectConfirmationData", "Recipient"),
            expected
        );
    }
    let artifact = service_provider.request(&host).with(
        "ProtocolBinding",
        "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact",
    );
    let page = browser
        .get(&service_provider.signed_redirect(&artifact.xml(), None))
        .await;
    assert!(Response::from_page(&page).status()[1].ends_with(":UnsupportedBinding"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cross_site_form_without_cookies_is_accepted() {
    let host = TestHost::start().await;
    let service_provider =
        TestServiceProvider::register(&host, json!({"require_signed_requests": true})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    let request = service_provider.request(&host);
    let elsewhere = Browser::new(&host.base);
    let stored = service_provider
        .post(
            &elsewhere,
            &request.signed(&service_provider),
            Some("é ☃ %0A <b>"),
        )
        .await;
    assert_eq!(stored.status, StatusCode::SEE_OTHER);
    // The browser continues with its cookies.
    let response = Response::from_page(&browser.get(stored.location().as_str()).await);
    assert!(response.is_success());
    assert_eq!(response.relay_state.as_deref(), Some("é ☃ %0A <b>"));
    assert_eq!(
        response.root().attribute("InResponseTo"),
        Some(request.id.as_str())
    );
    // The stored request is single use. The same browser may get the same response again for a short time.
    host.advance(30);
    assert_eq!(
        browser.get(stored.location().as_str()).await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_versions_and_encrypted_names_return_an_error_status() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let browser = Browser::new(&host.base);
    let newer = service_provider
        .request(&host)
        .xml()
        .replace("Version=\"2.0\"", "Version=\"2.1\"");
    let response = browser
        .get(&service_provider.signed_redirect(&newer, None))
        .await;
    assert_eq!(
        Response::from_page(&response).status(),
        ["urn:oasis:names:tc:SAML:2.0:status:VersionMismatch"]
    );
    // The response contains the cause.
    let other =
        r#"<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"/>"#;
    for (content, cause) in [
        ("<saml:EncryptedID/>".to_owned(), "EncryptedID"),
        (other.to_owned(), "SubjectConfirmation"),
        (
            format!("<saml:NameID>ada@example.org</saml:NameID>{other}"),
            "SubjectConfirmation",
        ),
        (String::new(), "without a NameID"),
    ] {
        let request = service_provider
            .request(&host)
            .containing(&format!("<saml:Subject>{content}</saml:Subject>"));
        let response = Response::from_page(
            &browser
                .get(&service_provider.signed_redirect(&request.xml(), None))
                .await,
        );
        assert!(
            response.status()[1].ends_with(":RequestUnsupported"),
            "{content}"
        );
        assert!(
            response.text("StatusMessage").contains(cause),
            "{content}: {}",
            response.xml
        );
    }
    let encrypted = service_provider
        .request(&host)
        .containing("<saml:Subject><saml:EncryptedID/></saml:Subject>");
    let response = browser
        .get(&service_provider.signed_redirect(&encrypted.xml(), None))
        .await;
    assert!(Response::from_page(&response).status()[1].ends_with(":RequestUnsupported"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scoping_and_extensions_are_ignored() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let request = service_provider.request(&host).containing(
        r#"<samlp:Extensions><x:any xmlns:x="urn:x">1</x:any></samlp:Extensions>
           <samlp:Scoping ProxyCount="0"><samlp:IDPList><samlp:IDPEntry ProviderID="https://elsewhere.example"/></samlp:IDPList></samlp:Scoping>"#,
    );
    let login = service_provider
        .begin(&Browser::new(&host.base), &request, None)
        .await;
    assert!(login.body.contains("Engines &#38; Co"), "{}", login.body);
}

/// A sign-on begins at the server: from the user's start page, or with a link and a confirmation.
#[tokio::test(flavor = "multi_thread")]
async fn idp_initiated_sign_on_needs_the_setting_and_the_user() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(
        &host,
        json!({"default_relay_state": "/home", "relay_states": ["/reports"]}),
    )
    .await;
    let path = format!("/applications/{}", service_provider.id);
    let shown = host.admin_ok(Method::GET, &path, json!(null)).await;
    assert_eq!(shown["idp_initiated"], true, "the setting is on by default");
    host.admin_ok(Method::PATCH, &path, json!({"idp_initiated": false}))
        .await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    assert!(
        !browser
            .get("/")
            .await
            .body
            .contains(&service_provider.sign_on()),
        "the setting is off"
    );
    assert_eq!(
        browser.get(&service_provider.sign_on()).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        browser
            .post(&service_provider.sign_on(), &[("csrf", "x")])
            .await
            .status,
        StatusCode::BAD_REQUEST
    );

    host.admin_ok(Method::PATCH, &path, json!({"idp_initiated": true}))
        .await;
    let home = browser.get("/").await;
    let response = Response::from_page(&home.submit(&service_provider.sign_on(), &[]).await);
    assert!(response.is_success());
    assert_eq!(response.relay_state.as_deref(), Some("/home"));
    assert_eq!(response.root().attribute("InResponseTo"), None);
    assert!(!response.xml.contains("InResponseTo"));

    // The link leads to a question. The server signs nothing before the answer.
    let question = browser
        .get(&format!(
            "{}?RelayState=%2Freports",
            service_provider.sign_on()
        ))
        .await;
    assert!(!question.body.contains("SAMLResponse"));
    let response = Response::from_page(
        &question
            .submit(&service_provider.sign_on(), &[("RelayState", "/reports")])
            .await,
    );
    assert_eq!(response.relay_state.as_deref(), Some("/reports"));
    assert_eq!(
        browser
            .get(&format!(
                "{}?RelayState=%2Fevil",
                service_provider.sign_on()
            ))
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
}

/// A cross-site form has no token, and the token of this browser is valid for one application only.
#[tokio::test(flavor = "multi_thread")]
async fn idp_initiated_sign_on_requires_its_csrf_token() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    service_provider
        .sign_in(&ada, &browser, &service_provider.request(&host))
        .await;
    let home = browser.get("/").await;
    for form in [vec![("csrf", "forged")], vec![("csrf", "")]] {
        assert_eq!(
            browser
                .post(&service_provider.sign_on(), &form)
                .await
                .status,
            StatusCode::FORBIDDEN
        );
    }
    let other = TestServiceProvider::register(
        &host,
        json!({"idp_initiated": true, "entity_id": "https://other.example"}),
    )
    .await;
    let token = home
        .body
        .split_once(&service_provider.sign_on())
        .and_then(|(_, rest)| rest.split_once("value=\""))
        .expect("a form")
        .1;
    let csrf = token.split('"').next().expect("a token");
    assert_eq!(
        browser
            .post(&other.sign_on(), &[("csrf", csrf)])
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    // Another browser must sign in first.
    let attacker = Browser::new(&host.base);
    let question = attacker.get(&service_provider.sign_on()).await;
    let login = question
        .submit(&service_provider.sign_on(), &[])
        .await
        .followed()
        .await;
    assert!(login.body.contains("name=\"name\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_attributes_come_from_the_plugin() {
    let host = TestHost::start().await;
    let attributes = json!([
        {"name": "department", "values": ["Engines & <Co>", "Looms"]},
        {"name": "https://sp.example/claims/roles", "values": ["{roles}"]},
        {"name": "mail", "values": ["{email}"]},
        {"name": "nick", "values": ["{nickname}"]},
        {"name": "town", "values": ["{address.postal_code} {address.locality}"]},
    ]);
    let service_provider =
        TestServiceProvider::register(&host, json!({"custom_attributes": attributes})).await;
    let ada = service_provider.ada(&host).await;
    let address =
        json!({"profile": {"address": {"locality": "London", "postal_code": "SW1Y 4JH"}}});
    host.admin_ok(Method::PATCH, &format!("/users/{}", id(&ada.user)), address)
        .await;
    let page = service_provider
        .sign_in(
            &ada,
            &Browser::new(&host.base),
            &service_provider.request(&host),
        )
        .await;
    let response = Response::from_page(&page);
    assert_eq!(
        response.values("department"),
        [("xs:string", "Engines & <Co>"), ("xs:string", "Looms")]
    );
    assert_eq!(
        response.values("https://sp.example/claims/roles"),
        [("xs:string", "reader"), ("xs:string", "editor")]
    );
    assert_eq!(response.values("mail"), [("xs:string", "ada@example.org")]);
    assert_eq!(response.values("town"), [("xs:string", "SW1Y 4JH London")]);
    assert!(
        response.values("nick").is_empty() && !response.xml.contains("\"nick\""),
        "the claim is unknown"
    );
    let basic = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";
    assert_eq!(response.attribute("Attribute", "NameFormat"), basic);
}
