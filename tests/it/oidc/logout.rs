//! Logout (OpenID Connect RP-Initiated Logout 1.0). Tests of the conformance plan have the names of their modules.

mod sessions;

use assent::keys::TokenType;
use assent_model::key::SigningAlgorithm;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::hash::MessageDigest;
use openssl::sign::Signer;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::token::userinfo;
use crate::harness::{
    Body, Browser, HostOptions, Json, Page, TestHost, TestUser, Text, base64url, get, id,
    jwt_claims, parse_json, rsa_key,
};

const AFTER: &str = "https://rp.example/signed-out";
const AFTER_WITH_QUERY: &str = "https://rp.example/signed-out?from=assent";

/// Ada with a signed-in browser, and the tokens of the application.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    browser: Browser,
    id_token: String,
    access_token: String,
}

impl Fixture {
    async fn new() -> Self {
        let (host, ada) = TestHost::start().await.with_ada().await;
        let path = format!("/applications/{}", ada.application.id);
        let uris = json!({"post_logout_redirect_uris": [AFTER, AFTER_WITH_QUERY]});
        host.admin_ok(Method::PATCH, &path, uris).await;
        let browser = Browser::new(&host.base);
        let (id_token, access_token) = sign_in(&host, &ada, &browser).await;
        Self {
            host,
            ada,
            browser,
            id_token,
            access_token,
        }
    }

    /// Opens the end session endpoint with these parameters.
    async fn end(&self, parameters: &[(&str, &str)]) -> Page {
        self.browser.get(&request(parameters)).await
    }

    /// Sends the valid request with `changes`: a value replaces a parameter, and `None` removes it.
    async fn end_changed(&self, changes: &[(&str, Option<&str>)]) -> Page {
        let mut parameters = vec![
            ("id_token_hint", self.id_token.as_str()),
            ("post_logout_redirect_uri", AFTER),
            ("state", "st&te"),
        ];
        for (name, value) in changes {
            parameters.retain(|(known, _)| known != name);
            parameters.extend(value.map(|value| (*name, value)));
        }
        self.end(&parameters).await
    }

    async fn is_signed_in(&self) -> bool {
        self.browser.get("/").await.body.contains("Hello,")
    }

    async fn assert_refused(&self, page: &Page) {
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{}", page.body);
        assert!(
            page.body.contains("Reference <code>") && page.body.contains("href=\"/session/end\""),
            "{}",
            page.body
        );
        assert!(
            self.is_signed_in().await,
            "a rejected request ends no session"
        );
        assert_eq!(
            userinfo(&self.host, &self.access_token).await.0,
            StatusCode::OK
        );
    }

    /// Checks that the page asks. After the confirmation the browser is signed out, without a redirect to the
    /// application.
    async fn assert_asked_and_not_sent_on(&self, page: &Page) {
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        assert!(
            self.is_signed_in().await,
            "the question does not end the session"
        );
        let answered = page
            .submit(
                "/session/end",
                &[("request", &hidden(page)), ("answer", "yes")],
            )
            .await;
        assert_signed_out_here(&answered).await;
        assert!(!self.is_signed_in().await);
    }
}

fn request(parameters: &[(&str, &str)]) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    format!("/oidc/session/end?{query}")
}

async fn sign_in(host: &TestHost, ada: &TestUser, browser: &Browser) -> (String, String) {
    let code = ada.sign_in(browser).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let text = |name: &str| tokens[name].text().to_owned();
    (text("id_token"), text("access_token"))
}

/// Returns the logout request in the form of the page.
fn hidden(page: &Page) -> String {
    let (_, rest) = page
        .body
        .split_once("name=\"request\" value=\"")
        .expect("a request");
    rest.split('"')
        .next()
        .expect("its end")
        .replace("&#38;", "&")
}

async fn assert_signed_out_here(page: &Page) {
    assert!(
        page.headers["set-cookie"]
            .text()
            .contains("assent-session=;"),
        "the cookie is removed"
    );
    let ended = page.followed().await;
    assert_eq!(
        (ended.path().as_str(), ended.status),
        ("/session/ended", StatusCode::OK)
    );
    assert!(ended.body.contains("You are signed out"), "{}", ended.body);
}

#[tokio::test]
async fn rp_initiated_logout() {
    let it = Fixture::new().await;
    let page = it.end_changed(&[]).await;
    assert_eq!(
        page.location().as_str(),
        "https://rp.example/signed-out?state=st%26te"
    );
    assert!(page.headers["set-cookie"].text().contains("Max-Age=0"));
    assert!(!it.is_signed_in().await);
    // The access token of the session is invalid, and a repeated request redirects to the same address.
    assert_eq!(
        userinfo(&it.host, &it.access_token).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        it.end_changed(&[]).await.location().as_str(),
        "https://rp.example/signed-out?state=st%26te"
    );
}

#[tokio::test]
async fn rp_initiated_logout_by_post() {
    let it = Fixture::new().await;
    let form = [
        ("id_token_hint", it.id_token.as_str()),
        ("post_logout_redirect_uri", AFTER),
        ("state", "x"),
    ];
    let page = it.browser.post("/oidc/session/end", &form).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert!(it.is_signed_in().await, "the POST does not end the session");
    let signature = it.id_token.rsplit('.').next().expect("a signature");
    assert!(
        !page.location().as_str().contains(signature),
        "no URL contains the ID token"
    );
    assert_eq!(
        page.followed().await.location().as_str(),
        "https://rp.example/signed-out?state=x"
    );
    assert!(!it.is_signed_in().await);
    let long = "x".repeat(17 * 1024);
    assert_eq!(
        it.browser
            .post("/oidc/session/end", &[("state", &long)])
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_posted_logout_is_validated_and_confirmed_without_a_hint() {
    let it = Fixture::new().await;
    let hint = ("id_token_hint", it.id_token.as_str());
    for form in [
        vec![("id_token_hint", "nonsense")],
        vec![hint, ("post_logout_redirect_uri", "https://evil.example/")],
        vec![
            hint,
            (
                "client_id",
                "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
            ),
        ],
        vec![hint, hint],
    ] {
        it.assert_refused(&it.browser.post("/oidc/session/end", &form).await)
            .await;
    }
    let page = it
        .browser
        .post("/oidc/session/end", &[("post_logout_redirect_uri", AFTER)])
        .await;
    it.assert_asked_and_not_sent_on(&page.followed().await)
        .await;
}

#[tokio::test]
async fn a_posted_logout_can_be_continued_for_30_minutes_by_its_browser_only() {
    let it = Fixture::new().await;
    let form = [
        ("id_token_hint", it.id_token.as_str()),
        ("post_logout_redirect_uri", AFTER),
    ];
    let posted = it.browser.post("/oidc/session/end", &form).await.location();
    let sealed = posted
        .query_pairs()
        .next()
        .expect("a request")
        .1
        .into_owned();
    let carried = |text: &str| {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("request", text)
            .finish();
        format!("/session/end?{query}")
    };
    let middle = sealed.len() / 2;
    let other = if sealed.as_bytes()[middle] == b'A' {
        "B"
    } else {
        "A"
    };
    let changed = format!("{}{other}{}", &sealed[..middle], &sealed[middle + 1..]);
    for bad in ["nonsense", &changed, &it.id_token] {
        it.assert_refused(&it.browser.get(&carried(bad)).await)
            .await;
    }
    // The server checks the registration when it uses the address.
    let path = format!("/applications/{}", it.ada.application.id);
    it.host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"post_logout_redirect_uris": [AFTER_WITH_QUERY]}),
        )
        .await;
    it.assert_refused(&it.browser.get(posted.as_str()).await)
        .await;
    it.host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"post_logout_redirect_uris": [AFTER]}),
        )
        .await;
    it.host.advance(30 * 60 + 1);
    it.assert_refused(&it.browser.get(posted.as_str()).await)
        .await;
    let posted = it.browser.post("/oidc/session/end", &form).await.location();
    it.host.advance(29 * 60);
    assert_eq!(
        it.browser.get(posted.as_str()).await.location().as_str(),
        AFTER
    );
    assert!(!it.is_signed_in().await);
}

#[tokio::test]
async fn an_overlong_posted_state_is_rejected() {
    let it = Fixture::new().await;
    let post = async |state: &str| {
        let form = [
            ("id_token_hint", it.id_token.as_str()),
            ("post_logout_redirect_uri", AFTER),
            ("state", state),
        ];
        it.browser.post("/oidc/session/end", &form).await
    };
    it.assert_refused(&post(&"\"".repeat(8 * 1024)).await).await;
    let long = "x".repeat(8 * 1024);
    assert_eq!(post(&long).await.followed().await.parameter("state"), long);
}

/// Returns an ID token of Ada with the maximum length.
async fn long_hint(it: &Fixture) -> String {
    let mut claims = jwt_claims(&it.id_token).members().clone();
    claims.insert("account".to_owned(), json!(""));
    let key = it
        .host
        .host
        .key_ring
        .signer(SigningAlgorithm::Rs256, it.host.host.now())
        .expect("a key");
    let shortest = key
        .sign(claims.clone(), TokenType::IdToken)
        .expect("signed")
        .len();
    claims.insert(
        "account".to_owned(),
        json!("x".repeat((15 * 1024 - shortest) / 4 * 3)),
    );
    let long = key.sign(claims, TokenType::IdToken).expect("signed");
    assert!(
        (15 * 1024 - 8..=15 * 1024).contains(&long.len()),
        "{}",
        long.len()
    );
    long
}

#[tokio::test]
async fn a_hint_of_fifteen_kibibytes_is_accepted_by_get_and_post() {
    let it = Fixture::new().await;
    let long = long_hint(&it).await;
    let form = [
        ("id_token_hint", long.as_str()),
        ("post_logout_redirect_uri", AFTER),
        ("state", "x"),
    ];
    let posted = it.browser.post("/oidc/session/end", &form).await;
    assert_eq!(
        posted.followed().await.location().as_str(),
        "https://rp.example/signed-out?state=x"
    );
    assert!(!it.is_signed_in().await);
    sign_in(&it.host, &it.ada, &it.browser).await;
    let got = it.end(&form).await;
    assert_eq!(
        got.location().as_str(),
        "https://rp.example/signed-out?state=x"
    );
    assert!(!it.is_signed_in().await);
}

#[tokio::test]
async fn rp_initiated_logout_bad_post_logout_redirect_uri() {
    let it = Fixture::new().await;
    for uri in [
        "https://rp.example/signed-out/",
        "https://evil.example/",
        "https://rp.example/cb",
        "/",
    ] {
        let page = it
            .end_changed(&[("post_logout_redirect_uri", Some(uri))])
            .await;
        it.assert_refused(&page).await;
    }
    // An address of another application is not valid for this one.
    let other = it.host.web_application().await;
    let theirs = json!({"post_logout_redirect_uris": ["https://other.example/"]});
    it.host
        .admin_ok(
            Method::PATCH,
            &format!("/applications/{}", other.id),
            theirs,
        )
        .await;
    let page = it
        .end_changed(&[("post_logout_redirect_uri", Some("https://other.example/"))])
        .await;
    it.assert_refused(&page).await;
}

#[tokio::test]
async fn rp_initiated_logout_modified_id_token_hint() {
    let it = Fixture::new().await;
    let parts: Vec<&str> = it.id_token.split('.').collect();
    let mut claims: Value = parse_json(base64url(parts[1]));
    claims["sub"] = json!("somebody");
    let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
    let modified = format!("{}.{payload}.{}", parts[0], parts[2]);
    it.assert_refused(&it.end_changed(&[("id_token_hint", Some(&modified))]).await)
        .await;
}

#[tokio::test]
async fn rp_initiated_logout_bad_id_token_hint() {
    let it = Fixture::new().await;
    for bad in ["nonsense", "a.b.c", &it.access_token] {
        it.assert_refused(&it.end_changed(&[("id_token_hint", Some(bad))]).await)
            .await;
    }
}

#[tokio::test]
async fn an_unsigned_or_foreign_hint_ends_no_session() {
    let it = Fixture::new().await;
    let parts: Vec<&str> = it.id_token.split('.').collect();
    for alg in ["none", "None", "HS256"] {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "typ": "JWT"}).to_string());
        for signature in ["", parts[2]] {
            let forged = format!("{header}.{}.{signature}", parts[1]);
            it.assert_refused(&it.end_changed(&[("id_token_hint", Some(&forged))]).await)
                .await;
        }
    }
    // Everything is valid except the key of the signature.
    let key = rsa_key();
    let message = format!("{}.{}", parts[0], parts[1]);
    let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
    let signature = signer
        .sign_oneshot_to_vec(message.as_bytes())
        .expect("a signature");
    let forged = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
    it.assert_refused(&it.end_changed(&[("id_token_hint", Some(&forged))]).await)
        .await;
}

#[tokio::test]
async fn a_hint_of_another_application_than_client_id_is_rejected() {
    let it = Fixture::new().await;
    let other = it.host.web_application().await;
    it.assert_refused(&it.end_changed(&[("client_id", Some(&other.id))]).await)
        .await;
    let page = it
        .end_changed(&[("client_id", Some(&it.ada.application.id))])
        .await;
    assert_eq!(
        page.location().as_str(),
        "https://rp.example/signed-out?state=st%26te"
    );
}

#[tokio::test]
async fn rp_initiated_logout_no_id_token_hint() {
    let it = Fixture::new().await;
    // No parameter identifies the application of the address.
    let page = it.end_changed(&[("id_token_hint", None)]).await;
    it.assert_asked_and_not_sent_on(&page).await;
}

#[tokio::test]
async fn client_id_without_a_hint_asks_and_redirects_to_its_registered_uri() {
    let it = Fixture::new().await;
    let client = it.ada.application.id.clone();
    let named = [
        ("id_token_hint", None),
        ("client_id", Some(client.as_str())),
    ];
    let posted = [
        ("client_id", client.as_str()),
        ("post_logout_redirect_uri", AFTER),
        ("state", "st&te"),
    ];
    for by_post in [false, true] {
        let page = match by_post {
            false => it.end_changed(&named).await,
            true => {
                it.browser
                    .post("/oidc/session/end", &posted)
                    .await
                    .followed()
                    .await
            }
        };
        assert!(
            page.status == StatusCode::OK && page.body.contains("Do you want to sign out?"),
            "{}",
            page.body
        );
        assert!(
            page.body
                .contains("Afterwards you return to <bdi>Books &#38; &#60;Co&#62;</bdi>."),
            "{}",
            page.body
        );
        assert!(
            !page.body.contains("asks to sign you out"),
            "the page does not show a redirect: {}",
            page.body
        );
        assert!(it.is_signed_in().await);
        let no = page
            .submit(
                "/session/end",
                &[("request", &hidden(&page)), ("answer", "no")],
            )
            .await;
        assert_eq!(no.location().path(), "/");
        assert!(it.is_signed_in().await);
    }
    let page = it.end_changed(&named).await;
    let yes = page
        .submit(
            "/session/end",
            &[("request", &hidden(&page)), ("answer", "yes")],
        )
        .await;
    assert_eq!(
        yes.location().as_str(),
        "https://rp.example/signed-out?state=st%26te"
    );
    assert!(!it.is_signed_in().await);
    // No user is signed in, so the server asks no question.
    assert_eq!(
        it.end_changed(&named).await.location().as_str(),
        "https://rp.example/signed-out?state=st%26te"
    );
}

#[tokio::test]
async fn client_id_without_a_hint_never_redirects_to_a_foreign_uri() {
    let it = Fixture::new().await;
    let client = it.ada.application.id.clone();
    let other = it.host.web_application().await;
    let unknown = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
    for (client, address) in [
        (client.as_str(), "https://evil.example/"),
        (&client, &format!("{AFTER}?foo=bar")),
        (&client, "https://rp.example/cb"),
        (&other.id, AFTER),
        (unknown, AFTER),
        ("nonsense", AFTER),
    ] {
        it.assert_refused(
            &it.end(&[("client_id", client), ("post_logout_redirect_uri", address)])
                .await,
        )
        .await;
        // The server also rejects the request without a session.
        let parameters = [("client_id", client), ("post_logout_redirect_uri", address)];
        let page = Browser::new(&it.host.base).get(&request(&parameters)).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{client} {address}");
    }
    // The address is invalid if it is no longer registered when the user answers.
    let page = it
        .end(&[("client_id", &client), ("post_logout_redirect_uri", AFTER)])
        .await;
    let path = format!("/applications/{client}");
    it.host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"post_logout_redirect_uris": []}),
        )
        .await;
    it.assert_refused(
        &page
            .submit(
                "/session/end",
                &[("request", &hidden(&page)), ("answer", "yes")],
            )
            .await,
    )
    .await;
}

#[tokio::test]
async fn rp_initiated_logout_no_params() {
    let it = Fixture::new().await;
    it.assert_asked_and_not_sent_on(&it.end(&[]).await).await;
}

#[tokio::test]
async fn rp_initiated_logout_only_state() {
    let it = Fixture::new().await;
    it.assert_asked_and_not_sent_on(&it.end(&[("state", "x")]).await)
        .await;
}

#[tokio::test]
async fn a_logout_with_only_client_id_asks() {
    let it = Fixture::new().await;
    let client = it.ada.application.id.clone();
    it.assert_asked_and_not_sent_on(
        &it.end(&[("client_id", &client), ("logout_hint", "ada")])
            .await,
    )
    .await;
}

#[tokio::test]
async fn rp_initiated_logout_no_post_logout_redirect_uri() {
    let it = Fixture::new().await;
    let page = it.end_changed(&[("post_logout_redirect_uri", None)]).await;
    assert_signed_out_here(&page).await;
    assert!(!it.is_signed_in().await);
}

#[tokio::test]
async fn rp_initiated_logout_no_state() {
    let it = Fixture::new().await;
    assert_eq!(
        it.end_changed(&[("state", None)]).await.location().as_str(),
        AFTER
    );
}

#[tokio::test]
async fn rp_initiated_logout_query_added_to_post_logout_redirect_uri() {
    let it = Fixture::new().await;
    let added = format!("{AFTER}?foo=bar");
    it.assert_refused(
        &it.end_changed(&[("post_logout_redirect_uri", Some(&added))])
            .await,
    )
    .await;
    // A registered query remains.
    let page = it
        .end_changed(&[("post_logout_redirect_uri", Some(AFTER_WITH_QUERY))])
        .await;
    assert_eq!(
        page.location().as_str(),
        "https://rp.example/signed-out?from=assent&state=st%26te"
    );
}

#[tokio::test]
async fn a_repeated_logout_parameter_is_rejected() {
    let it = Fixture::new().await;
    for name in [
        "id_token_hint",
        "client_id",
        "post_logout_redirect_uri",
        "state",
        "logout_hint",
        "ui_locales",
    ] {
        it.assert_refused(&it.end(&[(name, "a"), (name, "b")]).await)
            .await;
    }
}

#[tokio::test]
async fn rp_initiated_logout_discovery() {
    let host = TestHost::start().await;
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = get(url).await.read_json().await;
    assert_eq!(
        document["end_session_endpoint"],
        format!("{}/session/end", host.issuer())
    );
    assert_eq!(document["backchannel_logout_supported"], true);
    assert_eq!(document["backchannel_logout_session_supported"], true);
}

#[tokio::test]
async fn an_expired_hint_is_accepted() {
    let options = HostOptions {
        settings: "[session]\nidle_timeout = \"1h\"\nabsolute_timeout = \"1d\"",
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let (id_token, _) = sign_in(&host, &ada, &browser).await;
    for _ in 0..3 {
        host.advance(1800);
        assert!(browser.get("/").await.body.contains("Hello,"));
    }
    let page = browser.get(&request(&[("id_token_hint", &id_token)])).await;
    assert_signed_out_here(&page).await;
    assert!(!browser.get("/").await.body.contains("Hello,"));
}
