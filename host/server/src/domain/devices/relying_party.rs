//! This server as a WebAuthn relying party.

use std::time::Duration;

use webauthn_rs::{Webauthn, WebauthnBuilder};

use crate::config::Settings;

/// This server as passkeys know it: by the domain of its base URL.
#[derive(Debug)]
pub struct RelyingParty(pub(in crate::domain) Webauthn);

impl RelyingParty {
    /// The server with these settings. `None` where its base URL names an address (section 5.1.3: a relying party's
    /// identifier is a domain).
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

/// How long a person has for face, finger or PIN. An approval gives no longer than it has itself.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
