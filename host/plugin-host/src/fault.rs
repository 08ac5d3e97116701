//! What goes wrong with a plugin.

use std::time::Duration;

use assent_model::printable;

/// The longest error of a plugin that can't be used, in bytes.
const LONGEST_ERROR: usize = 4 << 10;

/// Why a plugin can't be used. One plain sentence that says which plugin or file, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(super) String);

impl LoadError {
    /// An error of the plugin with this name. It may quote the component's own texts, so it stays one line without
    /// control characters for a terminal.
    pub(super) fn in_plugin(plugin: &str, what: impl std::fmt::Display) -> Self {
        Self(printable::line(
            &format!("plugin `{plugin}`: {what}"),
            LONGEST_ERROR,
        ))
    }
}

/// How a plugin broke its contract or its limits. It reads as the end of a sentence that begins with the plugin's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No place came free in time, or too many calls wait for one already.
    #[error("is busy: too many calls wait for it")]
    Busy,
    /// It broke its limits again and again for this application, and does not run for it until this has passed.
    #[error(
        "is suspended for this application, since it broke its limits again and again; it runs again in {} s",
        .0.as_secs().max(1)
    )]
    Suspended(Duration),
    /// Its code ran for longer than `limits.deadline`.
    #[error("ran for longer than {0:?}")]
    Deadline(Duration),
    /// It used up `limits.fuel`.
    #[error("used up its fuel of {0} units")]
    Fuel(u64),
    /// It asked for more than `limits.memory_bytes`.
    #[error("asked for more than {0} bytes of memory")]
    Memory(usize),
    /// It nested calls too deeply.
    #[error("used up its call stack")]
    Stack,
    /// It trapped. A Rust plugin that panics does, and its last words are the panic's text.
    #[error(
        "trapped: {trap}{}",
        last_words.as_ref().map(|words| format!(" after it wrote: {words}")).unwrap_or_default()
    )]
    Trap {
        /// What the engine says of it.
        trap: String,
        /// The last line that it wrote to the log as an error.
        last_words: Option<String>,
    },
    /// It handed the host more than `limits.output_bytes` at once.
    #[error("handed over more than {} KiB at once: its answer, a request or a line of the log is too large", .0 >> 10)]
    TooLarge(usize),
    /// It asked for the system's time, of which a component has none.
    #[error(
        "trapped: there is no system clock; a claim mapper uses `input.now`, an approval channel `assent:host/clock`"
    )]
    NoClock,
    /// Its answer has the types of the contract, but breaks one of its rules.
    #[error("gave an answer that can't be taken: {0}")]
    Answer(String),
    /// It says itself that it could not do its work.
    #[error("reports: {0}")]
    Reported(String),
    /// The value of a claim is not JSON.
    #[error("set the claim `{name}` to something that can't be read as JSON: {why}")]
    NotJson {
        /// The claim's name.
        name: String,
        /// The parser's error.
        why: String,
    },
    /// It named a claim with a text that can't be the name of one.
    #[error("named a claim `{0}`, which is not a name of 1 to 256 characters that can be shown")]
    Name(String),
    /// It tried to write a claim that only the host writes.
    #[error("tried to write the protected claim `{0}`")]
    Protected(String),
    /// It tried to write a claim or attribute that its description and the operator do not both name.
    #[error("tried to write the claim `{0}`, which was not granted")]
    NotGranted(String),
    /// It made a SAML attribute where there is no assertion, or one that XML can't carry.
    #[error("made the attribute `{name}`, {why}")]
    Attribute {
        /// The attribute's name.
        name: String,
        /// The reason, if it is not valid.
        why: &'static str,
    },
}

impl Fault {
    /// Whether the call reached a limit: of work, of time, of memory, of the stack or of the data that it may pass.
    pub(super) fn breaks_a_limit(&self) -> bool {
        matches!(
            self,
            Self::Deadline(_) | Self::Fuel(_) | Self::Memory(_) | Self::Stack | Self::TooLarge(_)
        )
    }

    /// Whether load causes the fault, and not the user's data. An attacker who causes load must not choose the omitted
    /// claims.
    pub(super) fn is_of_the_load(&self) -> bool {
        matches!(self, Self::Busy | Self::Suspended(_))
    }
}
