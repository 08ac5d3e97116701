//! The language of a page: from `ui_locales`, otherwise from the browser, otherwise from the setting.

use assent_model::language::Language;
use reqwest::StatusCode;
use serde_json::json;

use super::assert_language;
use crate::harness::{Body, Browser, Respond, TestHost, TestUser, Text, get, http_client};

const LANGUAGES: [(Language, &str); 2] = [
    (Language::English, "en-GB, de;q=0.5"),
    (Language::German, "fr, de-AT;q=0.9, en;q=0.8"),
];

async fn asks(
    ada: &TestUser,
    browser: &Browser,
    changes: &[(&str, Option<&str>)],
) -> crate::harness::Page {
    ada.application.login_page(browser, changes).await
}

#[tokio::test]
async fn every_sign_in_page_uses_the_language_of_the_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for (language, accepted) in LANGUAGES {
        let browser = Browser::reading(&host.base, accepted);
        assert_language(
            &browser.get("/").await,
            language,
            &["home-title", "home-authenticator-about", "layout-skip"],
        );
        let login = asks(&ada, &browser, &[]).await;
        assert_language(
            &login,
            language,
            &["login-lead", "login-name", "login-guide-phone"],
        );
        let unfit = login.submit(&login.path(), &[("name", "two words")]).await;
        assert_language(&unfit, language, &["login-name-invalid"]);
        let waiting = login.submit_name("nobody").await;
        assert_language(
            &waiting,
            language,
            &[
                "waiting-title",
                "waiting-lead",
                "waiting-continues",
                "waiting-foot",
            ],
        );
        let cancelled = waiting
            .submit(&format!("{}/cancel", login.path()), &[])
            .await
            .followed()
            .await;
        assert_language(
            &cancelled,
            language,
            &["ended-cancelled", "ended-cancelled-advice", "ended-again"],
        );
        cancelled
            .submit(&format!("{}/again", login.path()), &[])
            .await;
        login.submit(&login.path(), &[("name", "ada")]).await;
        let requests = ada.device.pending_requests(5).await;
        ada.device.deny(&requests[0]).await;
        assert_language(
            &login.again().await,
            language,
            &[
                "ended-denied",
                "ended-denied-happened",
                "ended-denied-advice",
            ],
        );
        login
            .again()
            .await
            .submit(&format!("{}/again", login.path()), &[])
            .await;
        login.submit(&login.path(), &[("name", "ada")]).await;
        host.advance(120);
        assert_language(
            &login.again().await,
            language,
            &[
                "ended-expired",
                "ended-expired-happened",
                "ended-expired-advice",
            ],
        );
    }
}

#[tokio::test]
async fn every_session_page_uses_the_language_of_the_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for (language, accepted) in LANGUAGES {
        let browser = Browser::reading(&host.base, accepted);
        let page = ada
            .begin_sign_in(&browser, &[("prompt", Some("consent"))])
            .await;
        ada.approve(&page).await;
        let consent = browser.get(&page.url).await;
        assert_language(
            &consent,
            language,
            &[
                "scope-openid",
                "scope-profile",
                "consent-allow",
                "consent-other-user",
            ],
        );
        consent.decide("allow").await;
        host.advance(31);
        assert_language(
            &browser.get(&page.url).await,
            language,
            &["error-login-answered", "error-login-answered-advice"],
        );
        let posted = browser
            .get(
                &ada.application
                    .request(&[("response_mode", Some("form_post"))]),
            )
            .await;
        assert_language(&posted, language, &["response-lead", "response-continue"]);
        let choice = asks(&ada, &browser, &[("prompt", Some("select_account"))]).await;
        assert_language(
            &choice,
            language,
            &["login-other-user", "login-continue-as"],
        );
        let consents = browser.get("/consents").await;
        assert_language(
            &consents,
            language,
            &[
                "consents-heading",
                "consents-since",
                "consents-withdraw",
                "layout-sign-out",
            ],
        );
        let question = browser.get("/session/end").await;
        assert_language(
            &question,
            language,
            &[
                "sign-out-heading",
                "sign-out-about",
                "sign-out-yes",
                "sign-out-no",
            ],
        );
        question.submit("/session/end", &[("answer", "yes")]).await;
        assert_language(
            &browser.get("/session/ended").await,
            language,
            &["signed-out-heading", "signed-out-windows"],
        );
        assert_language(
            &browser.get("/authenticator").await,
            language,
            &["authenticator-foot", "authenticator-keep"],
        );
    }
}

#[tokio::test]
async fn ui_locales_take_precedence_for_the_whole_sign_in() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::reading(&host.base, "en");
    let german = [("ui_locales", Some("se de-CH en"))];
    let login = asks(&ada, &browser, &german).await;
    assert_language(&login, Language::German, &["login-lead"]);
    let waiting = login.submit_name("ada").await;
    assert_language(&waiting, Language::German, &["waiting-lead"]);
    // The device describes the browser in its own language.
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(
        (requests[0].browser.as_str(), requests[0].place.as_str()),
        ("Firefox on Linux", "This computer")
    );
    ada.approve(&waiting).await;
    let consent = browser.get(&login.url).await;
    assert_language(&consent, Language::German, &["scope-openid"]);
    consent.decide("allow").await;
    host.advance(31);
    assert_language(
        &browser.get(&login.url).await,
        Language::German,
        &["error-login-answered"],
    );
    // The server rejects a form from another source before it loads the sign-in.
    assert_language(
        &browser.post(&login.path(), &[("name", "ada")]).await,
        Language::English,
        &["error-form"],
    );
    // A page outside a sign-in has the browser's language. So does a sign-in whose application requests an unsupported
    // language.
    assert_language(
        &browser.get("/").await,
        Language::English,
        &["home-hello-lead"],
    );
    let other = [("ui_locales", Some("fr it")), ("prompt", Some("login"))];
    assert_language(
        &asks(&ada, &browser, &other).await,
        Language::English,
        &["login-lead"],
    );
    let question = browser.get("/oidc/session/end?ui_locales=de").await;
    assert_language(&question, Language::German, &["sign-out-heading"]);
    let unknown = browser
        .get("/oidc/auth?client_id=nobody&ui_locales=de")
        .await;
    assert_language(
        &unknown,
        Language::German,
        &[
            "error-request",
            "error-request-application",
            "error-request-again",
        ],
    );
}

#[tokio::test]
async fn unsupported_languages_fall_back_to_the_setting() {
    for (settings, language) in [
        ("", Language::English),
        ("[branding]\nlanguage = \"de\"\n", Language::German),
    ] {
        let host = TestHost::start_with_settings(settings).await;
        for browser in [
            Browser::new(&host.base),
            Browser::reading(&host.base, "fr, *;q=0.1"),
        ] {
            assert_language(&browser.get("/").await, language, &["home-title"]);
        }
        assert_language(
            &Browser::reading(&host.base, "en").get("/").await,
            Language::English,
            &["home-title"],
        );
    }
}

#[tokio::test]
async fn discovery_lists_the_languages_of_pages() {
    let host = TestHost::start().await;
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: serde_json::Value = get(url).await.read_json().await;
    assert_eq!(
        document["ui_locales_supported"],
        json!(Language::ALL.map(Language::tag))
    );
    let ada = host.ada().await;
    for language in Language::ALL {
        let browser = Browser::new(&host.base);
        let login = asks(&ada, &browser, &[("ui_locales", Some(language.tag()))]).await;
        assert_language(&login, language, &["login-lead"]);
    }
}

#[tokio::test]
async fn the_console_is_english_and_its_rejection_uses_the_language_of_the_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::reading(&host.base, "de");
    ada.sign_in(&browser).await;
    let refused = browser.get("/admin").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_language(
        &refused,
        Language::German,
        &["error-not-administrator", "error-not-administrator-advice"],
    );
    host.set_console_role(&ada.user, "owner").await;
    ada.sign_in(&browser).await;
    assert_language(
        &browser.get("/admin").await,
        Language::English,
        &["layout-skip"],
    );
}

#[tokio::test]
async fn the_authenticator_is_served_in_the_requested_language() {
    let host = TestHost::start().await;
    for (path, english, german) in [
        (
            "/assets/authenticator/messages.js",
            "Nothing to approve",
            "Nichts zu bestätigen",
        ),
        (
            "/authenticator/manifest.webmanifest",
            "Approve or deny sign-ins",
            "Anmeldungen auf diesem Smartphone",
        ),
        (
            "/authenticator/sw.js",
            "Open the authenticator to approve",
            "Öffnen Sie den Authenticator, um",
        ),
    ] {
        let ask = async |accepted: &str, known: &str| {
            let request = http_client().get(format!("{}{path}", host.base));
            request
                .header("accept-language", accepted)
                .header("if-none-match", known)
                .response()
                .await
        };
        let (in_english, in_german) = (ask("en", "").await, ask("de-DE", "").await);
        assert_eq!(
            (
                &in_english.headers()["vary"],
                &in_german.headers()["content-language"]
            ),
            (&"accept-language".parse().unwrap(), &"de".parse().unwrap())
        );
        // A cached page of one language is not valid in another.
        let known = in_english.headers()["etag"].text().to_owned();
        assert_eq!(
            ask("en", &known).await.status(),
            StatusCode::NOT_MODIFIED,
            "{path}"
        );
        assert_eq!(ask("de", &known).await.status(), StatusCode::OK, "{path}");
        let (english_text, german_text) =
            (in_english.read_text().await, in_german.read_text().await);
        assert!(
            english_text.contains(english) && !english_text.contains(german),
            "{path}: {english_text}"
        );
        assert!(
            german_text.contains(german) && !german_text.contains(english),
            "{path}: {german_text}"
        );
    }
}
