//! Audiences, certificates and the registration of client authentication.

use super::*;
use crate::harness::{Body, EncodedCertificate, Json, Respond, Text, get, temp_folder, utf8};

#[tokio::test]
async fn the_audience_is_the_issuer_or_an_allowed_token_endpoint() {
    let host = TestHost::start().await;
    let key = rsa();
    let created = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    let web = application(&host, created).await;
    let path = format!("/applications/{}", id(&web));
    assert_eq!(web["lenient_assertion_audience"], false);
    let to_token_endpoint = async |n| {
        let mut claims = claims(&host, id(&web), n);
        claims["aud"] = json!(format!("{}/token", host.issuer()));
        ask_with(&host, &by_rsa(&claims, &key)).await
    };
    assert_eq!(to_token_endpoint(1).await, refused());
    let changed = host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"lenient_assertion_audience": true}),
        )
        .await;
    assert_eq!(changed["lenient_assertion_audience"], true);
    assert_eq!(to_token_endpoint(2).await, accepted());
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 3), &key)).await,
        accepted()
    );
    // The server rejects the audience of another server, and several audiences.
    for audience in [
        json!("https://other.example/token"),
        json!([host.issuer(), format!("{}/token", host.issuer())]),
    ] {
        let mut claims = claims(&host, id(&web), 4);
        claims["aud"] = audience;
        assert_eq!(ask_with(&host, &by_rsa(&claims, &key)).await, refused());
    }
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"lenient_assertion_audience": false}),
    )
    .await;
    assert_eq!(to_token_endpoint(5).await, refused());
}

#[tokio::test]
async fn applications_with_admin_scopes_cannot_use_the_token_endpoint_audience() {
    let host = TestHost::start().await;
    let key = rsa();
    let created = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    let web = application(&host, created).await;
    let path = format!("/applications/{}", id(&web));
    let (scopes, lenient) = (json!(["admin:read"]), json!(true));
    for (first, second) in [
        (
            json!({"admin_scopes": scopes}),
            json!({"lenient_assertion_audience": lenient}),
        ),
        (
            json!({"lenient_assertion_audience": lenient}),
            json!({"admin_scopes": scopes}),
        ),
    ] {
        host.admin_ok(Method::PATCH, &path, first).await;
        let (status, problem) = host.admin(Method::PATCH, &path, second).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert!(
            problem.to_string().contains("lenient_assertion_audience"),
            "{problem}"
        );
        host.admin_ok(
            Method::PATCH,
            &path,
            json!({"admin_scopes": [], "lenient_assertion_audience": false}),
        )
        .await;
    }
}

#[tokio::test]
async fn tls_client_certificate_binds_tokens_to_the_certificate() {
    let folder = temp_folder();
    let (settings, server) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    let own = certificate_of("books");
    // The certificate is newer than the instance, because the instance's clock stands still.
    host.advance(60);
    let registered = own.0.pem();
    let created =
        json!({"token_endpoint_auth_method": "tls_client_certificate", "certificate": registered});
    let web = application(&host, created).await;
    let discovery = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = get(discovery).await.read_json().await;
    let aliases = &document["mtls_endpoint_aliases"];
    let at = |name: &str| aliases[name].text().to_owned();
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id(&web)),
        ("scope", "openid"),
    ];
    let (mine, attacker, anonymous) = (
        client(&server, Some(&own)),
        client(&server, Some(&certificate_of("books"))),
        client(&server, None),
    );
    for wrong in [&attacker, &anonymous] {
        let answer = wrong
            .post(at("token_endpoint"))
            .form(&form)
            .response()
            .await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    // The other listener receives no certificate, and ignores the header.
    assert_eq!(ask(&host, &[("client_id", id(&web))]).await, refused());
    let answer = mine.post(at("token_endpoint")).form(&form).response().await;
    assert_eq!(answer.status(), StatusCode::OK);
    let tokens: Value = answer.read_json().await;
    let token = tokens["access_token"].text();
    let form = [("token", token), ("client_id", id(&web))];
    let answer = mine
        .post(at("introspection_endpoint"))
        .form(&form)
        .response()
        .await;
    let active: Value = answer.read_json().await;
    let digest = openssl::sha::sha256(&own.0.to_der().expect("DER"));
    let thumbprint =
        base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, digest);
    assert_eq!(active["cnf"]["x5t#S256"], thumbprint);
    // The token is not valid without the certificate's key.
    for (client, expected) in [(&mine, 403), (&attacker, 401), (&anonymous, 401)] {
        let answer = client
            .get(at("userinfo_endpoint"))
            .bearer_auth(token)
            .response()
            .await;
        assert_eq!(
            answer.status().as_u16(),
            expected,
            "403: the token is valid, but has no user"
        );
    }
}

#[tokio::test]
async fn registered_keys_and_certificates_are_validated() {
    let host = TestHost::start_with_settings("allow_insecure_redirect_uris = true").await;
    let key = rsa();
    let private = utf8(key.private_key_to_pem_pkcs8().expect("PEM"));
    let short = PKey::from_rsa(openssl::rsa::Rsa::generate(1024).expect("a key")).expect("a key");
    for (settings, word) in [
        (
            json!({"token_endpoint_auth_method": "none"}),
            "web application",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            "jwks",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": private}),
            "private key",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&short)}),
            "2048",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": "nonsense"}),
            "PEM",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": []}}),
            "Key Set",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}}),
            "private",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "http://a.example/jwks"}),
            "https://",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://[::ffff:127.0.0.1]/jwks"}),
            "allow_private_addresses = true",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key),
                "jwks_uri": "https://a.example"}),
            "one of",
        ),
        (
            json!({"token_endpoint_auth_method": "tls_client_certificate"}),
            "certificate",
        ),
        (
            json!({"token_endpoint_auth_method": "tls_client_certificate", "certificate": pem(&key)}),
            "PEM",
        ),
        (
            json!({"token_endpoint_auth_method": "client_secret_basic", "certificate": pem(&key)}),
            "no certificate",
        ),
        (
            json!({"backchannel_logout_uri": "ftp://a.example/logout"}),
            "https://",
        ),
        (
            json!({"backchannel_logout_uri": "http://a.example/logout"}),
            "allow_private_addresses = true",
        ),
        (
            json!({"backchannel_logout_uri": "https://10.0.0.1/logout"}),
            "allow_private_addresses = true",
        ),
        (json!({"grant_types": []}), "one at least"),
        (
            json!({"subject_type": "pairwise", "redirect_uris": ["https://a.example/cb", "https://b.example/cb"]}),
            "sector",
        ),
    ] {
        let mut body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
        body.members_mut().extend(settings.members().clone());
        let (status, answer) = host.admin(Method::POST, "/applications", body).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{settings}: {answer}"
        );
        assert!(
            answer["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains(word)),
            "{settings}: {answer}"
        );
    }
}

#[tokio::test]
async fn public_applications_cannot_authenticate_with_a_secret() {
    let host = TestHost::start().await;
    for kind in ["spa", "native"] {
        let uri = if kind == "spa" {
            "https://spa.example/cb"
        } else {
            "com.example.app://cb"
        };
        let body = json!({"name": "Books", "application_type": kind, "redirect_uris": [uri],
                          "token_endpoint_auth_method": "client_secret_basic"});
        assert_eq!(
            host.admin(Method::POST, "/applications", body).await.0,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{kind}"
        );
    }
}
