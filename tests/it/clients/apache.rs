//! A web server that protects its pages with Debian's `mod_auth_openidc`.

use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::complete_sign_in;
use super::registration::{Authentication, Registration, register};
use crate::harness::{
    Application, Body, Browser, PATIENCE, Page, Respond, TestHost, TestUser, Text, http_client,
};
use crate::programs::{self, write_page};

/// The settings of an instance that accepts applications at plain `http` on loopback, and sends requests to them.
const HOST: &str = "allow_insecure_redirect_uris = true\n[egress]\nallow_private_addresses = true";

/// The content of the private page: the user's name, which the module passes to the server.
const PRIVATE_PAGE: &str = "Hello <!--#echo var=\"OIDC_CLAIM_name\" -->\n";

/// A running Apache that admits users of the provider.
struct Apache {
    server: programs::Apache,
    registration: Registration,
}

impl Apache {
    /// Starts Apache as an application of this instance. Its URL is plain `http` on loopback, so the instance must
    /// allow insecure redirect URIs.
    async fn start(host: &TestHost, authentication: Authentication, directives: &str) -> Self {
        let mut registered = None;
        let server = programs::Apache::start("auth_openidc", async |base, folder| {
            let registration = register(host, authentication, settings(base, authentication)).await;
            write_page(folder, "private", PRIVATE_PAGE);
            write_page(folder, "api", "Served\n");
            write_page(folder, "", "Signed out\n");
            let application = configuration(host, base, &registration, folder);
            registered = Some(registration);
            format!("{application}\n{directives}")
        });
        let server = server.await;
        Self {
            server,
            registration: registered.expect("an application"),
        }
    }

    fn private(&self) -> String {
        format!("{}/private/", self.base)
    }

    fn callback(&self, query: &str) -> String {
        format!("{}/private/callback?{query}", self.base)
    }

    /// Returns the data of this browser's session in the module.
    async fn session_data(&self, browser: &Browser) -> Value {
        let page = browser.get(&self.callback("info=json")).await;
        serde_json::from_str(&page.body)
            .unwrap_or_else(|_| panic!("{} {}: {}", page.status, page.body, self.log()))
    }
}

impl Deref for Apache {
    type Target = programs::Apache;

    fn deref(&self) -> &programs::Apache {
        &self.server
    }
}

fn settings(base: &str, authentication: Authentication) -> Value {
    let callback = format!("{base}/private/callback");
    let mut settings = json!({
        "redirect_uris": [callback],
        "post_logout_redirect_uris": [format!("{base}/")],
        "backchannel_logout_uri": format!("{callback}?logout=backchannel"),
        "backchannel_logout_session_required": true,
    });
    if authentication == Authentication::None {
        settings["application_type"] = "spa".into();
    }
    // This version of the module names the token endpoint as the audience of its assertions.
    if authentication.as_str().ends_with("_jwt") {
        settings["lenient_assertion_audience"] = true.into();
    }
    settings
}

fn configuration(
    host: &TestHost,
    base: &str,
    registration: &Registration,
    folder: &Path,
) -> String {
    let method = registration.returned["method"].text();
    let proof = match &registration.secret {
        Some(secret) => format!("OIDCClientSecret {secret}\nOIDCOAuthClientSecret {secret}"),
        None if method == "private_key_jwt" => {
            let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| {
                let own = folder.join(name);
                fs::copy(registration.folder.join(name), &own).expect("copied");
                own
            });
            // Without the public key, this module crashes.
            format!(
                "OIDCPrivateKeyFiles {}\nOIDCPublicKeyFiles {}",
                key.display(),
                certificate.display()
            )
        }
        None => String::new(),
    };
    format!(
        r#"
OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {id}
{proof}
OIDCProviderTokenEndpointAuth {method}
OIDCPKCEMethod S256
OIDCRedirectURI {base}/private/callback
OIDCCryptoPassphrase only-for-this-test
OIDCInfoHook access_token id_token userinfo refresh_token
OIDCProviderBackChannelLogoutSupported On
OIDCOAuthServerMetadataURL {issuer}/.well-known/openid-configuration
OIDCOAuthClientID {id}
OIDCOAuthRemoteUserClaim client_id
<Location /private>
  AuthType openid-connect
  Require valid-user
</Location>
"#,
        issuer = host.issuer(),
        id = registration.id,
    )
}

/// Starts an instance that allows insecure redirect URIs, and an Apache that protects private pages. Ada may see them.
async fn served(authentication: Authentication, directives: &str) -> (TestHost, Apache, TestUser) {
    let host = super::host(HOST).await;
    let ada = host.ada().await;
    let apache = Apache::start(&host, authentication, directives).await;
    let application = Application {
        id: apache.registration.id.clone(),
        secret: apache.registration.secret.clone(),
        redirect_uri: apache.callback(""),
    };
    host.account(&ada.user, &application).await;
    (host, apache, ada)
}

/// Ada opens the private page, is redirected to sign in, and returns. Returns the page.
async fn opens_the_private_page(
    host: &TestHost,
    apache: &Apache,
    ada: &TestUser,
    browser: &Browser,
) -> Page {
    let page = browser.get(&apache.private()).await;
    assert!(
        page.location().as_str().starts_with(&host.issuer()),
        "{}",
        apache.log()
    );
    let back = complete_sign_in(ada, page.opened().await).await;
    let page = back.opened().await;
    assert!(
        page.status.is_redirection(),
        "{} {}: {}",
        page.status,
        page.body,
        apache.log()
    );
    let page = page.opened().await;
    assert_eq!(
        (page.status, page.body.trim()),
        (StatusCode::OK, "Hello Ada Lovelace"),
        "{}",
        apache.log()
    );
    page
}

const ONLINE: &str = "OIDCScope \"openid profile email\"";
/// The scopes of an Apache that refreshes its session.
const OFFLINE: &str =
    "OIDCScope \"openid profile email offline_access\"\nOIDCAuthRequestParams prompt=consent";

async fn signs_in(authentication: Authentication) {
    let (host, apache, ada) = served(authentication, ONLINE).await;
    let browser = Browser::new(&host.base);
    opens_the_private_page(&host, &apache, &ada, &browser).await;
    let known = apache.session_data(&browser).await;
    assert_eq!(known["userinfo"]["email"], "ada@example.org", "{known}");
    assert_eq!(known["id_token"]["aud"], apache.registration.id, "{known}");
}

#[tokio::test]
async fn apache_with_client_secret_basic() {
    signs_in(Authentication::SecretBasic).await;
}

#[tokio::test]
async fn apache_with_client_secret_post() {
    signs_in(Authentication::SecretPost).await;
}

#[tokio::test]
async fn apache_with_client_secret_jwt() {
    signs_in(Authentication::SecretJwt).await;
}

#[tokio::test]
async fn apache_with_private_key_jwt_of_a_registered_certificate() {
    signs_in(Authentication::PrivateKeyCertificate).await;
}

#[tokio::test]
async fn apache_with_none() {
    signs_in(Authentication::None).await;
}

#[tokio::test]
async fn apache_receives_its_response_by_form_post() {
    let (host, apache, ada) = served(
        Authentication::SecretBasic,
        &format!("{ONLINE}\nOIDCResponseMode form_post"),
    )
    .await;
    let browser = Browser::new(&host.base);
    let page = browser.get(&apache.private()).await;
    let page = complete_sign_in(&ada, page.opened().await).await;
    let (action, form) = page.form();
    let fields: Vec<(String, String)> = url::form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect();
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let page = browser.post(&action, &fields).await.opened().await;
    assert_eq!(page.body.trim(), "Hello Ada Lovelace", "{}", apache.log());
}

#[tokio::test]
async fn apache_refreshes_and_signs_out_at_the_provider() {
    let (host, apache, ada) = served(Authentication::SecretBasic, OFFLINE).await;
    let browser = Browser::new(&host.base);
    opens_the_private_page(&host, &apache, &ada, &browser).await;

    let before = apache.session_data(&browser).await;
    let token = before["access_token"].text();
    let back = apache.private();
    let query = encoded(&[("refresh", &back), ("access_token", token)]);
    let page = browser.get(&apache.callback(&query)).await;
    assert_eq!(page.location().as_str(), back, "{}", apache.log());
    let after = apache.session_data(&browser).await;
    for token in ["access_token", "refresh_token"] {
        assert!(
            after[token].is_string() && after[token] != before[token],
            "{token}: {after}"
        );
    }

    let bye = format!("{}/", apache.base);
    let page = browser
        .get(&apache.callback(&encoded(&[("logout", &bye)])))
        .await;
    let page = page.opened().await;
    assert_eq!(
        page.location().as_str(),
        bye,
        "{} {}",
        page.status,
        page.body
    );
    assert_eq!(page.opened().await.body.trim(), "Signed out");
    requests_userinfo(&host, &apache, &browser).await;
}

#[tokio::test]
async fn apache_receives_the_backchannel_logout() {
    let (host, apache, ada) = served(Authentication::SecretBasic, OFFLINE).await;
    let browser = Browser::new(&host.base);
    opens_the_private_page(&host, &apache, &ada, &browser).await;
    let known = apache.session_data(&browser).await;

    // She signs out at the provider itself, in the same browser.
    let page = browser.get("/oidc/session/end").await;
    let answer = [
        ("request", page.field("request")),
        ("answer", "yes".to_owned()),
    ];
    let page = page
        .submit(
            "/session/end",
            &answer
                .each_ref()
                .map(|(name, value)| (*name, value.as_str())),
        )
        .await;
    assert!(
        page.status.is_redirection(),
        "{} {}",
        page.status,
        page.body
    );
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let ended = async {
        while browser.get(&apache.private()).await.status == StatusCode::OK {
            ticks.tick().await;
        }
    };
    let there = || {
        panic!(
            "the session {} still exists: {}",
            known["id_token"]["sid"],
            apache.log()
        )
    };
    tokio::time::timeout(PATIENCE, ended)
        .await
        .unwrap_or_else(|_| there());
    requests_userinfo(&host, &apache, &browser).await;
}

#[tokio::test]
async fn apache_introspects_tokens_of_other_clients() {
    let protected = "<Location /api>\nAuthType oauth20\nRequire claim client_id:";
    let host = super::host(HOST).await;
    let caller = register(&host, Authentication::SecretBasic, json!({})).await;
    let directives = format!("{protected}{}\n</Location>", caller.id);
    let apache = Apache::start(&host, Authentication::SecretBasic, &directives).await;
    let answer = http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&caller.id, caller.secret.as_ref())
        .form(&[("grant_type", "client_credentials")]);
    let tokens: Value = answer.response().await.read_json().await;
    let token = tokens["access_token"].text();
    let status = async |token: &str| {
        let request = http_client()
            .get(format!("{}/api/", apache.base))
            .bearer_auth(token);
        request.response().await.status()
    };
    assert_eq!(status(token).await, StatusCode::OK, "{}", apache.log());
    assert_eq!(
        status("at_nothing").await,
        StatusCode::UNAUTHORIZED,
        "{}",
        apache.log()
    );
}

/// Checks that neither Apache nor the provider has a session of the user.
async fn requests_userinfo(host: &TestHost, apache: &Apache, browser: &Browser) {
    let page = browser.get(&apache.private()).await;
    assert!(
        page.location().as_str().starts_with(&host.issuer()),
        "{}",
        apache.log()
    );
    let page = page.opened().await.opened().await;
    assert!(
        page.body.contains("name=\"name\""),
        "{} {}",
        page.status,
        page.body
    );
}

fn encoded(parameters: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish()
}
