//! Clients with FAPI 2.0: the code of `docs/developers/fapi-clients.md`, with npm's `openid-client` and Java's
//! `oauth2-oidc-sdk`. `make test` runs a part of the combinations with `openid-client`. `scripts/clients` runs all of
//! them with both libraries, also with two instances.

use std::path::PathBuf;
use std::sync::Arc;

use assent::app::serve::RunningServer;
use assent_tests::flows::balancer::Balancer;
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use josekit::jwk::alg::rsa::RsaKeyPair;
use openssl::pkcs12::Pkcs12;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::registration::Listener;
use super::{complete_sign_in, keep_clock};
use crate::harness::tls::{certificate_of, files};
use crate::harness::{
    Application, Browser, Database, EncodedKey, HostOptions, Respond, TestHost, TestUser, Text,
    http_client, id, jwt_header, port_of, read_file, rsa_key, temp_folder, write_file,
};
use crate::programs::Program;

/// The library of a client.
#[derive(Clone, Copy, Debug)]
enum Library {
    /// npm's `openid-client`.
    OpenidClient,
    /// `oauth2-oidc-sdk` of Connect2id, on Java.
    Nimbus,
}

impl Library {
    fn start(self) -> Program {
        match self {
            Self::OpenidClient => Program::node("fapi.mjs"),
            Self::Nimbus => Program::java("Calls"),
        }
    }
}

/// The authentication of a client, the key of its tokens, and the signatures of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Combination {
    authentication: &'static str,
    binding: &'static str,
    messages: &'static str,
}

const AUTHENTICATIONS: [&str; 2] = ["private_key_jwt", "tls_client_certificate"];
const BINDINGS: [&str; 2] = ["dpop", "certificate"];
const MESSAGES: [&str; 3] = ["plain", "signed_request", "signed_response"];

impl Combination {
    /// Returns all combinations.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for authentication in AUTHENTICATIONS {
            for binding in BINDINGS {
                all.extend(MESSAGES.map(|messages| Self {
                    authentication,
                    binding,
                    messages,
                }));
            }
        }
        all
    }

    /// Returns half of the combinations, in which each two values of different kinds meet once at least.
    fn pairs() -> Vec<Self> {
        let mut pairs = Self::all();
        pairs.retain(|it| {
            let are_alike =
                (it.authentication == AUTHENTICATIONS[0]) == (it.binding == BINDINGS[0]);
            are_alike != it.signs_requests()
        });
        pairs
    }

    fn signs_requests(self) -> bool {
        self.messages == "signed_request"
    }

    fn has_key(self) -> bool {
        self.authentication == "private_key_jwt" || self.signs_requests()
    }

    fn has_certificate(self) -> bool {
        self.authentication == "tls_client_certificate" || self.binding == "certificate"
    }

    /// The algorithm of all signatures. Each of the two algorithms occurs with each other value.
    fn algorithm(self) -> &'static str {
        let is_first = self.authentication == AUTHENTICATIONS[0];
        match is_first == (self.messages == "signed_response") {
            true => "ES256",
            false => "PS256",
        }
    }

    /// Returns the settings of an application in the admin API.
    fn settings(self, key: Option<&Value>, certificate: &str) -> Value {
        let mut settings = json!({
            "name": "Payments",
            "application_type": "web",
            "redirect_uris": [REDIRECT_URI],
            "security_profile": if self.signs_requests() { "fapi2-message-signing" } else { "fapi2" },
            "token_endpoint_auth_method": self.authentication,
            "dpop_bound_access_tokens": self.binding == "dpop",
            "tls_client_certificate_bound_access_tokens": self.binding == "certificate",
            "require_pushed_authorization_requests": true,
            "require_pkce": true,
            "require_signed_request_object": self.signs_requests(),
            "id_token_signed_response_alg": self.algorithm(),
        });
        if let Some(key) = key {
            settings["jwks"] = json!({"keys": [key]});
        }
        if self.authentication == "tls_client_certificate" {
            settings["certificate"] = certificate.into();
        }
        settings
    }

    /// Returns a key pair with its public key.
    fn key_pair(self) -> (Value, Value) {
        let (private, public) = match self.algorithm() {
            "ES256" => {
                let pair = EcKeyPair::generate(EcCurve::P256).expect("a key");
                (pair.to_jwk_key_pair(), pair.to_jwk_public_key())
            }
            _ => {
                let key = rsa_key();
                let pair = RsaKeyPair::from_der(key.pkcs8_der()).expect("a key");
                (pair.to_jwk_key_pair(), pair.to_jwk_public_key())
            }
        };
        let named = |mut key: Value| {
            key["kid"] = "first".into();
            key["alg"] = self.algorithm().into();
            key
        };
        (named(json!(private)), named(json!(public)))
    }
}

const REDIRECT_URI: &str = "https://rp.example/callback";
const SCOPE: &str = "openid profile email offline_access";
/// The password of the file with the certificate and its key, which Java needs.
const PASSWORD: &str = "only-for-this-test";

/// One instance, or two behind a load balancer, with a user.
struct Fixture {
    host: TestHost,
    second: Option<RunningServer>,
    /// The URL by which clients and browsers reach the instances.
    base: String,
    ada: TestUser,
    listener: Listener,
    /// The folder with the client certificate.
    folder: TempDir,
}

impl Fixture {
    async fn one() -> Self {
        let listener = Listener::new();
        let host = super::host(&listener.settings).await;
        let base = host.base.clone();
        Self::with(host, None, base, listener).await
    }

    async fn two() -> Self {
        let listener = Listener::new();
        let (main, mtls) = (Balancer::start().await, Balancer::start().await);
        let own = "https://localhost:{mtls_port}";
        let common = format!("https://localhost:{}", mtls.port());
        let settings = listener.settings.replace(own, &common);
        let base = format!("http://localhost:{}", main.port());
        let options = HostOptions {
            database: Database::Postgres,
            settings: &settings,
            base_url: &base,
            ..HostOptions::default()
        };
        let host = TestHost::start_with(options).await;
        let (services, second, second_base) = host.second(options).await;
        main.route_to(vec![port_of(&host.base), port_of(&second_base)]);
        let ports = [&host.host, &services].map(|services| {
            let listener = services.settings.http.mtls_listener();
            listener.expect("a listener").listen.port()
        });
        mtls.route_to(ports.to_vec());
        tokio::spawn(keep_clock(Arc::clone(&host.clock)));
        Self::with(host, Some(second), base, listener).await
    }

    async fn with(
        host: TestHost,
        second: Option<RunningServer>,
        base: String,
        listener: Listener,
    ) -> Self {
        let ada = host.ada().await;
        let folder = temp_folder();
        let (certificate, key) = certificate_of("payments");
        files(folder.path(), &certificate, &key);
        let mut store = Pkcs12::builder();
        store.name("payments").pkey(&key).cert(&certificate);
        let store = store.build2(PASSWORD).expect("a store");
        write_file(
            folder.path().join("store.p12"),
            store.to_der().expect("DER"),
        );
        Self {
            host,
            second,
            base,
            ada,
            listener,
            folder,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Registers an application. Returns its Client ID, and the settings of its client.
    async fn register(&self, combination: Combination) -> (String, Value) {
        let (private, public) = combination.key_pair();
        let certificate = read_file(self.file("certificate.pem"));
        let key = combination.has_key().then_some(&public);
        let settings = combination.settings(key, &certificate);
        let application = self
            .host
            .admin_ok(Method::POST, "/applications", settings)
            .await;
        let application = Application {
            id: id(&application).to_owned(),
            secret: None,
            redirect_uri: REDIRECT_URI.to_owned(),
        };
        self.host.account(&self.ada.user, &application).await;
        let mut settings = json!({
            "issuer": format!("{}/oidc", self.base),
            "clientId": application.id,
            "redirectUri": REDIRECT_URI,
            "algorithm": combination.algorithm(),
            "authentication": combination.authentication,
            "binding": combination.binding,
            "messages": combination.messages,
        });
        if combination.has_key() {
            settings["key"] = private;
        }
        if combination.has_certificate() {
            settings["certificate"] = json!({
                "cert": self.file("certificate.pem"),
                "key": self.file("key.pem"),
                "ca": self.listener.certificate_file(),
                "store": self.file("store.p12"),
                "password": PASSWORD,
            });
        }
        (application.id, settings)
    }

    /// The client signs Ada in, reads her claims, and refreshes its tokens.
    async fn sign_in(&self, library: Library, combination: Combination) {
        let (client, settings) = self.register(combination).await;
        let mut program = library.start();
        program.send(&settings).await;
        let begun = program
            .ask(&json!({"call": "authorize", "scope": SCOPE}))
            .await;
        let url = begun["url"].text();
        assert!(
            url.contains("request_uri=") && !url.contains("scope="),
            "{url}"
        );
        let page = Browser::new(&self.base).get(url).await;
        let back = complete_sign_in(&self.ada, page).await;
        match combination.messages {
            "signed_response" => assert_eq!(
                jwt_header(&back.parameter("response"))["alg"],
                combination.algorithm()
            ),
            _ => assert_eq!(back.parameter("iss"), settings["issuer"].text()),
        }
        let returned = json!({"call": "sign_in", "url": back.location().as_str()});
        let first = program.ask(&returned).await;
        self.expect_ada(combination, &client, &first).await;
        let second = program.ask(&json!({"call": "refresh"})).await;
        self.expect_ada(combination, &client, &second).await;
        for claim in ["sub", "sid", "auth_time"] {
            assert_eq!(
                first["claims"][claim], second["claims"][claim],
                "{combination:?}"
            );
        }
        let token = |tokens: &Value| tokens["tokens"]["access_token"].text().to_owned();
        assert_ne!(token(&first), token(&second), "{combination:?}");
    }

    async fn expect_ada(&self, combination: Combination, client: &str, user: &Value) {
        let (tokens, claims) = (&user["tokens"], &user["claims"]);
        assert_eq!(
            jwt_header(tokens["id_token"].text())["alg"],
            combination.algorithm()
        );
        assert_eq!(claims["iss"], format!("{}/oidc", self.base));
        // A library may return one audience as an array.
        let audience = claims["aud"].get(0).unwrap_or(&claims["aud"]);
        assert_eq!(audience, client, "{combination:?}");
        assert_eq!(claims["sub"], self.ada.user["sub"]);
        assert_eq!(user["userinfo"]["email"], "ada@example.org");
        let kind = if combination.binding == "dpop" {
            "dpop"
        } else {
            "bearer"
        };
        assert_eq!(tokens["token_type"].text().to_lowercase(), kind);
        // The token is useless without the key.
        let stolen = http_client()
            .get(format!("{}/oidc/me", self.base))
            .bearer_auth(tokens["access_token"].text());
        assert_eq!(stolen.response().await.status(), StatusCode::UNAUTHORIZED);
    }

    async fn sign_in_by_each(mut self, library: Library, combinations: Vec<Combination>) {
        for combination in combinations {
            self.sign_in(library, combination).await;
        }
        if let Some(second) = self.second.take() {
            second.stop().await;
        }
    }
}

#[test]
fn the_part_of_the_combinations_covers_all_pairs() {
    let part = Combination::pairs();
    assert_eq!((Combination::all().len(), part.len()), (12, 6));
    for whole in Combination::all() {
        let covers = |is_covered: &dyn Fn(&Combination) -> bool| part.iter().any(is_covered);
        assert!(covers(&|it| {
            (it.authentication, it.binding) == (whole.authentication, whole.binding)
        }));
        assert!(covers(&|it| {
            (it.authentication, it.messages) == (whole.authentication, whole.messages)
        }));
        assert!(covers(&|it| {
            (it.binding, it.messages) == (whole.binding, whole.messages)
        }));
    }
}

#[tokio::test]
async fn openid_client_signs_in_by_each_pair_of_protections() {
    let fixture = Fixture::one().await;
    fixture
        .sign_in_by_each(Library::OpenidClient, Combination::pairs())
        .await;
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn openid_client_signs_in_by_each_combination() {
    let fixture = Fixture::one().await;
    fixture
        .sign_in_by_each(Library::OpenidClient, Combination::all())
        .await;
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn openid_client_signs_in_by_each_combination_with_two_instances() {
    let fixture = Fixture::two().await;
    fixture
        .sign_in_by_each(Library::OpenidClient, Combination::all())
        .await;
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn nimbus_signs_in_by_each_combination() {
    let fixture = Fixture::one().await;
    fixture
        .sign_in_by_each(Library::Nimbus, Combination::all())
        .await;
}

#[tokio::test]
#[ignore = "scripts/clients runs it"]
async fn nimbus_signs_in_by_each_combination_with_two_instances() {
    let fixture = Fixture::two().await;
    fixture
        .sign_in_by_each(Library::Nimbus, Combination::all())
        .await;
}
