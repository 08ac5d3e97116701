//! The delivery of the results of an application's back-channel requests.

use super::values::server_address;
use crate::domain::Services;
use crate::domain::admin::{Result, invalid};
use assent_model::application::{OidcSettings, SenderConstraint};
use assent_model::backchannel_delivery::{BackchannelDelivery, DeliveryMode};
use assent_plugin_host::egress::Egress;

const MODE: &str = "backchannel_token_delivery_mode";
const ENDPOINT: &str = "backchannel_client_notification_endpoint";

/// Returns the delivery after the change.
pub(super) fn changed(
    known: &BackchannelDelivery,
    mode: Option<DeliveryMode>,
    endpoint: Option<Option<String>>,
    egress: &Egress,
) -> Result<BackchannelDelivery> {
    let mode = mode.unwrap_or(known.mode());
    let endpoint = match endpoint {
        None => known.endpoint().cloned(),
        Some(None) => None,
        Some(Some(_)) if mode == DeliveryMode::Poll => {
            return Err(invalid(ENDPOINT, "expected the mode ping or push with it"));
        }
        Some(Some(text)) => Some(server_address(ENDPOINT, &text, egress)?),
    };
    let required = || invalid(ENDPOINT, "expected an address with the mode ping or push");
    match mode {
        DeliveryMode::Poll => Ok(BackchannelDelivery::Poll),
        DeliveryMode::Ping => endpoint.map(BackchannelDelivery::Ping).ok_or_else(required),
        DeliveryMode::Push => endpoint.map(BackchannelDelivery::Push).ok_or_else(required),
    }
}

/// Rejects a change that begins to push tokens on a server that pushes none. A setting of an earlier time stays, so
/// that an administrator can change the others.
pub(super) fn must_be_offered(
    services: &Services,
    before: &BackchannelDelivery,
    after: &BackchannelDelivery,
) -> Result<()> {
    let begins = after.mode() == DeliveryMode::Push && before.mode() != DeliveryMode::Push;
    match begins && !services.settings.oidc.backchannel.push {
        true => Err(invalid(
            MODE,
            "this server pushes no tokens: expected poll or ping, or the setting oidc.backchannel.push",
        )),
        false => Ok(()),
    }
}

/// Rejects pushed tokens that would have to be bound to a key: the application proves no key when it receives them.
pub(super) fn must_fit(settings: &OidcSettings) -> Result<()> {
    let is_pushed = settings.backchannel_delivery.mode() == DeliveryMode::Push;
    match is_pushed && settings.sender_constraint != SenderConstraint::Optional {
        true => Err(invalid(
            MODE,
            "expected poll or ping: tokens that are bound to a key cannot be pushed",
        )),
        false => Ok(()),
    }
}
