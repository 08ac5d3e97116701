//! This server as a WebAuthn relying party.

use std::time::Duration;

use webauthn_rs::{Webauthn, WebauthnBuilder};

use crate::config::Settings;

/// This server as a relying party of passkeys, identified by the domain of its base URL.
#[derive(Debug)]
pub struct RelyingParty(pub(in crate::domain) Webauthn);

impl RelyingParty {
    /// Returns the relying party for these settings. `None` if the base URL names an IP address (section 5.1.3: a
    /// relying party's identifier is a domain).
    pub fn new(settings: &Settings) -> Option<Self> {
        let domain = settings.base_url.domain()?;
        let builder = WebauthnBuilder::new(domain, &settings.base_url).ok()?;
        Some(Self(
            builder
                .rp_name(&settings.operator)
                .timeout(PATIENCE)
                .build()
                .ok()?,
        ))
    }
}

/// The largest time that a user has for face, finger or PIN. For an approval, the remaining time of the approval is the
/// limit too.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
