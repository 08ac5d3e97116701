//! The failures of plugins.

use std::time::Duration;

use assent_model::printable;

/// The longest error about a plugin that cannot be loaded, in bytes.
const LONGEST_ERROR: usize = 4 << 10;

/// The reason why a plugin cannot be loaded. One plain sentence that names the plugin or file and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(super) String);

impl LoadError {
    /// Creates an error of the plugin with this name. The error may quote the component's own texts. So it stays one
    /// line without control characters for a terminal.
    pub(super) fn in_plugin(plugin: &str, what: impl std::fmt::Display) -> Self {
        Self(printable::line(
            &format!("plugin `{plugin}`: {what}"),
            LONGEST_ERROR,
        ))
    }
}

/// The way in which a plugin broke its contract or its limits. The text is the end of a sentence that begins with the
/// plugin's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No place became free in time, or too many calls were already waiting.
    #[error("is busy: too many calls wait for it")]
    Busy,
    /// The plugin exceeded its limits repeatedly for this application. It is suspended there for this time.
    #[error(
        "is suspended for this application, because it exceeded its limits repeatedly; it runs again in {} s",
        .0.as_secs().max(1)
    )]
    Suspended(Duration),
    /// The code ran for longer than `limits.deadline`.
    #[error("ran for longer than {0:?}")]
    Deadline(Duration),
    /// The call used all of `limits.fuel`.
    #[error("used up its fuel of {0} units")]
    Fuel(u64),
    /// The call requested more than `limits.memory_bytes`.
    #[error("asked for more than {0} bytes of memory")]
    Memory(usize),
    /// The call stack overflowed.
    #[error("used up its call stack")]
    Stack,
    /// The code trapped. A Rust plugin traps when it panics; its last log line is then the text of the panic.
    #[error(
        "trapped: {trap}{}",
        last_words.as_ref().map(|words| format!(" after it wrote: {words}")).unwrap_or_default()
    )]
    Trap {
        /// The engine's message.
        trap: String,
        /// The last line that the plugin logged at level `error`.
        last_words: Option<String>,
    },
    /// The plugin passed more than `limits.output_bytes` to the host at once.
    #[error("passed more than {} KiB at once: its answer, a request or a log line is too large", .0 >> 10)]
    TooLarge(usize),
    /// The plugin requested the system time, which components do not have.
    #[error(
        "trapped: there is no system clock; a claim mapper uses `input.now`, an approval channel `assent:host/clock`"
    )]
    NoClock,
    /// The result has the types of the contract, but breaks one of its rules.
    #[error("returned an invalid answer: {0}")]
    Answer(String),
    /// The plugin reported a failure of its own.
    #[error("reports: {0}")]
    Reported(String),
    /// The value of a claim is not JSON.
    #[error("set the claim `{name}` to a value that is not JSON: {why}")]
    NotJson {
        /// The claim's name.
        name: String,
        /// The parser's error.
        why: String,
    },
    /// The plugin named a claim with a text that is no valid name.
    #[error("named a claim `{0}`, but a name must have 1 to 256 printable characters")]
    Name(String),
    /// The plugin tried to write a protected claim, which only the server writes.
    #[error("tried to write the protected claim `{0}`")]
    Protected(String),
    /// The plugin tried to write a claim or attribute that its own description does not list.
    #[error(
        "tried to write the claim `{0}`, which its description does not list; add it to `writes` there"
    )]
    NotDescribed(String),
    /// The plugin tried to write a claim or attribute that its description lists, and the operator does not grant.
    #[error("tried to write the claim `{0}`, which was not granted")]
    NotGranted(String),
    /// The plugin denied the user access, but its description does not declare that it denies. The text is the reason.
    #[error(
        "denied the user, but its description does not set `denies`, so the denial is a fault; add `.denies()` (Rust) \
         or `denies: true` (TypeScript) to the description; its reason: {0}"
    )]
    UndeclaredDenial(String),
    /// The plugin returned a SAML attribute for a destination other than an assertion, or one that XML cannot
    /// represent.
    #[error("returned the attribute `{name}` {why}")]
    Attribute {
        /// The attribute's name.
        name: String,
        /// The reason, if it is not valid.
        why: &'static str,
    },
}

impl Fault {
    /// Returns whether the call exceeded a limit: of work, time, memory, stack, or passed data.
    pub(super) fn breaks_a_limit(&self) -> bool {
        matches!(
            self,
            Self::Deadline(_) | Self::Fuel(_) | Self::Memory(_) | Self::Stack | Self::TooLarge(_)
        )
    }

    /// Returns whether the settings may omit the edits of the plugin after this fault. A busy or suspended plugin is
    /// independent of this user's data, and an attacker who causes load must not choose the omitted claims. After an
    /// undeclared denial, the omission would sign in a user whom the plugin rejects.
    pub(super) fn may_be_omitted(&self) -> bool {
        !matches!(
            self,
            Self::Busy | Self::Suspended(_) | Self::UndeclaredDenial(_)
        )
    }
}
