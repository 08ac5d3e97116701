//! Logout at the request of an application.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::tokens::{code, is_active};
use super::{Attempt, Cluster, PATIENCE, SignIn, answered};
use crate::harness::{Application, Browser, Text};

const AFTER: &str = "https://rp.example/signed-out";

/// The logout of one session.
pub struct Logout {
    browser: Browser,
    application: Application,
    request: String,
    access_token: String,
    is_done: bool,
}

impl Logout {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let user = cluster.ada_named(name).await;
        let path = format!("/applications/{}", user.application.id);
        let uris = json!({"post_logout_redirect_uris": [AFTER]});
        cluster.admin_ok(Method::PATCH, &path, uris).await;
        let mut sign_in = SignIn::new(&user, Browser::new(&cluster.base), &[]);
        let code = code(cluster, &mut sign_in).await;
        let (status, tokens) = user.application.exchange(&cluster.base, &code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("id_token_hint", tokens["id_token"].text())
            .append_pair("post_logout_redirect_uri", AFTER)
            .finish();
        Self {
            browser: sign_in.browser,
            application: user.application,
            request: format!("/oidc/session/end?{query}"),
            access_token: tokens["access_token"].text().to_owned(),
            is_done: false,
        }
    }

    /// Sends the logout request, unless an earlier one was answered.
    ///
    /// # Errors
    /// Returns an error if no answer arrives.
    pub async fn attempt(&mut self) -> Attempt<()> {
        if !self.is_done {
            let page = answered(self.browser.try_get(&self.request, PATIENCE).await?)?;
            assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.body);
            assert!(
                page.location().as_str().starts_with(AFTER),
                "{}",
                page.location()
            );
            self.is_done = true;
        }
        Ok(())
    }

    /// Asserts that the session has ended, and that its tokens are revoked.
    pub async fn check(&self, cluster: &Cluster) {
        assert!(!is_active(&cluster.base, &self.application, &self.access_token).await);
        let silent = self.application.request(&[("prompt", Some("none"))]);
        let page = self.browser.get(&silent).await;
        assert_eq!(page.parameter("error"), "login_required");
    }
}
