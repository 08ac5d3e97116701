//! The size of the login page with all its resources.

use reqwest::Response;

use crate::harness::{Browser, Respond, TestHost, http_client};

/// What everything together may weigh, in bytes.
const MOST: usize = 30_000;

/// An answer's head and body, in bytes.
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
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[("ui_locales", Some("de"))]))
        .await;
    let address = login.location();
    let (mut all, page) = weight(browser.stream(address.as_str()).await).await;
    assert!(page.contains("Bei <bdi>"), "{page}");
    println!("{all:>6} {}", "the page");
    // All that it loads: the stylesheet, the icon, and a script that it can be used without.
    let loaded: Vec<&str> = page
        .split('"')
        .filter(|value| value.starts_with("/assets/"))
        .collect();
    assert_eq!(loaded.len(), 3, "{loaded:?}");
    assert!(
        page.split("<script")
            .skip(1)
            .all(|script| script.contains(" defer>")),
        "{page}"
    );
    for path in loaded {
        let answer = http_client()
            .get(format!("{}{path}", host.base))
            .response()
            .await;
        assert!(answer.status().is_success(), "{path}");
        let (bytes, _) = weight(answer).await;
        println!("{bytes:>6} {path}");
        all += bytes;
    }
    println!("{all:>6} in all, of {MOST}");
    assert!(all < MOST, "{all} bytes");
}
