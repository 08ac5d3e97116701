//! A user's recent activity in plain words, without the activity of other users.

use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::json;

use super::signed_in;
use crate::harness::{Browser, Database, TestHost, id};

#[both_databases]
async fn recent_activity_is_listed_in_plain_words(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    host.advance(60);
    let browser = Browser::new(&host.base);
    for _ in 0..2 {
        let waiting = ada.begin_sign_in(&browser, &[]).await;
        let requests = ada.device.pending_requests(5).await;
        ada.device.deny(&requests[0]).await;
        assert_eq!(browser.get(&waiting.url).await.outcome(), "denied");
    }
    host.advance(3600);
    ada.sign_in(&browser).await;
    let page = browser.get("/activity").await;
    for text in [
        "Signed in to <bdi>Books &#38; &#60;Co&#62;</bdi>",
        "Permission given: <bdi>Books &#38; &#60;Co&#62;</bdi>",
        "<span>approved on <bdi>Test phone</bdi></span>",
        "Sign-in to <bdi>Books &#38; &#60;Co&#62;</bdi> denied",
        "Requested <time",
        "Sign-ins with your name paused",
        "Device set up: <bdi>Test phone</bdi>",
        "Link created to set up a device for you",
        "You were given an account with",
        "Your account was created",
        "<span><bdi>Firefox</bdi> on <bdi>Linux</bdi></span> <span>This computer</span>",
        "on <bdi>Test phone</bdi>",
        "by an administrator",
    ] {
        assert!(
            page.body.contains(text),
            "{database:?}: {text}: {}",
            page.body
        );
    }
    assert!(
        !page.body.contains("</bdi> requested"),
        "{database:?}: a request is part of the row of its answer: {}",
        page.body
    );
    let signed_in = page
        .body
        .split("<li data-tone")
        .find(|row| row.contains("Signed in to"));
    assert!(
        signed_in.is_some_and(|row| row.contains("<a href=\"/#security\">Wasn’t you?</a>")
            && row.contains("approved on")
            && !row.contains("Requested")),
        "{database:?}: one row for the sign-in and its approval: {}",
        page.body
    );
    assert!(
        !page.body.contains("</bdi> approved"),
        "{database:?}: {}",
        page.body
    );
    for (kind, listed, left_out) in [
        ("sign-ins", "Signed in to", "Device set up"),
        ("devices", "Device set up", "Signed in to"),
        ("changes", "Permission given", "Device set up"),
    ] {
        let page = browser.get(&format!("/activity?kind={kind}")).await;
        assert!(
            page.body.contains(listed) && !page.body.contains(left_out),
            "{database:?}: {kind}: {}",
            page.body
        );
    }
    let newest = page
        .body
        .find("Permission given")
        .min(page.body.find("Signed in to"));
    assert!(
        newest < page.body.find("Your account was created"),
        "{database:?}: the latest first"
    );
}

/// The list does not show the locations of administrators and application servers.
#[tokio::test]
async fn recent_activity_hides_the_places_of_others() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let eve = host
        .user_with_account("mallory", ada.application.clone())
        .await;
    let browser = signed_in(&host, &ada).await;
    signed_in(&host, &eve).await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"name": "Ada King"}}),
    )
    .await;
    let page = browser.get("/activity").await;
    for row in page
        .body
        .split("<li data-tone")
        .filter(|row| row.contains("by an administrator"))
    {
        assert!(
            !row.contains("This computer") && !row.contains("Unknown browser"),
            "{row}"
        );
    }
    assert!(page.body.contains("Your details were changed"));
    assert!(
        !page.body.contains("mallory") && !page.body.contains(id(&eve.user)),
        "{}",
        page.body
    );
    assert!(
        !page.body.contains(&ada.device.device().to_string()),
        "no ids are shown"
    );
}

#[tokio::test]
async fn recent_activity_is_paged() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let rename = format!("/devices/{}/name", ada.device.device());
    let devices = browser.get("/devices").await;
    for number in 0..70 {
        host.advance(1);
        let name = format!("Phone {number:02}");
        devices.submit(&rename, &[("name", &name)]).await.location();
    }
    let mut page = browser.get("/activity").await;
    let mut seen = Vec::new();
    for turn in 0.. {
        assert!(turn < 10, "the list ends");
        assert_eq!(page.body.contains("Back to the newest"), turn > 0);
        let rows = page
            .body
            .split("Device renamed: <bdi>")
            .skip(1)
            .filter_map(|rest| rest.split('<').next());
        seen.extend(rows.map(str::to_owned));
        assert!(page.body.matches("<strong>").count() <= 30);
        let older = page
            .body
            .split("href=\"")
            .find(|rest| rest.starts_with("/activity?before="));
        let Some(older) = older
            .and_then(|rest| rest.split('"').next())
            .map(str::to_owned)
        else {
            break;
        };
        page = browser.get(&older).await;
    }
    let devices = browser.get("/activity?kind=devices").await;
    assert!(
        devices
            .body
            .contains("href=\"/activity?kind=devices&#38;before="),
        "the next page is of the same kind: {}",
        devices.body
    );
    let expected: Vec<String> = (0..70)
        .rev()
        .map(|number| format!("Phone {number:02}"))
        .collect();
    assert_eq!(seen, expected, "each once, the latest first");
    for odd in [
        "/activity?before=nonsense",
        "/activity?before=a&before=b",
        "/activity?x=y",
    ] {
        assert!(browser.get(odd).await.body.contains("Phone 69"), "{odd}");
    }
}
