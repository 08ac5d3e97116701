//! Each page and the authenticator without a part of the browser that others have.
//!
//! | Without | Sign-in and portal | Console | Authenticator |
//! |---|---|---|---|
//! | event streams, held responses | `blocked_streams.mjs` | `blocked_streams.mjs` | `blocked_streams.mjs` |
//! | storage | `without.mjs` | `without.mjs` | `without.mjs` |
//! | notifications | none | none | `app_requests.mjs` |
//! | scripts | `first_sign_in.mjs`, `portal.mjs` | `first_sign_in.mjs` | its page says so |
//! | a network that answers | `classic_scripts.test.mjs` | `console_api.test.mjs` | `app_lifecycle.mjs` |
//! | its own language (translated) | `appearance.mjs` | `appearance.mjs` | `authenticator_surroundings.test.mjs` |
//! | its own colours (forced colours) | `appearance.mjs` | `appearance.mjs` | `appearance.mjs` |
//! | a screen (paper) | `appearance.mjs` | `appearance.mjs` | `appearance.mjs`, `devices.mjs` |
//! | its only tab | `without.mjs` | `console_operation.mjs` | `without.mjs` |
//! | its history (restored page) | `classic_scripts.test.mjs` | none | `authenticator.test.mjs` |
//! | its data (cleared) | none | none | `authenticator_surroundings.test.mjs` |

use futures_util::StreamExt;
use reqwest::StatusCode;
use serde_json::Value;

use crate::authenticator_app::administrators;
use crate::harness::{Browser, TestHost, id, in_time, parse_json, utf8};
use crate::javascript::run_with;

#[tokio::test]
async fn a_sign_in_ends_without_an_event_stream_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada"]).await;
    let bob = host.user("bob").await;
    let variables = [
        ("BASE_URL", host.base.as_str()),
        ("ENROL_URL", &links[0]),
        ("USER_ID", id(&bob)),
    ];
    run_with(&host, "blocked_streams.mjs", &variables).await;
}

#[tokio::test]
async fn pages_work_in_forced_colours_on_paper_and_translated_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada"]).await;
    let variables = [("BASE_URL", host.base.as_str()), ("ENROL_URL", &links[0])];
    run_with(&host, "appearance.mjs", &variables).await;
}

#[tokio::test]
async fn a_browser_without_storage_and_a_second_tab_sign_in_in_chromium() {
    let host = TestHost::start().await;
    let links = administrators(&host, &["ada"]).await;
    let variables = [("BASE_URL", host.base.as_str()), ("ENROL_URL", &links[0])];
    run_with(&host, "without.mjs", &variables).await;
}

#[tokio::test]
async fn the_event_stream_begins_with_an_event_and_repeats_it() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    let mut events = browser
        .stream(&format!("{}/events", page.path()))
        .await
        .bytes_stream();
    for _ in 0..2 {
        let event = in_time(events.next()).await;
        let event = utf8(event.expect("an event").expect("bytes").to_vec());
        let state = page.between("data-state=\"", "\"");
        assert_eq!(event, format!("event: alive\ndata: {state}\n\n"));
    }
}

/// Returns the state of the sign-in that a page shows, as its script asks for it.
async fn state_of(browser: &Browser, path: &str) -> String {
    let page = browser.get(&format!("{path}/state")).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert_eq!(page.headers["cache-control"], "no-store");
    let state: Value = parse_json(&page.body);
    state["state"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn the_state_of_a_sign_in_is_that_of_its_current_page() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let shown = |page: &crate::harness::Page| page.between("data-state=\"", "\"");
    for name in ["ada", "nobody"] {
        let browser = Browser::new(&host.base);
        let login = ada.application.login_page(&browser, &[]).await;
        assert_eq!(shown(&login), state_of(&browser, &login.path()).await);
        let waiting = login.submit_name(name).await;
        let state = state_of(&browser, &login.path()).await;
        assert_eq!(shown(&waiting), state);
        assert_ne!(shown(&login), state);
        // A question answers nothing: the page keeps its number.
        assert_eq!(waiting.again().await.number(), waiting.number());
        host.advance(1);
        let again = waiting.retry().await.submit_name(name).await;
        let newer = state_of(&browser, &login.path()).await;
        assert_ne!(newer, state, "another number");
        let stranger = Browser::new(&host.base);
        assert_eq!(state_of(&stranger, &login.path()).await, "changed");
        again.cancel().await;
        assert_eq!(state_of(&browser, &login.path()).await, "changed");
    }
    let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    ada.approve(&page).await;
    for _ in 0..2 {
        assert_eq!(state_of(page.browser(), &page.path()).await, "changed");
    }
    assert!(
        page.browser()
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_"),
        "the question did not use up the approval"
    );
}
