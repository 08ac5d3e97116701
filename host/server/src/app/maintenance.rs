//! Work that comes back: retention, keys, the GeoIP database.

use std::sync::Arc;
use std::time::Duration;

use crate::config::HumanDuration;
use crate::domain;
use crate::domain::Host;
use assent_store::Retention;

/// How often the signing keys are read anew: so soon a host notices what a command or another host did to them.
const KEYS: Duration = Duration::from_secs(3);

/// How often the GeoIP file is checked for changes.
const PLACES: Duration = Duration::from_secs(60);
/// How often rows that are over are deleted.
const SWEEP: Duration = Duration::from_secs(10 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn sweep(host: Arc<Host>) {
    let lifetimes = host.settings.lifetimes;
    let after = |lifetime: HumanDuration, grace| lifetime.get() + grace;
    let retention = Retention {
        // Anybody may begin a login, so nothing of it is kept.
        logins: after(lifetimes.login, Duration::ZERO),
        access_tokens: after(
            lifetimes
                .access_token
                .max(lifetimes.client_credentials_token),
            DAY,
        ),
        refresh_tokens: after(lifetimes.refresh_token, DAY),
        sessions: after(host.settings.session.absolute_timeout, DAY),
        enrolments: after(lifetimes.enrolment, DAY),
        admin_tokens: after(lifetimes.admin_token, DAY),
        traces: domain::claims::traces::retention(&host),
        audit: domain::audit::retention(&host),
        streams: host.settings.audit.stream.names(),
        denials: host.settings.approvals.denial_reset_after.get(),
    };
    loop {
        if let Err(error) = domain::audit::sum_up_repeated(&host).await {
            tracing::warn!(%error, "audit entry of repeated requests not written");
        }
        match host.store.run_retention(retention, &*host.clock).await {
            Ok(Some(rows)) => tracing::debug!(rows, "retention deleted rows"),
            Ok(None) => {
                tracing::debug!(
                    "retention skipped: another instance has the lease, or the clock differs"
                );
            }
            Err(error) => tracing::warn!(%error, "retention failed"),
        }
        if let Err(error) = domain::admin::count_sign_ins(&host).await {
            tracing::warn!(%error, "sign-in counts of the last hours not updated");
        }
        if let Err(error) = domain::keys::saml_keys::maintain(&host).await {
            tracing::warn!(%error, "SAML certificate rotation failed");
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Publishes, retires and forgets signing keys when it is time, and notices what others did.
pub(super) async fn keep_keys(host: Arc<Host>) {
    loop {
        if let Err(error) = domain::keys::signing_keys::maintain(&host).await {
            tracing::warn!(%error, "signing key rotation failed");
        }
        tokio::time::sleep(KEYS).await;
    }
}

/// Reads the GeoIP database again when its file changes.
pub(super) async fn refresh_geoip(host: Arc<Host>) {
    loop {
        tokio::time::sleep(PLACES).await;
        let host = Arc::clone(&host);
        match tokio::task::spawn_blocking(move || host.geoip.refresh()).await {
            Ok(Ok(false)) | Err(_) => {}
            Ok(Ok(true)) => tracing::info!("GeoIP database reloaded"),
            Ok(Err(error)) => {
                tracing::warn!(%error, "GeoIP database reload failed, the previous one stays in use");
            }
        }
    }
}
