//! A browser without JavaScript: cookies, pages, forms. It does not follow redirects by itself, so that tests can check
//! each one.

use std::sync::Arc;
use std::time::Duration;

use reqwest::cookie::{CookieStore, Jar};
use reqwest::header::{
    ACCEPT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, LOCATION, X_FRAME_OPTIONS,
};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, StatusCode};
use url::{Origin, Url};

use super::client::http_client_builder;
use super::{Body, Parsed, Respond, Text};

/// A browser of one user.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    cookies: Arc<Jar>,
    base: Url,
}

/// A response in a browser.
pub struct Page {
    pub url: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
    browser: Browser,
}

fn builder(cookies: &Arc<Jar>) -> ClientBuilder {
    http_client_builder()
        .cookie_provider(Arc::clone(cookies))
        .redirect(Policy::none())
        .user_agent("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
}

impl Browser {
    pub fn new(base: &str) -> Self {
        let cookies = Arc::new(Jar::default());
        let client = builder(&cookies).build().expect("a client");
        Self {
            client,
            cookies,
            base: Url::parse(base).expect("an address"),
        }
    }

    /// Creates a browser with this `Accept-Language` header.
    pub fn reading(base: &str, languages: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, languages.parsed());
        let cookies = Arc::new(Jar::default());
        let client = builder(&cookies).default_headers(headers).build();
        Self {
            client: client.expect("a client"),
            cookies,
            base: Url::parse(base).expect("an address"),
        }
    }

    /// Returns the `Cookie` header that the browser sends to the instance.
    pub fn cookie_header(&self) -> String {
        let header = self.cookies.cookies(&self.base).expect("cookies");
        header.to_str().expect("text").to_owned()
    }

    /// Returns the same browser at the address of another instance.
    pub fn at(&self, base: &str) -> Self {
        Self {
            client: self.client.clone(),
            cookies: Arc::clone(&self.cookies),
            base: Url::parse(base).expect("an address"),
        }
    }

    /// Opens an address, which may be relative to the instance.
    pub async fn get(&self, address: &str) -> Page {
        let url = self.base.join(address).expect("an address");
        let response = self.client.get(url.clone()).response().await;
        self.page(url, response).await
    }

    /// Opens an address, and returns the page.
    ///
    /// # Errors
    /// Returns an error if no page arrives within the time limit.
    pub async fn try_get(&self, address: &str, limit: Duration) -> reqwest::Result<Page> {
        let url = self.base.join(address).expect("an address");
        let response = self.client.get(url.clone()).timeout(limit).send().await?;
        self.received(url, response).await
    }

    /// Posts a form, and returns the page.
    ///
    /// # Errors
    /// Returns an error if no page arrives within the time limit.
    pub async fn try_post(
        &self,
        address: &str,
        form: &[(&str, &str)],
        limit: Duration,
    ) -> reqwest::Result<Page> {
        let url = self.base.join(address).expect("an address");
        let request = self.client.post(url.clone()).form(form).timeout(limit);
        let response = request.send().await?;
        self.received(url, response).await
    }

    /// Sends a HEAD request.
    pub async fn head(&self, address: &str) -> Page {
        let url = self.base.join(address).expect("an address");
        let response = self.client.head(url.clone()).response().await;
        self.page(url, response).await
    }

    /// Opens the page of an approved sign-in, and consents.
    pub async fn finish(&self, address: &str) -> Page {
        let page = self.get(address).await;
        let page = if page.asks_to_confirm() {
            page.confirm().await
        } else {
            page
        };
        if page.asks_for_consent() {
            page.decide("allow").await
        } else {
            page
        }
    }

    /// Posts a form.
    pub async fn post(&self, address: &str, form: &[(&str, &str)]) -> Page {
        let url = self.base.join(address).expect("an address");
        let response = self.client.post(url.clone()).form(form).response().await;
        self.page(url, response).await
    }

    /// Returns a request with the browser's cookies, as a script of the page sends it.
    pub fn request(&self, method: reqwest::Method, address: &str) -> reqwest::RequestBuilder {
        self.client
            .request(method, self.base.join(address).expect("an address"))
    }

    /// Opens an address with an endless response.
    pub async fn stream(&self, address: &str) -> reqwest::Response {
        self.client
            .get(self.base.join(address).expect("an address"))
            .response()
            .await
    }

    async fn page(&self, url: Url, response: reqwest::Response) -> Page {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.read_text().await;
        self.checked_page(url, status, headers, body)
    }

    async fn received(&self, url: Url, response: reqwest::Response) -> reqwest::Result<Page> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await?;
        Ok(self.checked_page(url, status, headers, body))
    }

    fn checked_page(&self, url: Url, status: StatusCode, headers: HeaderMap, body: String) -> Page {
        if url.origin() == self.base.origin() {
            assert_unframeable(&url, &headers);
        }
        Page {
            url: url.to_string(),
            status,
            headers,
            // The mark is on each name and value, and would hide the texts in tests. Its own test reads the raw page.
            body: body.replace(" translate=\"no\"", ""),
            browser: self.clone(),
        }
    }
}

/// Asserts that no other site can show the page in a frame. The instance's own page may show the answers of a single
/// logout in frames.
fn assert_unframeable(url: &Url, headers: &HeaderMap) {
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let of_logout = url.path().starts_with("/sso/logout/")
        || url.path().starts_with("/sso/SingleLogoutService/");
    let policy = headers
        .get(CONTENT_SECURITY_POLICY)
        .and_then(|policy| policy.to_str().ok())
        .unwrap_or_default();
    let options = headers
        .get(X_FRAME_OPTIONS)
        .and_then(|options| options.to_str().ok())
        .unwrap_or_default();
    let denies_framing = policy.contains("frame-ancestors 'none'") && options == "DENY";
    let permits_own_frames = policy.contains("frame-ancestors 'self'") && options == "SAMEORIGIN";
    assert!(
        !is_html || denies_framing || (of_logout && permits_own_frames),
        "{url} can be framed: {headers:?}"
    );
}

/// Returns the text of a page without the QR code and its link, which differ for each sign-in, and without the state
/// that a script compares, which has the end of the request.
pub fn without_code(text: &str) -> String {
    let text = match text.split_once("data-state=\"") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once('"').expect("the end of the state");
            format!("{before}data-state=\"{after}")
        }
        None => text.to_owned(),
    };
    let mut parts = text.split("#login=");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, after) = part.split_once('"').expect("the end of the link");
        text = format!("{text}#login=\"{after}");
    }
    let Some((before, rest)) = text.split_once("class=\"scan\"") else {
        return text.to_owned();
    };
    let (_, after) = rest
        .split_once("class=\"leave\"")
        .expect("the form that cancels");
    format!("{before}{after}")
}

impl Page {
    /// Returns the target of a redirect.
    pub fn location(&self) -> Url {
        let location = self
            .headers
            .get(LOCATION)
            .unwrap_or_else(|| panic!("no redirect: {} {}", self.status, self.body));
        Url::parse(&self.url)
            .expect("an address")
            .join(location.text())
            .expect("an address")
    }

    /// Returns a parameter in the target of a redirect.
    pub fn parameter(&self, name: &str) -> String {
        let location = self.location();
        let found = location
            .query_pairs()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.into_owned());
        found.unwrap_or_else(|| panic!("no {name} in {location}"))
    }

    /// Opens the target of a redirect, which must be on this instance.
    pub async fn followed(&self) -> Page {
        let location = self.location();
        assert_eq!(
            location.origin(),
            self.browser.base.origin(),
            "{location} has another host"
        );
        self.browser.get(location.as_str()).await
    }

    /// Opens the target of a redirect, on any server.
    pub async fn opened(&self) -> Page {
        self.browser.get(self.location().as_str()).await
    }

    /// Loads the page again.
    pub async fn again(&self) -> Page {
        self.browser.get(&self.url).await
    }

    /// Returns the browser that shows the page.
    pub fn browser(&self) -> &Browser {
        &self.browser
    }

    /// Returns the origin of the page.
    pub fn origin(&self) -> Origin {
        Url::parse(&self.url).expect("an address").origin()
    }

    /// Returns the page's path.
    pub fn path(&self) -> String {
        Url::parse(&self.url).expect("an address").path().to_owned()
    }

    /// Returns the CSRF token of the page's forms.
    pub fn csrf(&self) -> String {
        self.between("name=\"csrf\" value=\"", "\"")
    }

    /// Returns whether the page asks for consent.
    pub fn asks_for_consent(&self) -> bool {
        self.body.contains("data-page=\"consent\"")
    }

    /// Returns whether the page names the account, and asks the user to confirm it.
    pub fn asks_to_confirm(&self) -> bool {
        self.body.contains("data-page=\"confirm\"")
    }

    /// Continues with the account that the page names.
    pub async fn confirm(&self) -> Page {
        self.submit(
            &format!("{}/confirm", self.path()),
            &[("user", &self.user_token())],
        )
        .await
    }

    /// Returns the token that binds the page to its user.
    pub fn user_token(&self) -> String {
        self.between("name=\"user\" value=\"", "\"")
    }

    /// Presses a button of the consent page: `allow` or `deny`.
    pub async fn decide(&self, decision: &str) -> Page {
        let login = self.path().trim_end_matches("/confirm").to_owned();
        self.submit(
            &format!("{login}/consent"),
            &[("user", &self.user_token()), ("decision", decision)],
        )
        .await
    }

    /// Returns the value of a field in the form that the page posts to the application.
    pub fn field(&self, name: &str) -> String {
        unescaped(&self.between(&format!("name=\"{name}\" value=\""), "\""))
    }

    /// Returns the number that the waiting page shows.
    pub fn number(&self) -> String {
        self.between("id=\"number\">", "<")
    }

    /// Returns the outcome of an ended sign-in.
    pub fn outcome(&self) -> String {
        self.between("data-outcome=\"", "\"")
    }

    /// Returns the target of the page's automatic return after ten seconds, which works without a script. Returns
    /// `None` if the page stays.
    pub fn returns(&self) -> Option<String> {
        let (_, rest) = self
            .body
            .split_once("<meta http-equiv=\"refresh\" content=\"10;url=")?;
        rest.split('"').next().map(unescaped)
    }

    /// Submits one of the page's forms with its token and these fields.
    pub async fn submit(&self, action: &str, fields: &[(&str, &str)]) -> Page {
        let form = self.body.split_once(&format!("action=\"{action}\""));
        let form = form
            .unwrap_or_else(|| panic!("no form for {action}: {}", self.body))
            .1;
        let csrf = form
            .split_once("name=\"csrf\" value=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        let csrf = csrf
            .unwrap_or_else(|| panic!("no token for {action}: {}", self.body))
            .0
            .to_owned();
        let form: Vec<(&str, &str)> = fields
            .iter()
            .copied()
            .chain([("csrf", csrf.as_str())])
            .collect();
        self.browser.post(action, &form).await
    }

    /// Submits the user's name on a login page, and returns the waiting page.
    pub async fn submit_name(&self, name: &str) -> Page {
        let sent = self.submit(&self.path(), &[("name", name)]).await;
        sent.followed().await
    }

    /// Starts the ended sign-in again, and returns the login page.
    pub async fn retry(&self) -> Page {
        let action = format!("{}/again", self.path());
        self.submit(&action, &[]).await.followed().await
    }

    /// Returns to the application from an ended sign-in.
    pub async fn leave(&self) -> Page {
        self.submit(&format!("{}/leave", self.path()), &[]).await
    }

    /// Cancels the sign-in.
    pub async fn cancel(&self) -> Page {
        self.submit(&format!("{}/cancel", self.path()), &[]).await
    }

    /// Returns the target and the body of the form that the page posts to the application.
    pub fn form(&self) -> (String, String) {
        let action = unescaped(&self.between("action=\"", "\""));
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        for input in self.body.split("<input type=\"hidden\" name=\"").skip(1) {
            let (name, rest) = input.split_once("\" value=\"").expect("a value");
            body.append_pair(name, &unescaped(rest.split('"').next().expect("an end")));
        }
        (action, body.finish())
    }

    pub fn between(&self, start: &str, end: &str) -> String {
        let found = self
            .body
            .split_once(start)
            .and_then(|(_, rest)| rest.split_once(end));
        found
            .map(|(text, _)| text.to_owned())
            .unwrap_or_else(|| panic!("no {start} in {} {}", self.status, self.body))
    }
}

/// Reverts the HTML escapes in a text of a page.
fn unescaped(text: &str) -> String {
    [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (escaped, plain)| {
        text.replace(escaped, plain)
    })
}
