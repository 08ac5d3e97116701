//! The applications and the signed-in users of a measured server, and the requests that they send.

use std::cell::RefCell;
use std::time::Duration;

use assent_tests::harness::{Admin, Application, Browser, VERIFIER};
use reqwest::Method;
use serde_json::{Value, json};

use super::flows::{SamlSignOn, SessionSignIn};
use super::load::{self, Drive, Exchanging, Load, Refreshing, Requests, Same};
use super::proofs::Prover;
use super::server::Server;
use super::subject::Subject;

/// The most connections that each send one request after the other.
pub const CONNECTIONS: usize = 64;
/// The duration of one measurement.
pub const LENGTH: Duration = Duration::from_millis(1500);
/// The number of exchanged codes in one round.
pub const CODES: usize = 1000;
/// The signed-in users, one for each connection, because two browsers have no common session.
const PEOPLE: usize = CONNECTIONS;

/// The entity ID of the SAML service provider.
const SP: &str = "https://sp.example/saml";

/// Returns a caller of this request for each connection.
pub fn same(request: &str) -> Vec<Same> {
    vec![Same(request.into()); CONNECTIONS]
}

/// The signed-in users, and the application that they signed in to.
pub struct Setup {
    pub address: std::net::SocketAddr,
    pub application: Application,
    service_provider: Value,
    browsers: Vec<Browser>,
    /// The CPU time of the server's core for one sign-in with the phone, one at a time.
    pub phone_sign_in_cpu: Duration,
    cookies: Vec<String>,
    /// One token for each connection.
    access_tokens: Vec<String>,
    /// One token for each connection.
    refresh_tokens: RefCell<Vec<String>>,
}

impl Setup {
    pub async fn prepare(server: &Server, folder: &std::path::Path) -> Self {
        let admin = Admin {
            base: server.base.clone(),
            token: server.admin_token(folder).await,
        };
        let application = admin.web_application().await;
        let service_provider = admin
            .admin_ok(
                Method::POST,
                "/applications",
                json!({
                    "protocol": "saml",
                    "name": "Engines",
                    "entity_id": SP,
                    "acs": [{"url": "https://sp.example/acs"}],
                }),
            )
            .await;
        let engines = Application {
            id: service_provider["id"].as_str().expect("an id").to_owned(),
            secret: None,
            redirect_uri: String::new(),
        };
        let mut users = Vec::new();
        for number in 0..PEOPLE {
            let user = admin
                .user_with_account(&format!("person{number}"), application.clone())
                .await;
            admin.account(&user.user, &engines).await;
            users.push((user, Browser::new(&server.base)));
        }
        let before = server.cpu();
        for (user, browser) in &users {
            user.sign_in(browser).await;
        }
        let phone_sign_in_cpu = (server.cpu() - before) / u32::try_from(PEOPLE).expect("few");
        let mut setup = Self {
            address: server.address,
            application,
            service_provider,
            cookies: users
                .iter()
                .map(|(_, browser)| browser.cookie_header())
                .collect(),
            phone_sign_in_cpu,
            browsers: users.into_iter().map(|(_, browser)| browser).collect(),
            access_tokens: Vec::new(),
            refresh_tokens: RefCell::default(),
        };
        setup.renew_tokens(server).await;
        setup
    }

    /// Replaces the tokens by new ones, because access tokens expire after some minutes.
    pub async fn renew_tokens(&mut self, server: &Server) {
        self.access_tokens.clear();
        self.refresh_tokens.borrow_mut().clear();
        for browser in self.browsers.iter().cycle().take(CONNECTIONS) {
            let tokens = tokens(&self.application, browser, &server.base).await;
            let token = |name: &str| tokens[name].as_str().expect("a token").to_owned();
            self.access_tokens.push(token("access_token"));
            self.refresh_tokens
                .borrow_mut()
                .push(token("refresh_token"));
        }
    }

    pub async fn drive(&self, server: &Server, subject: Subject, connections: usize) -> Load {
        let drive = Drive {
            address: server.address,
            cpu: &|| server.cpu(),
            connections,
        };
        match subject {
            Subject::CodeExchange => {
                let requests = Requests::new(self.exchanges(CODES, None).await);
                drive
                    .run(vec![requests; CONNECTIONS], Duration::MAX)
                    .await
                    .0
            }
            Subject::SessionSignIn => self.sign_ins_by(&drive).await,
            Subject::SamlSignOn => {
                let id = self.service_provider["id"].as_str().expect("an id");
                let callers = self.cookies().map(|cookies| SamlSignOn {
                    address: self.address,
                    cookies: cookies.to_owned(),
                    path: format!("/sso/SingleSignOnService/{id}"),
                    issuer: SP.to_owned(),
                    next: None,
                });
                drive.run(callers.collect(), LENGTH).await.0
            }
            Subject::SamlMetadata => {
                let id = self.service_provider["id"].as_str().expect("an id");
                let request = self.get(&format!("/sso/metadata/{id}"));
                drive.run(same(&request), LENGTH).await.0
            }
            Subject::Discovery => {
                let request = self.get("/oidc/.well-known/openid-configuration");
                drive.run(same(&request), LENGTH).await.0
            }
            Subject::KeySet => drive.run(same(&self.get("/oidc/jwks")), LENGTH).await.0,
            Subject::Refresh => {
                let (load, refreshed) = drive.run(self.refreshing(), LENGTH).await;
                self.store_refreshed(refreshed);
                load
            }
            Subject::Introspection => {
                let post = self.post("/oidc/token/introspection");
                let requests = self
                    .access_tokens
                    .iter()
                    .map(|token| Same(post.with(&format!("token={token}")).into()));
                drive.run(requests.collect(), LENGTH).await.0
            }
            Subject::UserInfo => {
                let requests = self.access_tokens.iter();
                let requests = requests.map(|token| Same(self.user_info(token).into()));
                drive.run(requests.collect(), LENGTH).await.0
            }
            Subject::FirstUserInfo => {
                let tokens = self.exchanged_tokens(&drive, CODES, None).await;
                let requests = tokens.iter().map(|token| self.user_info(token)).collect();
                let requests = vec![Requests::new(requests); CONNECTIONS];
                drive.run(requests, Duration::MAX).await.0
            }
            Subject::ClientCredentials => {
                drive.run(same(&self.client_credentials()), LENGTH).await.0
            }
        }
    }

    /// Measures sign-ins with a session at this instance.
    pub async fn sign_ins(&self, server: &Server) -> Load {
        self.drive(server, Subject::SessionSignIn, CONNECTIONS)
            .await
    }

    async fn sign_ins_by(&self, drive: &Drive<'_>) -> Load {
        let request = self.application.request(&[]);
        let callers = self
            .cookies()
            .map(|cookies| self.sign_in(load::get(self.address, &request, cookies)));
        drive.run(callers.collect(), LENGTH).await.0
    }

    /// Returns a sign-in by this authorization request.
    pub fn sign_in(&self, request: String) -> SessionSignIn {
        SessionSignIn {
            request: request.into(),
            post: self.post("/oidc/token"),
            redirect_uri: self.application.redirect_uri.clone(),
            code: None,
        }
    }

    /// Takes the refresh tokens, and returns a caller for each of them.
    pub fn refreshing(&self) -> Vec<Refreshing> {
        let tokens = self.refresh_tokens.take().into_iter();
        let refreshing = tokens.map(|token| Refreshing {
            token,
            post: self.post("/oidc/token"),
        });
        refreshing.collect()
    }

    /// Stores the refresh tokens of these callers for the next measurement.
    pub fn store_refreshed(&self, refreshed: Vec<Refreshing>) {
        let tokens = refreshed.into_iter().map(|refreshing| refreshing.token);
        self.refresh_tokens.replace(tokens.collect());
    }

    /// Returns the access tokens of new codes. They are bound to the key of the prover, if there is one.
    pub async fn exchanged_tokens(
        &self,
        drive: &Drive<'_>,
        count: usize,
        prover: Option<&Prover>,
    ) -> Vec<String> {
        let requests = Requests::new(self.exchanges(count, prover).await);
        let exchanging = vec![Exchanging::new(requests); CONNECTIONS];
        let (_, exchanged) = drive.run(exchanging, Duration::MAX).await;
        let tokens = exchanged.into_iter().map(|exchanging| exchanging.tokens);
        tokens.flatten().collect()
    }

    fn user_info(&self, token: &str) -> String {
        let head = format!("GET /oidc/me HTTP/1.1\r\nHost: {}", self.address);
        format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n")
    }

    pub fn client_credentials(&self) -> String {
        self.post("/oidc/token")
            .with("grant_type=client_credentials")
    }

    pub fn get(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)
    }

    /// Returns the cookies of a signed-in browser for each connection.
    pub fn cookies(&self) -> impl Iterator<Item = &str> {
        self.cookies
            .iter()
            .map(String::as_str)
            .cycle()
            .take(CONNECTIONS)
    }

    pub fn post(&self, path: &str) -> load::Post {
        let secret = self.application.secret.as_deref().expect("a secret");
        load::Post::new(self.address, path, &self.application.id, secret)
    }

    /// Returns requests that exchange new codes, with proofs if there is a prover. The sessions return these codes
    /// without a prompt.
    pub async fn exchanges(&self, count: usize, prover: Option<&Prover>) -> Vec<String> {
        let request = self.application.request(&[("prompt", Some("none"))]);
        let post = self.post("/oidc/token");
        let redirect =
            url::form_urlencoded::byte_serialize(self.application.redirect_uri.as_bytes());
        let redirect: String = redirect.collect();
        let mut requests = Vec::with_capacity(count);
        while requests.len() < count {
            let pages = futures_util::future::join_all(
                self.browsers.iter().map(|browser| browser.get(&request)),
            )
            .await;
            requests.extend(pages.iter().map(|page| {
                let code = page.parameter("code");
                let form = format!(
                    "grant_type=authorization_code&code={code}&redirect_uri={redirect}&code_verifier={VERIFIER}"
                );
                let proof = prover.map(|prover| prover.header("POST", "/oidc/token", None));
                post.with_header(&proof.unwrap_or_default(), &form)
            }));
        }
        requests
    }
}

/// Returns the tokens of a new token family, with a refresh token.
async fn tokens(application: &Application, browser: &Browser, base: &str) -> Value {
    let changes = [
        ("scope", Some("openid profile email offline_access")),
        ("prompt", Some("consent")),
    ];
    let requested = browser
        .get(&application.request(&changes))
        .await
        .followed()
        .await;
    let code = requested.decide("allow").await.parameter("code");
    let (status, answer) = application.exchange(base, &code, &[]).await;
    assert!(status.is_success(), "{answer}");
    answer
}
