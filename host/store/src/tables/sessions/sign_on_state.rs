//! What an application's sign-on in a session depends on: the application, the session with its user, and the user's
//! account. One statement reads their versions, and the caches have the rest.

use std::sync::Arc;

use crate::engine::rows::{cell, parse};
use crate::tables::accounts::user_account::UserAccount;
use crate::tables::sessions::signed_in::SignedInSession;
use crate::{Result, Store};
use assent_model::application::RegisteredApplication;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, SessionId};

/// An application, and an open session whose user has an account there.
#[derive(Clone, Debug)]
pub struct SignOnState {
    /// The application.
    pub application: RegisteredApplication,
    /// The session with its user.
    pub signed_in: SignedInSession,
    /// The account, whose access by assignments is that of the user.
    pub holder: Arc<UserAccount>,
}

impl Store {
    /// The application, the session, if it has not ended at `now`, and the account of its user. `None` if one of them
    /// does not exist.
    pub async fn sign_on_state(
        &self,
        session: SessionId,
        application: &Did,
        now: Timestamp,
    ) -> Result<Option<SignOnState>> {
        let key = (session.to_string(), application.to_string());
        let Some(row) = self.lookups.sign_on_states.call(key).await? else {
            return Ok(None);
        };
        let account = parse(&row.account_id, cell("accounts", "id", &row.account_id))?;
        let version = (row.application_version, row.application_updated_at);
        let versions = [
            (row.account_version, row.account_updated_at),
            (row.user_version, row.user_updated_at),
            version,
        ];
        let application = self.registered_version(application, version).await?;
        let holder = self.holder_in(account, versions).await?;
        let (Some(application), Some(holder)) = (application, holder) else {
            return Ok(None);
        };
        let (session, digest) = row.session.try_into()?;
        // The account may have been deleted since, and its user may have a new one.
        let is_same_user = holder.user.id == session.user_id;
        Ok(
            (is_same_user && session.expires_at > now).then(|| SignOnState {
                application,
                signed_in: SignedInSession {
                    session,
                    digest,
                    user: Arc::clone(&holder.user),
                },
                holder,
            }),
        )
    }
}
