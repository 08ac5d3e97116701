//! All interactions of a relying party with a provider.

use reqwest::Method;
use serde_json::{Value, json};

use super::complete_sign_in;
use super::registration::{Authentication, Listener, Registration, register};
use super::relying_party::{Library, RelyingParty};
use crate::harness::{
    Application, Browser, Page, TestHost, TestUser, Text, jwt_header, parse_json,
};

/// A user with a browser, and a relying party.
pub(super) struct Journey {
    pub(super) host: TestHost,
    pub(super) ada: TestUser,
    pub(super) browser: Browser,
    pub(super) relying_party: RelyingParty,
    registration: Registration,
    _listener: Option<Listener>,
}

impl Journey {
    /// Prepares the flow. No user is signed in yet.
    pub(super) async fn new(
        library: Library,
        authentication: Authentication,
        settings: Value,
    ) -> Self {
        Self::protected(library, authentication, settings, &[]).await
    }

    /// Prepares the flow with protections of requests and tokens: `par`, `dpop` and `jarm`.
    pub(super) async fn protected(
        library: Library,
        authentication: Authentication,
        settings: Value,
        protection: &[&str],
    ) -> Self {
        let listener = (authentication == Authentication::TlsCertificate).then(Listener::new);
        let host = super::host(listener.as_ref().map_or("", |listener| &listener.settings)).await;
        let ada = host.ada().await;
        let mut registration = register(&host, authentication, settings).await;
        registration.returned["protection"] = json!(protection);
        if let Some(listener) = &listener {
            registration.returned["trusted_file"] = json!(listener.certificate_file());
        }
        let application = Application {
            id: registration.id.clone(),
            secret: registration.secret.clone(),
            redirect_uri: registration.returned["redirect_uri"].text().to_owned(),
        };
        host.account(&ada.user, &application).await;
        let relying_party = RelyingParty::start(library, &registration).await;
        let browser = Browser::new(&host.base);
        Self {
            host,
            ada,
            browser,
            relying_party,
            registration,
            _listener: listener,
        }
    }

    /// Sends the browser to the provider with these parameters, and completes the provider's pages as Ada.
    pub(super) async fn visit(&mut self, parameters: Value) -> Page {
        let started = self
            .relying_party
            .call("authorize", json!({"parameters": parameters}))
            .await;
        let page = self.browser.get(started["url"].text()).await;
        complete_sign_in(&self.ada, page).await
    }

    /// Signs Ada in. Returns the data that the application received.
    pub(super) async fn sign_in(&mut self, parameters: Value) -> Value {
        let back = self.visit(parameters).await;
        match self.is_protected_by("jarm") {
            true => assert!(!back.parameter("response").is_empty()),
            false => assert_eq!(back.parameter("iss"), self.host.issuer()),
        }
        let known = self
            .relying_party
            .call("sign_in", json!({"url": back.location().as_str()}))
            .await;
        self.knows_ada(&known);
        let expected = match self.is_protected_by("dpop") {
            true => "dpop",
            false => "bearer",
        };
        assert_eq!(
            known["tokens"]["token_type"].text().to_lowercase(),
            expected
        );
        assert_eq!(known["tokens"]["expires_in"], 3600);
        known
    }

    fn is_protected_by(&self, name: &str) -> bool {
        let protection = self.registration.returned["protection"].as_array();
        protection.is_some_and(|all| all.contains(&json!(name)))
    }

    /// Rotates the application's secret. The relying party does not receive the new one.
    pub(super) async fn new_secret(&self) {
        let path = format!("/applications/{}/secret/rotate", self.registration.id);
        self.host.admin_ok(Method::POST, &path, Value::Null).await;
    }

    fn knows_ada(&self, known: &Value) {
        let id_token = known["tokens"]["id_token"].text();
        assert_eq!(
            header(id_token)["alg"],
            self.registration.returned["id_token_alg"]
        );
        let (claims, userinfo) = (&known["claims"], &known["userinfo"]);
        assert_eq!(claims["iss"], self.host.issuer());
        assert_eq!(claims["aud"], self.registration.id);
        assert_eq!(claims["sub"], self.ada.user["sub"]);
        assert_eq!(claims["amr"], json!(["swk", "user"]));
        assert_eq!(userinfo["name"], "Ada Lovelace");
        assert_eq!(userinfo["email"], "ada@example.org");
        let account: Value = parse_json(userinfo["account"].text());
        assert_eq!(account["roles"], json!(["reader", "editor"]));
    }

    /// Refreshes the tokens, and checks that they are for the same user and the same sign-in.
    pub(super) async fn refresh(&mut self, before: &Value) -> Value {
        let after = self.relying_party.call("refresh", json!({})).await;
        self.knows_ada(&after);
        for claim in ["sub", "auth_time", "sid"] {
            assert_eq!(after["claims"][claim], before["claims"][claim], "{claim}");
        }
        for token in ["access_token", "refresh_token"] {
            assert!(after["tokens"][token].is_string(), "{after}");
            assert_ne!(after["tokens"][token], before["tokens"][token], "{token}");
        }
        after
    }

    /// Introspects the access token, revokes the refresh token, and introspects the access token again.
    pub(super) async fn introspect_and_revoke(&mut self, scope: &str) {
        let returned = self.relying_party.call("introspect", json!({})).await;
        assert_eq!(
            (&returned["active"], &returned["client_id"]),
            (&json!(true), &json!(self.registration.id)),
            "{returned}"
        );
        assert_eq!(
            (&returned["sub"], &returned["scope"]),
            (&self.ada.user["sub"], &json!(scope)),
            "{returned}"
        );
        // A token that was issued to the holder of a certificate is bound to it (RFC 8705 section 3).
        let by_dpop = self.is_protected_by("dpop");
        let by_certificate =
            self.registration.returned["method"] == Authentication::TlsCertificate.as_str();
        assert_eq!(returned["cnf"]["jkt"].is_string(), by_dpop, "{returned}");
        assert_eq!(
            returned["cnf"]["x5t#S256"].is_string(),
            by_certificate && !by_dpop,
            "{returned}"
        );
        self.relying_party.call("revoke", json!({})).await;
        // The revocation of the refresh token also revoked the access token.
        assert_eq!(
            self.relying_party.call("introspect", json!({})).await,
            json!({"active": false})
        );
    }

    /// Signs the user out at the application, which redirects to the provider and back.
    pub(super) async fn sign_out(&mut self) {
        let signed_out = self.registration.returned["signed_out_uri"].clone();
        let parameters = json!({"post_logout_redirect_uri": signed_out, "state": "signed & out"});
        let started = self
            .relying_party
            .call("end_session", json!({"parameters": parameters}))
            .await;
        let page = self.browser.get(started["url"].text()).await;
        let back = page.location();
        assert_eq!(
            back.as_str().split('?').next(),
            signed_out.as_str(),
            "{} {}",
            page.status,
            page.body
        );
        assert_eq!(page.parameter("state"), "signed & out");

        let page = self
            .visit(json!({"scope": "openid", "prompt": "none"}))
            .await;
        let refused = self
            .relying_party
            .attempt("sign_in", json!({"url": page.location().as_str()}))
            .await;
        assert_eq!(refused["error"], "login_required", "{refused}");
    }
}

/// Returns the header of a JWT.
fn header(token: &str) -> Value {
    jwt_header(token)
}

/// Runs all interactions, from discovery to logout.
pub(super) async fn full_flow(library: Library, authentication: Authentication) {
    full_flow_with(library, authentication, json!({})).await;
}

/// Runs all interactions with further settings of the application.
pub(super) async fn full_flow_with(
    library: Library,
    authentication: Authentication,
    settings: Value,
) {
    full_protected_flow(library, authentication, settings, &[]).await;
}

/// Runs all interactions with protections of requests and tokens.
pub(super) async fn full_protected_flow(
    library: Library,
    authentication: Authentication,
    settings: Value,
    protection: &[&str],
) {
    let scope = "openid profile email offline_access";
    let mut journey = Journey::protected(library, authentication, settings, protection).await;
    let known = journey
        .sign_in(json!({"scope": scope, "prompt": "consent"}))
        .await;
    journey.refresh(&known).await;
    journey.introspect_and_revoke(scope).await;
    journey.sign_out().await;
}

/// The application requests a token for itself, without a user.
pub(super) async fn as_itself(library: Library, authentication: Authentication) {
    let mut journey = Journey::new(library, authentication, json!({})).await;
    let answer = journey
        .relying_party
        .call("client_credentials", json!({}))
        .await;
    assert_eq!(answer["tokens"]["expires_in"], 600, "{answer}");
    assert!(
        answer["tokens"].get("refresh_token").is_none()
            && answer["tokens"].get("id_token").is_none(),
        "{answer}"
    );
    let returned = journey.relying_party.call("introspect", json!({})).await;
    assert_eq!(
        (&returned["active"], &returned["client_id"]),
        (&json!(true), &json!(journey.registration.id)),
        "{returned}"
    );
}
