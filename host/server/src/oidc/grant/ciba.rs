//! `urn:openid:params:grant-type:ciba` (OpenID CIBA Core 1.0 sections 10.1 and 11): the client polls for the result of
//! a back-channel request. An approval begins a session, which no browser has.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::approvals::channel;
use crate::domain::approvals::channel::Asker;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::ClaimSubject;
use crate::domain::operations::traffic::rate_limits::polls::PollIntervals;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access::{Access, signed_in_access};
use crate::domain::{InternalError, Services, audit};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::details;
use crate::oidc::grant::new_tokens::{
    AccessDraft, REUSE_DETECTION, TokenResponse, issue_refresh, refresh_expiry,
};
use crate::oidc::id_token;
use crate::oidc::parameters::Parameters;
use assent_model::account::Account;
use assent_model::application::{Application, GrantType};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::authorization_details::granted::DetailsSelection;
use assent_model::backchannel::BackchannelRequest;
use assent_model::claims_request::ClaimsRequest;
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, BackchannelRequestId, ConsentId, FamilyId};
use assent_model::purpose::SignInPurpose;
use assent_model::scope::Scope;
use assent_model::secret::{Digest, Secret, Token};
use assent_model::session::Authentication;
use assent_model::token::{
    FamilyTokenSource, GrantContext, GrantSubject, TokenScopes, TokenSource, prefix,
};
use assent_model::token_binding::TokenBinding;
use assent_model::user::LifecycleState;
use assent_plugin_host::{MapFailureKind, Sink};
use assent_store::{
    BackchannelClaim, BackchannelGrant, ConsentGrant, NewSession, SignInRecord, TokenFamily,
};

const INVALID: TokenError = TokenError::InvalidGrant(
    "the auth_req_id or device_code is invalid, of another client or already used",
);

/// The time after the expiry in which a client that polls may still learn of an approval just before it.
const LATE: Duration = Duration::from_secs(60);

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let (request, approval) = find(services, client, parameters.required("auth_req_id")?).await?;
    let polls = &services.rate_limits.backchannel_polls;
    let requested = parameters.get("authorization_details");
    result_of(services, client, (&request, &approval), requested, polls).await
}

/// Returns the tokens of an approved request, or the error of its state. `polls` counts a poll of a pending one.
pub(super) async fn result_of(
    services: &Services,
    client: &AuthenticatedClient,
    (request, approval): (&BackchannelRequest, &Approval),
    requested_details: Option<&str>,
    polls: &PollIntervals,
) -> Result<TokenResponse, TokenError> {
    let now = services.now();
    match approval.stage_at(now) {
        stage if stage.is_waiting() => Err(match polls.count_poll(request.id, now) {
            Ok(()) => TokenError::AuthorizationPending,
            Err(_) => TokenError::SlowDown,
        }),
        ApprovalStage::Expired => Err(TokenError::ExpiredToken),
        ApprovalStage::Approved { .. } if now >= request.expires_at + LATE => {
            Err(TokenError::ExpiredToken)
        }
        ApprovalStage::Approved { by, at } => {
            let request = &with_current_scopes(&client.application, request)?;
            // Each attempt calls the plugins. A client that polls once at a time never reaches this limit.
            let _place = services
                .rate_limits
                .backchannel_claims
                .hold(request.id)
                .ok_or(TokenError::SlowDown)?;
            let authentication = by.authentication(at);
            let granted = request.details.granted();
            let details = details::selection(&client.application, &granted, requested_details)?;
            let approved = (approval.id, authentication);
            grant(services, client, request, approved, details).await
        }
        ApprovalStage::Failed(_) => Err(TokenError::AccessDenied(
            "the user typed wrong digits too often",
        )),
        _ => Err(TokenError::AccessDenied(
            "the user denied the request in the authenticator",
        )),
    }
}

/// Returns the request with those of its scopes that the application may still have. The user approved the others too,
/// but an administrator took them from the application since then.
fn with_current_scopes(
    application: &Application,
    request: &BackchannelRequest,
) -> Result<BackchannelRequest, TokenError> {
    let settings = &application.settings;
    let mut scopes = request.scopes.both(&settings.scopes);
    if !settings.grant_types.contains(&GrantType::RefreshToken) {
        scopes = scopes.without(Scope::OfflineAccess);
    }
    match scopes.has(Scope::OpenId) {
        true => Ok(BackchannelRequest {
            scopes,
            ..request.clone()
        }),
        false => Err(TokenError::AccessDenied(
            "the application may not use the scope openid any more",
        )),
    }
}

/// Returns the unclaimed request of this client with this `auth_req_id`, and its approval.
async fn find(
    services: &Services,
    client: &AuthenticatedClient,
    text: &str,
) -> Result<(BackchannelRequest, Approval), TokenError> {
    let token = Token::parse(prefix::BACKCHANNEL_REQUEST, text).ok_or(INVALID)?;
    let id = BackchannelRequestId::from_bytes(token.id());
    let found = services
        .store
        .backchannel_request(id)
        .await
        .map_err(InternalError::from)?
        .filter(|found| found.digest == token.digest() && found.entered_code.is_none())
        .ok_or(INVALID)?;
    let application = &client.application.id;
    if found.application != *application {
        tracing::warn!(%application, request = %id, "auth_req_id rejected: of another application");
        return Err(INVALID);
    }
    if found.is_claimed {
        tracing::info!(%application, request = %id, "auth_req_id rejected: used before");
        return Err(INVALID);
    }
    let approval = services
        .store
        .approval_of_backchannel(id)
        .await
        .map_err(InternalError::from)?
        .ok_or(INVALID)?;
    Ok((found, approval))
}

/// The user of an approved request, who may use the application now.
struct ApprovedUser {
    signed_in: BrowserSession,
    /// The digest of the session's cookie, which no browser receives.
    digest: Digest,
    account: Account,
    /// The `sub` for the application.
    subject: String,
}

/// Checks the user again, claims the request, and issues the tokens.
async fn grant(
    services: &Services,
    client: &AuthenticatedClient,
    request: &BackchannelRequest,
    (approval, authentication): (ApprovalId, Authentication),
    details: DetailsSelection,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let approved = approved_user(services, application, request, authentication).await?;
    // The plugins run before the claim, so that a plugin that fails does not end the request.
    let claims = id_token_claims(services, application, request, &approved).await?;
    let now = services.now();
    let lifetime = services.settings.lifetimes.access_token.get();
    let is_offline = request.scopes.has(Scope::OfflineAccess);
    let refresh_expiry = match is_offline {
        true => refresh_expiry(services, now),
        false => None,
    };
    let last_refresh = match is_offline {
        true => now + services.settings.lifetimes.consent.get(),
        false => now,
    };
    let family = FamilyId::new(now, &*services.entropy);
    let grant = new_grant(
        services,
        application,
        (request, approval),
        &approved,
        family,
        now,
    );
    let grant = BackchannelGrant {
        retain_until: last_refresh + lifetime + REUSE_DETECTION,
        proof: client.proof.map(|proof| proof.claim),
        ..grant
    };
    let claimed = services
        .store
        .claim_backchannel_request(grant, now)
        .await
        .map_err(InternalError::from)?;
    let epoch = match claimed {
        BackchannelClaim::Claimed { epoch } => epoch,
        BackchannelClaim::NotOpen => return Err(INVALID),
        BackchannelClaim::ProofReplayed => return Err(TokenError::PROOF_REPLAYED),
    };
    let session = &approved.signed_in.session;
    tracing::info!(
        application = %application.id, request = %request.id, user = %session.user_id, session = %session.id,
        "back-channel sign-in completed"
    );
    let source = TokenSource::Family(FamilyTokenSource {
        family,
        counter: 0,
        track_use_until: None,
    });
    let rights = (TokenScopes::Oidc(request.scopes.clone()), details);
    let access_token =
        AccessDraft::new(services, lifetime).issue(services, client, source, rights, epoch)?;
    let refresh_token = refresh_expiry
        .map(|expires_at| issue_refresh(services, client, family, 0, epoch, expires_at))
        .transpose()?;
    let receipts = !services.settings.receipts.retention.is_zero();
    let session_state = id_token::session_state(application, &claims);
    let id_token = id_token::issue(services, application, claims, access_token.expose()).await?;
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: TokenBinding::token_type(client.binding()),
        expires_in: lifetime.as_secs(),
        id_token: Some(id_token),
        refresh_token: refresh_token.map(|token| token.expose().to_owned()),
        scope: request.scopes.to_string(),
        authorization_details: details::elements(&request.details.granted(), details),
        session_state,
        receipt_id: receipts.then(|| approval.to_string()),
    })
}

/// Returns the user who approved, with a new session and the account in the application.
async fn approved_user(
    services: &Services,
    application: &Application,
    request: &BackchannelRequest,
    authentication: Authentication,
) -> Result<ApprovedUser, TokenError> {
    const CLOSED: TokenError = TokenError::AccessDenied("the user may not use the application");
    if !channel::is_enough(services, Asker::client(application), &authentication) {
        return Err(CLOSED);
    }
    let user = services
        .store
        .user(request.user_id)
        .await
        .map_err(InternalError::from)?
        .filter(|user| user.state == LifecycleState::Active)
        .ok_or(CLOSED)?;
    // The cookie of the session is not sent, so no browser has it.
    let no_browser = Secret::random(&*services.entropy);
    let (signed_in, cookie) = session::prepare(services, user, authentication, &no_browser)?;
    let access = signed_in_access(services, &signed_in, &application.id, &Origin::NONE).await?;
    let Access::Granted(account) = access else {
        return Err(CLOSED);
    };
    let subject = standard_claims::subject_of(services, application, &signed_in.user)?;
    Ok(ApprovedUser {
        signed_in,
        digest: cookie.digest(),
        account,
        subject,
    })
}

/// Returns the claims of the ID token, except those that its issue determines.
async fn id_token_claims(
    services: &Services,
    application: &Application,
    request: &BackchannelRequest,
    approved: &ApprovedUser,
) -> Result<Map<String, Value>, TokenError> {
    let ApprovedUser {
        signed_in,
        account,
        subject: sub,
        ..
    } = approved;
    let authentication = &signed_in.session.authentication;
    let requested = ClaimsRequest::default();
    let subject = ClaimSubject {
        application,
        user: &signed_in.user,
        account,
        scopes: &request.scopes,
        authentication: Some(authentication),
        sub,
        requested: &requested.id_token,
    };
    let mapped = standard_claims::map(services, subject, Sink::IdToken).await;
    let mapped = mapped.map_err(|failure| match &failure.kind {
        MapFailureKind::Deny(reason) => {
            tracing::info!(
                application = %application.id, request = %request.id, plugin = failure.plugin, reason,
                "plugin denied the back-channel sign-in"
            );
            TokenError::AccessDenied("the user may not use the application")
        }
        MapFailureKind::Fault(detail) => {
            tracing::error!(
                application = %application.id, request = %request.id, plugin = failure.plugin, %failure,
                "back-channel sign-in failed in a plugin"
            );
            let detail = format!("`{}` {detail}", failure.plugin);
            TokenError::Internal(InternalError::Plugin(detail))
        }
    })?;
    let sid = standard_claims::sid_of(services, application, &signed_in.session.sid)?;
    Ok(id_token::with_sign_in(
        services,
        mapped,
        &subject,
        authentication,
        &sid,
        None,
    ))
}

/// Returns the session, the grant, the consent and the audit entries of an approved request.
fn new_grant(
    services: &Services,
    application: &Application,
    (request, approval): (&BackchannelRequest, ApprovalId),
    approved: &ApprovedUser,
    family: FamilyId,
    now: Timestamp,
) -> BackchannelGrant {
    let ApprovedUser {
        signed_in,
        digest,
        account,
        subject,
    } = approved;
    let session = &signed_in.session;
    let user = session.user_id;
    let by = AuditContext::new(Actor::User(user), Origin::NONE);
    let about = |event| {
        audit::entry(services, event, &by)
            .about(user)
            .in_application(application.id.clone())
            .with("backchannel_request", request.id.to_string())
    };
    let amr = session.authentication.amr.iter();
    let amr: Vec<&str> = amr.map(|method| method.as_str()).collect();
    let is_invited = account.state == LifecycleState::Invited;
    BackchannelGrant {
        request: request.id,
        session: NewSession {
            session: session.clone(),
            digest: *digest,
            approval,
            origin: Origin::NONE,
            replaces: None,
        },
        family: TokenFamily {
            id: family,
            application: application.id.clone(),
            scopes: request.scopes.clone(),
            subject: GrantSubject {
                user_id: user,
                account_id: account.id,
                session_id: session.id,
            },
            context: GrantContext {
                sid: session.sid.clone(),
                authentication: session.authentication.clone(),
                claims: ClaimsRequest::default(),
                purpose: SignInPurpose::Application,
                dpop_key: None,
                authorization_details: request.details.granted(),
            },
            created_at: now,
        },
        subject: subject.clone(),
        record: SignInRecord {
            user,
            // The device showed and signed the scopes.
            consent: Some(ConsentGrant {
                id: ConsentId::new(now, &*services.entropy),
                user,
                application: application.id.clone(),
                scopes: request.scopes.clone(),
                until: now + services.settings.lifetimes.consent.get(),
            }),
            entries: vec![
                about(Event::SignedIn)
                    .with("new_session", true)
                    .with("amr", amr),
                about(Event::ConsentGranted).with("scopes", request.scopes.to_string()),
            ],
            activated: is_invited.then(|| {
                audit::of_state(
                    about(Event::AccountLifecycleChanged),
                    LifecycleState::Invited,
                    LifecycleState::Active,
                )
            }),
        },
        retain_until: now,
        proof: None,
    }
}
