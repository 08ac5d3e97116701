//! Which language a page speaks: the application's word, else the browser's, else the operator's.

use assent_model::language::Language;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::speaks;
use crate::harness::{Ada, Browser, HostOptions, TestHost, http_client, id};

const LANGUAGES: [(Language, &str); 2] = [
    (Language::English, "en-GB, de;q=0.5"),
    (Language::German, "fr, de-AT;q=0.9, en;q=0.8"),
];

async fn asks(
    ada: &Ada,
    browser: &Browser,
    changes: &[(&str, Option<&str>)],
) -> crate::harness::Page {
    browser
        .get(&ada.application.request(changes))
        .await
        .followed()
        .await
}

#[tokio::test]
async fn every_page_of_a_sign_in_speaks_the_browsers_language() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for (language, accepted) in LANGUAGES {
        let browser = Browser::reading(&host.base, accepted);
        speaks(
            &browser.get("/").await,
            language,
            &["home-title", "home-authenticator-about", "layout-skip"],
        );
        let login = asks(&ada, &browser, &[]).await;
        speaks(
            &login,
            language,
            &["login-lead", "login-name", "login-guide-phone"],
        );
        let unfit = login.submit(&login.path(), &[("name", "two words")]).await;
        speaks(&unfit, language, &["login-name-unfit"]);
        let waiting = login
            .submit(&login.path(), &[("name", "nobody")])
            .await
            .followed()
            .await;
        speaks(
            &waiting,
            language,
            &[
                "waiting-title",
                "waiting-lead",
                "waiting-goes-on",
                "waiting-foot",
            ],
        );
        let cancelled = waiting
            .submit(&format!("{}/cancel", login.path()), &[])
            .await
            .followed()
            .await;
        speaks(
            &cancelled,
            language,
            &["ended-cancelled", "ended-cancelled-advice", "ended-again"],
        );
        cancelled
            .submit(&format!("{}/again", login.path()), &[])
            .await;
        login.submit(&login.path(), &[("name", "ada")]).await;
        let requests = ada.phone.waiting(5).await.expect("requests");
        ada.phone.decide(&requests[0], None).await.expect("denied");
        speaks(
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
        speaks(
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
async fn every_page_of_a_session_speaks_the_browsers_language() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for (language, accepted) in LANGUAGES {
        let browser = Browser::reading(&host.base, accepted);
        let page = ada.ask(&browser, &[("prompt", Some("consent"))]).await;
        ada.approve(&page).await;
        let consent = browser.get(&page.url).await;
        speaks(
            &consent,
            language,
            &[
                "scope-openid",
                "scope-profile",
                "consent-allow",
                "consent-somebody-else",
            ],
        );
        consent.decide("allow").await;
        speaks(
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
        speaks(&posted, language, &["answer-lead", "answer-continue"]);
        let choice = asks(&ada, &browser, &[("prompt", Some("select_account"))]).await;
        speaks(
            &choice,
            language,
            &["login-somebody-else", "login-continue-as"],
        );
        let consents = browser.get("/consents").await;
        speaks(
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
        speaks(
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
        speaks(
            &browser.get("/session/ended").await,
            language,
            &["signed-out-heading", "signed-out-windows"],
        );
        speaks(
            &browser.get("/authenticator").await,
            language,
            &["authenticator-foot", "authenticator-keep"],
        );
    }
}

#[tokio::test]
async fn what_the_application_asks_for_wins_and_lasts_as_long_as_the_login() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "en");
    let german = [("ui_locales", Some("se de-CH en"))];
    let login = asks(&ada, &browser, &german).await;
    speaks(&login, Language::German, &["login-lead"]);
    let waiting = login
        .submit(&login.path(), &[("name", "ada")])
        .await
        .followed()
        .await;
    speaks(&waiting, Language::German, &["waiting-lead"]);
    // What the phone shows of the browser is in the words of whoever sits there.
    let requests = ada.phone.waiting(5).await.expect("requests");
    assert_eq!(
        (requests[0].browser.as_str(), requests[0].place.as_str()),
        ("Firefox auf Linux", "Dieser Computer")
    );
    ada.approve(&waiting).await;
    let consent = browser.get(&login.url).await;
    speaks(&consent, Language::German, &["scope-openid"]);
    consent.decide("allow").await;
    speaks(
        &browser.get(&login.url).await,
        Language::German,
        &["error-login-answered"],
    );
    // A form that the browser did not get from us is answered before the login is looked for.
    speaks(
        &browser.post(&login.path(), &[("name", "ada")]).await,
        Language::English,
        &["error-form"],
    );
    // What is none of a login speaks as the browser does; so does a login whose application asks for what we do not
    // speak.
    speaks(
        &browser.get("/").await,
        Language::English,
        &["home-hello-lead"],
    );
    let other = [("ui_locales", Some("fr it")), ("prompt", Some("login"))];
    speaks(
        &asks(&ada, &browser, &other).await,
        Language::English,
        &["login-lead"],
    );
    let question = browser.get("/oidc/session/end?ui_locales=de").await;
    speaks(&question, Language::German, &["sign-out-heading"]);
    let unknown = browser
        .get("/oidc/auth?client_id=nobody&ui_locales=de")
        .await;
    speaks(
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
async fn whoever_prefers_nothing_that_we_speak_reads_the_operators_language() {
    for (settings, language) in [
        ("", Language::English),
        ("[branding]\nlanguage = \"de\"\n", Language::German),
    ] {
        let host = TestHost::start_with(HostOptions {
            settings,
            ..HostOptions::default()
        })
        .await;
        for browser in [
            Browser::new(&host.base),
            Browser::reading(&host.base, "fr, *;q=0.1"),
        ] {
            speaks(&browser.get("/").await, language, &["home-title"]);
        }
        speaks(
            &Browser::reading(&host.base, "en").get("/").await,
            Language::English,
            &["home-title"],
        );
    }
}

#[tokio::test]
async fn discovery_names_the_languages_that_pages_speak() {
    let host = TestHost::start().await;
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: serde_json::Value = reqwest::get(url)
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    assert_eq!(
        document["ui_locales_supported"],
        json!(Language::ALL.map(Language::tag))
    );
    let ada = host.ada().await;
    for language in Language::ALL {
        let browser = Browser::new(&host.base);
        let login = asks(&ada, &browser, &[("ui_locales", Some(language.tag()))]).await;
        speaks(&login, language, &["login-lead"]);
    }
}

#[tokio::test]
async fn an_administrators_page_speaks_english_and_its_refusal_the_browsers_language() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::reading(&host.base, "de");
    ada.sign_in(&browser).await;
    let refused = browser.get("/admin").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    speaks(
        &refused,
        Language::German,
        &["error-not-administrator", "error-not-administrator-advice"],
    );
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&ada.user)),
        json!({"console_role": "owner"}),
    )
    .await;
    ada.sign_in(&browser).await;
    speaks(
        &browser.get("/admin").await,
        Language::English,
        &["layout-skip"],
    );
}

#[tokio::test]
async fn the_authenticators_app_is_served_in_the_language_of_whoever_asks() {
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
                .send()
                .await
                .expect("an answer")
        };
        let (in_english, in_german) = (ask("en", "").await, ask("de-DE", "").await);
        assert_eq!(
            (
                &in_english.headers()["vary"],
                &in_german.headers()["content-language"]
            ),
            (&"accept-language".parse().unwrap(), &"de".parse().unwrap())
        );
        // What is kept in one language is not good in another.
        let known = in_english.headers()["etag"]
            .to_str()
            .expect("text")
            .to_owned();
        assert_eq!(
            ask("en", &known).await.status(),
            StatusCode::NOT_MODIFIED,
            "{path}"
        );
        assert_eq!(ask("de", &known).await.status(), StatusCode::OK, "{path}");
        let (english_text, german_text) = (
            in_english.text().await.expect("text"),
            in_german.text().await.expect("text"),
        );
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
