//! The admin API and its callers: the console, service applications and the operator token.

mod access;
mod backchannel_requests;
mod caller_checks;
mod candidates;
mod clients;
mod conditional;
mod erasure;
mod error_references;
mod groups;
mod idempotency;
mod invited_users;
mod lists;
mod lock_order;
mod manifests;
mod names;
mod nulls;
mod operation;
mod other_user;
mod overview;
mod protected_actions;
mod receipts;
mod recipe_member;
mod reports;
mod role_changes;
mod roles;
mod search;
mod sessions;
mod shape;
mod stored_actions;
mod summaries;
mod summary_languages;
mod test_sign_ins;
mod transfers;
mod users;

use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Application, Body, Browser, Device, Respond, TestHost, Text, http_client, id,
};

/// A response of the API.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    /// Returns the kind of the problem, without the prefix that all kinds share.
    fn problem(&self) -> &str {
        let kind = self.body["type"]
            .as_str()
            .unwrap_or_else(|| panic!("the body is not a problem: {} {}", self.status, self.body));
        kind.strip_prefix("urn:assent:problem:")
            .expect("a problem type of Assent")
    }

    /// Returns the body of the response, which must be a success.
    fn success(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self.body
    }

    fn etag(&self) -> &str {
        self.headers["etag"].text()
    }
}

async fn sent(request: RequestBuilder) -> Answer {
    let response = request.response().await;
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.read_text().await;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer {
        status,
        headers,
        body,
    }
}

/// A caller of the API.
pub(crate) enum Caller {
    /// With a bearer token.
    Bearer { base: String, token: String },
    /// With a session of the console, as the console's page calls.
    Console {
        browser: Browser,
        user: String,
        csrf: String,
        device: Arc<Device>,
    },
}

impl Caller {
    /// Returns a caller with the server's operator token.
    pub(crate) fn machine(host: &TestHost) -> Self {
        Self::Bearer {
            base: host.base.clone(),
            token: host.token.clone(),
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        match self {
            Self::Bearer { base, token } => http_client()
                .request(method, format!("{base}/admin/api/v1{path}"))
                .bearer_auth(token),
            Self::Console {
                browser,
                user,
                csrf,
                ..
            } => browser
                .request(method, &format!("/admin/api/v1{path}"))
                .header("x-assent-user", user)
                .header("x-assent-csrf", csrf)
                .header("sec-fetch-site", "same-origin"),
        }
    }

    /// Calls the API, and approves the action on the device if an approval is required.
    async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        let answer = self.call_once(method.clone(), path, &body, None).await;
        let (Self::Console { device, .. }, Some(action)) =
            (self, answer.body.get("action_approval"))
        else {
            return answer;
        };
        let number = action["number"].text();
        let requests = device.pending_requests(5).await;
        let newest = requests.last().expect("a request");
        assert_eq!(device.approve(newest, number).await, "approved");
        self.call_once(method, path, &body, action["id"].as_str())
            .await
    }

    /// Calls the API, with the id of an approval if there is one.
    async fn call_once(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        approval: Option<&str>,
    ) -> Answer {
        let request = self.request(method, path);
        let request = if body.is_null() {
            request
        } else {
            request.json(body)
        };
        sent(match approval {
            Some(approval) => request.header("x-assent-action-approval", approval),
            None => request,
        })
        .await
    }

    async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, Value::Null).await
    }
}

/// A user with a console role, and the user's device.
pub(crate) struct Administrator {
    pub(crate) user: Value,
    pub(crate) device: Arc<Device>,
}

impl Administrator {
    pub(crate) async fn new(host: &TestHost, name: &str, role: &str) -> Self {
        let user = host.user(name).await;
        let path = format!("/users/{}", id(&user));
        let user = host
            .admin_ok(Method::PATCH, &path, json!({"console_role": role}))
            .await;
        let device = Arc::new(host.authenticator(&user).await);
        // The first device activates an invited user.
        Self {
            user: host.admin_ok(Method::GET, &path, Value::Null).await,
            device,
        }
    }

    /// Returns a browser in which the administrator is signed in to the console.
    async fn browser(&self, host: &TestHost) -> Browser {
        let browser = Browser::new(&host.base);
        let login = browser.get("/admin").await.followed().await;
        let name = self.user["name"].text();
        let waiting = login.submit_name(name).await;
        let requests = self.device.pending_requests(5).await;
        let newest = requests.last().expect("a request");
        assert_eq!(
            self.device.approve(newest, &waiting.number()).await,
            "approved"
        );
        assert_eq!(
            browser.get(&waiting.url).await.followed().await.status,
            StatusCode::OK
        );
        browser
    }

    /// Returns the administrator as a caller from the console's page.
    pub(crate) async fn signed_in(&self, host: &TestHost) -> Caller {
        let browser = self.browser(host).await;
        let me = sent(browser.request(Method::GET, "/admin/api/v1/me"))
            .await
            .success();
        let csrf = me["csrf_token"].text().to_owned();
        Caller::Console {
            browser,
            user: me["id"].text().to_owned(),
            csrf,
            device: Arc::clone(&self.device),
        }
    }
}

/// Returns a caller with this role who is signed in to the console.
async fn console_caller(host: &TestHost, name: &str, role: &str) -> Caller {
    Administrator::new(host, name, role)
        .await
        .signed_in(host)
        .await
}

/// Returns users that a support user creates. No administrator confirms their addresses.
pub(crate) async fn users_of_support(host: &TestHost, bodies: &[Value]) -> Vec<Value> {
    let support = console_caller(host, "sue", "support").await;
    let mut users = Vec::new();
    for body in bodies {
        let created = support.call(Method::POST, "/users", body.clone()).await;
        users.push(created.success());
    }
    users
}

/// Creates an application with these admin scopes.
pub(crate) async fn service_application(host: &TestHost, scopes: &[&str]) -> Application {
    let application = host.web_application().await;
    let path = format!("/applications/{}", application.id);
    host.admin_ok(Method::PATCH, &path, json!({"admin_scopes": scopes}))
        .await;
    application
}

/// Returns the response of the token endpoint to a service account that requests these scopes.
pub(crate) async fn service_token(
    host: &TestHost,
    application: &Application,
    scopes: &str,
) -> (StatusCode, Value) {
    let form = [("grant_type", "client_credentials"), ("scope", scopes)];
    let request = http_client()
        .post(format!("{}/oidc/token", host.base))
        .form(&form);
    let request = request.basic_auth(&application.id, application.secret.as_ref());
    let answer = sent(request).await;
    (answer.status, answer.body)
}

/// Creates a service account with these scopes.
async fn service(host: &TestHost, scopes: &[&str]) -> Caller {
    let application = service_application(host, scopes).await;
    let (status, token) = service_token(host, &application, &scopes.join(" ")).await;
    assert_eq!(status, StatusCode::OK, "{token}");
    let token = token["access_token"].text().to_owned();
    Caller::Bearer {
        base: host.base.clone(),
        token,
    }
}
