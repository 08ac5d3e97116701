//! The user with a typed name.

use crate::domain::sign_in::access::{Access, access};
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::{InternalError, Services};
use assent_model::id::{Did, UserId};
use assent_model::name::LoginName;
use assent_model::user::LifecycleState;

/// The user with a name, if there is one.
pub(crate) struct NameOwner {
    /// The user.
    pub(crate) known: Option<UserId>,
    /// The user, if the user may sign in to the application, is below the rate limit, and did not revoke the trust in
    /// the browser.
    pub(crate) prompted_user: Option<UserId>,
    /// Whether the user may sign in to the application.
    pub(crate) is_open: bool,
}

/// Finds the user with a name. The queries are the same for any name, so that their time does not reveal whether a user
/// has it.
pub(crate) async fn name_owner(
    services: &Services,
    name: &LoginName,
    standing: BrowserStatus,
    application: Option<&Did>,
) -> Result<NameOwner, InternalError> {
    let user = services.store.user_by_login(name).await?;
    let open = match (&user, application) {
        (Some(user), None) => user.state == LifecycleState::Active,
        // A user without an account receives a request too. The page shows the denial only after the approval.
        (Some(user), Some(application)) => {
            !matches!(access(services, user, application).await?, Access::Closed)
        }
        (None, Some(application)) => {
            let unknown = UserId::new(services.now(), &*services.entropy);
            services.store.access_of(unknown, application).await?;
            false
        }
        (None, None) => false,
    };
    let known = user.map(|user| user.id);
    let limit = match standing {
        BrowserStatus::Known => &services.rate_limits.prompts_from_known_browsers,
        BrowserStatus::Stale | BrowserStatus::Unknown => &services.rate_limits.prompts_per_user,
    };
    let prompted_user = known.filter(|user| open && limit.count_call(user, services.now()).is_ok());
    Ok(NameOwner {
        known,
        prompted_user,
        is_open: open,
    })
}
