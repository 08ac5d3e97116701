//! Recurring work: retention, keys, the GeoIP database.

use std::sync::Arc;
use std::time::Duration;

use crate::config::HumanDuration;
use crate::domain;
use crate::domain::Services;
use crate::domain::keys::{sealing_keys, signing_keys};
use crate::domain::operations::telemetry::metric_families::families;
use crate::otlp;
use assent_store::{Retention, StoreError};

/// The interval between checks of the GeoIP file for changes.
const GEOIP_CHECK: Duration = Duration::from_secs(60);
/// The interval between deletions of expired rows.
const RETENTION: Duration = Duration::from_secs(10 * 60);
/// The interval at which each instance checks whether a sealing key must be replaced.
const SEALING_KEYS: Duration = Duration::from_secs(30);
/// The interval between two heartbeats. A contracting migration waits six times as long for an instance
/// ([`HEARTBEAT_LIMIT`](assent_store::HEARTBEAT_LIMIT)).
const HEARTBEAT: Duration = Duration::from_secs(20);
/// The interval at which the last uses of client secrets are written.
const SECRET_USES: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn delete_expired(services: Arc<Services>) {
    let lifetimes = services.settings.lifetimes;
    let after = |lifetime: HumanDuration, grace| lifetime.get() + grace;
    let retention = Retention {
        // Any client may begin a sign-in, so expired sign-ins are deleted at once.
        logins: after(lifetimes.login, Duration::ZERO),
        sessions: after(services.settings.session.absolute_timeout, DAY),
        enrolments: after(lifetimes.enrolment, DAY),
        admin_tokens: after(lifetimes.admin_token, DAY),
        traces: domain::claims::traces::retention(&services),
        receipts: services.settings.receipts.retention.get(),
        audit: domain::audit::retention(&services),
        streams: services.settings.audit.stream.names(),
        denials: services.settings.approvals.denial_reset_after.get(),
    };
    loop {
        // Retention deletes the requests.
        if let Err(error) = domain::approvals::record::record_ends(&services).await {
            tracing::warn!(%error, "ends of sign-ins not recorded");
        }
        services.store.forget_cached_rows();
        services.claim_results.clear();
        if let Err(error) = domain::audit::sum_up_repeated(&services).await {
            tracing::warn!(%error, "audit entry of repeated requests not written");
        }
        match services
            .store
            .run_retention(retention, &*services.clock)
            .await
        {
            Ok(Some(rows)) => {
                tracing::debug!(rows, "retention deleted rows");
                if let Err(error) = domain::admin::delete_unused_registrations(&services).await {
                    tracing::warn!(%error, "unused applications not deleted, which registered themselves");
                }
            }
            Ok(None) => {
                tracing::debug!(
                    "retention skipped: another instance has the lease, or the clock differs"
                );
            }
            Err(error) => tracing::warn!(%error, "retention failed"),
        }
        if let Err(error) = domain::admin::count_sign_ins(&services).await {
            tracing::warn!(%error, "sign-in counts of the last hours not updated");
        }
        if let Err(error) = domain::keys::saml_keys::maintain(&services).await {
            tracing::warn!(%error, "SAML certificate rotation failed");
        }
        if let Err(error) = sealing_keys::delete_replaced(&services).await {
            tracing::warn!(%error, "replaced sealing keys not deleted");
        }
        tokio::time::sleep(RETENTION).await;
    }
}

/// Replaces sealing keys after the master key was replaced.
pub(super) async fn replace_sealing_keys(services: Arc<Services>) {
    loop {
        if let Err(error) = sealing_keys::maintain(&services).await {
            tracing::warn!(%error, "sealing key not replaced");
        }
        tokio::time::sleep(SEALING_KEYS).await;
    }
}

/// Writes heartbeats, which `assent migrate` reads. It logs an error if a newer release removed a part of the schema
/// that this release uses.
pub(super) async fn heartbeat(services: Arc<Services>) {
    loop {
        match services.store.probe(&*services.clock).await {
            Ok(_) => {}
            Err(error @ StoreError::Contracted) => tracing::error!(%error, "heartbeat failed"),
            Err(error) => tracing::warn!(%error, "heartbeat failed"),
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Wakes the requests that wait for changes by other processes, as long as there are any.
pub(super) async fn poll_changes(services: Arc<Services>) {
    services.store.run_change_poller(&*services.clock).await;
}

/// Publishes, retires and deletes signing keys on time, and loads the changes of other instances, also of the types of
/// authorization details.
pub(super) async fn keep_keys(services: Arc<Services>) {
    loop {
        if let Err(error) = sealing_keys::reload(&services).await {
            tracing::warn!(%error, "sealing keys not read");
        }
        if let Err(error) = signing_keys::maintain(&services).await {
            tracing::warn!(%error, "signing key rotation failed");
        }
        if let Err(error) = services.details_types.reload(&services.store).await {
            tracing::warn!(%error, "types of authorization details not read");
        }
        tokio::time::sleep(signing_keys::REFRESH_INTERVAL).await;
    }
}

/// Writes the times at which applications last used their client secrets.
pub(super) async fn write_client_secret_uses(services: Arc<Services>) {
    loop {
        tokio::time::sleep(SECRET_USES).await;
        if let Err(error) = services.store.write_client_secret_uses().await {
            tracing::warn!(%error, "last uses of client secrets not written");
        }
    }
}

/// Exports the metrics to the collector, if there is one.
pub(super) async fn export_metrics(services: Arc<Services>) {
    let interval = services.settings.telemetry.metrics_interval.get();
    let Some(collector) = services.collector.clone().filter(|_| !interval.is_zero()) else {
        return std::future::pending().await;
    };
    let start = services.now();
    loop {
        tokio::time::sleep(interval).await;
        let measured = families(&services).await;
        let request = otlp::export_request(&collector, measured, start, services.now());
        // The collector has logged the failure. The next export includes the same numbers.
        let _ = collector.send(otlp::METRICS_PATH, &request).await;
    }
}

/// Reads the GeoIP database again when its file changes.
pub(super) async fn refresh_geoip(services: Arc<Services>) {
    loop {
        tokio::time::sleep(GEOIP_CHECK).await;
        let services = Arc::clone(&services);
        match tokio::task::spawn_blocking(move || services.geoip.refresh()).await {
            Ok(Ok(false)) | Err(_) => {}
            Ok(Ok(true)) => tracing::info!("GeoIP database reloaded"),
            Ok(Err(error)) => {
                tracing::warn!(%error, "GeoIP database reload failed, the previous one stays in use");
            }
        }
    }
}
