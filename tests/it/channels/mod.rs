//! Approval channels in a sign-in: vendors and their callbacks, channel proofs, hostile components.

mod addresses;
mod callbacks;
mod deliveries;
mod fallback;
mod gateway;
mod hostile;
mod letters;
mod load;
mod proofs;
mod strength;
pub mod vendor;

use assent_store::sql;
use std::time::Duration;

use assent::config;
use assent::domain::Services;
use assent::domain::operations::plugins::specs::plugin_specs;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use self::vendor::Vendor;
use crate::harness::{
    PATIENCE, Page, Respond, TestHost, TestUser, Text, component, http_client, id,
};

/// Waits until the condition holds. The time limit allows for a busy machine.
pub async fn wait_until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(25));
    let looking = async {
        while !so().await {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking)
        .await
        .unwrap_or_else(|_| panic!("too late: {what}"));
}

/// Returns the next request to a vendor, after the instance has stored it.
pub async fn question(host: &TestHost, vendor: &Vendor, user: &str) -> Value {
    let question = vendor.question(user).await;
    let mut connection = host.connection().await;
    let request = question["request_id"].text().to_owned();
    wait_until("the server has stored the request", async || {
        let stored =
            sql::query_as::<(String,)>("SELECT id FROM approval_deliveries WHERE approval_id = $1")
                .bind(request.clone());
        stored
            .fetch_optional(&mut connection)
            .await
            .expect("read")
            .is_some()
    })
    .await;
    question
}

/// Waits for the page after a waiting page, and returns it.
pub async fn next_page(waiting: &Page) -> Page {
    let mut page = None;
    wait_until("the page continues", async || {
        let now = waiting.again().await;
        let waits = now.status == StatusCode::OK && now.body.contains("id=\"number\"");
        page = (!waits).then_some(now);
        if waits {
            // The interval is that of a browser, because the pages of an address have a rate limit.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        page.is_some()
    })
    .await;
    let page = page.expect("a page");
    if page.asks_for_consent() {
        page.decide("allow").await
    } else {
        page
    }
}

/// Returns the letters on a waiting page. The page has none if no vendor may be asked.
fn binding(waiting: &Page) -> String {
    let (_, after) = waiting
        .body
        .split_once("id=\"binding\">")
        .unwrap_or_default();
    after.split('<').next().unwrap_or_default().to_owned()
}

/// Sets the external authenticator of a user.
pub async fn add_external_authenticator(
    host: &TestHost,
    ada: &TestUser,
    channel: &str,
    address: &str,
) {
    let path = format!("/users/{}/external-authenticators/{channel}", id(&ada.user));
    host.admin_ok(Method::PUT, &path, json!({"identifier": address}))
        .await;
}

/// Returns the callback path of a channel, from the request to the vendor.
fn path_of(callback_url: &str) -> String {
    url::Url::parse(callback_url)
        .expect("an address")
        .path()
        .to_owned()
}

/// Returns the callback path of a channel that does not publish it.
fn callback_path(host: &TestHost, channel: &str) -> String {
    let code = host
        .host
        .root_secret
        .derive("approval callback", channel.as_bytes())
        .expect("a code");
    format!("/approvals/callbacks/{}", URL_SAFE_NO_PAD.encode(code))
}

/// Sends a callback. Returns the status.
async fn call_back(base: &str, path: &str, body: impl Into<reqwest::Body>) -> StatusCode {
    http_client()
        .post(format!("{base}{path}"))
        .body(body)
        .response()
        .await
        .status()
}

/// Reloads an instance with the plugins of other settings.
async fn reload(host: &Services, entries: &str) {
    #[derive(Deserialize)]
    struct Settings {
        plugins: config::Plugins,
    }
    let settings: Settings = toml::from_str(entries).expect("settings");
    host.plugins
        .reload(plugin_specs(&settings.plugins).expect("specs"))
        .await
        .expect("loaded");
}

/// Returns the settings of a channel with this component and further settings.
fn channel(name: &str, of: &str, more: &str) -> String {
    format!(
        "[[plugins.approval_channels]]\nname = \"{name}\"\nfile = \"{}\"\nallow_private_addresses = true\n{more}\n",
        component(of).display()
    )
}
