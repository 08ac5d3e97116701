//! An approval request on its way through a channel.

use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeliveryId, DeviceId};

/// A request that a channel has begun and that it is to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The row's id.
    pub id: DeliveryId,
    /// The approval.
    pub approval: ApprovalId,
    /// The operator's name for the channel.
    pub channel: String,
    /// Whom it is on its way to.
    pub recipient: Recipient,
    /// What the channel finds the request by, sealed with the master key.
    pub handle: String,
}

/// Whom a request is on its way to, and so what may come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// A device of the person. It sends back a proof, which is verified.
    Device(DeviceId),
    /// A vendor, whose word counts.
    Vendor {
        /// What it knew the person by when it was asked. Its word is of no use once that is withdrawn.
        identifier: String,
    },
}

/// A delivery that one host has to itself for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedDelivery {
    /// The delivery.
    pub delivery: Delivery,
    /// Until when.
    pub until: Timestamp,
}

/// What a vendor says came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The person approved.
    Approved,
    /// The person denied.
    Denied,
}

/// What a vendor knows a person by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAuthenticator {
    /// The operator's name for the vendor's channel.
    pub channel: String,
    /// The vendor's name for the person or their device.
    pub identifier: String,
}
