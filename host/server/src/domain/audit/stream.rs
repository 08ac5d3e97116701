//! The streams of the audit log. Each entry is sent to a file or to syslog at least once, and the entries of a lane in
//! order.
//!
//! The database has the positions of a stream, so that it continues after a restart and on another instance. By a
//! lease, one instance at a time sends a stream. A receiver that is down delays only its own stream.

use std::sync::Arc;
use std::time::Duration;

use crate::audit_stream::StreamTarget;
use crate::audit_stream::error::StreamError;
use crate::audit_stream::file::FileStream;
use crate::audit_stream::syslog::SyslogStream;
use crate::domain::Services;
use assent_model::audit::chain::Record;
use assent_store::StoreError;
use assent_telemetry::ROOT_SPANS;
use tracing::Instrument;

/// The interval between reads of new entries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The number of entries that are sent at a time.
const BATCH: u32 = 200;
/// The timeout of sending a batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// The length of this instance's lease on a stream, which is longer than sending may take.
const LEASE: Duration = Duration::from_secs(30);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The reason why entries were not sent.
#[derive(Debug, thiserror::Error)]
enum AuditStreamError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    StreamTarget(#[from] StreamError),
    #[error("it takes longer than {} seconds", PATIENCE.as_secs())]
    TooSlow,
}

/// Sends the streams that the settings name, until the task is dropped.
pub async fn run(services: Arc<Services>) {
    let settings = &services.settings.audit.stream;
    let own_name = services
        .settings
        .base_url
        .host_str()
        .unwrap_or("-")
        .to_owned();
    let file = settings
        .file
        .clone()
        .map(|path| ("file", StreamTarget::File(FileStream::new(path))));
    let syslog = settings.syslog.clone().map(|to| {
        (
            "syslog",
            StreamTarget::Syslog(SyslogStream::new(to, own_name)),
        )
    });
    let carried = file
        .into_iter()
        .chain(syslog)
        .map(|(name, target)| run_stream(&services, name, target));
    futures_util::future::join_all(carried).await;
    // The settings name no stream.
    std::future::pending::<()>().await;
}

/// The outcome of a read.
enum PollOutcome {
    /// There are no new entries, or another instance sends them.
    Idle,
    /// Entries were sent. There may be more.
    Sent,
}

async fn run_stream(services: &Services, name: &'static str, mut target: StreamTarget) {
    let holder = hex::encode(services.entropy.bytes::<16>());
    let mut pause = Duration::ZERO;
    loop {
        match send_batch(services, name, &holder, &mut target).await {
            Ok(looked) => {
                if !pause.is_zero() {
                    tracing::info!(stream = name, "audit stream resumed");
                }
                pause = Duration::ZERO;
                if matches!(looked, PollOutcome::Idle) {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
            Err(error) => {
                services
                    .audit_streams
                    .update_status(name, |status| status.up = Some(false));
                if pause.is_zero() {
                    tracing::error!(
                        stream = name, %error,
                        "audit stream failed, retrying later"
                    );
                }
                pause = (pause * 2).clamp(POLL_INTERVAL, LONGEST_PAUSE);
                tokio::time::sleep(pause).await;
            }
        }
    }
}

async fn send_batch(
    services: &Services,
    name: &'static str,
    holder: &str,
    target: &mut StreamTarget,
) -> Result<PollOutcome, AuditStreamError> {
    // The positions of the root are not used, because a stream must continue even if an attacker tampered with the
    // root.
    let last = services.store.audit_positions().await?;
    let known = services.store.audit_stream(name).await?;
    let is_new = known.is_none();
    let behind = known.unwrap_or_default().behind(&last);
    services
        .audit_streams
        .update_status(name, |status| status.behind = behind);
    if behind <= 0 && !is_new {
        return Ok(PollOutcome::Idle);
    }
    let now = services.now();
    let Some(mut positions) = services
        .store
        .claim_audit_stream(name, holder, now + LEASE, now)
        .await?
    else {
        services
            .audit_streams
            .update_status(name, |status| status.up = None);
        return Ok(PollOutcome::Idle);
    };
    let mut outcome = PollOutcome::Idle;
    for (lane, seq) in last.iter() {
        let come_to = positions.get(lane);
        if seq <= come_to {
            continue;
        }
        let records = services.store.audit_records(lane, come_to, BATCH).await?;
        let Some(sent) = records.last().map(|record| record.seq) else {
            // Retention deleted all entries that the stream has not sent. The stream is new, or was not configured for
            // a long time.
            let anchor = services.store.audit_anchor(lane).await?.mark.seq;
            positions.advance(lane, anchor);
            continue;
        };
        log_gap(name, come_to, &records);
        let span = services.span_sampler.background(
            || tracing::info_span!(target: ROOT_SPANS, "audit_stream.delivery", stream = name),
        );
        tokio::time::timeout(PATIENCE, target.send(&records))
            .instrument(span)
            .await
            .map_err(|_| AuditStreamError::TooSlow)??;
        positions.advance(lane, sent);
        outcome = PollOutcome::Sent;
        // If another instance holds the stream by now, it sends these entries again.
        services
            .store
            .advance_audit_stream(name, holder, &positions)
            .await?;
        services.audit_streams.update_status(name, |status| {
            status.up = Some(true);
            status.sent += records.len() as u64;
            status.behind = positions.behind(&last);
        });
        if services.now() >= now + LEASE / 2 {
            return Ok(outcome);
        }
    }
    services
        .store
        .advance_audit_stream(name, holder, &positions)
        .await?;
    Ok(outcome)
}

/// Logs a gap between the stream's position and the first entry. A new stream has no gap, because retention may have
/// deleted entries before it began.
fn log_gap(name: &str, come_to: i64, records: &[Record]) {
    let Some(first) = records.first() else { return };
    if come_to > 0 && first.seq > come_to + 1 {
        tracing::warn!(
            stream = name,
            lane = first.lane,
            first = come_to + 1,
            last = first.seq - 1,
            "audit stream has a gap: entries were deleted while it was not configured"
        );
    }
}

/// Checks the targets of the streams in the settings, as far as this is possible without a write.
///
/// # Errors
/// The key of the wrong setting, and the reason.
pub fn check(settings: &crate::config::AuditStream) -> Result<(), String> {
    let Some(file) = &settings.file else {
        return Ok(());
    };
    FileStream::check(file)
        .map_err(|error| format!("audit.stream.file: {}: {error}", file.display()))
}
