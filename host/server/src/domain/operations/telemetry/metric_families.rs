//! The exported metrics of this instance.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::process_metrics;
use crate::domain::Services;
use assent_model::clock::Timestamp;
use assent_model::key::{KeyStage, SigningAlgorithm};
use assent_store::{Backlog, Backlogs};
use assent_telemetry::{Family, label, number};

/// The time for which the counted backlogs of the database are cached.
const FRESH: Duration = Duration::from_secs(10);

/// Returns all metrics of this instance. The backlogs of the database are the same on every instance. They are absent
/// while the database does not respond.
pub async fn families(services: &Services) -> Vec<Family> {
    let mut families = vec![Family::gauges(
        "assent_build_info",
        "1, with the version of this instance",
        [(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)],
    )];
    families.extend(services.metrics.requests.families());
    families.extend(overload(services));
    families.extend(services.metrics.approvals.families());
    families.extend(services.store.metrics());
    families.extend(services.plugins.metrics());
    families.push(services.metrics.logouts.family(
        "assent_logout_deliveries",
        "Attempts to deliver logout tokens to applications",
    ));
    families.push(services.metrics.results.family(
        "assent_backchannel_deliveries",
        "Attempts to deliver the results of back-channel requests to applications",
    ));
    families.extend(deliveries(services).await);
    families.extend(audit_streams(services));
    families.extend(expiry(services));
    families.extend(housekeeping(services));
    families.extend(process_metrics::families());
    families
}

fn overload(services: &Services) -> [Family; 4] {
    let rejected = services.admission.rejected_requests();
    let executing = services.admission.executing_requests();
    [
        Family::counters(
            "assent_http_rejected_requests",
            "Requests that were rejected because of overload",
            rejected.map(|(class, count)| (label("class", class.as_str()), count)),
        ),
        Family::gauges(
            "assent_http_executing_requests",
            "Requests under way, without those that wait for a change",
            executing.map(|(class, count)| (label("class", class.as_str()), number(count))),
        ),
        Family::gauge(
            "assent_http_waiting_requests",
            "Pages, devices and applications that wait for a change",
            number(services.store.waiting_requests()),
        ),
        Family::counters(
            "assent_rate_limited_requests",
            "Requests that a rate limit rejected",
            services
                .rate_limits
                .rejections()
                .into_iter()
                .map(|(limit, count)| (label("limit", limit), count)),
        ),
    ]
}

/// Returns the pending deliveries, and the certificates in the database.
async fn deliveries(services: &Services) -> Vec<Family> {
    let now = services.now();
    let Some(backlogs) = backlogs(services, now).await else {
        return Vec::new();
    };
    let kinds = [
        ("logout", backlogs.logouts),
        ("backchannel_result", backlogs.results),
        ("invitation", backlogs.invitations),
        ("approval_request", backlogs.dispatches),
    ];
    let age = |Backlog { oldest, .. }: Backlog| {
        oldest.map_or(0.0, |oldest| now.remaining(oldest).as_secs_f64())
    };
    let certificates = backlogs.saml_certificates_expire;
    vec![
        Family::gauges(
            "assent_delivery_waiting",
            "Deliveries that wait, of all instances",
            kinds.map(|(kind, backlog)| (label("kind", kind), number(backlog.waiting))),
        ),
        Family::gauges(
            "assent_delivery_oldest_seconds",
            "The age of the oldest delivery that waits, of all instances",
            kinds.map(|(kind, backlog)| (label("kind", kind), age(backlog))),
        ),
        Family::gauge(
            "assent_reports_open",
            "Users' reports of foreign approval requests that no administrator has settled, of all instances",
            number(backlogs.reports.waiting),
        ),
        Family::gauge(
            "assent_reports_oldest_seconds",
            "The age of the oldest report that no administrator has settled, of all instances",
            age(backlogs.reports),
        ),
        Family::gauges(
            "assent_saml_certificate_expiry_timestamp_seconds",
            "When the first service provider has no valid certificate of this server any more, as a Unix timestamp",
            certificates.map(|expires_at| (Vec::new(), number(expires_at.seconds()))),
        ),
    ]
}

/// Returns the backlogs, which are at most some seconds old.
async fn backlogs(services: &Services, now: Timestamp) -> Option<Backlogs> {
    let mut known = services.metrics.backlogs.lock().await;
    if let Some((at, backlogs)) = *known
        && at.elapsed() < FRESH
    {
        return Some(backlogs);
    }
    match services.store.backlogs(now).await {
        Ok(backlogs) => {
            *known = Some((Instant::now(), backlogs));
            Some(backlogs)
        }
        Err(error) => {
            tracing::debug!(%error, "backlogs not read");
            None
        }
    }
}

fn audit_streams(services: &Services) -> [Family; 3] {
    let statuses = services.audit_streams.statuses();
    let samples = || {
        statuses
            .iter()
            .map(|(stream, status)| (label("stream", stream), status))
    };
    let up =
        samples().filter_map(|(labels, status)| Some((labels, f64::from(u8::from(status.up?)))));
    [
        Family::gauges(
            "assent_audit_stream_up",
            "1 if the last delivery succeeded, 0 if it failed; absent while another instance delivers",
            up,
        ),
        Family::gauges(
            "assent_audit_stream_lag_entries",
            "Entries that the stream has not received yet",
            samples().map(|(labels, status)| (labels, number(status.behind))),
        ),
        Family::counters(
            "assent_audit_stream_sent_entries",
            "Entries that this instance sent to the stream",
            samples().map(|(labels, status)| (labels, status.sent)),
        ),
    ]
}

/// Returns the times at which keys and certificates need a renewal.
fn expiry(services: &Services) -> Vec<Family> {
    let certificates = services.metrics.certificates.get().into_iter().flatten();
    let certificates = certificates.filter_map(|certificate| {
        let expires_at = (certificate.expires_at)()?;
        Some((
            label("listener", certificate.table),
            number(expires_at.seconds()),
        ))
    });
    let certificates = Family::gauges(
        "assent_tls_certificate_expiry_timestamp_seconds",
        "When the certificate of a listener expires, as a Unix timestamp",
        certificates,
    );
    let Some(rotation) = services.settings.keys.rotation() else {
        return vec![certificates];
    };
    let mut signing: BTreeMap<&'static str, Timestamp> = BTreeMap::new();
    for key in services.key_ring.all_keys(services.now()) {
        if key.life.stage == KeyStage::Signing {
            signing.insert(
                SigningAlgorithm::as_str(key.algorithm),
                key.times.signs_from + rotation,
            );
        }
    }
    let keys = Family::gauges(
        "assent_signing_key_rotation_timestamp_seconds",
        "The time at which the next key signs, as a Unix timestamp",
        signing
            .into_iter()
            .map(|(algorithm, at)| (label("algorithm", algorithm), number(at.seconds()))),
    );
    vec![certificates, keys]
}

fn housekeeping(services: &Services) -> Vec<Family> {
    let restarts = services.task_restarts.counts();
    let mut families = vec![Family::counters(
        "assent_task_restarts",
        "Restarts of a background task that panicked or ended",
        restarts
            .into_iter()
            .map(|(task, count)| (label("task", task), count)),
    )];
    if let Some(dropped) = &services.dropped_log_lines {
        families.push(Family::counter(
            "assent_log_dropped_lines",
            "Lines of the log that were lost because its reader was too slow or could not be written to",
            dropped.count(),
        ));
    }
    families
}
