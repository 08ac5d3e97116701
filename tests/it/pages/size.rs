//! The size of the login page with all its resources.

use reqwest::{Method, Response};
use serde_json::json;

use crate::harness::{Browser, Respond, TestHost, TestUser, http_client};

/// The largest total size of the transferred responses, in bytes.
const MOST: usize = 30_000;
/// The additional size of the script and the form for passkeys, where an application permits them, in bytes.
const PASSKEYS: usize = 4_500;

/// Returns the size of the head and the body of a response in bytes, and the body.
async fn weight(response: Response) -> (usize, String) {
    let head: usize = response
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
        .sum();
    let body = response.bytes().await.expect("a body");
    (
        head + "HTTP/1.1 200 OK\r\n\r\n".len() + body.len(),
        String::from_utf8_lossy(&body).into_owned(),
    )
}

#[tokio::test]
async fn the_login_page_and_its_resources_are_smaller_than_30_kilobytes() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    assert_small(&host, &ada, (3, MOST)).await;
    let path = format!("/applications/{}", ada.application.id);
    let permitted = json!({"passkey_sign_in": true});
    host.admin_ok(Method::PATCH, &path, permitted).await;
    assert_small(&host, &ada, (4, MOST + PASSKEYS)).await;
}

/// Checks the number of the resources, and the total size of the login page with them.
async fn assert_small(host: &TestHost, ada: &TestUser, (resources, most): (usize, usize)) {
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[("ui_locales", Some("de"))]))
        .await;
    let address = login.location();
    let (mut all, page) = weight(browser.stream(address.as_str()).await).await;
    assert!(page.contains("Bei <bdi translate=\"no\">"), "{page}");
    println!("{all:>6} the page");
    // The resources of the page: the stylesheet, the icon, and scripts without which the page works too.
    let loaded: Vec<&str> = page
        .split('"')
        .filter(|value| value.starts_with("/assets/"))
        .collect();
    assert_eq!(loaded.len(), resources, "{loaded:?}");
    assert!(
        page.split("<script")
            .skip(1)
            .all(|script| script.contains(" defer>")),
        "{page}"
    );
    for path in loaded {
        let answer = http_client()
            .get(format!("{}{path}", host.base))
            .header("accept-encoding", "gzip, br")
            .response()
            .await;
        assert!(answer.status().is_success(), "{path}");
        let (bytes, _) = weight(answer).await;
        println!("{bytes:>6} {path}");
        all += bytes;
    }
    println!("{all:>6} in all, of {most}");
    assert!(all < most, "{all} bytes");
}
