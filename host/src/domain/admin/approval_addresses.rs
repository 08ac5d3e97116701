//! What vendors' authenticators know people by.

use super::{Guard, Refused, Result, invalid, user};
use crate::domain::{Host, audit};
use crate::id::UserId;
use crate::model::audit::{By, Event};
use crate::model::delivery::ApprovalAddress;
use crate::model::name::display_text;
use crate::model::user::{LifeState, User};
use crate::plugins::Trust;
use crate::store::StoreError;

/// The longest address, in characters.
const LONGEST: usize = 512;

/// A person's addresses, by the names of their channels.
pub async fn approval_addresses(host: &Host, id: UserId) -> Result<Vec<ApprovalAddress>> {
    user(host, id).await?;
    Ok(host.store.approval_addresses(id).await?)
}

/// Says what the vendor of a delegated channel knows a person by. Who was invited can sign in from then on.
pub async fn set_approval_address(
    host: &Host,
    id: UserId,
    channel: &str,
    address: &str,
    by: &By,
    guard: Guard<'_, User>,
) -> Result<ApprovalAddress> {
    let entry = |event| audit::entry(host, event, by).about(id);
    let activated = audit::of_state(entry(Event::UserStateChanged), LifeState::Invited, LifeState::Active);
    let address = loop {
        let user = user(host, id).await?;
        guard(&user)?;
        let address = address_there(host, channel, address)?;
        let set = entry(Event::ApprovalAddressSet).with("channel", channel);
        let entries = vec![set.personal("address_there", address.address.as_str())];
        let activated = Some(activated.clone());
        match host.store.set_approval_address(&user, address.clone(), entries, activated, host.now()).await {
            Err(StoreError::Stale) => {}
            Ok(true) => break address,
            Ok(false) => return Err(Refused::NotFound("user")),
            Err(error) => return Err(error.into()),
        }
    };
    tracing::info!(user = %id, channel, "approval address set");
    Ok(address)
}

/// An address for the channel of a vendor.
pub(super) fn address_there(host: &Host, channel: &str, address: &str) -> Result<ApprovalAddress> {
    let is_vendors = host.plugins.channel_info(channel).is_some_and(|channel| channel.trust == Trust::Delegated);
    if !is_vendors {
        return Err(invalid(
            "channel",
            "expected the name of an approval channel whose settings have trust = \"delegated\"",
        ));
    }
    let address = display_text(address, LONGEST)
        .ok_or_else(|| invalid("address", format!("expected 1 to {LONGEST} characters, without control characters")))?;
    Ok(ApprovalAddress { channel: channel.to_owned(), address })
}

/// Takes a person's address for a channel away, be the channel configured or not.
pub async fn remove_approval_address(
    host: &Host,
    id: UserId,
    channel: &str,
    by: &By,
    guard: Guard<'_, User>,
) -> Result<()> {
    let entry = audit::entry(host, Event::ApprovalAddressRemoved, by).about(id).with("channel", channel);
    let removed = loop {
        let user = user(host, id).await?;
        guard(&user)?;
        match host.store.remove_approval_address(&user, channel, vec![entry.clone()]).await {
            Err(StoreError::Stale) => {}
            removed => break removed?,
        }
    };
    if !removed {
        return Err(Refused::NotFound("approval address"));
    }
    tracing::info!(user = %id, channel, "approval address removed");
    Ok(())
}
