//! All interactions of a user with a service provider.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::server::{ServiceProvider, Software};
use crate::clients;
use crate::clients::registration::merge;
use crate::harness::{Application, Browser, Page, TestHost, TestUser, id};
use crate::programs::{Arrival, Decision, arrive};

/// The settings of an instance that accepts service providers at plain `http` on loopback.
const HOST: &str = "allow_insecure_redirect_uris = true";

/// A user with a device and a browser, and a service provider.
pub(super) struct Journey {
    pub(super) host: TestHost,
    pub(super) ada: TestUser,
    pub(super) browser: Browser,
    pub(super) provider: ServiceProvider,
    /// The id of its application.
    pub(super) application: String,
}

/// The ways in which an administrator registers a service provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    FromMetadata,
    ByHand,
}

/// The differences between the service providers of the tests.
pub(super) struct HostOptions {
    /// Whether the service provider signs its requests. If so, the application requires it.
    pub(super) signs: bool,
    pub(super) registered: Registered,
    /// Further settings of the application.
    pub(super) settings: Value,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            signs: true,
            registered: Registered::FromMetadata,
            settings: json!({}),
        }
    }
}

impl Journey {
    /// Prepares the flow. No user is signed in yet.
    pub(super) async fn new(software: Software, options: HostOptions) -> Self {
        let host = clients::host(HOST).await;
        let ada = host.ada().await;
        let browser = Browser::new(&host.base);
        let (provider, application) = join(&host, &ada, software, options).await;
        Self {
            host,
            ada,
            browser,
            provider,
            application,
        }
    }

    /// Adds another service provider, with an account of the user.
    pub(super) async fn another(&self, software: Software) -> ServiceProvider {
        join(&self.host, &self.ada, software, HostOptions::default())
            .await
            .0
    }

    /// Updates the service provider's trust from the current metadata of Assent.
    pub(super) async fn update_trust(&mut self) {
        trust(&self.host, &mut self.provider, &self.application).await;
    }

    /// Opens a URL, and completes the pages as Ada.
    pub(super) async fn visits(&self, address: &str) -> Arrival {
        self.arrives(self.browser.get(address).await).await
    }

    /// Signs Ada in with these parameters of the request. Returns the data that the service provider received, and the
    /// number of approval requests.
    pub(super) async fn signs_in(&self, parameters: &[(&str, &str)]) -> (Value, usize) {
        let Arrival { page, requested } = self.visits(&self.provider.login(parameters)).await;
        (self.is_known(&page).await, requested)
    }

    /// Checks that this page belongs to the service provider. Returns its data about the user.
    pub(super) async fn is_known(&self, page: &Page) -> Value {
        let there = page.url.starts_with(&self.provider.base) && page.status == StatusCode::OK;
        assert!(
            there,
            "{} {} {} {}",
            page.status,
            page.url,
            page.body,
            self.provider.log()
        );
        let known = self.provider.session_data(&self.browser).await;
        let known =
            known.unwrap_or_else(|| panic!("{} {} {}", page.url, page.body, self.provider.log()));
        assert_eq!(known["issuer"], self.host.issuer(), "{known}");
        known
    }

    /// Runs all interactions, from sign-in to logout on both sides. Returns the service provider's data about the user.
    pub(super) async fn full_flow(&self, parameters: &[(&str, &str)]) -> Value {
        let (known, requested) = self.signs_in(parameters).await;
        assert_eq!(requested, 1);
        assert_eq!(
            known["attributes"]["department"],
            json!(DEPARTMENTS),
            "{known}"
        );
        // Her session at Assent is sufficient now.
        let (again, requested) = self.signs_in(parameters).await;
        assert_eq!(requested, 0);
        assert_eq!(again["format"], known["format"]);
        self.signs_out().await;
        self.signs_out_at_assent().await;
        known
    }

    /// Sends a request with these parameters. The server rejects it, and the service provider receives this status.
    pub(super) async fn is_refused(&self, parameters: &[(&str, &str)], words: &[&str]) {
        let Arrival { page, requested } = self.visits(&self.provider.login(parameters)).await;
        assert_eq!(requested, 0);
        self.was_refused(&page, words).await;
    }

    /// Denies the request on the device. The service provider receives the denial.
    pub(super) async fn is_denied(&self) {
        let page = self
            .browser
            .get(&self.provider.login(&[("force", "yes")]))
            .await;
        let Arrival { page, requested } = arrive(&self.ada, page, Decision::Deny).await;
        assert_eq!(requested, 1);
        self.was_refused(&page, &["Responder", "AuthnFailed"]).await;
    }

    async fn was_refused(&self, page: &Page, words: &[&str]) {
        let refusal = self.provider.refusal(page);
        for word in words {
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
    }

    /// Signs the user out at the service provider, which also ends the session at Assent.
    pub(super) async fn signs_out(&self) {
        let Arrival { page, .. } = self.visits(&self.provider.logout(&[])).await;
        assert!(
            self.provider.signed_out(&page),
            "{} {} {}",
            page.url,
            page.body,
            self.provider.log()
        );
        assert_eq!(self.provider.session_data(&self.browser).await, None);
        let (_, requested) = self.signs_in(&[]).await;
        assert_eq!(requested, 1, "the session of Assent continued");
    }

    /// Signs the user out at Assent, which notifies the service provider.
    pub(super) async fn signs_out_at_assent(&self) {
        let page = self.browser.get("/").await.submit("/sign-out", &[]).await;
        self.is_signed_out_by(page).await;
    }

    /// Follows the pages from this one on. They must end the session at the service provider.
    pub(super) async fn is_signed_out_by(&self, page: Page) {
        let Arrival { page, .. } = self.arrives(page).await;
        assert_eq!(page.status, StatusCode::OK, "{} {}", page.url, page.body);
        assert_eq!(
            self.provider.session_data(&self.browser).await,
            None,
            "{}",
            self.provider.log()
        );
    }

    /// Completes this page and the following ones as Ada.
    pub(super) async fn arrives(&self, page: Page) -> Arrival {
        arrive(&self.ada, page, Decision::Approve).await
    }
}

/// Two values of one attribute, with characters that XML must escape.
const DEPARTMENTS: [&str; 2] = ["Engines", "Analysis & <Co>"];

/// Starts a service provider, registers it, and gives Ada an account. Returns it with the id of its application.
async fn join(
    host: &TestHost,
    ada: &TestUser,
    software: Software,
    options: HostOptions,
) -> (ServiceProvider, String) {
    let mut provider = ServiceProvider::start(software, options.signs).await;
    let application = register(host, &provider, options).await;
    let known = Application {
        id: application.clone(),
        secret: None,
        redirect_uri: String::new(),
    };
    host.account(&ada.user, &known).await;
    trust(host, &mut provider, &application).await;
    (provider, application)
}

async fn trust(host: &TestHost, provider: &mut ServiceProvider, application: &str) {
    let published = Browser::new(&host.base)
        .get(&format!("/sso/metadata/{application}"))
        .await;
    assert_eq!(published.status, StatusCode::OK, "{}", published.body);
    provider.trust(&published.url, &published.body).await;
}

/// Registers the service provider as an application. Returns its id.
async fn register(host: &TestHost, provider: &ServiceProvider, options: HostOptions) -> String {
    let mut body = match options.registered {
        Registered::FromMetadata => json!({"metadata": provider.metadata}),
        Registered::ByHand => provider.registration(),
    };
    if options.registered == Registered::ByHand {
        body["require_signed_requests"] = options.signs.into();
    }
    let own = json!({
        "protocol": "saml",
        "name": "Books & <Co>",
        "custom_attributes": [{"name": "department", "values": DEPARTMENTS}],
    });
    for settings in [own, options.settings] {
        merge(&mut body, settings);
    }
    id(&host.admin_ok(Method::POST, "/applications", body).await).to_owned()
}
