//! The OpenID Connect part: it starts a sign-in at the provider and verifies the response.

use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AuthorizationCode, Client, ClientId, CsrfToken, EmptyExtraTokenFields,
    EndSessionUrl, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    IdTokenFields, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, Scope,
    StandardErrorResponse, StandardTokenResponse, TokenResponse, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::client_file::ClientFile;

/// All claims beyond those of OpenID Connect Core, such as `account`, `upn` and `sid`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OtherClaims {
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

type Fields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

/// The client of `openidconnect` with `OtherClaims` as the additional claims.
type OidcClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// A pending sign-in: the values that the demo stores for this browser until the provider redirects it back.
pub struct Pending {
    /// Binds the response to this request (RFC 6749 section 10.12).
    pub state: String,
    /// Binds the ID token to this request (OpenID Connect Core section 3.1.2.1).
    nonce: Nonce,
    /// Proves to the token endpoint that the same client sent the authorization request (RFC 7636).
    verifier: PkceCodeVerifier,
    client: OidcClient,
    end_session: Option<EndSessionUrl>,
}

/// The data about the user from the provider.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The claims of the verified ID token.
    pub id_token: Map<String, Value>,
    /// The UserInfo response, if the provider has such an endpoint.
    pub userinfo: Option<Value>,
    /// The address that signs the browser out at the provider (OpenID Connect RP-Initiated Logout section 2), if it
    /// supports this.
    pub sign_out: Option<Url>,
}

/// The demo as a client of the provider.
pub struct RelyingParty {
    file: ClientFile,
    http: reqwest::Client,
}

impl RelyingParty {
    /// Creates a relying party with this registration. It does not call the provider yet, so the provider may start
    /// later.
    ///
    /// # Errors
    /// The HTTP client cannot be created.
    pub fn new(file: ClientFile) -> anyhow::Result<Self> {
        // The endpoints of a provider respond directly. A redirect could lead the demo to another server.
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(10))
            .build()?;
        Ok(Self { file, http })
    }

    /// Returns the demo's registration.
    pub fn file(&self) -> &ClientFile {
        &self.file
    }

    /// Begins a sign-in. Returns the address for the browser, and the values to store. With `fresh` the provider
    /// prompts the user again even if the browser has a session there.
    ///
    /// The demo fetches the discovery document and the keys each time. These are two small requests, and the keys are
    /// current.
    ///
    /// # Errors
    /// The provider is not reachable, or its discovery document is not usable.
    pub async fn begin(&self, fresh: bool) -> anyhow::Result<(Url, Pending)> {
        let issuer = IssuerUrl::new(self.file.issuer.clone())?;
        let http = |request| send(self.http.clone(), request);
        let provider = ProviderMetadataWithLogout::discover_async(issuer, &http)
            .await
            .map_err(|error| plain("the provider's discovery document cannot be used", error))?;
        let end_session = provider.additional_metadata().end_session_endpoint.clone();
        let client = OidcClient::from_provider_metadata(
            provider,
            ClientId::new(self.file.client_id.clone()),
            None,
        )
        .set_redirect_uri(RedirectUrl::new(self.file.redirect_uri.to_string())?);

        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scope(Scope::new("profile".into()))
            .add_scope(Scope::new("email".into()))
            .set_pkce_challenge(challenge);
        if fresh {
            request = request.add_prompt(CoreAuthPrompt::Login);
        }
        let (url, state, nonce) = request.url();
        Ok((
            url,
            Pending {
                state: state.into_secret(),
                nonce,
                verifier,
                client,
                end_session,
            },
        ))
    }

    /// Completes a sign-in: exchanges the code, verifies the ID token (signature, issuer, audience, times, nonce) and
    /// calls the UserInfo endpoint. The UserInfo response must have the same subject.
    ///
    /// # Errors
    /// The provider rejects a request, or a response fails verification.
    pub async fn finish(&self, pending: Pending, code: String) -> anyhow::Result<SignedIn> {
        let Pending {
            nonce,
            verifier,
            client,
            end_session,
            ..
        } = pending;
        let http = |request| send(self.http.clone(), request);
        let tokens = client
            .exchange_code(AuthorizationCode::new(code))?
            .set_pkce_verifier(verifier)
            .request_async(&http)
            .await
            .map_err(|error| plain("the provider did not exchange the code", error))?;
        let id_token = tokens.id_token().context("the provider sent no ID token")?;
        let sign_out = match (end_session, &self.file.post_logout_redirect_uri) {
            (Some(endpoint), Some(signed_out)) => Some(
                LogoutRequest::from(endpoint)
                    .set_id_token_hint(id_token)
                    .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(
                        signed_out.to_string(),
                    )?)
                    .http_get_url(),
            ),
            _ => None,
        };
        let claims = id_token
            .claims(&client.id_token_verifier(), &nonce)
            .map_err(|error| plain("the ID token was rejected", error))?;

        let userinfo = match client.user_info_url() {
            None => None,
            Some(_) => {
                let answer: UserInfoClaims<OtherClaims, CoreGenderClaim> = client
                    .user_info(
                        tokens.access_token().clone(),
                        Some(claims.subject().clone()),
                    )?
                    .request_async(&http)
                    .await
                    .map_err(|error| {
                        plain(
                            "the provider's UserInfo endpoint returned no usable response",
                            error,
                        )
                    })?;
                Some(serde_json::to_value(answer)?)
            }
        };
        let Value::Object(id_token) = serde_json::to_value(claims)? else {
            return Err(anyhow!("the ID token's claims are not an object"));
        };
        Ok(SignedIn {
            id_token,
            userinfo,
            sign_out,
        })
    }

    /// Checks the `iss` parameter of an authorization response (RFC 9207).
    ///
    /// # Errors
    /// The response came from another provider.
    pub fn check_issuer(&self, iss: Option<&str>) -> anyhow::Result<()> {
        if let Some(iss) = iss {
            ensure!(
                iss == self.file.issuer,
                "the answer came from another provider, {iss}"
            );
        }
        Ok(())
    }
}

/// Sends the HTTP requests of `openidconnect`. The client is a handle: its clones share one pool of connections.
async fn send(http: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
    let response = http.execute(request.try_into()?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut answer = HttpResponse::new(response.bytes().await?.to_vec());
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    Ok(answer)
}

/// Returns an error with its causes in one sentence, because the texts of `openidconnect` omit the causes.
fn plain(what: &str, error: impl std::error::Error) -> anyhow::Error {
    let mut text = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    anyhow!(text)
}
