//! The log of the server: lines on standard error, written by a separate thread.
//!
//! The reader of standard error may stop reading. The pipe then fills up, and a request that wrote to it would have to
//! wait for the reader. So lines wait in memory, and when there are too many, further ones are dropped and counted.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::{Log, LogFormat};
use crate::domain::operations::telemetry::metrics::LostLogLines;
use crate::otlp::{self, TraceExport};
use assent_telemetry::{ROOT_SPANS, SPANS};

/// The maximum number of lines that wait in memory.
const WAITING_LINES: usize = 16 * 1024;

/// A started log.
pub(super) struct StartedLog {
    /// The number of lost lines.
    pub(super) lost: LostLogLines,
    /// Writes the waiting lines when it is dropped, for about a second at most.
    _guard: WorkerGuard,
}

/// Starts the log of this process, and the export of traces. Exported spans do not appear in the log, and log lines are
/// not exported.
pub(super) fn start(log: &Log, export: Option<&TraceExport>) -> anyhow::Result<StartedLog> {
    let filter =
        EnvFilter::try_new(&log.level).map_err(|error| anyhow::anyhow!("log.level: {error}"))?;
    let unwritten = Arc::default();
    let counted = CountingWriter {
        to: stderr(),
        unwritten: Arc::clone(&unwritten),
    };
    let (writer, guard) = non_blocking(counted, WAITING_LINES);
    let lost = LostLogLines::new(writer.error_counter(), unwritten);
    let filter = filter.and(filter_fn(|metadata| {
        ![SPANS, ROOT_SPANS].contains(&metadata.target())
    }));
    let lines = tracing_subscriber::fmt::layer()
        // The report of a lost line would end the thread that wrote it, if it cannot be written either.
        .log_internal_errors(false)
        .with_ansi(stderr().is_terminal())
        .with_writer(writer);
    let lines = match log.format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines)
        .with(export.map(otlp::layer))
        .init();
    // The default hook writes to standard error itself, and so would have to wait for its reader.
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        tracing::error!(panic = message, location = place, "thread panicked");
    }));
    Ok(StartedLog {
        lost,
        _guard: guard,
    })
}

/// Writes whole lines, and counts those that cannot be written, for example because the disk is full.
struct CountingWriter<W> {
    to: W,
    unwritten: Arc<AtomicU64>,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.to.write_all(line).is_err() {
            self.unwritten.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        // A later line may be written again.
        let _ = self.to.flush();
        Ok(())
    }
}

fn non_blocking(to: impl Write + Send + 'static, lines: usize) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(lines)
        .finish(to)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc;

    use super::*;

    /// A writer that blocks until it receives a message.
    struct BlockedWriter(mpsc::Receiver<()>);

    impl Write for BlockedWriter {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            // An error here means that the test has ended.
            let _ = self.0.recv();
            Ok(buffer.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A writer on a full disk.
    struct FullWriter;

    impl Write for FullWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn unwritten_log_lines_are_counted() {
        let unwritten = Arc::default();
        let counted = CountingWriter {
            to: FullWriter,
            unwritten: Arc::clone(&unwritten),
        };
        let (mut writer, guard) = non_blocking(counted, 10);
        let lost = LostLogLines::new(writer.error_counter(), unwritten);
        writer.write_all(b"a line\n").unwrap();
        writer.write_all(b"a line\n").unwrap();
        // The guard waits until all lines were written.
        drop(guard);
        assert_eq!(lost.count(), 2);
    }

    #[test]
    fn unread_log_lines_are_dropped_and_counted_without_blocking() {
        let (let_go_on, blocked) = mpsc::channel();
        let (mut writer, guard) = non_blocking(BlockedWriter(blocked), 10);
        for _ in 0..100 {
            writer.write_all(b"a line\n").unwrap();
        }
        // The thread may hold one line that it is about to write.
        let dropped = writer.error_counter().dropped_lines();
        assert!((89..=90).contains(&dropped), "{dropped}");
        drop(let_go_on);
        drop(guard);
    }
}
