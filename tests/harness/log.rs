//! Captured log lines.

use std::fmt::Debug;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// A second subscriber. With only one, the first thread at an event decides whether the event is recorded at all, even
/// if another thread has the subscriber.
static SECOND: LazyLock<tracing::Dispatch> =
    LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));

/// Lets a subscriber of one thread receive every event of that thread. Call it before you set the subscriber.
pub fn let_one_thread_listen() {
    LazyLock::force(&SECOND);
}

/// The log entries of this thread while the guard exists.
pub struct Log {
    text: Buffer,
    _guard: tracing::subscriber::DefaultGuard,
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("the log").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Starts the capture.
    pub fn capture() -> Self {
        let_one_thread_listen();
        let text = Buffer::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            text,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.text.0.lock().expect("the log").clone();
        String::from_utf8(bytes)
            .expect("text")
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Returns whether one line contains all these words.
    pub fn has(&self, words: &[&str]) -> bool {
        self.lines()
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    }
}

/// The statements that this thread executes while the guard exists: the reads of all instances of a test, except those
/// in a dedicated thread.
pub struct Statements {
    executed: Executed,
    _guard: tracing::subscriber::DefaultGuard,
}

#[derive(Clone, Default)]
struct Executed(Arc<Mutex<Vec<String>>>);

impl Visit for Executed {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "statement" {
            self.0
                .lock()
                .expect("the statements")
                .push(value.to_owned());
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for Executed {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

impl Statements {
    /// Starts the capture.
    pub fn capture() -> Self {
        let_one_thread_listen();
        let executed = Executed::default();
        let only_statements =
            Targets::new().with_target("assent_store::sql", tracing::Level::TRACE);
        let layer = executed.clone().with_filter(only_statements);
        let subscriber = tracing_subscriber::registry().with(layer);
        Self {
            executed,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// Returns the statements so far.
    pub fn executed(&self) -> Vec<String> {
        self.executed.0.lock().expect("the statements").clone()
    }

    /// Returns the number of statements that contain these words.
    pub fn count(&self, words: &str) -> usize {
        let executed = self.executed();
        executed.iter().filter(|text| text.contains(words)).count()
    }

    /// Waits until this number of statements contain these words.
    pub async fn reach(&self, words: &str, count: usize) {
        let reached = async {
            while self.count(words) < count {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        super::in_time(reached).await;
    }
}
