//! The modules of the OpenID suite about signed request objects, each by its name. The one about RS256 is with the
//! security profiles.

use super::*;

/// Returns an application that signs its requests.
async fn signing() -> Fixture {
    fixture(json!({"require_signed_request_object": true})).await
}

impl Fixture {
    fn now(&self) -> i64 {
        self.host.clock.now().seconds()
    }

    /// Pushes an object with these changes, which is refused because of the object.
    async fn refuses(&self, changes: Value) {
        let error = self.refusal(&self.object(changes)).await;
        assert_eq!(error, "invalid_request_object");
    }

    /// Pushes an object with these changes, which is accepted.
    async fn accepts(&self, changes: Value) {
        let text = changes.to_string();
        let (status, answer) = self.push(&[("request", &self.object(changes))]).await;
        assert_eq!(status, StatusCode::CREATED, "{text}: {answer}");
    }
}

#[tokio::test]
async fn ensure_request_object_without_exp_fails() {
    signing().await.refuses(json!({"exp": null})).await;
}

#[tokio::test]
async fn ensure_request_object_without_nbf_fails() {
    signing().await.refuses(json!({"nbf": null})).await;
}

#[tokio::test]
async fn ensure_expired_request_object_fails() {
    let it = signing().await;
    it.refuses(json!({"exp": it.now() - 300})).await;
}

#[tokio::test]
async fn ensure_request_object_with_bad_aud_fails() {
    let it = signing().await;
    it.refuses(json!({"aud": "https://other.example"})).await;
}

#[tokio::test]
async fn ensure_request_object_with_exp_over_60_fails() {
    let it = signing().await;
    it.refuses(json!({"exp": it.now() + 70 * 60})).await;
}

#[tokio::test]
async fn ensure_request_object_with_nbf_over_60_fails() {
    let it = signing().await;
    it.refuses(json!({"nbf": it.now() - 70 * 60})).await;
    it.accepts(json!({"nbf": it.now() - 59 * 60, "exp": it.now() + 59 * 60}))
        .await;
}

#[tokio::test]
async fn ensure_request_object_with_multiple_aud_succeeds() {
    let it = signing().await;
    let aud = json!([it.host.issuer(), "https://other.example"]);
    it.accepts(json!({"aud": aud})).await;
}

#[tokio::test]
async fn ensure_request_object_with_nbf_8_seconds_in_the_future_is_accepted() {
    let it = signing().await;
    let now = it.now();
    it.accepts(json!({"nbf": now + 8, "iat": now + 8})).await;
    it.accepts(json!({"nbf": now as f64 + 0.5})).await;
}

#[tokio::test]
async fn ensure_request_object_signature_algorithm_is_not_none() {
    let it = signing().await;
    let claims = it.claims(&json!({}));
    for algorithm in ["none", "None", "NONE", ""] {
        let header = json!({"alg": algorithm}).to_string();
        let unsigned = format!("{}.{}.", base64_of(header), base64_of(claims.to_string()));
        assert_eq!(it.refusal(&unsigned).await, "invalid_request_object");
    }
}

#[tokio::test]
async fn ensure_request_object_with_invalid_signature_fails() {
    let it = signing().await;
    let object = it.object(json!({}));
    let (signed, signature) = object.rsplit_once('.').expect("a signature");
    let first = if signature.starts_with('A') { "B" } else { "A" };
    let changed = format!("{signed}.{first}{}", &signature[1..]);
    assert_eq!(it.refusal(&changed).await, "invalid_request_object");
}

/// Signed by an unknown key, and by the key of another application that is registered with it.
#[tokio::test]
async fn ensure_matching_key_in_authorization_request() {
    let it = signing().await;
    let key = ProofKey::generate();
    let by_unknown = it.object_by(&key, json!({}));
    assert_eq!(it.refusal(&by_unknown).await, "invalid_request_object");
    let other = it.host.web_application().await;
    let path = format!("/applications/{}", other.id);
    let change = json!({"jwks": {"keys": [key.public()]}, "require_signed_request_object": true});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    for changes in [
        json!({}),
        json!({"iss": other.id}),
        json!({"client_id": other.id}),
        json!({"iss": other.id, "client_id": other.id}),
    ] {
        let text = changes.to_string();
        let by_other = it.object_by(&key, changes);
        let error = it.refusal(&by_other).await;
        assert_eq!(error, "invalid_request_object", "{text}");
    }
    // The other application pushes its own object, which no one else can use.
    let own = it.object_by(&key, json!({"iss": other.id, "client_id": other.id}));
    let form = [("request".to_owned(), own)];
    let (status, answer) = push_form(&it.host.base, &other, &form).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let uri = address(&it.ada.application.id, answer["request_uri"].text());
    let page = Browser::new(&it.host.base).get(&uri).await;
    expect_page(&page, "it did not register before");
}

#[tokio::test]
async fn ensure_unsigned_request_at_par_endpoint_fails() {
    let it = signing().await;
    let request = it.ada.application.request(&[]);
    let page = Browser::new(&it.host.base).get(&request).await;
    assert_eq!(page.parameter("error"), "invalid_request");
    let query = request.split_once('?').expect("a query").1;
    let form: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let (status, answer) = push_form(&it.host.base, &it.ada.application, &form).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_request");
}

#[tokio::test]
async fn par_authorization_request_containing_request_uri() {
    let it = signing().await;
    for uri in [
        "https://rp.example/o",
        "urn:ietf:params:oauth:request_uri:pr_other",
    ] {
        it.refuses(json!({"request_uri": uri})).await;
    }
}

#[tokio::test]
async fn ensure_request_object_without_redirect_uri_fails() {
    let it = signing().await;
    let object = it.object(json!({"redirect_uri": null}));
    assert_eq!(it.refusal(&object).await, "invalid_request");
}

#[tokio::test]
async fn ensure_different_state_inside_and_outside_request_object() {
    let it = fixture(json!({})).await;
    let browser = Browser::new(&it.host.base);
    let object = it.object(json!({}));
    let parameters = [("state", "outside"), ("request", object.as_str())];
    let first = it.open(&browser, &parameters).await;
    let page = it.finish(&browser, first).await;
    assert_eq!(page.parameter("state"), "st&te");
    // The same, beside a reference to a pushed object.
    let (_, pushed) = it.push(&[("request", &it.object(json!({})))]).await;
    let uri = address(&it.ada.application.id, pushed["request_uri"].text());
    let page = browser.get(&format!("{uri}&state=outside")).await;
    assert_eq!(page.parameter("state"), "st&te");
}

#[tokio::test]
async fn ensure_different_nonce_inside_and_outside_request_object() {
    let it = fixture(json!({})).await;
    let browser = Browser::new(&it.host.base);
    let object = it.object(json!({"nonce": "inside"}));
    let parameters = [("nonce", "outside"), ("request", object.as_str())];
    let first = it.open(&browser, &parameters).await;
    let mut pages = vec![it.finish(&browser, first).await];
    let object = it.object(json!({"nonce": "inside"}));
    let (_, pushed) = it.push(&[("request", &object)]).await;
    let uri = address(&it.ada.application.id, pushed["request_uri"].text());
    pages.push(browser.get(&format!("{uri}&nonce=outside")).await);
    for page in pages {
        let code = page.parameter("code");
        let (_, tokens) = it.ada.application.exchange(&it.host.base, &code, &[]).await;
        assert_eq!(jwt_claims(tokens["id_token"].text())["nonce"], "inside");
    }
}

#[tokio::test]
async fn state_only_outside_request_object_not_used() {
    let it = fixture(json!({})).await;
    let browser = Browser::new(&it.host.base);
    let object = it.object(json!({"state": null}));
    let parameters = [("state", "outside"), ("request", object.as_str())];
    let first = it.open(&browser, &parameters).await;
    let page = it.finish(&browser, first).await;
    let location = page.location();
    let mut names = location.query_pairs().map(|(name, _)| name);
    assert!(!names.any(|name| name == "state"), "{location}");
    assert!(!page.parameter("code").is_empty());
}
