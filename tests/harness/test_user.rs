//! A user who can sign in, with the instance and the browser that most tests need.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Admin, Application, Browser, Device, Page, TestHost, Text, id};

/// A user with a device and an account in an application.
pub struct TestUser {
    pub user: Value,
    pub device: Device,
    pub application: Application,
    pub account: Value,
}

impl TestHost {
    /// Adds Ada: see [`Admin::ada`].
    pub async fn with_ada(self) -> (Self, TestUser) {
        let ada = self.ada().await;
        (self, ada)
    }

    /// Adds Ada and a browser.
    pub async fn with_ada_and_browser(self) -> (Self, TestUser, Browser) {
        let (host, ada) = self.with_ada().await;
        let browser = Browser::new(&host.base);
        (host, ada, browser)
    }
}

impl Admin {
    /// Creates the user Ada with a device, and a web application in which she has an account.
    pub async fn ada(&self) -> TestUser {
        let application = self.web_application().await;
        self.user_with_account("ada", application).await
    }

    /// Creates a user with a device, and with an account in this application.
    pub async fn user_with_account(&self, name: &str, application: Application) -> TestUser {
        let user = self.user(name).await;
        let device = self.authenticator(&user).await;
        let account = self.account(&user, &application).await;
        TestUser {
            user,
            device,
            application,
            account,
        }
    }

    /// Assigns a role in the console to a user.
    pub async fn set_console_role(&self, user: &Value, role: &str) {
        let path = format!("/users/{}", id(user));
        self.admin_ok(Method::PATCH, &path, json!({"console_role": role}))
            .await;
    }

    /// Terminates and erases the user with this path.
    pub async fn erase_user(&self, path: &str) {
        self.admin_ok(Method::PATCH, path, json!({"state": "terminated"}))
            .await;
        self.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
            .await;
    }
}

impl TestUser {
    /// Signs in with this browser, approves on the device, and returns the authorization code.
    pub async fn sign_in(&self, browser: &Browser) -> String {
        let page = self.begin_sign_in(browser, &[]).await;
        self.approve(&page).await;
        browser.finish(&page.url).await.parameter("code")
    }

    /// Does the same with these changes to the request. The user consents.
    pub async fn sign_in_with(
        &self,
        browser: &Browser,
        changes: &[(&str, Option<&str>)],
    ) -> String {
        let page = self.begin_sign_in(browser, changes).await;
        self.approve(&page).await;
        browser.finish(&page.url).await.parameter("code")
    }

    /// Signs in with this browser, and exchanges the code for tokens.
    pub async fn tokens(&self, host: &Admin, browser: &Browser) -> Value {
        let code = self.sign_in(browser).await;
        let (_, tokens) = self.application.exchange(&host.base, &code, &[]).await;
        tokens
    }

    /// Starts a sign-in, submits the user's name, and returns the waiting page.
    pub async fn begin_sign_in(&self, browser: &Browser, changes: &[(&str, Option<&str>)]) -> Page {
        let login = self.application.login_page(browser, changes).await;
        login.submit_name(self.user["name"].text()).await
    }

    /// Types the number of the waiting page on the device, for the newest request first.
    pub async fn approve(&self, waiting: &Page) {
        let requests = self.device.pending_requests(5).await;
        for request in requests.iter().rev() {
            match self.device.decide(request, Some(&waiting.number())).await {
                Ok(outcome) => return assert_eq!(outcome, "approved"),
                Err(error) => assert!(error.to_string().starts_with("number_mismatch"), "{error}"),
            }
        }
        panic!("no pending request has the number of the page: {requests:?}");
    }
}
