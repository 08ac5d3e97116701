//! A user's path through the pages of an instance and of service providers.

use super::html::{frames, message_posted};
use crate::harness::{Page, TestUser, Text};

/// The last page of the browser, and the number of approval requests on the way.
pub struct Arrival {
    pub page: Page,
    pub requested: usize,
}

/// The user's answer to an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

/// Moves the browser from page to page, and decides on the device, until the flow ends.
pub async fn arrive(user: &TestUser, mut page: Page, decision: Decision) -> Arrival {
    let browser = page.browser().clone();
    let name = user.user["name"].text();
    let mut requested = 0;
    for _ in 0..32 {
        page = if page.status.is_redirection() {
            page.opened().await
        } else if let Some(next) = message_posted(&browser, &page).await {
            next
        } else if asks_for_name(&page) {
            page.submit(&page.path(), &[("name", name)]).await
        } else if page.body.contains("id=\"number\"") {
            requested += 1;
            decide(user, &page, decision).await;
            page.again().await
        } else if page.asks_for_consent() {
            page.decide("allow").await
        } else if page.body.contains("data-outcome=\"denied\"") {
            page.leave().await
        } else if !frames(&page).is_empty() {
            for frame in frames(&page) {
                Box::pin(arrive(user, browser.get(&frame).await, decision)).await;
            }
            page.again().await
        } else {
            return Arrival { page, requested };
        };
    }
    panic!("these pages never end: {} {}", page.url, page.body);
}

/// Returns whether it is the login page. Pages of other programs may have a field of the same name.
fn asks_for_name(page: &Page) -> bool {
    page.path().starts_with("/login/") && page.body.contains("name=\"name\"")
}

async fn decide(user: &TestUser, waiting: &Page, decision: Decision) {
    match decision {
        Decision::Approve => user.approve(waiting).await,
        Decision::Deny => {
            let requests = user.device.pending_requests(5).await;
            user.device.deny(&requests[0]).await;
            // External programs use the machine's clock, so the test ends the cooldown instead of waiting.
            user.device.end_cooldown().await;
        }
    }
}
