//! Real clients that are configured from discovery only: npm's `openid-client`, Python's `Authlib`, Java's
//! `oauth2-oidc-sdk`, and Debian's `mod_auth_openidc` in a real Apache. Each signs in, reads the user's claims and
//! refreshes; most of them also sign out.

mod apache;
mod authlib;
mod browserless;
mod fapi;
mod journey;
mod openid_client;
pub mod registration;
mod relying_party;

use std::sync::Arc;
use std::time::Duration;

use assent_model::clock::{Clock, ManualClock, SystemClock};

use crate::harness::{Page, TestHost, TestUser};

/// Starts an instance whose clock runs, because clients sign their assertions with the machine's time.
pub async fn host(settings: &str) -> TestHost {
    let host = TestHost::start_with_settings(settings).await;
    tokio::spawn(keep_clock(Arc::clone(&host.clock)));
    host
}

async fn keep_clock(clock: Arc<ManualClock>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        ticks.tick().await;
        clock.advance(SystemClock.now().remaining(clock.now()));
    }
}

/// Completes the instance's pages as a user who signs in. Ends when the instance redirects the browser to another host,
/// or when no page requires an action. Returns that response.
async fn complete_sign_in(ada: &TestUser, mut page: Page) -> Page {
    let base = page.origin();
    for _ in 0..12 {
        page = if page.status.is_redirection() {
            if page.location().origin() != base {
                return page;
            }
            page.opened().await
        } else if page.body.contains("name=\"name\"") {
            page.submit(&page.path(), &[("name", "ada")]).await
        } else if page.body.contains("id=\"number\"") {
            ada.approve(&page).await;
            page.again().await
        } else if page.asks_for_consent() {
            page.decide("allow").await
        } else {
            return page;
        };
    }
    panic!("these pages never end: {} {}", page.url, page.body);
}
