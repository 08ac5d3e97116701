//! `urn:openid:params:grant-type:ciba` (OpenID CIBA Core 1.0 sections 10.1 and 11): the client polls for the result of
//! a back-channel request. An approval begins a session, which no browser has. The tokens are the same if the server
//! sends them (section 10.3).

use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::approvals::channel;
use crate::domain::approvals::channel::Asker;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::ClaimSubject;
use crate::domain::operations::traffic::rate_limits::polls::PollIntervals;
use crate::domain::sessions::session;
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access;
use crate::domain::sign_in::access::{Access, signed_in_access};
use crate::domain::{InternalError, Services, audit};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::details;
use crate::oidc::grant::long_poll;
use crate::oidc::grant::long_poll::Patience;
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
use assent_model::backchannel_delivery::DeliveryMode;
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
    BackchannelClaim, BackchannelGrant, ConsentGrant, CountedSecond, NewSession, SignInRecord,
    TokenFamily,
};

const INVALID: TokenError = TokenError::InvalidGrant(
    "the auth_req_id or device_code is invalid, of another client or already used",
);

/// The time after the expiry in which a client that polls may still learn of an approval just before it.
pub(in crate::oidc) const LATE: Duration = Duration::from_secs(60);

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    patience: &Patience,
) -> Result<TokenResponse, TokenError> {
    // Section 11: a client to which the server sends its tokens may not fetch them.
    if client.application.settings.backchannel_delivery.mode() == DeliveryMode::Push {
        return Err(TokenError::UnauthorizedClient);
    }
    let text = parameters.required("auth_req_id")?;
    let found = find(services, client, text, patience).await?;
    let polling = Polling {
        intervals: &services.rate_limits.backchannel_polls,
        patience,
    };
    let requested = parameters.get("authorization_details");
    result_of(services, client, found, requested, polling).await
}

/// How a client polls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polling<'a> {
    /// The times of the last polls.
    pub intervals: &'a PollIntervals,
    /// The time for which this one may wait.
    pub patience: &'a Patience,
}

/// Returns the tokens of an approved request, or the error of its state.
pub(super) async fn result_of(
    services: &Services,
    client: &AuthenticatedClient,
    (request, approval): (BackchannelRequest, Approval),
    requested_details: Option<&str>,
    Polling {
        intervals,
        patience,
    }: Polling<'_>,
) -> Result<TokenResponse, TokenError> {
    let mut approval = approval;
    if approval.stage_at(services.now()).is_waiting() {
        intervals
            .count_poll(request.id, services.now())
            .map_err(|_| TokenError::SlowDown)?;
        approval = long_poll::decided(services, &request, approval, patience)
            .await?
            .ok_or(INVALID)?;
        if approval.stage_at(services.now()).is_waiting() {
            // The client waits for the interval after this response.
            intervals.note_answer(request.id, services.now());
            return Err(TokenError::AuthorizationPending);
        }
    }
    let authentication = decision(&request, &approval, services.now())?;
    // Each attempt calls the plugins. A client that polls once at a time never reaches this limit.
    let _place = services
        .rate_limits
        .backchannel_claims
        .hold(request.id)
        .ok_or(TokenError::SlowDown)?;
    let approved = (approval.id, authentication);
    grant(
        services,
        client,
        &request,
        approved,
        TokenRecipient::Poll(requested_details),
    )
    .await
}

/// Returns the authentication of an approved request.
///
/// # Errors
/// [`TokenError::AuthorizationPending`], [`TokenError::ExpiredToken`] or [`TokenError::AccessDenied`].
pub(in crate::oidc) fn decision(
    request: &BackchannelRequest,
    approval: &Approval,
    now: Timestamp,
) -> Result<Authentication, TokenError> {
    match approval.stage_at(now) {
        stage if stage.is_waiting() => Err(TokenError::AuthorizationPending),
        ApprovalStage::Expired => Err(TokenError::ExpiredToken),
        ApprovalStage::Approved { .. } if now >= request.expires_at + LATE => {
            Err(TokenError::ExpiredToken)
        }
        ApprovalStage::Approved { by, at } => Ok(by.authentication(at)),
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
    patience: &Patience,
) -> Result<(BackchannelRequest, Approval), TokenError> {
    let token = Token::parse(prefix::BACKCHANNEL_REQUEST, text).ok_or(INVALID)?;
    let id = BackchannelRequestId::from_bytes(token.id());
    let (found, approval) = long_poll::read(services, id, patience).await?;
    let found = found
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
    let approval = match approval {
        Some(approval) => approval,
        None => services
            .store
            .approval_of_request(&found)
            .await
            .map_err(InternalError::from)?
            .ok_or(INVALID)?,
    };
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

/// How the application receives the tokens.
#[derive(Clone, Copy, Debug)]
pub(in crate::oidc) enum TokenRecipient<'a> {
    /// In the response to its poll, with the `authorization_details` of that.
    Poll(Option<&'a str>),
    /// The server sends them for this `auth_req_id`.
    Push(&'a str),
}

impl TokenRecipient<'_> {
    /// Returns the granted authorization details that the tokens have.
    fn details(
        self,
        application: &Application,
        request: &BackchannelRequest,
    ) -> Result<DetailsSelection, TokenError> {
        let requested = match self {
            Self::Poll(requested) => requested,
            Self::Push(_) => None,
        };
        details::selection(application, &request.details.granted(), requested)
    }
}

/// Checks the user again, claims the request, and issues the tokens.
pub(in crate::oidc) async fn grant(
    services: &Services,
    client: &AuthenticatedClient,
    request: &BackchannelRequest,
    (approval, authentication): (ApprovalId, Authentication),
    recipient: TokenRecipient<'_>,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let request = &with_current_scopes(application, request)?;
    let details = recipient.details(application, request)?;
    let approved = approved_user(services, application, request, authentication).await?;
    // The plugins run before the claim, so that a plugin that fails does not end the request.
    let signed_in = &approved.signed_in;
    let subject = ClaimSubject {
        application,
        user: &signed_in.user,
        account: &approved.account,
        scopes: &request.scopes,
        authentication: Some(&signed_in.session.authentication),
        sub: &approved.subject,
        requested: &ClaimsRequest::default().id_token,
    };
    let claims = id_token_claims(services, request, &subject, &signed_in.session.sid).await?;
    let second = second_of(services, request).await?;
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
        (request, approval, second),
        &approved,
        family,
        now,
    );
    let grant = BackchannelGrant {
        retain_until: last_refresh + lifetime + REUSE_DETECTION,
        proof: client.proof.map(|proof| proof.claim),
        is_pushed: matches!(recipient, TokenRecipient::Push(_)),
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
    let tokens = FirstTokens {
        approval,
        second,
        family,
        epoch,
        refresh_expiry,
        details,
    };
    issue(services, client, request, tokens, claims, recipient).await
}

/// Returns the second approval of an approved request; `None` if it needs none. The claim checks again that it counts.
async fn second_of(
    services: &Services,
    request: &BackchannelRequest,
) -> Result<Option<CountedSecond>, TokenError> {
    if request.second.is_none() {
        return Ok(None);
    }
    let found = services.store.counted_second(request).await;
    found.map_err(InternalError::from)?.ok_or(INVALID).map(Some)
}

/// The first tokens of a grant.
struct FirstTokens {
    /// The approval, whose receipt the response names.
    approval: ApprovalId,
    /// The second approval, if the request needed one.
    second: Option<CountedSecond>,
    family: FamilyId,
    epoch: u32,
    /// The expiry of the refresh token, if there is one.
    refresh_expiry: Option<Timestamp>,
    details: DetailsSelection,
}

/// Issues the first tokens of a grant. A repeated call issues equivalent ones.
async fn issue(
    services: &Services,
    client: &AuthenticatedClient,
    request: &BackchannelRequest,
    tokens: FirstTokens,
    mut claims: Map<String, Value>,
    recipient: TokenRecipient<'_>,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let lifetime = services.settings.lifetimes.access_token.get();
    let FirstTokens {
        approval,
        second,
        family,
        epoch,
        refresh_expiry,
        details,
    } = tokens;
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
    if let TokenRecipient::Push(auth_req_id) = recipient {
        let refresh_token = refresh_token.as_ref().map(Secret::expose);
        id_token::set_push_claims(&mut claims, application, auth_req_id, refresh_token);
    }
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
        second_receipt_id: second
            .filter(|_| receipts)
            .map(|second| second.approval.to_string()),
    })
}

/// Issues the tokens of a request again that was claimed for the server to send them, because the application has not
/// confirmed them. `None` if the application has used the refresh token, so that it has received them.
///
/// # Errors
/// [`TokenError::AccessDenied`] if the grant or the access of the user has ended since. Otherwise if a plugin, a key or
/// the database fails.
pub(in crate::oidc) async fn issue_again(
    services: &Services,
    client: &AuthenticatedClient,
    (request, approval): (&BackchannelRequest, ApprovalId),
    family: FamilyId,
    auth_req_id: &str,
) -> Result<Option<TokenResponse>, TokenError> {
    const ENDED: TokenError = TokenError::AccessDenied("the access of the application ended");
    let application = &client.application;
    let request = &with_current_scopes(application, request)?;
    let recipient = TokenRecipient::Push(auth_req_id);
    let state = services
        .store
        .family_state(family, None)
        .await
        .map_err(InternalError::from)?
        .filter(|state| state.is_open && state.is_in_session)
        .ok_or(ENDED)?;
    if state.counter > 0 {
        return Ok(None);
    }
    let holder = access::holder_of(services, &state).await?.ok_or(ENDED)?;
    let context = &state.family.context;
    let subject = ClaimSubject {
        application,
        user: &holder.user,
        account: &holder.account,
        scopes: &request.scopes,
        authentication: Some(&context.authentication),
        sub: &standard_claims::subject_of(services, application, &holder.user)?,
        requested: &ClaimsRequest::default().id_token,
    };
    let claims = id_token_claims(services, request, &subject, &context.sid).await?;
    let is_offline = request.scopes.has(Scope::OfflineAccess);
    let tokens = FirstTokens {
        approval,
        // The grant counts from the claim on, whatever became of the second approver.
        second: services
            .store
            .counted_second(request)
            .await
            .map_err(InternalError::from)?,
        family,
        epoch: state.epoch,
        refresh_expiry: match is_offline {
            true => refresh_expiry(services, state.family.created_at),
            false => None,
        },
        details: recipient.details(application, request)?,
    };
    issue(services, client, request, tokens, claims, recipient)
        .await
        .map(Some)
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
    request: &BackchannelRequest,
    subject: &ClaimSubject<'_>,
    sid: &str,
) -> Result<Map<String, Value>, TokenError> {
    let application = subject.application;
    let mapped = standard_claims::map(services, *subject, Sink::IdToken).await;
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
    let sid = standard_claims::sid_of(services, application, sid)?;
    let how = subject.authentication.ok_or(INVALID)?;
    Ok(id_token::with_sign_in(
        services, mapped, subject, how, &sid, None,
    ))
}

/// Returns the session, the grant, the consent and the audit entries of an approved request.
fn new_grant(
    services: &Services,
    application: &Application,
    (request, approval, second): (&BackchannelRequest, ApprovalId, Option<CountedSecond>),
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
        let entry = audit::entry(services, event, &by)
            .about(user)
            .in_application(application.id.clone())
            .with("backchannel_request", request.id.to_string());
        match second {
            Some(second) => entry
                .with("second_approval", second.approval.to_string())
                .with("second_approval_by", second.user.to_string()),
            None => entry,
        }
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
        is_pushed: false,
    }
}
