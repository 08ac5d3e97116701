//! The cases in which a vendor's approval is sufficient.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::vendor::Vendor;
use super::{add_external_authenticator, binding, next_page, question};
use crate::harness::{
    Application, Browser, HostOptions, Page, Respond, TestHost, TestUser, http_client, id, plugins,
    without_code,
};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::saml::service_provider::{Response, TestServiceProvider};

const DEVICE: &str =
    r#"{"id_token": {"acr": {"essential": true, "value": "urn:assent:acr:device"}}}"#;
const DELEGATED: &str =
    r#"{"userinfo": {"acr": {"essential": true, "values": ["urn:assent:acr:delegated"]}}}"#;

/// An instance where this vendor serves only the first of two applications, and Ada, who has an account in both.
struct TwoApplications {
    vendor: Vendor,
    host: TestHost,
    served: TestUser,
    other: Application,
    /// The base URL of the second instance, whose settings name the first application.
    base: String,
    running: assent::app::serve::RunningServer,
}

impl TwoApplications {
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
        assert!(put.response().await.status().is_success());
        two
    }

    fn browser(&self) -> Browser {
        Browser::new(&self.base)
    }

    /// Signs Ada in with the vendor's approval.
    async fn signed_in(&self, browser: &Browser) {
        let waiting = self.served.begin_sign_in(browser, &[]).await;
        self.approved(&waiting).await.parameter("code");
    }

    async fn approved(&self, waiting: &Page) -> Page {
        let question = question(&self.host, &self.vendor, "ada@vendor").await;
        self.vendor.answer(&question, "approved");
        self.host.advance(1);
        next_page(waiting).await
    }
}

fn asks_for_name(page: &Page) -> bool {
    page.body.contains("name=\"name\"")
}

#[tokio::test]
async fn a_vendor_session_is_valid_only_for_applications_of_the_vendor() {
    let two = TwoApplications::start().await;
    let browser = two.browser();
    two.signed_in(&browser).await;
    let silent = [("prompt", Some("none"))];
    let again = browser.get(&two.served.application.request(&silent)).await;
    assert!(again.parameter("code").starts_with("ac_"));
    let elsewhere = browser.get(&two.other.request(&silent)).await;
    assert_eq!(elsewhere.parameter("error"), "login_required");
    let login = browser.get(&two.other.request(&[])).await.followed().await;
    assert!(asks_for_name(&login), "{}", login.body);
    // She cannot choose to continue with the session either.
    let login = browser
        .get(&two.other.request(&[("prompt", Some("select_account"))]))
        .await
        .followed()
        .await;
    assert!(!login.body.contains("/continue"), "{}", login.body);
    // The proof of the device is valid for both applications.
    let waiting = login.submit_name("ada").await;
    assert_eq!(
        two.vendor.started(),
        1,
        "the vendor is not called for an application that it does not serve"
    );
    two.served.approve(&waiting).await;
    assert!(
        next_page(&waiting)
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
async fn a_vendor_session_does_not_open_the_console() {
    let two = TwoApplications::start().await;
    two.host.set_console_role(&two.served.user, "owner").await;
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
async fn a_vendor_cannot_approve_for_applications_of_another_vendor() {
    let two = TwoApplications::start().await;
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
async fn the_console_requires_a_device_although_a_vendor_serves_local_pages() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_with_plugins(&settings).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    host.set_console_role(&ada.user, "owner").await;
    // A session with a vendor's approval is not sufficient.
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let question = question(&host, &vendor, "ada@vendor").await;
    vendor.answer(&question, "approved");
    host.advance(1);
    next_page(&waiting).await.parameter("code");
    let login = browser.get("/admin").await.followed().await;
    assert!(asks_for_name(&login), "{}", login.body);
    // The server does not ask the vendor for a sufficient session either.
    let waiting = login.submit_name("ada").await;
    assert!(
        waiting.body.contains("Approve on your phone"),
        "{}",
        waiting.body
    );
    ada.approve(&waiting).await;
    assert_eq!(next_page(&waiting).await.location().path(), "/admin");
    assert_eq!(
        (
            vendor.started(),
            browser.get("/admin").await.status.as_u16()
        ),
        (1, 200)
    );
}

#[tokio::test]
async fn an_application_that_requires_a_device_gets_no_vendor_approval() {
    let two = TwoApplications::start().await;
    let browser = two.browser();
    two.signed_in(&browser).await;
    let silent = [("prompt", Some("none")), ("claims", Some(DEVICE))];
    let page = browser.get(&two.served.application.request(&silent)).await;
    assert_eq!(page.parameter("error"), "login_required");
    let waiting = two
        .served
        .begin_sign_in(&browser, &[("claims", Some(DEVICE))])
        .await;
    assert!(
        waiting.body.contains("Approve on your phone"),
        "{}",
        waiting.body
    );
    two.served.approve(&waiting).await;
    assert!(
        next_page(&waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(two.vendor.started(), 1, "the vendor is not called");
    // A voluntary request of an application makes no difference.
    let liked = r#"{"id_token": {"acr": {"value": "urn:assent:acr:device"}}}"#;
    let browser = two.browser();
    for changes in [
        ("claims", Some(liked)),
        ("acr_values", Some("urn:assent:acr:device")),
    ] {
        two.host.advance(1);
        let waiting = two
            .served
            .begin_sign_in(&browser, &[changes, ("prompt", Some("login"))])
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
async fn delegated_approval_can_be_requested_where_available() {
    let two = TwoApplications::start().await;
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
        .begin_sign_in(&browser, &[("claims", Some(DELEGATED))])
        .await;
    two.vendor.question("ada@vendor").await;
    two.served.approve(&waiting).await;
    assert_eq!(
        next_page(&waiting).await.parameter("error"),
        "unmet_authentication_requirements"
    );
    let waiting = two
        .served
        .begin_sign_in(&browser, &[("claims", Some(DELEGATED))])
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
async fn the_waiting_page_is_identical_for_vendors_devices_and_unknown_users() {
    let two = TwoApplications::start().await;
    let page = async |application: &Application, name: &str| {
        let login = two
            .browser()
            .get(&application.request(&[]))
            .await
            .followed()
            .await;
        let waiting = login.submit_name(name).await;
        let same = without_code(&waiting.body)
            .replace(&waiting.csrf(), "CSRF")
            .replace(&waiting.path(), "LOGIN")
            .replace(waiting.path().trim_start_matches("/login/"), "ID");
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
    assert!(page(&two.other, "ada").await.contains("enter this number:"));
    two.running.stop().await;
}

#[tokio::test]
async fn service_providers_receive_the_unspecified_context_from_vendors() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_with_plugins(&settings).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let ada = service_provider.ada(&host).await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    let browser = Browser::new(&host.base);
    let approved = async |content: &str| {
        let login = service_provider
            .begin(
                &browser,
                &service_provider
                    .request(&host)
                    .with("ForceAuthn", "true")
                    .containing(content),
                None,
            )
            .await;
        let waiting = login.submit_name("ada").await;
        let question = question(&host, &vendor, "ada@vendor").await;
        vendor.answer(&question, "approved");
        host.advance(1);
        Response::from_page(&next_page(&waiting).await)
    };
    let context = |comparison: &str, class: &str| {
        format!(
            "<samlp:RequestedAuthnContext Comparison=\"{comparison}\">\
             <saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:{class}\
             </saml:AuthnContextClassRef></samlp:RequestedAuthnContext>"
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
    // Neither the session nor the vendor satisfies a request for a stronger authentication context.
    for content in [
        context("exact", "PasswordProtectedTransport"),
        context("minimum", "Password"),
        context("better", "Password"),
    ] {
        let passive = service_provider
            .request(&host)
            .with("IsPassive", "true")
            .containing(&content);
        let response = Response::from_page(&service_provider.begin(&browser, &passive, None).await);
        assert_eq!(
            response.status()[1],
            "urn:oasis:names:tc:SAML:2.0:status:NoPassive",
            "{content}"
        );
        let started = vendor.started();
        let login = service_provider
            .begin(
                &browser,
                &service_provider.request(&host).containing(&content),
                None,
            )
            .await;
        let waiting = login.submit_name("ada").await;
        ada.device.pending_requests(5).await;
        assert_eq!(vendor.started(), started);
        waiting.cancel().await;
    }
    let passive = service_provider.request(&host).with("IsPassive", "true");
    assert!(
        Response::from_page(&service_provider.begin(&browser, &passive, None).await).is_success()
    );
}

#[tokio::test]
async fn tokens_cannot_be_refreshed_after_vendor_trust_ends() {
    let two = TwoApplications::start().await;
    let waiting = two.served.begin_sign_in(&two.browser(), &OFFLINE).await;
    let code = two.approved(&waiting).await.parameter("code");
    let application = &two.served.application;
    let (_, tokens) = application.exchange(&two.base, &code, &[]).await;
    let token = refresh_token(&tokens);
    // The first instance represents the second one without the channel.
    let (status, refused) = refresh(&two.host.base, application, token, &[]).await;
    assert_eq!(
        (status, &refused["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
        "{refused}"
    );
    let (status, answer) = refresh(&two.base, application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "the token is still valid: {answer}");
}
