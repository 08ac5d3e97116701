//! Zabbix from Debian's package.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::Recipe;
use super::frontend::Frontend;
use crate::clients;
use crate::harness::{Browser, Page, TestHost, TestUser, after, id};
use crate::programs::html::tags;
use crate::programs::{Decision, arrive};
use crate::saml::service_provider::{escaped, instant, query};

/// The name of Ada's account in Zabbix, which is not her user name.
const ACCOUNT: &str = "ada.lovelace";

/// A page that shows the signed-in user.
const PROFILE: &str = "zabbix.php?action=userprofile.edit";

/// Ada, with an account in a Zabbix that its recipe configured.
struct Journey {
    host: TestHost,
    ada: TestUser,
    browser: Browser,
    zabbix: Frontend,
}

impl Journey {
    async fn new() -> Self {
        let host = clients::host("allow_insecure_redirect_uris = true").await;
        let ada = host.ada().await;
        let zabbix = Frontend::start().await;
        let recipe = Recipe::connect(&host, "zabbix", json!({"url": zabbix.base()})).await;
        let path = format!("/applications/{}/accounts", recipe.application);
        let account = json!({"user_id": id(&ada.user), "name": ACCOUNT});
        host.admin_ok(Method::POST, &path, account).await;
        zabbix.set_up(&recipe, &Browser::new(&host.base)).await;
        zabbix.create_user(ACCOUNT, "Ada", "Lovelace").await;
        let browser = Browser::new(&host.base);
        Self {
            host,
            ada,
            browser,
            zabbix,
        }
    }

    /// Opens her profile and signs in on the way. Returns the number of approval requests.
    async fn signs_in(&self) -> usize {
        let page = format!("index.php?request={}", escaped(PROFILE));
        let login = self.zabbix.address(&page);
        let page = self.browser.get(&login).await;
        let link = sign_in_link(&page);
        let page = self.browser.get(&self.zabbix.address(&link)).await;
        let started = page.location();
        assert!(started.as_str().starts_with(&self.host.base), "{started}");
        let arrival = arrive(&self.ada, page, Decision::Approve).await;
        let page = arrival.page;
        assert_eq!(page.url, self.zabbix.address(PROFILE), "{}", page.body);
        let user = format!("title=\"{ACCOUNT} (Ada Lovelace)\"");
        assert!(page.body.contains(&user), "{}", page.body);
        arrival.requested
    }

    /// Visits another site that sends her browser to Zabbix, with an unsigned LogoutRequest.
    async fn visits_forged_logout(&self) {
        let request = format!(
            r#"<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
    xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_forged" Version="2.0" IssueInstant="{}">
  <saml:Issuer>{}</saml:Issuer>
  <saml:NameID>{ACCOUNT}</saml:NameID>
</samlp:LogoutRequest>"#,
            instant(&self.host, 0),
            self.host.issuer(),
        );
        let page = format!("index_sso.php?sls&{}", query("SAMLRequest", &request, None));
        self.browser.get(&self.zabbix.address(&page)).await;
    }

    /// Returns whether she has a session in Zabbix.
    async fn is_signed_in(&self) -> bool {
        let page = self.browser.get(&self.zabbix.address(PROFILE)).await;
        let knows = page.body.contains(ACCOUNT);
        assert!(knows || page.body.contains("You are not logged in"));
        knows
    }
}

/// Returns the target of the login page's link to single sign-on.
fn sign_in_link(page: &Page) -> String {
    let text = ">Sign in with Single Sign-On (SAML)</a>";
    let rest = after(&page.body, text);
    let before = &page.body[..page.body.len() - rest.len()];
    let element = before.rfind("<a ").expect("the link's start tag");
    tags(&before[element..], "a")[0]["href"].clone()
}

#[tokio::test]
async fn zabbix_set_up_by_its_recipe_signs_a_user_in_and_out() {
    let journey = Journey::new().await;
    assert_eq!(journey.signs_in().await, 1);
    assert!(journey.is_signed_in().await);
    journey.visits_forged_logout().await;
    assert!(journey.is_signed_in().await, "a forged request signed out");

    // She signs out at Zabbix, which also ends her session at Assent.
    let page = journey
        .browser
        .post(&journey.zabbix.address("index.php?reconnect=1"), &[])
        .await;
    let page = arrive(&journey.ada, page, Decision::Approve).await.page;
    assert_eq!(
        page.url,
        journey.zabbix.address("index.php"),
        "{}",
        page.body
    );
    assert!(!journey.is_signed_in().await);
    assert_eq!(
        journey.signs_in().await,
        1,
        "the session of Assent continued"
    );

    // She signs out at Assent, which notifies Zabbix.
    let page = journey
        .browser
        .get("/")
        .await
        .submit("/sign-out", &[])
        .await;
    let page = arrive(&journey.ada, page, Decision::Approve).await.page;
    assert_eq!(page.status, StatusCode::OK, "{} {}", page.url, page.body);
    assert!(!journey.is_signed_in().await);
}
