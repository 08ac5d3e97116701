//! Requests about another user, and settings that change during a sign-in.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_another_user_is_rejected() {
    let scene = Fixture::with(json!({})).await;
    let bob = scene
        .host
        .user_with_account("bob", scene.service_provider.application())
        .await;
    let subject =
        |name: &str| format!("<saml:Subject><saml:NameID>{name}</saml:NameID></saml:Subject>");
    // Ada's session is not valid for Bob, so the server asks for a sign-in.
    let requested = scene.request().containing(&subject("bob@example.org"));
    let login = scene
        .service_provider
        .begin(&scene.browser, &requested, None)
        .await;
    assert!(
        login.body.contains("value=\"bob@example.org\""),
        "{}",
        login.body
    );
    // If another user approves, the service provider receives no assertion.
    let requested = scene.request().containing(&subject("eve@example.org"));
    let login = scene
        .service_provider
        .begin(&scene.browser, &requested, None)
        .await;
    let waiting = identify(&bob, &login).await;
    bob.approve(&waiting).await;
    let response = Response::from_page(&scene.browser.finish(&waiting.url).await);
    assert_eq!(
        response.status(),
        [RESPONDER, "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"]
    );
    assert!(response.element("NameID").is_none());
    // A request for the signed-in user continues.
    let requested = scene.request().containing(&subject("ada@example.org"));
    assert_eq!(
        Response::from_page(
            &scene
                .service_provider
                .begin(&scene.browser, &requested, None)
                .await
        )
        .text("NameID"),
        "ada@example.org"
    );
    // A policy changes the format of the name, but never the user.
    let policy = r#"<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient" SPNameQualifier="https://sp.example/saml"/>"#;
    let response = Response::from_page(
        &scene
            .service_provider
            .begin(&scene.browser, &scene.request().containing(policy), None)
            .await,
    );
    assert!(response.text("NameID").starts_with('_'));
    let foreign = r#"<saml:Subject><saml:NameID SPNameQualifier="https://other.example">ada@example.org</saml:NameID></saml:Subject>"#;
    let page = scene
        .service_provider
        .begin_raw(&scene.browser, &scene.request().containing(foreign))
        .await;
    assert_eq!(
        Response::from_page(&page).status()[1],
        "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requested_subject_does_not_reveal_users_behind_pseudonyms() {
    let changes = json!({"name_id_format": "persistent", "other_name_id_formats": ["transient"]});
    let scene = Fixture::with(changes).await;
    let email = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
    for format in [format!(" Format=\"{email}\""), String::new()] {
        let subject = format!(
            "<saml:Subject><saml:NameID{format}>ada@example.org</saml:NameID></saml:Subject>"
        );
        let request = scene
            .request()
            .with("IsPassive", "true")
            .containing(&subject);
        let response = Response::from_page(
            &scene
                .service_provider
                .begin(&scene.browser, &request, None)
                .await,
        );
        assert!(response.status()[1].ends_with(":NoPassive"), "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acs_removed_during_the_sign_in_receives_no_response() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let login = service_provider
        .begin(&browser, &service_provider.request(&host), None)
        .await;
    let waiting = identify(&ada, &login).await;
    ada.approve(&waiting).await;
    let path = format!("/applications/{}", service_provider.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"acs": [{"url": "https://sp.example/new"}]}),
    )
    .await;
    let page = browser.get(&waiting.url).await;
    assert!(
        !page.body.contains("SAMLResponse")
            && page.body.contains("no longer accepts sign\u{2011}ins"),
        "{}",
        page.body
    );
    let left = page.leave().await;
    assert!(!left.body.contains("SAMLResponse"), "{}", left.body);
}
