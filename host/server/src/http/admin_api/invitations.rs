//! Invitations: the links of invited users.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, Query, after, list_query, user_ids};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, InvitationDelivery, InviteUsers, InvitedUser, Names, WithdrawInvitations,
};
use crate::domain::audit::moment_text;
use crate::domain::mail::letter::{Letter, language_of};
use crate::http::devices::qr_code;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::invitation::{Invitation, InvitationLink, InvitationState, MailDelivery};
use assent_model::search::{Cursor, sort_key};
use assent_model::user::User;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("invitations", "The links of invited users.")
        .route("list", Permission::UsersRead, routes!(list))
        .route("create", Permission::UsersWrite, routes!(create))
        .protected(ProtectedActionKind::EnrolDevice)
        .route("withdraw", Permission::UsersWrite, routes!(withdraw))
}

/// An invited user, with the link that was created last.
#[derive(Serialize, ToSchema)]
#[schema(as = Invitation)]
struct InvitationView {
    user_id: String,
    /// The user's name at sign-in.
    name: String,
    /// The user's display name.
    display_name: String,
    email: Option<String>,
    state: InvitationState,
    /// Whether the user has a role in the console, so that links are created only on the page of the user.
    has_console_role: bool,
    /// The kind of caller that created the link: `user`, `admin_token`, `application` or `server`.
    inviter_kind: Option<String>,
    /// The id of that caller.
    inviter_id: Option<String>,
    /// The name of that caller, if it is a user.
    inviter_name: Option<String>,
    #[schema(format = DateTime)]
    created_at: Option<String>,
    /// When the email was sent.
    #[schema(format = DateTime)]
    sent_at: Option<String>,
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// When the email was queued, attempted last, sent or given up.
    #[schema(format = DateTime)]
    delivery_at: Option<String>,
    /// Why the last attempt to send the email failed.
    delivery_error: Option<String>,
}

fn view(invitation: Invitation, names: &Names, now: Timestamp) -> InvitationView {
    let state = invitation.state_at(now);
    let Invitation { user, link } = invitation;
    let mut view = InvitationView {
        user_id: user.id.to_string(),
        display_name: user.display_name().to_owned(),
        name: user.name.to_string(),
        has_console_role: user.console_role.is_some(),
        email: user.email.map(Into::into),
        state,
        inviter_kind: None,
        inviter_id: None,
        inviter_name: None,
        created_at: None,
        sent_at: None,
        expires_at: None,
        delivery_at: None,
        delivery_error: None,
    };
    let Some(InvitationLink {
        id: _,
        created_at,
        expires_at,
        inviter,
        mail,
    }) = link
    else {
        return view;
    };
    view.created_at = Some(moment_text(created_at));
    view.expires_at = Some(moment_text(expires_at));
    if let Some((delivery, since, why)) = mail {
        let is_sent = delivery == MailDelivery::Sent;
        view.sent_at = is_sent.then(|| moment_text(since));
        view.delivery_at = Some(moment_text(since));
        view.delivery_error = why;
    }
    if let Some(inviter) = inviter {
        view.inviter_kind = Some(inviter.kind().to_owned());
        view.inviter_id = inviter.id();
        if let Actor::User(user) = inviter {
            view.inviter_name = names.user(user);
        }
    }
    view
}

list_query! {
    /// The filters of the list of invitations.
    struct InvitationsQuery;
    /// Only those in this state.
    #[param(inline)]
    state: Option<InvitationState>,
}

/// List the invited users with their links, in the order of their names.
#[utoipa::path(
    get,
    path = "/invitations",
    params(InvitationsQuery),
    responses((status = 200, description = "A page of invited users.", body = List<InvitationView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(query): Query<InvitationsQuery>,
) -> Result<Json<List<InvitationView>>, Problem> {
    let now = services.now();
    let (state, cursor) = (query.state, after::<Cursor>(query.after.as_deref())?);
    let limit = query.limit.and_one();
    let found = admin::invitations(&services, state, cursor.as_ref(), limit, now).await?;
    let inviter = |invitation: &Invitation| match invitation.link.as_ref()?.inviter {
        Some(Actor::User(user)) => Some(user),
        _ => None,
    };
    let inviters = found.iter().filter_map(inviter).collect();
    let names = Names::read(&services, inviters, BTreeSet::new()).await?;
    Ok(Json(List::from_rows(
        found,
        query.limit,
        |invitation| {
            Cursor {
                term: sort_key(&invitation.user),
                id: invitation.user.id.to_string(),
            }
            .to_string()
        },
        |invitation| view(invitation, &names, now),
    )))
}

/// The users to invite.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewInvitations {
    /// The ids of the users: 1 to 100.
    users: Vec<String>,
    /// How the links reach the users.
    delivery: InvitationDelivery,
}

/// The message for a user, in the user's language.
#[derive(Serialize, ToSchema)]
pub(super) struct InvitationMessage {
    subject: String,
    text: String,
}

/// Returns the message with which an administrator hands a link over.
pub(super) fn message(
    services: &Services,
    user: &User,
    link: &str,
    expires_at: Timestamp,
) -> InvitationMessage {
    let language = language_of(services, user);
    let letter = Letter::invitation(services, language, user.display_name(), link, expires_at);
    InvitationMessage {
        subject: letter.subject(),
        text: letter.text(),
    }
}

/// A link, or the reason why there is none.
#[derive(Serialize, ToSchema)]
#[schema(as = CreatedInvitation)]
struct CreatedView {
    user_id: String,
    name: String,
    display_name: String,
    email: Option<String>,
    /// Why the user was skipped; `null` if there is a link.
    skipped: Option<&'static str>,
    /// The link, unless the server sends it. Only this response contains it.
    link: Option<String>,
    /// The link as a QR code, an SVG image.
    qr_code: Option<String>,
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

/// The created links.
#[derive(Serialize, ToSchema)]
#[schema(as = CreatedInvitations)]
struct CreatedInvitationsView {
    items: Vec<CreatedView>,
}

fn created_view(invited: InvitedUser, delivery: InvitationDelivery) -> CreatedView {
    let InvitedUser { user, link } = invited;
    let mut view = CreatedView {
        user_id: user.id.to_string(),
        display_name: user.display_name().to_owned(),
        name: user.name.to_string(),
        email: user.email.map(Into::into),
        skipped: None,
        link: None,
        qr_code: None,
        expires_at: None,
    };
    match link {
        Err(why) => view.skipped = Some(why),
        Ok(created) => {
            view.expires_at = Some(moment_text(created.expires_at));
            if delivery == InvitationDelivery::Link {
                view.qr_code = qr_code(&created.link);
                view.link = Some(created.link);
            }
        }
    }
    view
}

/// Create links for invited users, or send them by email.
///
/// With `link`, the caller needs `accounts:write`, and the console an approval, because the holder of a link becomes
/// the user. With `email`, only the user's own address receives it.
///
/// An earlier link of the same user is invalid from then on, so this also sends an invitation again. Users who are not
/// invited, who have a role in the console or, with `email`, who have no email address are skipped.
#[utoipa::path(
    post,
    path = "/invitations",
    request_body = NewInvitations,
    responses((status = 201, description = "The links.", body = CreatedInvitationsView))
)]
async fn create(
    context: Context,
    Body(NewInvitations { users, delivery }): Body<NewInvitations>,
) -> Result<(StatusCode, Json<CreatedInvitationsView>), Problem> {
    let users = user_ids(&users)?;
    let invited = context.run(InviteUsers { users, delivery }).await?;
    let items = invited
        .into_iter()
        .map(|invited| created_view(invited, delivery))
        .collect();
    Ok((StatusCode::CREATED, Json(CreatedInvitationsView { items })))
}

/// The users whose links are withdrawn.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Withdrawal {
    /// The ids of the users: 1 to 100.
    users: Vec<String>,
}

/// The result of a withdrawal.
#[derive(Serialize, ToSchema)]
struct WithdrawalResult {
    /// The number of users whose link was valid, and is not any more.
    withdrawn: u64,
}

/// Withdraw the links of invited users.
#[utoipa::path(
    post,
    path = "/invitations/withdraw",
    request_body = Withdrawal,
    responses((status = 200, description = "The links are invalid.", body = WithdrawalResult))
)]
async fn withdraw(
    context: Context,
    Body(Withdrawal { users }): Body<Withdrawal>,
) -> Result<Json<WithdrawalResult>, Problem> {
    let users = user_ids(&users)?;
    let withdrawn = context.run(WithdrawInvitations { users }).await?;
    Ok(Json(WithdrawalResult { withdrawn }))
}
