//! A trial of an OpenID Connect application: its authorization request, and its answer as the application would take it up. The
//! host stands in for the client's authentication; all else is the code that serves applications.

use serde_json::{Map, Value, json};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::bearer::Shown;
use super::client_auth::Client;
use super::grant::{self, Presented};
use super::parameters::Parameters;
use super::userinfo;
use crate::domain::trials::{self, Derived};
use crate::domain::{Broken, Host, traces};
use crate::id::CodeId;
use crate::model::application::Application;
use crate::model::name::LoginName;
use crate::model::token::prefix;
use crate::model::trial::{OpenTrial, StepNote, Trial, TrialOutcome, TrialStep};
use crate::secret::Token;

/// How much of a token is shown, in characters: what kind it is, and nothing of its secret.
const SHOWN: usize = 8;

/// The address that a trial begins at, and what the request says.
pub fn request(
    host: &Host,
    trial: &Trial,
    application: &Application,
    name: &LoginName,
) -> Result<(String, StepNote), Broken> {
    let verifier = trials::derived(host, trial.id, Derived::Verifier)?;
    let challenge = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(verifier.as_bytes()));
    let parameters = [
        ("response_type", "code".to_owned()),
        ("client_id", application.id.to_string()),
        ("redirect_uri", trials::address(host, trial.id)),
        ("scope", application.settings.scopes.to_string()),
        ("state", trials::derived(host, trial.id, Derived::State)?),
        ("nonce", trials::derived(host, trial.id, Derived::Nonce)?),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256".to_owned()),
        ("prompt", "login".to_owned()),
        ("login_hint", name.to_string()),
    ];
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(&parameters);
    let url = format!("{}/auth?{}", host.issuer, query.finish());
    let shown: Map<String, Value> =
        parameters.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let note =
        StepNote::good("an authorization request as the application would make it, with every scope that it may use")
            .with(json!({ "endpoint": format!("{}/auth", host.issuer), "parameters": shown }));
    Ok((url, note))
}

/// Whether an answer came to a trial that is of its own request. Nothing else ends it.
pub fn is_answer(host: &Host, trial: &Trial, parameters: &Parameters) -> Result<bool, Broken> {
    let state = trials::derived(host, trial.id, Derived::State)?;
    Ok(parameters.get("state") == Some(state.as_str()) && parameters.get("iss") == Some(host.issuer.as_str()))
}

/// Takes up the answer of a trial, and ends it.
pub async fn take_up(host: &Host, open: &OpenTrial, parameters: &Parameters) -> Result<TrialOutcome, Broken> {
    let trial = open.trial();
    let Some(code) = parameters.get("code") else {
        let error = parameters.get("error").unwrap_or("server_error");
        let description = parameters.get("error_description").unwrap_or_default();
        let cause = trials::cause(host, trial.id).await?;
        let data = json!({ "error": error, "error_description": description });
        let detail = "the application would have got an error";
        let detail = cause.as_ref().map_or_else(|| detail.to_owned(), |cause| format!("{detail}, since {cause}"));
        trials::note(host, trial.id, TrialStep::Answered, StepNote::bad(detail).with(data)).await?;
        // The application is told no more than its own description; who tries it is.
        let told = json!({ "error": error, "error_description": cause.as_deref().unwrap_or(description) });
        return finish(host, trial, TrialOutcome::Failed, told, None).await;
    };
    let data = json!({ "code": shortened(code), "state": "as it was sent", "iss": host.issuer });
    let note = StepNote::good("a code, the state of the request and the issuer").with(data);
    trials::note(host, trial.id, TrialStep::Answered, note).await?;
    let family = Token::parse(prefix::CODE, code).map(|token| CodeId::from_bytes(token.id()));
    let (outcome, result) = redeem(host, open, code).await?;
    finish(host, trial, outcome, result, family).await
}

async fn finish(
    host: &Host,
    trial: &Trial,
    outcome: TrialOutcome,
    result: Value,
    family: Option<CodeId>,
) -> Result<TrialOutcome, Broken> {
    let mut told = json!({ "protocol": "openid_connect" });
    if let (Some(told), Value::Object(result)) = (told.as_object_mut(), result) {
        told.extend(result);
    }
    trials::end(host, trial, outcome, told, family).await?;
    Ok(outcome)
}

/// Exchanges the code, and asks UserInfo.
async fn redeem(host: &Host, open: &OpenTrial, code: &str) -> Result<(TrialOutcome, Value), Broken> {
    let trial = open.trial();
    let failed = |error: &str, description: String| {
        (TrialOutcome::Failed, json!({ "error": error, "error_description": description }))
    };
    let Some(application) = host.store.application(&trial.application).await? else {
        return Ok(failed("invalid_client", "the application was removed meanwhile".to_owned()));
    };
    let method = application.settings.auth_method().as_str();
    let client = Client { application, certificate: None };
    let verifier = trials::derived(host, trial.id, Derived::Verifier)?;
    let redirect_uri = trials::address(host, trial.id);
    let presented = Presented { code, redirect_uri: &redirect_uri, verifier: Some(&verifier), trial: Some(trial.id) };
    let response = match grant::redeem(host, &client, presented).await {
        Ok(response) => serde_json::to_value(response).unwrap_or_default(),
        Err(error) => {
            let note = StepNote::bad(error.to_string()).with(json!({ "error": error.code() }));
            trials::note(host, trial.id, TrialStep::Exchanged, note).await?;
            return Ok(failed(error.code(), error.to_string()));
        }
    };
    let text = |name: &str| response.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (header, claims) = decoded(&text("id_token"));
    let nonce = trials::derived(host, trial.id, Derived::Nonce)?;
    let fits = claims.get("nonce") == Some(&json!(nonce));
    let detail = format!(
        "the server stands in for the application's authentication ({method}), which was not tried; the code, the redirect URI and PKCE were"
    );
    let note = StepNote { good: fits, ..StepNote::good(detail) };
    trials::note(host, trial.id, TrialStep::Exchanged, note).await?;
    let userinfo = match userinfo::made(host, Shown { token: &text("access_token"), certificate: None }).await {
        Ok(made) => {
            let note = StepNote::good("the claims for the access token")
                .with(json!({ "steps": traces::explain(&made.steps) }));
            trials::note(host, trial.id, TrialStep::Userinfo, note).await?;
            Ok(Value::Object(made.claims))
        }
        Err(error) => {
            let code = error.code().unwrap_or("invalid_token");
            let note = StepNote::bad(error.to_string()).with(json!({ "error": code }));
            trials::note(host, trial.id, TrialStep::Userinfo, note).await?;
            Err((code, error.to_string()))
        }
    };
    let mut result = json!({
        "token_response": shown(&response),
        "id_token": { "header": header, "claims": claims },
    });
    let outcome = match (userinfo, result.as_object_mut()) {
        (Ok(userinfo), Some(result)) => {
            result.insert("userinfo".to_owned(), userinfo);
            if fits { TrialOutcome::Done } else { TrialOutcome::Failed }
        }
        (Err((code, description)), Some(result)) => {
            result.insert("error".to_owned(), json!(code));
            result.insert("error_description".to_owned(), json!(description));
            TrialOutcome::Failed
        }
        (_, None) => TrialOutcome::Failed,
    };
    Ok((outcome, result))
}

/// A token response of whose tokens nobody can make use.
fn shown(response: &Value) -> Value {
    let members = response.as_object().into_iter().flatten().map(|(name, value)| {
        let is_token = matches!(name.as_str(), "access_token" | "refresh_token" | "id_token");
        let value = match value.as_str() {
            Some(token) if is_token => json!(shortened(token)),
            _ => value.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(members.collect())
}

fn shortened(token: &str) -> String {
    let start: String = token.chars().take(SHOWN).collect();
    format!("{start}\u{2026}")
}

/// The header and the claims of a token of our own.
fn decoded(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
