//! The outcome of a form, for the page that follows.

use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::texts::Message;
use assent_model::user::User;

/// The result of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormResult {
    Renamed,
    PasskeyStopped,
    Revoked,
    /// The device was revoked, but service providers of its ended sessions could not be notified.
    RevokedUntold,
    Ended,
    EndedUntold,
    OthersEnded,
    OthersEndedUntold,
    CodesConfirmed,
}

impl FormResult {
    const ALL: [Self; 9] = [
        Self::Renamed,
        Self::PasskeyStopped,
        Self::Revoked,
        Self::RevokedUntold,
        Self::Ended,
        Self::EndedUntold,
        Self::OthersEnded,
        Self::OthersEndedUntold,
        Self::CodesConfirmed,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::PasskeyStopped => "passkey-stopped",
            Self::Revoked => "revoked",
            Self::RevokedUntold => "revoked-not-notified",
            Self::Ended => "ended",
            Self::EndedUntold => "ended-not-notified",
            Self::OthersEnded => "others-ended",
            Self::OthersEndedUntold => "others-ended-not-notified",
            Self::CodesConfirmed => "codes-confirmed",
        }
    }

    const fn message(self) -> Message {
        match self {
            Self::Renamed => Message::new("devices-renamed"),
            Self::PasskeyStopped => Message::new("devices-passkey-stopped"),
            Self::Revoked => Message::new("devices-revoked"),
            Self::RevokedUntold => Message::new("devices-revoked-not-notified"),
            Self::Ended => Message::new("sessions-ended"),
            Self::EndedUntold => Message::new("sessions-ended-not-notified"),
            Self::OthersEnded => Message::new("sessions-others-ended"),
            Self::OthersEndedUntold => Message::new("sessions-others-ended-not-notified"),
            Self::CodesConfirmed => Message::new("portal-codes-confirmed"),
        }
    }
}

pub(super) fn told(done: FormResult, user: &User) -> String {
    format!("done {} {}", done.as_str(), user.id)
}

/// The result in an address. Any site can create such an address, so the result counts only with a token of this
/// server.
#[derive(Debug, Default)]
pub(super) struct FormNotice {
    done: Option<FormResult>,
    token: String,
}

impl FormNotice {
    /// Parses the query of an address.
    pub(super) fn of_query(query: &str) -> Self {
        let mut told = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "done" => {
                    told.done = FormResult::ALL
                        .into_iter()
                        .find(|done| done.as_str() == value);
                }
                "token" => told.token = value.into_owned(),
                _ => {}
            }
        }
        told
    }

    /// Returns the message for the page.
    pub(super) fn message(
        &self,
        services: &Services,
        browser: &Browser,
        user: &User,
    ) -> Result<Option<Message>, InternalError> {
        let Some(done) = self.done else {
            return Ok(None);
        };
        let ours = csrf::is_token(services, browser, &told(done, user), &self.token)?;
        Ok(ours.then(|| done.message()))
    }
}
