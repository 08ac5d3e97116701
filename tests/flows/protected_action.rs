//! A protected action in the console: requested, approved on the administrator's device, and executed.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::sign_in::approve;
use super::{Attempt, Cluster, PATIENCE, outage};
use crate::harness::{Body, Browser, Device, Json, Respond, Text, id};

/// The deletion of a user.
pub struct ProtectedAction {
    browser: Browser,
    /// The user's id and the token, as the console's page sends them.
    user: String,
    csrf: String,
    device: Device,
    /// The user to be deleted.
    target: String,
    /// The action approval: its id and its number.
    approval: Option<(String, String)>,
    is_done: bool,
    /// The number of sent deletions with an approval.
    sent: u32,
}

impl ProtectedAction {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let user = cluster.user(name).await;
        let path = format!("/users/{}", id(&user));
        cluster
            .admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
            .await;
        let device = cluster.authenticator(&user).await;
        let browser = Browser::new(&cluster.base);
        let login = browser.get("/admin").await.followed().await;
        let waiting = login.submit_name(name).await;
        assert!(
            approve(&device, &waiting.number())
                .await
                .expect("an answer")
        );
        let console = browser.get(&waiting.url).await.followed().await;
        assert_eq!(console.status, StatusCode::OK);
        let me = browser.request(Method::GET, "/admin/api/v1/me");
        let me: Value = me.response().await.read_json().await;
        let target = cluster.user(&format!("{name}-target")).await;
        Self {
            browser,
            user: me["id"].text().to_owned(),
            csrf: me["csrf_token"].text().to_owned(),
            device,
            target: id(&target).to_owned(),
            approval: None,
            is_done: false,
            sent: 0,
        }
    }

    /// Requests the deletion, with an approval if there is one.
    async fn delete(&self, approval: Option<&str>) -> Attempt<(StatusCode, Value)> {
        let path = format!("/admin/api/v1/users/{}", self.target);
        let mut request = self
            .browser
            .request(Method::DELETE, &path)
            .timeout(PATIENCE)
            .header("x-assent-user", &self.user)
            .header("x-assent-csrf", &self.csrf)
            .header("sec-fetch-site", "same-origin");
        if let Some(approval) = approval {
            request = request.header("x-assent-action-approval", approval);
        }
        let response = request.send().await?;
        let status = response.status();
        outage(status, &path)?;
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or_default()))
    }

    /// Requests, approves and executes the deletion, unless it is done.
    ///
    /// # Errors
    /// Returns the first step without an answer.
    pub async fn attempt(&mut self) -> Attempt<()> {
        for _ in 0..5 {
            if self.is_done {
                return Ok(());
            }
            self.advance().await?;
        }
        panic!("five action approvals deleted no user");
    }

    async fn advance(&mut self) -> Attempt<()> {
        let (approval, number) = match self.approval.clone() {
            Some(approval) => approval,
            None => {
                let (status, answer) = self.delete(None).await?;
                // The answer to a deletion was lost.
                if status == StatusCode::NOT_FOUND && self.sent > 0 {
                    self.is_done = true;
                    return Ok(());
                }
                assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
                let action = &answer["action_approval"];
                let approval = (id(action).to_owned(), action["number"].text().to_owned());
                self.approval.insert(approval).clone()
            }
        };
        // If there is no request, the server may have stored the approval without an answer to the device.
        approve(&self.device, &number).await?;
        // Counts before the answer, because the test may drop this future while it waits.
        self.sent += 1;
        let (status, answer) = self.delete(Some(&approval)).await?;
        match status {
            StatusCode::NO_CONTENT => self.is_done = true,
            StatusCode::NOT_FOUND => {
                assert!(self.sent > 1, "the user is gone before the deletion");
                self.is_done = true;
            }
            // The approval was not stored, or has been used.
            StatusCode::FORBIDDEN => self.approval = None,
            _ => panic!("{status} {answer}"),
        }
        Ok(())
    }

    /// Asserts that the user was deleted exactly once.
    pub async fn check(&self, cluster: &Cluster) {
        let path = format!("/users/{}", self.target);
        let (status, _) = cluster.admin(Method::GET, &path, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let path = "/audit?event=user.deleted&limit=100";
        let entries = cluster.admin_ok(Method::GET, path, Value::Null).await;
        let about = |entry: &&Value| entry.to_string().contains(&self.target);
        let count = entries["items"].items().iter().filter(about).count();
        assert_eq!(count, 1, "{entries}");
    }
}
