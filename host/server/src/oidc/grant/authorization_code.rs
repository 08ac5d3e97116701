//! `authorization_code` (RFC 6749 sections 4.1.3 and 4.1.4, RFC 7636 section 4.6, OpenID Connect Core 1.0 section
//! 3.1.3).

use crate::domain::{InternalError, Services};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::details;
use crate::oidc::grant::new_tokens::{
    AccessDraft, REUSE_DETECTION, TokenResponse, issue_refresh, refresh_expiry,
};
use crate::oidc::id_token;
use crate::oidc::parameters::Parameters;
use crate::oidc::tokens::Presented;
use assent_model::application::GrantType;
use assent_model::purpose::SignInPurpose;
use assent_model::scope::Scope;
use assent_model::token::{CodeGrant, FamilyTokenSource, TokenScopes, TokenSource};
use assent_model::token_binding::TokenBinding;
use assent_store::Redemption;

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    presented: Option<Presented>,
) -> Result<TokenResponse, TokenError> {
    parameters.required("code")?;
    let presented = CodeExchange {
        grant: presented.and_then(Presented::into_code),
        redirect_uri: parameters.required("redirect_uri")?,
        verifier: parameters.get("code_verifier"),
        details: parameters.get("authorization_details"),
        purpose: SignInPurpose::Application,
    };
    redeem(services, client, presented).await
}

/// The parameters of a code exchange.
pub struct CodeExchange<'a> {
    /// The grant of `code`, if it was issued.
    pub grant: Option<CodeGrant>,
    /// `redirect_uri`
    pub redirect_uri: &'a str,
    /// `code_verifier`
    pub verifier: Option<&'a str>,
    /// `authorization_details`: the elements that the access token shall have; `None`: all that the user granted.
    pub details: Option<&'a str>,
    /// The purpose of the grant: at the token endpoint always the application.
    pub purpose: SignInPurpose,
}

/// Exchanges a code.
///
/// # Errors
/// [`TokenError`] if the code is not valid, was used before, or the database fails.
pub async fn redeem(
    services: &Services,
    client: &AuthenticatedClient,
    presented: CodeExchange<'_>,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let grant = presented.grant.ok_or(INVALID_CODE)?;
    check_grant(client, &grant, presented.purpose, presented.redirect_uri)?;
    if let Err(why) = check_verifier(&grant, presented.verifier) {
        if let WrongVerifier::Wrong(_) = why {
            // The code reached another sign-in than the one that began it. Each code permits one attempt.
            services
                .store
                .spend_code(grant.id, services.now())
                .await
                .map_err(InternalError::from)?;
            tracing::warn!(
                application = %application.id, code = %grant.id,
                "authorization code spent: wrong code_verifier"
            );
        }
        let (WrongVerifier::Unexpected(why) | WrongVerifier::Wrong(why)) = why;
        return Err(TokenError::InvalidGrant(why));
    }
    let granted = &grant.context.authorization_details;
    let details = details::selection(application, granted, presented.details)?;
    let lifetimes = services.settings.lifetimes;
    let lifetime = lifetimes.access_token.get();
    let now = services.now();
    let offline = grant.scopes.has(Scope::OfflineAccess)
        && application
            .settings
            .grant_types
            .contains(&GrantType::RefreshToken);
    let refresh_expiry = match offline {
        true => refresh_expiry(services, grant.created_at),
        false => None,
    };
    let last_refresh = match offline {
        true => grant.created_at + lifetimes.consent.get(),
        false => now,
    };
    // The server claims the code before it issues tokens, with a statement that also checks the user and the account.
    let redemption = services
        .store
        .redeem_code(
            grant.id,
            last_refresh + lifetime + REUSE_DETECTION,
            client.proof.map(|proof| proof.claim),
            now,
        )
        .await
        .map_err(InternalError::from)?;
    let epoch = match redemption {
        Redemption::Redeemed { epoch } => epoch,
        Redemption::AccountClosed => return Err(TokenError::ACCOUNT_CLOSED),
        Redemption::ProofReplayed => return Err(TokenError::PROOF_REPLAYED),
        Redemption::Replayed => {
            tracing::warn!(
                application = %application.id, code = %grant.id,
                "authorization code replayed or expired, token family revoked"
            );
            return Err(INVALID_CODE);
        }
    };
    let source = TokenSource::Family(FamilyTokenSource {
        family: grant.id,
        counter: 0,
        track_use_until: None,
    });
    let authorization_details = details::elements(granted, details);
    let rights = (TokenScopes::Oidc(grant.scopes.clone()), details);
    let access_token =
        AccessDraft::new(services, lifetime).issue(services, client, source, rights, epoch)?;
    let refresh_token = refresh_expiry
        .map(|expires_at| issue_refresh(services, client, grant.id, 0, epoch, expires_at))
        .transpose()?;
    let session_state = id_token::session_state(application, &grant.claims);
    let id_token =
        id_token::issue(services, application, grant.claims, access_token.expose()).await?;
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: TokenBinding::token_type(client.binding()),
        expires_in: lifetime.as_secs(),
        id_token: Some(id_token),
        refresh_token: refresh_token.map(|token| token.expose().to_owned()),
        scope: grant.scopes.to_string(),
        authorization_details,
        session_state,
        receipt_id: None,
        second_receipt_id: None,
    })
}

/// Checks that the code was granted to this client, for this purpose, and for this redirect URI and DPoP key.
fn check_grant(
    client: &AuthenticatedClient,
    grant: &CodeGrant,
    purpose: SignInPurpose,
    redirect_uri: &str,
) -> Result<(), TokenError> {
    let application = &client.application;
    if grant.application != application.id {
        tracing::warn!(
            application = %application.id, code = %grant.id,
            "authorization code rejected: granted to another application"
        );
        return Err(INVALID_CODE);
    }
    if grant.context.purpose != purpose {
        tracing::warn!(
            application = %application.id, code = %grant.id,
            "authorization code rejected: granted for another purpose"
        );
        return Err(INVALID_CODE);
    }
    if grant.redirect_uri.as_str() != redirect_uri {
        return Err(TokenError::InvalidGrant(
            "redirect_uri differs from the authorization request's",
        ));
    }
    let bound_to = grant.context.dpop_key;
    if bound_to.is_some() && bound_to != client.proof.map(|proof| proof.key) {
        return Err(TokenError::InvalidGrant(
            "the code is bound to a DPoP key (dpop_jkt), of which the request has no proof",
        ));
    }
    Ok(())
}

const INVALID_CODE: TokenError =
    TokenError::InvalidGrant("the code is invalid, expired or already used");

/// The reason why a `code_verifier` is rejected, for the response.
enum WrongVerifier {
    /// The request has none, or the sign-in has no challenge. It may have been sent by mistake, and it guesses nothing.
    Unexpected(&'static str),
    /// The request has another one than the sign-in.
    Wrong(&'static str),
}

/// Checks the `code_verifier` (RFC 7636 section 4.6). A missing one is `invalid_grant` too, as the conformance suite of
/// the OpenID Foundation expects.
fn check_verifier(grant: &CodeGrant, verifier: Option<&str>) -> Result<(), WrongVerifier> {
    match (&grant.code_challenge, verifier) {
        (None, None) => Ok(()),
        (Some(challenge), Some(verifier)) if challenge.is_met_by(verifier) => Ok(()),
        (Some(_), None) => Err(WrongVerifier::Unexpected("code_verifier is missing")),
        (Some(_), Some(_)) => Err(WrongVerifier::Wrong(
            "code_verifier does not match the code_challenge",
        )),
        (None, Some(_)) => Err(WrongVerifier::Unexpected(
            "code_verifier was sent, but the authorization request had no code_challenge",
        )),
    }
}
