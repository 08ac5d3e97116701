//! Tests a claim mapper of its author in a running instance without loading it: `assent-plugin dev`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::connection::{Api, ServerConnection};
use crate::error::{CommandError, ErrorKind};
use crate::lookup;
use crate::preview::{self, ComparisonText};

/// The address of the instance that `make run` starts.
const LOCAL: &str = "http://localhost:8080";

/// Runs candidate components in a running instance, for one user in one application.
pub struct CandidateRun {
    connection: ServerConnection,
    /// The application's id or name.
    application: String,
    /// The user's name or id, or the account's id.
    user: String,
    /// The scopes, separated by one space. The default is every scope that the application may request.
    scope: Option<String>,
    /// The connection to the instance, once it is open.
    api: Option<Api>,
}

impl CandidateRun {
    /// Returns a runner for one instance. It connects with the first [`Self::run`].
    pub fn new(
        connection: ServerConnection,
        application: String,
        user: String,
        scope: Option<String>,
    ) -> Self {
        Self {
            connection,
            application,
            user,
            scope,
            api: None,
        }
    }

    /// Runs a component in place of the plugin with this name, or after the other plugins if none has this name.
    /// Returns the differences and the component's log lines as text.
    ///
    /// # Errors
    /// [`CommandError`] with the instance's message, if the candidate cannot run.
    pub async fn run(
        &mut self,
        plugin: &str,
        component: &[u8],
        config: Option<&Map<String, Value>>,
    ) -> anyhow::Result<ComparisonText> {
        let body = |account: String| {
            let mut candidate =
                json!({ "plugin": plugin, "component": STANDARD.encode(component) });
            if let (Some(config), Some(members)) = (config, candidate.as_object_mut()) {
                members.insert("config".to_owned(), Value::Object(config.clone()));
            }
            let mut body = json!({ "account": account, "candidate": candidate });
            if let (Some(scope), Some(members)) = (&self.scope, body.as_object_mut()) {
                members.insert("scope".to_owned(), Value::String(scope.clone()));
            }
            body
        };
        let is_new = self.api.is_none();
        let api = match self.api.take() {
            Some(api) => api,
            None => Api::at_server(&self.connection, LOCAL)?,
        };
        let done = self.attempt(&api, plugin, &body).await;
        // A token is valid for a short time, and an author works for hours. After expiry, the token is read again from
        // its source.
        let expired = done.as_ref().is_err_and(|error| {
            error
                .downcast_ref::<CommandError>()
                .is_some_and(|failure| failure.kind == ErrorKind::NotAllowed)
        });
        if !expired || is_new || self.connection.reads_standard_input() {
            self.api = Some(api);
            return done;
        }
        let api = Api::at_server(&self.connection, LOCAL)?;
        let done = self.attempt(&api, plugin, &body).await;
        self.api = Some(api);
        done
    }

    async fn attempt(
        &self,
        api: &Api,
        plugin: &str,
        body: &impl Fn(String) -> Value,
    ) -> anyhow::Result<ComparisonText> {
        let (application, account) = lookup::account_of(api, &self.application, &self.user).await?;
        let path = [
            "applications".to_owned(),
            application,
            "claims-preview".to_owned(),
        ];
        let request = api.request(Method::POST, &path, &[]).json(&body(account));
        let answer = api.bytes(api.send(request, |_| None).await?).await?;
        preview::comparison(plugin, &answer)
    }
}
