//! The exchange of a code, and the refresh of tokens.

use assent_store::sql;
use reqwest::StatusCode;
use serde_json::Value;

use super::sign_in::OFFLINE;
use super::{Attempt, Cluster, PATIENCE, SignIn, Unknown, outage};
use crate::harness::{Application, Browser, Text, VERIFIER, http_client_builder, in_time};

/// The answer of the token endpoint.
enum TokenAnswer {
    Tokens(Value),
    /// The error `invalid_grant`.
    Refused,
}

async fn ask(base: &str, application: &Application, form: &[(&str, &str)]) -> Attempt<TokenAnswer> {
    let client = http_client_builder().timeout(PATIENCE).build();
    let request = client
        .expect("a client")
        .post(format!("{base}/oidc/token"))
        .basic_auth(&application.id, application.secret.as_deref())
        .form(form);
    let response = request.send().await?;
    let status = response.status();
    outage(status, "the token endpoint")?;
    let answer: Value = response.json().await?;
    match (status, answer["error"].as_str()) {
        (StatusCode::OK, _) => Ok(TokenAnswer::Tokens(answer)),
        (StatusCode::BAD_REQUEST, Some("invalid_grant")) => Ok(TokenAnswer::Refused),
        _ => panic!("{status} {answer}"),
    }
}

/// Returns whether an access token is active.
pub async fn is_active(base: &str, application: &Application, token: &str) -> bool {
    let asked = async {
        loop {
            let client = http_client_builder().timeout(PATIENCE).build();
            let request = client
                .expect("a client")
                .post(format!("{base}/oidc/token/introspection"))
                .basic_auth(&application.id, application.secret.as_deref())
                .form(&[("token", token)]);
            if let Ok(response) = request.send().await
                && response.status() == StatusCode::OK
                && let Ok(answer) = response.json::<Value>().await
            {
                return answer["active"] == true;
            }
        }
    };
    in_time(asked).await
}

/// Signs in, and returns the code.
pub async fn code(cluster: &Cluster, sign_in: &mut SignIn) -> String {
    let attempts = async {
        while sign_in.attempt().await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    in_time(attempts).await;
    assert!(
        sign_in.browser.cookie_header().contains("assent"),
        "{}",
        cluster.base
    );
    sign_in.code.clone().expect("a code")
}

/// The exchange of a code.
pub struct CodeExchange {
    base: String,
    application: Application,
    code: String,
    /// The answers with tokens.
    acknowledged: Vec<Value>,
    is_refused: bool,
    /// The number of sent requests.
    sent: i64,
}

impl CodeExchange {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let mut sign_in = SignIn::prepare(cluster, name).await;
        Self::of(cluster, &mut sign_in).await
    }

    /// Creates the exchange of the code of this sign-in.
    pub async fn of(cluster: &Cluster, sign_in: &mut SignIn) -> Self {
        Self {
            base: cluster.base.clone(),
            code: code(cluster, sign_in).await,
            application: sign_in.application.clone(),
            acknowledged: Vec::new(),
            is_refused: false,
            sent: 0,
        }
    }

    async fn exchange(&self) -> Attempt<TokenAnswer> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", self.code.as_str()),
            ("redirect_uri", self.application.redirect_uri.as_str()),
            ("code_verifier", VERIFIER),
        ];
        ask(&self.base, &self.application, &form).await
    }

    /// Exchanges the code, unless an earlier request was answered.
    ///
    /// # Errors
    /// Returns an error if no answer arrives.
    pub async fn attempt(&mut self) -> Attempt<()> {
        if self.is_refused || !self.acknowledged.is_empty() {
            return Ok(());
        }
        // Counts before the answer, because the test may drop this future while it waits.
        self.sent += 1;
        match self.exchange().await? {
            TokenAnswer::Tokens(tokens) => self.acknowledged.push(tokens),
            TokenAnswer::Refused => {
                assert!(self.sent > 1, "the first exchange was rejected");
                self.is_refused = true;
            }
        }
        Ok(())
    }

    /// Asserts that an acknowledged exchange is valid, and that the server rejects a replay of the code.
    pub async fn check(&self, _: &Cluster) {
        for tokens in &self.acknowledged {
            let access = tokens["access_token"].text();
            assert!(
                is_active(&self.base, &self.application, access).await,
                "{tokens}"
            );
        }
        let again = async {
            loop {
                if let Ok(answer) = self.exchange().await {
                    return answer;
                }
            }
        };
        if let TokenAnswer::Tokens(tokens) = in_time(again).await {
            panic!("the code was exchanged twice: {tokens}");
        }
    }
}

/// The refresh of tokens.
pub struct Refresh {
    base: String,
    application: Application,
    used: String,
    access_token: String,
    acknowledged: Vec<Value>,
    is_refused: bool,
    /// The number of sent requests.
    sent: i64,
}

impl Refresh {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let user = cluster.ada_named(name).await;
        let mut sign_in = SignIn::new(&user, Browser::new(&cluster.base), &OFFLINE);
        let code = code(cluster, &mut sign_in).await;
        let (status, tokens) = user.application.exchange(&cluster.base, &code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        Self {
            base: cluster.base.clone(),
            application: user.application.clone(),
            used: tokens["refresh_token"].text().to_owned(),
            access_token: tokens["access_token"].text().to_owned(),
            acknowledged: Vec::new(),
            is_refused: false,
            sent: 0,
        }
    }

    async fn refresh(&self, token: &str) -> Attempt<TokenAnswer> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        ask(&self.base, &self.application, &form).await
    }

    /// Refreshes the tokens, unless an earlier request was answered.
    ///
    /// # Errors
    /// Returns an error if no answer arrives.
    pub async fn attempt(&mut self) -> Attempt<()> {
        if self.is_refused || !self.acknowledged.is_empty() {
            return Ok(());
        }
        // Counts before the answer, because the test may drop this future while it waits.
        self.sent += 1;
        match self.refresh(&self.used).await? {
            TokenAnswer::Tokens(tokens) => self.acknowledged.push(tokens),
            TokenAnswer::Refused => {
                // A used token has one retry.
                assert!(self.sent > 2, "rejected after {} requests", self.sent);
                self.is_refused = true;
            }
        }
        Ok(())
    }

    /// Asserts that the newest refresh token is the only valid one of the family. After its use, the server rejects the
    /// former token.
    pub async fn check(&self, cluster: &Cluster) {
        let mut connection = cluster.database.connection().await;
        let (counter,): (i64,) =
            sql::query_as("SELECT MAX(counter) FROM token_families WHERE application_id = $1")
                .bind(self.application.id.clone())
                .fetch_one(&mut connection)
                .await
                .expect("a counter");
        // A retry counts, too, because it replaces the first answer.
        assert!(
            counter <= self.sent,
            "{} requests counted {counter} times",
            self.sent
        );
        let Some(tokens) = self.acknowledged.last() else {
            assert!(!is_active(&self.base, &self.application, &self.access_token).await);
            return;
        };
        let access = tokens["access_token"].text();
        assert!(
            is_active(&self.base, &self.application, access).await,
            "{tokens}"
        );
        let newest = tokens["refresh_token"].text();
        let Ok(TokenAnswer::Tokens(next)) = self.refresh(newest).await else {
            panic!("the newest refresh token was rejected");
        };
        let next = next["access_token"].text();
        assert!(is_active(&self.base, &self.application, next).await);
        match self.refresh(&self.used).await {
            Ok(TokenAnswer::Refused) => {}
            Ok(TokenAnswer::Tokens(tokens)) => panic!("two live refresh tokens: {tokens}"),
            Err(Unknown(error)) => panic!("{error}"),
        }
        // Reuse of a token revokes the family.
        assert!(!is_active(&self.base, &self.application, next).await);
    }
}
