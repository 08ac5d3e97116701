//! A test sign-in of an OpenID Connect application: its authorization request, and the processing of its response in
//! place of the application. Only the client authentication is replaced. The rest is the code for applications.

use serde_json::{Map, Value, json};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::claims::traces;
use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::DerivedValue;
use crate::domain::sign_in::test_sign_in::record;
use crate::domain::{InternalError, Services};
use crate::oidc::bearer::{BearerToken, ProofUse, TokenScheme};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::dpop::proof::ProofHeader;
use crate::oidc::grant::authorization_code;
use crate::oidc::grant::authorization_code::CodeExchange;
use crate::oidc::parameters::Parameters;
use crate::oidc::tokens::{Presented, PresentedText};
use crate::oidc::userinfo;
use assent_model::application::Application;
use assent_model::id::FamilyId;
use assent_model::name::LoginName;
use assent_model::purpose::SignInPurpose;
use assent_model::secret::Token;
use assent_model::test_sign_in::{
    OpenTestSignIn, StepNote, TestSignIn, TestSignInOutcome, TestSignInStep,
};
use assent_model::token::prefix;

/// The number of characters of a token that are shown. They reveal its kind, and no part of its secret.
const SHOWN: usize = 8;

/// Returns the address at which a test sign-in begins, and the parameters of the request.
pub fn request(
    services: &Services,
    test_sign_in: &TestSignIn,
    application: &Application,
    name: &LoginName,
) -> Result<(String, StepNote), InternalError> {
    let verifier = test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Verifier)?;
    let challenge = URL_SAFE_NO_PAD.encode(openssl::sha::sha256(verifier.as_bytes()));
    let parameters = [
        ("response_type", "code".to_owned()),
        ("client_id", application.id.to_string()),
        (
            "redirect_uri",
            test_sign_in::address(services, test_sign_in.id),
        ),
        ("scope", application.settings.scopes.to_string()),
        (
            "state",
            test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::State)?,
        ),
        (
            "nonce",
            test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Nonce)?,
        ),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256".to_owned()),
        ("prompt", "login".to_owned()),
        ("login_hint", name.to_string()),
    ];
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(&parameters);
    let url = format!("{}/auth?{}", services.issuer, query.finish());
    let parameters: Map<String, Value> = parameters
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let note = StepNote::good(
        "an authorization request as the application would create it, with every scope that it may \
            request",
    )
    .with(json!({ "endpoint": format!("{}/auth", services.issuer), "parameters": parameters }));
    Ok((url, note))
}

/// Returns whether a request is the response to a test sign-in's own request. No other request ends it.
pub fn is_answer(
    services: &Services,
    test_sign_in: &TestSignIn,
    parameters: &Parameters,
) -> Result<bool, InternalError> {
    let state = test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::State)?;
    Ok(parameters.get("state") == Some(state.as_str())
        && parameters.get("iss") == Some(services.issuer.as_str()))
}

/// Processes the response of a test sign-in, and ends it.
pub async fn take_up(
    services: &Services,
    open: &OpenTestSignIn,
    parameters: &Parameters,
) -> Result<TestSignInOutcome, InternalError> {
    let test_sign_in = open.test_sign_in();
    let Some(code) = parameters.get("code") else {
        let error = parameters.get("error").unwrap_or("server_error");
        let description = parameters.get("error_description").unwrap_or_default();
        let cause = test_sign_in::cause(services, test_sign_in.id).await?;
        let data = json!({ "error": error, "error_description": description });
        let detail = "the application would have received an error";
        let detail = cause.as_ref().map_or_else(
            || detail.to_owned(),
            |cause| format!("{detail}, because {cause}"),
        );
        record::record_step(
            services,
            test_sign_in.id,
            TestSignInStep::Response,
            StepNote::bad(detail).with(data),
        )
        .await?;
        // The application would receive only the description of the error. The administrator sees the cause.
        let result =
            json!({ "error": error, "error_description": cause.as_deref().unwrap_or(description) });
        return finish(
            services,
            test_sign_in,
            TestSignInOutcome::Failed,
            result,
            None,
        )
        .await;
    };
    let data =
        json!({ "code": shorten_token(code), "state": "as it was sent", "iss": services.issuer });
    let note = StepNote::good("a code, the state of the request and the issuer").with(data);
    record::record_step(services, test_sign_in.id, TestSignInStep::Response, note).await?;
    let family = Token::parse(prefix::CODE, code).map(|token| FamilyId::from_bytes(token.id()));
    let (outcome, result) = redeem(services, open, code).await?;
    finish(services, test_sign_in, outcome, result, family).await
}

async fn finish(
    services: &Services,
    test_sign_in: &TestSignIn,
    outcome: TestSignInOutcome,
    result: Value,
    family: Option<FamilyId>,
) -> Result<TestSignInOutcome, InternalError> {
    let mut stored_result = json!({ "protocol": "openid_connect" });
    if let (Some(stored_result), Value::Object(result)) = (stored_result.as_object_mut(), result) {
        stored_result.extend(result);
    }
    record::end(services, test_sign_in, outcome, stored_result, family).await?;
    Ok(outcome)
}

/// The reason why a test sign-in failed: an error code, and its description.
struct TestFailure {
    error: String,
    description: String,
}

impl TestFailure {
    fn new(error: &str, description: &dyn ToString) -> Self {
        Self {
            error: error.to_owned(),
            description: description.to_string(),
        }
    }

    fn outcome(self, mut result: Map<String, Value>) -> (TestSignInOutcome, Value) {
        result.insert("error".to_owned(), json!(self.error));
        result.insert("error_description".to_owned(), json!(self.description));
        (TestSignInOutcome::Failed, Value::Object(result))
    }
}

/// A token response.
struct Tokens {
    response: Value,
    header: Value,
    claims: Value,
    /// Whether the ID token has the nonce of the request.
    has_nonce: bool,
}

impl Tokens {
    fn text(&self, name: &str) -> &str {
        text_of(&self.response, name)
    }
}

fn text_of<'a>(response: &'a Value, name: &str) -> &'a str {
    response
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Exchanges the code, and requests UserInfo.
async fn redeem(
    services: &Services,
    open: &OpenTestSignIn,
    code: &str,
) -> Result<(TestSignInOutcome, Value), InternalError> {
    let test_sign_in = open.test_sign_in();
    let tokens = match exchange(services, test_sign_in, code).await? {
        Ok(tokens) => tokens,
        Err(failure) => return Ok(failure.outcome(Map::new())),
    };
    let userinfo = userinfo(services, test_sign_in, tokens.text("access_token")).await?;
    let mut result = Map::new();
    result.insert(
        "token_response".to_owned(),
        with_shortened_tokens(&tokens.response),
    );
    let id_token = json!({ "header": tokens.header, "claims": tokens.claims });
    result.insert("id_token".to_owned(), id_token);
    match userinfo {
        Ok(claims) => {
            result.insert("userinfo".to_owned(), claims);
            let outcome = match tokens.has_nonce {
                true => TestSignInOutcome::Completed,
                false => TestSignInOutcome::Failed,
            };
            Ok((outcome, Value::Object(result)))
        }
        Err(failure) => Ok(failure.outcome(result)),
    }
}

/// Exchanges the code in place of the application, without its authentication.
async fn exchange(
    services: &Services,
    test_sign_in: &TestSignIn,
    code: &str,
) -> Result<Result<Tokens, TestFailure>, InternalError> {
    let Some(application) = services
        .store
        .application(&test_sign_in.application)
        .await?
    else {
        let failure = TestFailure::new(
            "invalid_client",
            &"the application was deleted in the meantime",
        );
        return Ok(Err(failure));
    };
    let method = application.settings.auth_method().as_str();
    let client = AuthenticatedClient {
        application,
        certificate: None,
        proof: None,
        epoch: None,
    };
    let verifier = test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Verifier)?;
    let redirect_uri = test_sign_in::address(services, test_sign_in.id);
    let grant = match PresentedText::code(code) {
        Some(code) => Presented::read(services, code).await?.into_code(),
        None => None,
    };
    let presented = CodeExchange {
        details: None,
        grant,
        redirect_uri: &redirect_uri,
        verifier: Some(&verifier),
        purpose: SignInPurpose::TestSignIn(test_sign_in.id),
    };
    let response = match authorization_code::redeem(services, &client, presented).await {
        Ok(response) => serde_json::to_value(response).unwrap_or_default(),
        Err(error) => {
            let note = StepNote::bad(error.to_string()).with(json!({ "error": error.code() }));
            record::record_step(
                services,
                test_sign_in.id,
                TestSignInStep::TokenExchange,
                note,
            )
            .await?;
            return Ok(Err(TestFailure::new(error.code(), &error)));
        }
    };
    let (header, claims) = decode_token(text_of(&response, "id_token"));
    let nonce = test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Nonce)?;
    let has_nonce = claims.get("nonce") == Some(&json!(nonce));
    let detail = format!(
        "the server stands in for the application's authentication ({method}), which was not tried; the code, the \
         redirect URI and PKCE were"
    );
    let note = StepNote {
        succeeded: has_nonce,
        ..StepNote::good(detail)
    };
    record::record_step(
        services,
        test_sign_in.id,
        TestSignInStep::TokenExchange,
        note,
    )
    .await?;
    Ok(Ok(Tokens {
        response,
        header,
        claims,
        has_nonce,
    }))
}

/// Returns the claims that UserInfo returns for an access token.
async fn userinfo(
    services: &Services,
    test_sign_in: &TestSignIn,
    token: &str,
) -> Result<Result<Value, TestFailure>, InternalError> {
    let bearer = BearerToken {
        token,
        scheme: TokenScheme::Bearer,
        certificate: None,
        proof: ProofHeader::Missing,
        method: "GET",
        path: "/oidc/me",
        proof_use: ProofUse::OnThisInstance,
    };
    let (note, result) = match userinfo::traced_claims(services, bearer).await {
        Ok(made) => {
            let note = StepNote::good("the claims for the access token")
                .with(json!({ "calls": traces::explain(&made.steps) }));
            (note, Ok(Value::Object(made.claims)))
        }
        Err(error) => {
            let code = error.code().unwrap_or("invalid_token");
            let note = StepNote::bad(error.to_string()).with(json!({ "error": code }));
            (note, Err(TestFailure::new(code, &error)))
        }
    };
    record::record_step(services, test_sign_in.id, TestSignInStep::Userinfo, note).await?;
    Ok(result)
}

/// Returns a token response with its tokens in an unusable form.
fn with_shortened_tokens(response: &Value) -> Value {
    let members = response
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let is_token = matches!(name.as_str(), "access_token" | "refresh_token" | "id_token");
            let value = match value.as_str() {
                Some(token) if is_token => json!(shorten_token(token)),
                _ => value.clone(),
            };
            (name.clone(), value)
        });
    Value::Object(members.collect())
}

fn shorten_token(token: &str) -> String {
    let start: String = token.chars().take(SHOWN).collect();
    format!("{start}\u{2026}")
}

/// Returns the header and the claims of a token of this server.
fn decode_token(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}
