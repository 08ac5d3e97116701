//! Approval requests, their answers, and their way to the devices.

pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod conflict;
pub(crate) mod cooldown;
pub(crate) mod creation;
pub(crate) mod delivery;
pub(crate) mod dispatch;
pub(crate) mod limit;
pub(crate) mod receipts;
pub(crate) mod repeat;
pub(crate) mod report;
pub(crate) mod request;
