//! OpenID Connect: discovery, keys, authorization, tokens, introspection, revocation, UserInfo and the end of a
//! session.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use super::Log;
use crate::harness::{Application, Browser, Text, VERIFIER, http_client};
use crate::snapshots::compare::assert_snapshots;
use crate::snapshots::world::World;

type Change<'a> = &'a [(&'a str, Option<&'a str>)];

const REQUESTS: &[Change<'_>] = &[
    &[],
    &[("client_id", None)],
    &[("client_id", Some("nobody"))],
    &[("redirect_uri", None)],
    &[("redirect_uri", Some("https://evil.example/cb"))],
    &[("redirect_uri", Some("https://rp.example/other"))],
    &[("response_type", None)],
    &[("response_type", Some("token"))],
    &[("response_type", Some("code id_token"))],
    &[("response_mode", Some("fragment"))],
    &[("response_mode", Some("form_post"))],
    &[("response_mode", Some("unknown"))],
    &[("scope", None)],
    &[("scope", Some("profile"))],
    &[("scope", Some("openid unknown"))],
    &[("scope", Some("openid offline_access"))],
    &[("state", None)],
    &[("nonce", None)],
    &[("code_challenge", None)],
    &[("code_challenge", Some("short"))],
    &[("code_challenge_method", None)],
    &[("code_challenge_method", Some("plain"))],
    &[("prompt", Some("none"))],
    &[("prompt", Some("none login"))],
    &[("prompt", Some("unknown"))],
    &[("prompt", Some("create"))],
    &[("max_age", Some("-1"))],
    &[("max_age", Some("x"))],
    &[("display", Some("unknown"))],
    &[("ui_locales", Some("de"))],
    &[("login_hint", Some("ada"))],
    &[("id_token_hint", Some("no-token"))],
    &[
        ("id_token_hint", Some("no-token")),
        ("prompt", Some("none")),
    ],
    &[("claims", Some("{"))],
    &[("claims", Some("{\"id_token\":{\"email\":null}}"))],
    &[("request", Some("eyJ"))],
    &[("request_uri", Some("https://rp.example/request"))],
    &[("registration", Some("{}"))],
    &[("acr_values", Some("1"))],
    &[("scope", Some("profile")), ("response_type", Some("token"))],
    &[("scope", None), ("code_challenge", None)],
    &[("prompt", Some("unknown")), ("max_age", Some("x"))],
    &[
        ("redirect_uri", Some("https://evil.example/cb")),
        ("response_type", Some("token")),
    ],
];

#[tokio::test]
async fn discovery_keys_and_authorization_requests_answer_as_before() {
    let world = World::filled("").await;
    let mut log = Log::new();
    let base = world.host.base.clone();
    for path in [
        "/oidc/.well-known/openid-configuration",
        "/oidc/jwks",
        "/.well-known/openid-configuration",
    ] {
        log.send(path, http_client().get(format!("{base}{path}")))
            .await;
    }
    let discovery = log.finish(&world);
    let mut log = Log::new();
    for (name, application) in [
        ("books", "https://rp.example/cb"),
        ("pocket", "http://127.0.0.1/callback"),
    ] {
        let application = Application {
            redirect_uri: application.to_owned(),
            ..world.application(name)
        };
        for changes in REQUESTS {
            let browser = Browser::new(&base);
            let request = browser.request(Method::GET, &application.request(changes));
            log.send(&format!("{name} {changes:?}"), request).await;
        }
    }
    let application = world.application("books");
    let browser = Browser::new(&base);
    let repeated = format!("{}&state=again", application.request(&[]));
    log.send("state twice", browser.request(Method::GET, &repeated))
        .await;
    let form = browser
        .request(Method::POST, "/oidc/auth")
        .form(&[("client_id", application.id.as_str())]);
    log.send("a form", form).await;
    let texts = BTreeMap::from([
        ("discovery.txt".to_owned(), discovery),
        ("authorization.txt".to_owned(), log.finish(&world)),
    ]);
    assert_snapshots("clients/oidc", &texts);
}

/// Returns a request to an endpoint of the application's client, with its secret.
fn call(
    world: &World,
    application: &Application,
    path: &str,
    form: &[(&str, &str)],
) -> RequestBuilder {
    let request = http_client()
        .post(format!("{}/oidc{path}", world.host.base))
        .form(form);
    request.basic_auth(&application.id, application.secret.as_ref())
}

#[tokio::test]
async fn tokens_are_issued_used_and_rejected_as_before() {
    let mut world = World::filled("").await;
    let change =
        json!({"grant_types": ["authorization_code", "refresh_token", "client_credentials"]});
    let path = format!("/applications/{}", world.value("books"));
    world.host.admin_ok(Method::PATCH, &path, change).await;
    let books = world.application("books");
    let mut log = Log::new();
    grants(&mut world, &books, &mut log).await;
    client_authentication(&world, &books, &mut log).await;
    let texts = BTreeMap::from([("tokens.txt".to_owned(), log.finish(&world))]);
    assert_snapshots("clients/oidc_tokens", &texts);
}

async fn grants(world: &mut World, books: &Application, log: &mut Log) {
    let ada = world.test_user("ada", "books");
    let code = async |scope: &str| {
        let browser = Browser::new(&world.host.base);
        ada.sign_in_with(
            &browser,
            &[("scope", Some(scope)), ("prompt", Some("consent"))],
        )
        .await
    };
    let first = code("openid profile email phone address groups offline_access").await;
    let second = code("openid").await;
    let exchange = |code: &str, verifier: &str, uri: &str| {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", uri),
            ("code_verifier", verifier),
        ];
        call(world, books, "/token", &form)
    };
    log.send(
        "wrong verifier",
        exchange(&second, &"x".repeat(43), &books.redirect_uri),
    )
    .await;
    log.send(
        "wrong redirect URI",
        exchange(&second, VERIFIER, "https://rp.example/other"),
    )
    .await;
    log.send(
        "unknown code",
        exchange("ac_unknown", VERIFIER, &books.redirect_uri),
    )
    .await;
    let tokens = log
        .send("a code", exchange(&first, VERIFIER, &books.redirect_uri))
        .await;
    let (access, refresh) = (
        tokens["access_token"].text(),
        tokens["refresh_token"].text(),
    );
    let me = format!("{}/oidc/me", world.host.base);
    log.send("UserInfo", http_client().get(&me).bearer_auth(access))
        .await;
    log.send("UserInfo without a token", http_client().get(&me))
        .await;
    log.send(
        "UserInfo with an unknown token",
        http_client().get(&me).bearer_auth("at_unknown"),
    )
    .await;
    log.send(
        "introspection",
        call(world, books, "/token/introspection", &[("token", access)]),
    )
    .await;
    log.send(
        "introspection of a refresh token",
        call(world, books, "/token/introspection", &[("token", refresh)]),
    )
    .await;
    log.send(
        "introspection of nothing",
        call(world, books, "/token/introspection", &[("token", "x")]),
    )
    .await;
    log.send(
        "introspection without a token",
        call(world, books, "/token/introspection", &[]),
    )
    .await;
    for form in [
        &[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("scope", "openid email"),
        ][..],
        &[("grant_type", "refresh_token"), ("refresh_token", refresh)],
        &[
            ("grant_type", "refresh_token"),
            ("refresh_token", "rt_unknown"),
        ],
        &[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("scope", "openid unknown"),
        ],
        &[("grant_type", "refresh_token")],
        &[("grant_type", "client_credentials")],
        &[
            ("grant_type", "client_credentials"),
            ("scope", "admin:read"),
        ],
        &[("grant_type", "client_credentials"), ("scope", "unknown")],
        &[("grant_type", "authorization_code")],
        &[
            ("grant_type", "authorization_code"),
            ("code", "x"),
            ("code", "y"),
        ],
        &[("grant_type", "password")],
        &[("grant_type", "")],
        &[],
    ] {
        world.host.advance(1);
        log.send(
            &format!("token {:?}", shown(form)),
            call(world, books, "/token", form),
        )
        .await;
    }
    log.send(
        "a used code",
        exchange(&first, VERIFIER, &books.redirect_uri),
    )
    .await;
    log.send(
        "UserInfo after the reuse",
        http_client().get(&me).bearer_auth(access),
    )
    .await;
    for form in [&[("token", access)][..], &[("token", "x")], &[]] {
        log.send(
            &format!("revocation {:?}", shown(form)),
            call(world, books, "/token/revocation", form),
        )
        .await;
    }
    log.send(
        "introspection after the revocation",
        call(world, books, "/token/introspection", &[("token", access)]),
    )
    .await;
}

/// Returns the parameters without the tokens in them.
fn shown<'a>(form: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let shorter = form
        .iter()
        .map(|(name, value)| (*name, if value.len() > 30 { "..." } else { value }));
    shorter.collect()
}

async fn client_authentication(world: &World, books: &Application, log: &mut Log) {
    let url = format!("{}/oidc/token", world.host.base);
    let form = [("grant_type", "client_credentials")];
    let post = || http_client().post(&url);
    let secret = books.secret.as_deref().expect("a secret");
    log.send("no client", post().form(&form)).await;
    log.send(
        "wrong secret",
        post().form(&form).basic_auth(&books.id, Some("wrong")),
    )
    .await;
    log.send(
        "unknown client",
        post().form(&form).basic_auth("nobody", Some("wrong")),
    )
    .await;
    log.send(
        "no Basic",
        post().form(&form).header("authorization", "Basic !"),
    )
    .await;
    log.send("another method", {
        let form = [form[0], ("client_id", &books.id), ("client_secret", secret)];
        post().form(&form)
    })
    .await;
    log.send("both methods", {
        let form = [form[0], ("client_id", &books.id), ("client_secret", secret)];
        post().form(&form).basic_auth(&books.id, Some(secret))
    })
    .await;
    log.send(
        "only client_id",
        post().form(&[form[0], ("client_id", &books.id)]),
    )
    .await;
    log.send(
        "a public client",
        post().form(&[form[0], ("client_id", world.value("pocket"))]),
    )
    .await;
    log.send("an assertion", {
        let assertion = (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        );
        post().form(&[form[0], assertion, ("client_assertion", "x.y.z")])
    })
    .await;
    log.send(
        "JSON",
        post().json(&json!({"grant_type": "client_credentials"})),
    )
    .await;
    log.send("GET", http_client().get(&url)).await;
}

#[tokio::test]
async fn sessions_end_as_before() {
    let world = World::filled("").await;
    let ada = world.test_user("ada", "books");
    let browser = Browser::new(&world.host.base);
    let code = ada.sign_in(&browser).await;
    let (_, tokens) = world
        .application("books")
        .exchange(&world.host.base, &code, &[])
        .await;
    let hint = tokens["id_token"].text();
    let mut log = Log::new();
    let bye = "https://rp.example/bye";
    let evil = "https://evil.example/";
    for (title, query) in [
        ("nothing", vec![]),
        ("a wrong hint", vec![("id_token_hint", "x")]),
        ("an unknown client", vec![("client_id", "nobody")]),
        (
            "an unregistered URI",
            vec![("id_token_hint", hint), ("post_logout_redirect_uri", evil)],
        ),
        (
            "a URI without a client",
            vec![("post_logout_redirect_uri", bye)],
        ),
        (
            "a client",
            vec![
                ("client_id", world.value("books")),
                ("post_logout_redirect_uri", bye),
                ("state", "s"),
            ],
        ),
        (
            "a hint",
            vec![
                ("id_token_hint", hint),
                ("post_logout_redirect_uri", bye),
                ("state", "s&t"),
            ],
        ),
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        let request = browser.request(Method::GET, &format!("/oidc/session/end?{query}"));
        log.send(title, request).await;
    }
    let texts = BTreeMap::from([("end_session.txt".to_owned(), log.finish(&world))]);
    assert_snapshots("clients/oidc_sessions", &texts);
}
