//! Where a vendor's word is good enough, and where it is not.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::vendor::Vendor;
use super::{binding, known_as, moved_on, question};
use crate::harness::{
    Ada, Application, Browser, HostOptions, Page, TestHost, http_client, id, plugins, without_code,
};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::saml::party::{Party, Response};

const DEVICE: &str =
    r#"{"id_token": {"acr": {"essential": true, "value": "urn:assent:acr:device"}}}"#;
const DELEGATED: &str =
    r#"{"userinfo": {"acr": {"essential": true, "values": ["urn:assent:acr:delegated"]}}}"#;

/// A host at which this vendor serves the first of two applications alone, and Ada, who is in both.
struct Two {
    vendor: Vendor,
    host: TestHost,
    served: Ada,
    other: Application,
    /// The host's address and settings as they are since the first application is known.
    base: String,
    running: assent::app::RunningServer,
}

impl Two {
    async fn start() -> Self {
        let vendor = Vendor::start(500).await;
        let host = TestHost::start().await;
        let served = host.ada().await;
        let body = json!({"name": "Other", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
        let other = host.admin_ok(Method::POST, "/applications", body).await;
        let other = Application {
            id: id(&other).to_owned(),
            ..served.application.clone()
        };
        host.account(&served.user, &other).await;
        let only = vendor.channel(
            "vendor",
            &format!(
                "shows_letters = true\napplications = [\"{}\"]",
                served.application.id
            ),
        );
        let settings = plugins(&only);
        let (_, running, base) = host
            .second(HostOptions {
                plugins: &settings,
                ..HostOptions::default()
            })
            .await;
        let two = Self {
            vendor,
            host,
            served,
            other,
            base,
            running,
        };
        let url = format!(
            "{}/admin/api/v1/users/{}/external-authenticators/vendor",
            two.base,
            id(&two.served.user)
        );
        let put = http_client()
            .put(url)
            .bearer_auth(&two.host.token)
            .json(&json!({"identifier": "ada@vendor"}));
        assert!(put.send().await.expect("an answer").status().is_success());
        two
    }

    fn browser(&self) -> Browser {
        Browser::new(&self.base)
    }

    /// Signs Ada in by the vendor.
    async fn signed_in(&self, browser: &Browser) {
        let waiting = self.served.ask(browser, &[]).await;
        self.approved(&waiting).await.parameter("code");
    }

    async fn approved(&self, waiting: &Page) -> Page {
        let question = question(&self.host, &self.vendor, "ada@vendor").await;
        self.vendor.answer(&question, "approved");
        self.host.advance(1);
        moved_on(waiting).await
    }
}

fn asks_who(page: &Page) -> bool {
    page.body.contains("name=\"name\"")
}

#[tokio::test]
async fn a_session_that_a_vendor_began_is_good_where_the_vendor_serves_and_nowhere_else() {
    let two = Two::start().await;
    let browser = two.browser();
    two.signed_in(&browser).await;
    let silent = [("prompt", Some("none"))];
    let again = browser.get(&two.served.application.request(&silent)).await;
    assert!(again.parameter("code").starts_with("ac_"));
    let elsewhere = browser.get(&two.other.request(&silent)).await;
    assert_eq!(elsewhere.parameter("error"), "login_required");
    let login = browser.get(&two.other.request(&[])).await.followed().await;
    assert!(asks_who(&login), "{}", login.body);
    // Nor can she choose to go on with it.
    let login = browser
        .get(&two.other.request(&[("prompt", Some("select_account"))]))
        .await
        .followed()
        .await;
    assert!(!login.body.contains("/continue"), "{}", login.body);
    // The phone's proof is good for both.
    let waiting = login
        .submit(&login.path(), &[("name", "ada")])
        .await
        .followed()
        .await;
    assert_eq!(
        two.vendor.begun(),
        1,
        "the vendor is not asked for an application that it does not serve"
    );
    two.served.approve(&waiting).await;
    assert!(
        moved_on(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    for application in [&two.served.application, &two.other] {
        assert!(
            browser
                .get(&application.request(&silent))
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
    two.running.stop().await;
}

#[tokio::test]
async fn a_session_that_a_vendor_began_does_not_open_the_console() {
    let two = Two::start().await;
    two.host
        .admin_ok(
            Method::PATCH,
            &format!("/users/{}", id(&two.served.user)),
            json!({"console_role": "owner"}),
        )
        .await;
    let browser = two.browser();
    two.signed_in(&browser).await;
    let console = browser.get("/admin").await;
    assert!(
        console.location().path().starts_with("/login/"),
        "{}",
        console.location()
    );
    two.running.stop().await;
}

#[tokio::test]
async fn one_vendors_word_does_not_count_where_another_vendor_serves() {
    let two = Two::start().await;
    let other = Vendor::start(500).await;
    let serving = |vendor: &Vendor, name: &str, application: &Application| {
        vendor.channel(name, &format!("applications = [\"{}\"]", application.id))
    };
    let entries = serving(&two.vendor, "vendor", &two.served.application)
        + &serving(&other, "other", &two.other);
    let settings = plugins(&entries);
    let (_, running, base) = two
        .host
        .second(HostOptions {
            plugins: &settings,
            ..HostOptions::default()
        })
        .await;
    let browser = Browser::new(&base);
    two.signed_in(&browser).await;
    let silent = [("prompt", Some("none"))];
    assert!(
        browser
            .get(&two.served.application.request(&silent))
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(
        browser
            .get(&two.other.request(&silent))
            .await
            .parameter("error"),
        "login_required"
    );
    running.stop().await;
    two.running.stop().await;
}

#[tokio::test]
async fn the_console_opens_to_a_device_alone_even_where_a_vendor_serves_the_hosts_own_pages() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    known_as(&host, &ada, "vendor", "ada@vendor").await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&ada.user)),
        json!({"console_role": "owner"}),
    )
    .await;
    // A session that a vendor began is not enough.
    let browser = Browser::new(&host.base);
    let waiting = ada.ask(&browser, &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "approved");
    host.advance(1);
    moved_on(&waiting).await.parameter("code");
    let login = browser.get("/admin").await.followed().await;
    assert!(asks_who(&login), "{}", login.body);
    // Nor is a vendor asked for one that would be.
    let waiting = login
        .submit(&login.path(), &[("name", "ada")])
        .await
        .followed()
        .await;
    assert!(
        waiting.body.contains("Approve on your phone"),
        "{}",
        waiting.body
    );
    ada.approve(&waiting).await;
    assert_eq!(moved_on(&waiting).await.location().path(), "/admin");
    assert_eq!(
        (vendor.begun(), browser.get("/admin").await.status.as_u16()),
        (1, 200)
    );
}

#[tokio::test]
async fn an_application_that_can_not_do_without_a_device_gets_no_vendors_word() {
    let two = Two::start().await;
    let browser = two.browser();
    two.signed_in(&browser).await;
    let silent = [("prompt", Some("none")), ("claims", Some(DEVICE))];
    let page = browser.get(&two.served.application.request(&silent)).await;
    assert_eq!(page.parameter("error"), "login_required");
    let waiting = two.served.ask(&browser, &[("claims", Some(DEVICE))]).await;
    assert!(
        waiting.body.contains("Approve on your phone"),
        "{}",
        waiting.body
    );
    two.served.approve(&waiting).await;
    assert!(
        moved_on(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(two.vendor.begun(), 1, "the vendor is not asked");
    // What an application would merely like makes no difference.
    let liked = r#"{"id_token": {"acr": {"value": "urn:assent:acr:device"}}}"#;
    let browser = two.browser();
    for changes in [
        ("claims", Some(liked)),
        ("acr_values", Some("urn:assent:acr:device")),
    ] {
        two.host.advance(1);
        let waiting = two
            .served
            .ask(&browser, &[changes, ("prompt", Some("login"))])
            .await;
        assert!(
            two.approved(&waiting)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
    two.running.stop().await;
}

#[tokio::test]
async fn a_vendors_word_alone_can_be_asked_for_where_it_is_to_be_had() {
    let two = Two::start().await;
    let refused = two
        .browser()
        .get(&two.other.request(&[("claims", Some(DELEGATED))]))
        .await;
    assert_eq!(
        refused.parameter("error"),
        "unmet_authentication_requirements"
    );
    let browser = two.browser();
    let waiting = two
        .served
        .ask(&browser, &[("claims", Some(DELEGATED))])
        .await;
    two.vendor.question("ada@vendor").await;
    two.served.approve(&waiting).await;
    assert_eq!(
        moved_on(&waiting).await.parameter("error"),
        "unmet_authentication_requirements"
    );
    let waiting = two
        .served
        .ask(&browser, &[("claims", Some(DELEGATED))])
        .await;
    assert!(
        two.approved(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    two.running.stop().await;
}

#[tokio::test]
async fn the_page_is_the_same_whoever_is_asked_and_whether_or_not_there_is_such_a_person() {
    let two = Two::start().await;
    let page = async |application: &Application, name: &str| {
        let login = two
            .browser()
            .get(&application.request(&[]))
            .await
            .followed()
            .await;
        let waiting = login
            .submit(&login.path(), &[("name", name)])
            .await
            .followed()
            .await;
        let same = without_code(&waiting.body)
            .replace(&waiting.csrf(), "CSRF")
            .replace(&waiting.path(), "LOGIN");
        let same = same.replace(&format!("id=\"binding\">{}<", binding(&waiting)), "LETTERS");
        same.replace(&format!("id=\"number\">{}<", waiting.number()), "NN")
            .replace(&format!("<bdi>{name}</bdi>"), "")
    };
    let eve = two.host.user("eve").await;
    assert_eq!(eve["name"], "eve");
    let served = page(&two.served.application, "ada").await;
    assert!(
        served.contains("Approve in your authenticator app. If it asks for a number:"),
        "{served}"
    );
    assert!(served.contains("LETTERS"), "{served}");
    for name in ["eve", "nobody"] {
        assert_eq!(page(&two.served.application, name).await, served, "{name}");
    }
    assert!(page(&two.other, "ada").await.contains("type this number:"));
    two.running.stop().await;
}

#[tokio::test]
async fn service_providers_are_told_that_nothing_is_promised() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_with(HostOptions {
        plugins: &settings,
        ..HostOptions::default()
    })
    .await;
    let party = Party::register(&host, json!({})).await;
    let ada = party.ada(&host).await;
    known_as(&host, &ada, "vendor", "ada@vendor").await;
    let browser = Browser::new(&host.base);
    let approved = async |content: &str| {
        let login = party
            .begin(
                &browser,
                &party
                    .request(&host)
                    .with("ForceAuthn", "true")
                    .containing(content),
                None,
            )
            .await;
        let waiting = login
            .submit(&login.path(), &[("name", "ada")])
            .await
            .followed()
            .await;
        let question = question(&host, &vendor, "ada@vendor").await;
        vendor.answer(&question, "approved");
        host.advance(1);
        Response::of(&moved_on(&waiting).await)
    };
    let context = |comparison: &str, class: &str| {
        format!(
            "<samlp:RequestedAuthnContext Comparison=\"{comparison}\"><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:{class}</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>"
        )
    };
    for content in [
        String::new(),
        context("exact", "unspecified"),
        context("maximum", "PasswordProtectedTransport"),
    ] {
        let response = approved(&content).await;
        assert!(response.is_success(), "{}", response.xml);
        assert_eq!(
            response.text("AuthnContextClassRef"),
            "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified"
        );
    }
    // The session is no answer to who asks for more, nor is the vendor.
    for content in [
        context("exact", "PasswordProtectedTransport"),
        context("minimum", "Password"),
        context("better", "Password"),
    ] {
        let passive = party
            .request(&host)
            .with("IsPassive", "true")
            .containing(&content);
        let response = Response::of(&party.begin(&browser, &passive, None).await);
        assert_eq!(
            response.status()[1],
            "urn:oasis:names:tc:SAML:2.0:status:NoPassive",
            "{content}"
        );
        let begun = vendor.begun();
        let login = party
            .begin(&browser, &party.request(&host).containing(&content), None)
            .await;
        let waiting = login
            .submit(&login.path(), &[("name", "ada")])
            .await
            .followed()
            .await;
        ada.phone.waiting(5).await.expect("requests");
        assert_eq!(vendor.begun(), begun);
        waiting
            .submit(&format!("{}/cancel", waiting.path()), &[])
            .await;
    }
    let passive = party.request(&host).with("IsPassive", "true");
    assert!(Response::of(&party.begin(&browser, &passive, None).await).is_success());
}

#[tokio::test]
async fn tokens_are_not_refreshed_where_the_vendor_is_trusted_no_longer() {
    let two = Two::start().await;
    let waiting = two.served.ask(&two.browser(), &OFFLINE).await;
    let code = two.approved(&waiting).await.parameter("code");
    let application = &two.served.application;
    let (_, tokens) = application.exchange(&two.base, &code, &[]).await;
    let token = refresh_token(&tokens);
    // The first host is as the second would be without the channel.
    let (status, refused) = refresh(&two.host.base, application, token, &[]).await;
    assert_eq!(
        (status, &refused["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
        "{refused}"
    );
    let (status, answer) = refresh(&two.base, application, token, &[]).await;
    assert_eq!(
        status,
        StatusCode::OK,
        "the token was not used up: {answer}"
    );
}
