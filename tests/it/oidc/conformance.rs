//! Modules of the OpenID Foundation's plan for a Basic OP that have no test of their own name in the other modules.
//!
//! `display_*`, `ui_locales`, `claims_*`, `login_hint`, `prompt_*`, `max_age_*`, `id_token_hint`, `acr_values`,
//! `ensure_*`, `request_uri_unsigned`, `unsigned_request_object` and `response_type_missing` are in `parameters`. The
//! form post plan is in `form_post`, `userinfo_post_*` in `introspection`, and `refresh_token` in `refresh`. The logout
//! plans are in `logout`, `backchannel` and `frontchannel`.

use josekit::jwk::Jwk;
use josekit::jws::{JwsVerifier, PS256, RS256};
use josekit::jwt;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::token::userinfo;
use crate::harness::{Body, Browser, Json, TestHost, TestUser, Text, get, id};

type Claims = Map<String, Value>;

/// Signs in with these scopes. Returns the claims of the ID token and of UserInfo.
async fn claims_for(host: &TestHost, ada: &TestUser, scope: &str) -> (Claims, Claims) {
    let code = ada
        .sign_in_with(&Browser::new(&host.base), &[("scope", Some(scope))])
        .await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let (_, claims) = verified(host, tokens["id_token"].text()).await;
    let (_, me) = userinfo(host, tokens["access_token"].text()).await;
    (claims, me.members().clone())
}

/// Verifies an ID token with the published key that it names. Returns its algorithm and claims.
async fn verified(host: &TestHost, id_token: &str) -> (String, Claims) {
    let header = jwt::decode_header(id_token).expect("a header");
    let text = |name: &str| {
        header
            .claim(name)
            .and_then(Value::as_str)
            .expect("text")
            .to_owned()
    };
    let set: Value = get(format!("{}/jwks", host.issuer()))
        .await
        .read_json()
        .await;
    let keys = set["keys"].items();
    let key = keys
        .iter()
        .find(|key| key["kid"] == text("kid"))
        .expect("the key");
    let key = Jwk::from_map(key.members().clone()).expect("a key");
    let verifier: Box<dyn JwsVerifier> = match text("alg").as_str() {
        "RS256" => Box::new(RS256.verifier_from_jwk(&key).expect("a verifier")),
        "PS256" => Box::new(PS256.verifier_from_jwk(&key).expect("a verifier")),
        other => panic!("the algorithm {other}"),
    };
    let (payload, _) = jwt::decode_with_verifier(id_token, &*verifier).expect("a valid signature");
    (text("alg"), payload.claims_set().clone())
}

#[tokio::test]
async fn idtoken_signature_with_the_algorithm_of_the_application() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    for algorithm in ["RS256", "PS256", "RS256"] {
        host.admin_ok(
            Method::PATCH,
            &path,
            json!({"id_token_signed_response_alg": algorithm}),
        )
        .await;
        let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
        let (used, claims) = verified(&host, tokens["id_token"].text()).await;
        assert_eq!(used, algorithm);
        assert_eq!(
            (&claims["iss"], &claims["aud"]),
            (&json!(host.issuer()), &json!(ada.application.id))
        );
    }
}

#[tokio::test]
async fn scope_profile_scope_email_scope_phone_scope_address_and_scope_all() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let address = json!({"profile": {"address": {"locality": "London"}}});
    host.admin_ok(Method::PATCH, &format!("/users/{}", id(&ada.user)), address)
        .await;
    let scopes = json!({"scopes": ["openid", "profile", "email", "phone", "address"]});
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", ada.application.id),
        scopes,
    )
    .await;
    let of = [
        ("name", "profile"),
        ("email", "email"),
        ("phone_number", "phone"),
        ("address", "address"),
    ];
    for scope in [
        "openid",
        "openid profile",
        "openid email",
        "openid phone",
        "openid address",
        "openid profile email phone address",
    ] {
        let (id_token, me) = claims_for(&host, &ada, scope).await;
        for (claim, of) in of {
            let expected = scope.split(' ').any(|name| name == of);
            assert_eq!(
                (id_token.contains_key(claim), me.contains_key(claim)),
                (expected, expected),
                "{scope}: {claim}"
            );
        }
        assert_eq!(id_token["sub"], me["sub"]);
    }
}

#[tokio::test]
async fn codereuse_and_codereuse_30seconds() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for pause in [0, 30] {
        let code = ada.sign_in(&Browser::new(&host.base)).await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let token = tokens["access_token"].text();
        assert_eq!(userinfo(&host, token).await.0, StatusCode::OK);
        host.advance(pause);
        assert_eq!(
            ada.application.exchange(&host.base, &code, &[]).await.1["error"],
            "invalid_grant",
            "{pause}"
        );
        assert_eq!(
            userinfo(&host, token).await.0,
            StatusCode::UNAUTHORIZED,
            "{pause}"
        );
    }
}

#[tokio::test]
async fn valid_pkce_and_server_without_pkce_for_a_web_application() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    assert_eq!(
        ada.application.exchange(&host.base, &code, &[]).await.0,
        StatusCode::OK
    );
    let without = [("code_challenge", None), ("code_challenge_method", None)];
    let code = ada.sign_in_with(&Browser::new(&host.base), &without).await;
    let (status, _) = ada
        .application
        .exchange(&host.base, &code, &[("code_verifier", None)])
        .await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn discovery_is_identical_at_both_urls_and_accurate() {
    let host = TestHost::start().await;
    let at = async |path: &str| -> Value {
        let answer = get(format!("{}{path}", host.base)).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.read_json().await
    };
    let document = at("/oidc/.well-known/openid-configuration").await;
    assert_eq!(
        document,
        at("/.well-known/oauth-authorization-server/oidc").await
    );
    for (name, value) in document.members() {
        let Some(url) = value
            .as_str()
            .filter(|_| name.ends_with("_endpoint") || name.ends_with("_uri"))
        else {
            continue;
        };
        // Every endpoint in the document exists. The status of a plain GET does not matter otherwise. The address of
        // receipts is followed by the id of one.
        let status = match name.as_str() {
            "receipts_endpoint" => get(format!("{url}/0")).await.status(),
            _ => get(url).await.status(),
        };
        assert_ne!(status, StatusCode::NOT_FOUND, "{name}");
    }
    assert_eq!(document["issuer"], host.issuer());
    assert_eq!(
        document["id_token_signing_alg_values_supported"],
        json!(["RS256", "PS256", "ES256", "EdDSA"])
    );
    assert_eq!(
        document["grant_types_supported"],
        json!([
            "authorization_code",
            "refresh_token",
            "client_credentials",
            "urn:openid:params:grant-type:ciba",
            "urn:ietf:params:oauth:grant-type:device_code"
        ])
    );
    for method in [
        "client_secret_basic",
        "client_secret_post",
        "client_secret_jwt",
        "private_key_jwt",
        "none",
    ] {
        for endpoint in ["token", "introspection", "revocation"] {
            let methods = document[format!("{endpoint}_endpoint_auth_methods_supported")].items();
            assert!(methods.contains(&json!(method)), "{endpoint}: {method}");
        }
    }
}
