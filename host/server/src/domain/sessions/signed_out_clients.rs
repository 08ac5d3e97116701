//! The OpenID Connect clients of an ended session, for the pages of its logout.

use std::sync::Arc;

use crate::domain::claims::standard_claims::sid_of;
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::id::Did;
use assent_model::logout::ClientLogoutOutcome;
use assent_model::secret::Digest;

/// A client that took part in an ended session.
#[derive(Clone, Debug)]
pub struct SignedOutClient {
    /// The session's `sid`.
    pub sid: String,
    /// The client.
    pub application: Arc<Application>,
    /// The known result of its sign-out.
    pub outcome: Option<ClientLogoutOutcome>,
}

/// A hidden frame with the sign-out page of a client (OpenID Connect Front-Channel Logout section 3).
#[derive(Clone, Debug)]
pub struct LogoutFrame {
    /// The key of the client in this session, with which the page reports the frame. A browser may have held several
    /// sessions with the same client.
    pub key: String,
    /// The client.
    pub application: Did,
    /// The client's name.
    pub name: String,
    /// The `frontchannel_logout_uri` with `iss` and `sid`.
    pub address: String,
    /// The origin of the address.
    pub origin: String,
}

/// Returns the clients of these sessions that still exist.
pub async fn clients_of(
    services: &Services,
    sids: impl IntoIterator<Item = &str>,
) -> Result<Vec<SignedOutClient>, InternalError> {
    let mut clients = Vec::new();
    for sid in sids {
        for client in services.store.logout_clients(sid).await? {
            let found = services.store.application(&client.application).await?;
            clients.extend(found.map(|application| SignedOutClient {
                sid: client.sid,
                application,
                outcome: client.outcome,
            }));
        }
    }
    Ok(clients)
}

impl SignedOutClient {
    /// Returns the key of the client in this session: the first half of a digest.
    pub fn key(&self) -> String {
        let named = format!("{} {}", self.sid, self.application.id);
        let mut key = Digest::sha256(named.as_bytes()).to_text();
        key.truncate(32);
        key
    }

    /// Returns the client's frame. Returns `None` without a front-channel logout URI, and for a disabled client,
    /// because no browser is sent there.
    ///
    /// # Errors
    /// If the `sid` of the client cannot be computed.
    pub fn frame(&self, services: &Services) -> Result<Option<LogoutFrame>, InternalError> {
        let settings = &self.application.settings;
        let logout = settings.frontchannel_logout.as_ref();
        let Some(logout) = logout.filter(|_| settings.enabled) else {
            return Ok(None);
        };
        let sid = sid_of(services, &self.application, &self.sid)?;
        Ok(Some(LogoutFrame {
            key: self.key(),
            application: self.application.id.clone(),
            name: self.application.name.clone(),
            address: logout.uri.with_session(&services.issuer, &sid).into(),
            origin: logout.uri.origin(),
        }))
    }
}
