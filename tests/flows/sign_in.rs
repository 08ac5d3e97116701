//! A sign-in, from the authorization request to the code.

use assent::authenticator::enrolled::PendingRequest;
use assent_store::sql;
use reqwest::StatusCode;
use tokio::time::timeout;

use super::{Attempt, Cluster, PATIENCE, Unknown, answered};
use crate::harness::{Application, Browser, Device, Page, TestUser, Text, id};

/// The changes to an authorization request that request a refresh token.
pub const OFFLINE: [(&str, Option<&str>); 2] = [
    ("prompt", Some("consent")),
    ("scope", Some("openid profile email offline_access")),
];

/// The sign-in of one user in one browser.
pub struct SignIn {
    user_id: String,
    name: String,
    pub application: Application,
    device: Device,
    pub browser: Browser,
    request: String,
    /// The login page: its path and its token.
    login: Option<(String, String)>,
    /// The waiting page: its address and its number.
    waiting: Option<(String, String)>,
    /// The number of acknowledged decisions.
    acknowledged: i64,
    pub code: Option<String>,
}

impl SignIn {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let user = cluster.ada_named(name).await;
        Self::new(&user, Browser::new(&cluster.base), &[])
    }

    /// Creates the sign-in of a user, with these changes to the authorization request.
    pub fn new(user: &TestUser, browser: Browser, changes: &[(&str, Option<&str>)]) -> Self {
        Self {
            user_id: id(&user.user).to_owned(),
            name: user.user["name"].text().to_owned(),
            application: user.application.clone(),
            device: user.device.clone(),
            browser,
            request: user.application.request(changes),
            login: None,
            waiting: None,
            acknowledged: 0,
            code: None,
        }
    }

    /// Signs in. Starts again from the beginning if the sign-in cannot continue.
    ///
    /// # Errors
    /// Returns the first step without an answer.
    pub async fn attempt(&mut self) -> Attempt<()> {
        for _ in 0..5 {
            if self.advance().await? {
                return Ok(());
            }
            self.login = None;
            self.waiting = None;
        }
        panic!("five sign-ins of {} did not end", self.name);
    }

    /// Takes the remaining steps. Returns `false` if the sign-in has to start again.
    async fn advance(&mut self) -> Attempt<bool> {
        if self.code.is_some() {
            return Ok(true);
        }
        let (path, csrf) = match self.login.clone() {
            Some(login) => login,
            None => {
                let sent = self.get(&self.request).await?;
                if sent.status != StatusCode::SEE_OTHER {
                    panic!("{}: {}", sent.status, sent.body);
                }
                let page = self.get(sent.location().as_str()).await?;
                let login = (page.path(), page.csrf());
                self.login.insert(login).clone()
            }
        };
        let (waiting, number) = match self.waiting.clone() {
            Some(waiting) => waiting,
            None => {
                let form = [("name", self.name.as_str()), ("csrf", csrf.as_str())];
                let sent = answered(self.browser.try_post(&path, &form, PATIENCE).await?)?;
                assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.body);
                let page = self.get(sent.location().as_str()).await?;
                if !page.body.contains("id=\"number\"") {
                    return Ok(false);
                }
                self.waiting
                    .insert((page.url.clone(), page.number()))
                    .clone()
            }
        };
        let page = self.get(&waiting).await?;
        if page.status == StatusCode::OK && page.body.contains("id=\"number\"") {
            if !self.decide(&number).await? {
                return Ok(false);
            }
            let page = self.get(&waiting).await?;
            return self.finish(page).await;
        }
        self.finish(page).await
    }

    /// Completes the sign-in from the page after the approval.
    async fn finish(&mut self, page: Page) -> Attempt<bool> {
        let page = match page.asks_for_consent() {
            true => {
                let path = format!("{}/consent", page.path());
                let (user, csrf) = (page.user_token(), page.csrf());
                let form = [
                    ("user", user.as_str()),
                    ("decision", "allow"),
                    ("csrf", csrf.as_str()),
                ];
                answered(self.browser.try_post(&path, &form, PATIENCE).await?)?
            }
            false => page,
        };
        if page.status == StatusCode::SEE_OTHER {
            let location = page.location();
            if location
                .as_str()
                .starts_with(&self.application.redirect_uri)
            {
                self.code = Some(page.parameter("code"));
                return Ok(true);
            }
        }
        // The server answered it before, and the answer was lost.
        Ok(false)
    }

    async fn get(&self, address: &str) -> Attempt<Page> {
        answered(self.browser.try_get(address, PATIENCE).await?)
    }

    /// Approves the request with this number. Returns `false` if there is none.
    async fn decide(&mut self, number: &str) -> Attempt<bool> {
        let decided = approve(&self.device, number).await;
        self.acknowledged += i64::from(decided.as_ref().is_ok_and(|decided| *decided));
        decided
    }

    /// Asserts that each approval starts at most one session, that each acknowledged approval exists, and that the code
    /// can be exchanged only once.
    pub async fn check(&self, cluster: &Cluster) {
        let mut connection = cluster.database.connection().await;
        let (sessions, approvals): (i64, i64) = sql::query_as(
            "SELECT (SELECT COUNT(*) FROM sessions WHERE user_id = $1),
                    (SELECT COUNT(*) FROM approvals WHERE user_id = $1 AND state = 'approved')",
        )
        .bind(self.user_id.clone())
        .fetch_one(&mut connection)
        .await
        .expect("counts");
        assert!(
            approvals >= self.acknowledged,
            "{approvals} approvals, {} acknowledged",
            self.acknowledged
        );
        assert!(
            sessions <= approvals,
            "{sessions} sessions, {approvals} approvals"
        );
        let code = self.code.as_deref().expect("a code");
        let statuses = [
            self.application.exchange(&cluster.base, code, &[]).await.0,
            self.application.exchange(&cluster.base, code, &[]).await.0,
        ];
        assert_eq!(statuses, [StatusCode::OK, StatusCode::BAD_REQUEST]);
    }
}

/// Approves the device's request with this number. Returns `false` if there is none.
///
/// # Errors
/// Returns an error if the device receives no answer, or an unexpected one.
pub async fn approve(device: &Device, number: &str) -> Attempt<bool> {
    let approval = async {
        // In the order of time. The newest request is most probably the right one.
        for request in device.waiting(5).await?.iter().rev() {
            match decide(device, request, number).await? {
                true => return Ok(true),
                false => continue,
            }
        }
        Ok(false)
    };
    match timeout(PATIENCE, approval).await {
        Ok(Ok(is_found)) => Ok(is_found),
        Ok(Err(error)) => {
            let error: anyhow::Error = error;
            Err(Unknown(format!("{error:#}")))
        }
        Err(_) => Err(Unknown("the device got no answer".to_owned())),
    }
}

async fn decide(device: &Device, request: &PendingRequest, number: &str) -> anyhow::Result<bool> {
    match device.decide(request, Some(number)).await {
        Ok(outcome) => {
            assert_eq!(outcome, "approved");
            Ok(true)
        }
        Err(error) if error.to_string().starts_with("number_mismatch") => Ok(false),
        Err(error) => Err(error),
    }
}
