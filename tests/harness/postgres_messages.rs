//! The messages of PostgreSQL's protocol (PostgreSQL documentation, chapter "Frontend/Backend Protocol"). The proxy
//! needs only the end of each message, and the messages that commit a transaction.

use std::collections::HashMap;

/// The codes of the requests for TLS and for GSSAPI. The server answers each with one byte.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];

/// Splits the bytes of one direction into messages.
#[derive(Default)]
pub struct Messages {
    received: Vec<u8>,
    /// Whether messages begin with a byte for their type. The client's first messages have none.
    is_typed: bool,
}

impl Messages {
    pub fn from_client() -> Self {
        Self::default()
    }

    pub fn from_server() -> Self {
        Self {
            is_typed: true,
            ..Self::default()
        }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Returns the first byte, which is the whole answer to a request for encryption.
    pub fn take_byte(&mut self) -> Option<Vec<u8>> {
        (!self.received.is_empty()).then(|| self.received.drain(..1).collect())
    }

    /// Returns the next complete message.
    pub fn next_message(&mut self) -> Option<Vec<u8>> {
        let prefix = usize::from(self.is_typed);
        let length = number(self.received.get(prefix..prefix + 4)?) as usize + prefix;
        if self.received.len() < length {
            return None;
        }
        let message: Vec<u8> = self.received.drain(..length).collect();
        if !self.is_typed && !requests_encryption(&message) {
            self.is_typed = true;
        }
        Some(message)
    }
}

/// Returns whether a client's first message requests encryption.
pub fn requests_encryption(message: &[u8]) -> bool {
    message.len() == 8 && ENCRYPTION_REQUESTS.contains(&number(&message[4..]))
}

/// Returns whether a server's message reports that a COMMIT was executed, or that a statement failed.
pub fn ends_commit(message: &[u8]) -> bool {
    match message.first() {
        Some(b'C') => message.get(5..) == Some(b"COMMIT\0"),
        Some(b'E') => true,
        _ => false,
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// A transaction with a COMMIT of the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The statements between BEGIN and COMMIT, with each white space replaced by a single blank.
    pub statements: Vec<String>,
    /// All bytes that the client sent since the last COMMIT, with the values of the statements.
    pub(super) sent: Vec<u8>,
}

impl Commit {
    /// Returns the first statement that writes.
    pub fn first_write(&self) -> &str {
        let write = self
            .statements
            .iter()
            .find(|statement| !statement.starts_with("SELECT"));
        write.or(self.statements.first()).map_or("", String::as_str)
    }
}

/// The statements of one client.
#[derive(Default)]
pub struct Transactions {
    /// The texts of the prepared statements, and of the portals, by their names.
    prepared: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
    current: Commit,
    /// The number of statements that the server executed for the client.
    pub executed: u64,
}

impl Transactions {
    /// Processes a message. Returns the transaction if the message is its COMMIT: of the simple protocol (`Query`), or
    /// of the extended one (`Parse`, `Bind` and `Execute`).
    pub fn follow(&mut self, message: &[u8]) -> Option<Commit> {
        self.current.sent.extend_from_slice(message);
        let mut texts = message.get(5..)?.split(|byte| *byte == 0);
        let mut text = || texts.next().unwrap_or_default().to_vec();
        match message.first()? {
            b'Q' => {
                let batch = String::from_utf8_lossy(&text()).into_owned();
                let ends: Vec<Commit> = batch
                    .split(';')
                    .filter_map(|statement| self.execute(statement))
                    .collect();
                ends.into_iter().next()
            }
            b'P' => {
                let (name, statement) = (text(), text());
                let statement = String::from_utf8_lossy(&statement).into_owned();
                self.prepared.insert(name, statement);
                None
            }
            b'B' => {
                let (portal, name) = (text(), text());
                let statement = self.prepared.get(&name).cloned().unwrap_or_default();
                self.portals.insert(portal, statement);
                None
            }
            b'E' => {
                let statement = self.portals.get(&text()).cloned().unwrap_or_default();
                self.execute(&statement)
            }
            _ => None,
        }
    }

    fn execute(&mut self, statement: &str) -> Option<Commit> {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let first = words.first()?.to_ascii_uppercase();
        self.executed += 1;
        match first.as_str() {
            "COMMIT" | "END" => return Some(std::mem::take(&mut self.current)),
            // The earlier statements were separate transactions, or were rolled back.
            "BEGIN" | "ROLLBACK" if words.get(1) != Some(&"TO") => self.current.statements.clear(),
            _ => self.current.statements.push(words.join(" ")),
        }
        None
    }
}
