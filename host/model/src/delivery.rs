//! The delivery of approval requests through channels.

use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeliveryId, DeviceId};

/// A request that a channel has begun. The server polls the channel for its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The row's id.
    pub id: DeliveryId,
    /// The approval.
    pub approval: ApprovalId,
    /// The operator's name for the channel.
    pub channel: String,
    /// The recipient.
    pub recipient: Recipient,
    /// The channel's handle for the request, sealed with the master key.
    pub handle: String,
}

/// The recipient of a request, which determines the possible answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// A device of the user. It returns a proof, which the server verifies.
    Device(DeviceId),
    /// A vendor. The server trusts the vendor's result.
    Vendor {
        /// The user's identifier at the vendor when the request was sent. If it was removed since, the result is
        /// ignored.
        identifier: String,
    },
}

/// A delivery with a lease of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedDelivery {
    /// The delivery.
    pub delivery: Delivery,
    /// The expiry of the lease.
    pub until: Timestamp,
}

/// A vendor's result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Ruling {
    /// The user approved.
    Approved,
    /// The user denied.
    Denied,
}
crate::enum_texts!(Ruling);

/// A user's identifier at a vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAuthenticator {
    /// The operator's name for the vendor's channel.
    pub channel: String,
    /// The vendor's name for the user or the user's device.
    pub identifier: String,
}
