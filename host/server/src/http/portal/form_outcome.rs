//! The outcome of a form, for the page that follows.

use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::messages::Message;
use assent_model::user::User;

/// The result of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum FormResult {
    Renamed,
    PasskeyStopped,
    Revoked,
    /// The device was revoked, but service providers of its ended sessions could not be notified.
    RevokedNotNotified,
    Ended,
    EndedNotNotified,
    OthersEnded,
    OthersEndedNotNotified,
    CodesConfirmed,
    RequestsStopped,
    RequestsPermitted,
    /// The pause of all requests ended.
    PauseLifted,
}
assent_model::enum_texts!(FormResult);

impl FormResult {
    const fn message(self) -> Message {
        match self {
            Self::Renamed => Message::new("devices-renamed"),
            Self::PasskeyStopped => Message::new("devices-passkey-stopped"),
            Self::Revoked => Message::new("devices-revoked"),
            Self::RevokedNotNotified => Message::new("devices-revoked-not-notified"),
            Self::Ended => Message::new("sessions-ended"),
            Self::EndedNotNotified => Message::new("sessions-ended-not-notified"),
            Self::OthersEnded => Message::new("sessions-others-ended"),
            Self::OthersEndedNotNotified => Message::new("sessions-others-ended-not-notified"),
            Self::CodesConfirmed => Message::new("portal-codes-confirmed"),
            Self::RequestsStopped => Message::new("requests-stopped"),
            Self::RequestsPermitted => Message::new("requests-permitted-again"),
            Self::PauseLifted => Message::new("requests-resumed"),
        }
    }
}

/// Returns the purpose of the CSRF token in the address of the page.
pub(super) fn csrf_purpose(done: FormResult, user: &User) -> String {
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
        let mut notice = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "done" => notice.done = FormResult::parse(&value),
                "token" => notice.token = value.into_owned(),
                _ => {}
            }
        }
        notice
    }

    pub(super) fn message(
        &self,
        services: &Services,
        browser: &Browser,
        user: &User,
    ) -> Result<Option<Message>, InternalError> {
        let Some(done) = self.done else {
            return Ok(None);
        };
        let is_authentic =
            csrf::is_token(services, browser, &csrf_purpose(done, user), &self.token)?;
        Ok(is_authentic.then(|| done.message()))
    }
}
