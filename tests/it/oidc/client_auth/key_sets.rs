//! Key sets of applications at the token endpoint: assertions without `kid`, and sets with keys for other purposes.

use super::*;

/// Returns the public key as a JSON Web Key with these members.
fn public_jwk(key: &PKey<Private>, members: Value) -> Value {
    let pair = josekit::jwk::alg::rsa::RsaKeyPair::from_der(key.pkcs8_der()).expect("a pair");
    let jwk: Jwk = josekit::jwk::KeyPair::to_jwk_public_key(&pair);
    let mut jwk = serde_json::to_value(jwk.as_ref()).expect("JSON");
    jwk.members_mut().extend(members.members().clone());
    jwk
}

fn signed_as(claims: &Value, kid: Option<&str>, key: &PKey<Private>) -> String {
    let header = kid.map_or(json!({}), |kid| json!({"kid": kid}));
    let signer = RS256.signer_from_der(key.pkcs8_der()).expect("a signer");
    sign(claims, header, &signer)
}

/// OpenID Connect Core section 10.1 requires `kid` only if the set has several keys.
#[tokio::test]
async fn an_assertion_needs_no_kid() {
    let host = TestHost::start().await;
    let (key, other) = (rsa(), rsa());
    for (n, keys) in [
        json!([public_jwk(
            &key,
            json!({"kid": "one", "use": "sig", "alg": "RS256"})
        )]),
        json!([
            public_jwk(&other, json!({"kid": "two"})),
            public_jwk(&key, json!({"kid": "one"}))
        ]),
        json!([
            public_jwk(&other, json!({"kid": "one", "use": "enc"})),
            public_jwk(&key, json!({"kid": "one"}))
        ]),
    ]
    .into_iter()
    .enumerate()
    {
        let method =
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": keys}});
        let web = application(&host, method).await;
        let claims = |m| claims(&host, id(&web), n * 10 + m);
        for (m, kid, expected) in [
            (0, None, accepted()),
            (1, Some("one"), accepted()),
            (2, Some("three"), refused()),
        ] {
            let assertion = signed_as(&claims(m), kid, &key);
            assert_eq!(ask_with(&host, &assertion).await, expected, "{n} {kid:?}");
        }
        let assertion = signed_as(&claims(3), None, &rsa());
        assert_eq!(ask_with(&host, &assertion).await, refused(), "{n}");
    }
}

/// The set of FusionAuth/fusionauth-jwt#80: a key for encryption beside the one for signatures.
#[tokio::test]
async fn a_registered_set_may_have_keys_for_other_purposes() {
    let host = TestHost::start().await;
    let (key, other) = (rsa(), rsa());
    let keys = json!([
        public_jwk(&other, json!({"kid": "enc", "use": "enc", "alg": "RSA-OAEP"})),
        public_jwk(&key, json!({"kid": "sig", "use": "sig"})),
        {"kty": "AKP", "alg": "ML-DSA-44", "kid": "pq", "q": "AA"},
    ]);
    let method = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": keys}});
    let web = application(&host, method).await;
    let kids: Vec<&Value> = web["jwks"]["keys"]
        .items()
        .iter()
        .map(|key| &key["kid"])
        .collect();
    assert_eq!(kids, [&json!("sig")]);
    let by_sig = signed_as(&claims(&host, id(&web), 1), Some("sig"), &key);
    assert_eq!(ask_with(&host, &by_sig).await, accepted());
    let by_enc = signed_as(&claims(&host, id(&web), 2), Some("enc"), &other);
    assert_eq!(ask_with(&host, &by_enc).await, refused());

    // The error names the key.
    let mut private = public_jwk(&key, json!({"kid": "mine"}));
    private["d"] = json!("AA");
    for (keys, expected) in [
        (
            json!([public_jwk(&key, json!({})), private]),
            "keys[1] (kid \"mine\"): it is a private key",
        ),
        (
            json!([public_jwk(&other, json!({"kid": "enc", "use": "enc"}))]),
            "keys[0] (kid \"enc\"): its use, key_ops or alg",
        ),
    ] {
        let path = format!("/applications/{}", id(&web));
        let change = json!({"jwks": {"keys": keys}});
        let (status, problem) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert_eq!(problem["errors"][0]["pointer"], "/jwks");
        assert!(
            problem["errors"][0]["detail"].text().contains(expected),
            "{problem}"
        );
    }
}

/// The operator learns why the keys of an application are not used.
#[tokio::test]
async fn the_log_says_which_fetched_keys_are_ignored() {
    let log = crate::harness::Log::capture();
    let settings = "allow_insecure_redirect_uris = true\n[egress]\nallow_private_addresses = true";
    let host = TestHost::start_with_settings(settings).await;
    let key = rsa();
    let sets = [
        json!({"keys": vec![public_jwk(&key, json!({})); 22]}),
        json!({"keys": [public_jwk(&key, json!({"kid": "e", "use": "enc"}))]}),
    ];
    for (n, (set, expected, outcome)) in sets
        .into_iter()
        .zip([
            (&["too many keys", "used=20", "ignored=2"][..], accepted()),
            (&["no usable key", "keys[0]"][..], refused()),
        ])
        .map(|(set, (expected, outcome))| (set, expected, outcome))
        .enumerate()
    {
        let router =
            axum::Router::new().route("/jwks", get(move || std::future::ready(set.to_string())));
        let (listener, port) = crate::harness::listen().await;
        tokio::spawn(async move { axum::serve(listener, router).await });
        let uri = format!("http://localhost:{port}/jwks");
        let method = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": uri});
        let web = application(&host, method).await;
        let assertion = signed_as(&claims(&host, id(&web), n), None, &key);
        assert_eq!(ask_with(&host, &assertion).await, outcome);
        assert!(log.has(expected), "{:?}", log.lines());
    }
}
