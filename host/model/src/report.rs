//! Reports of users that an approval request was not theirs ("This wasn't me").

use crate::audit::Actor;
use crate::clock::Timestamp;
use crate::id::{DeviceId, Did, ReportId, UserId};
use crate::login::BrowserContext;

/// A new report, with the details of the request that the user saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReport {
    /// The row's id.
    pub id: ReportId,
    /// What the request was for.
    pub subject: ReportSubject,
    /// The browser that sent the request; empty for a back-channel request.
    pub browser: BrowserContext,
}

/// What a reported request was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportSubject {
    /// A sign-in to an application; `None` for the console or the portal.
    SignIn(Option<Did>),
    /// A protected action.
    Action,
    /// A back-channel request of an application.
    Backchannel(Did),
    /// The question of a help desk whether the user is on the phone.
    CallerCheck,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The content of the report.
    pub content: NewReport,
    /// The user who reported the request.
    pub user: UserId,
    /// The device on which the user reported it.
    pub device: DeviceId,
    /// When the user reported it.
    pub reported_at: Timestamp,
    /// How an administrator settled it; `None` for an open report.
    pub settlement: Option<ReportSettlement>,
}

/// The end of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSettlement {
    /// When the administrator settled it.
    pub settled_at: Timestamp,
    /// Who settled it.
    pub settled_by: Actor,
    /// The note of the administrator.
    pub note: String,
}
