//! Captured log lines.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

/// A second subscriber. With only one, the first thread at an event decides whether the event is recorded anywhere,
/// even if another thread has the subscriber.
static SECOND: LazyLock<tracing::Dispatch> =
    LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));

/// Lets a subscriber of one thread receive every event of that thread. Call it before the subscriber is set.
pub fn let_one_thread_listen() {
    LazyLock::force(&SECOND);
}

/// Everything that this thread logs while the guard lives.
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
    /// Starts to listen.
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

    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.text.0.lock().expect("the log").clone();
        String::from_utf8(bytes)
            .expect("text")
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The line with all these words.
    pub fn has(&self, words: &[&str]) -> bool {
        self.lines()
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    }
}
