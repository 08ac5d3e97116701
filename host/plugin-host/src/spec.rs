//! What the operator's settings say about a plugin.

use std::path::PathBuf;
use std::time::Duration;

use assent_model::deadline::QUEUE_DEADLINE;
use assent_model::id::Did;
use assent_model::secret::{Digest, Secret};

/// One plugin as the operator set it up.
#[derive(Clone, Debug)]
pub struct PluginSpec {
    /// The operator's name for it: in the log, in errors, and as the name of a channel.
    pub name: String,
    /// The component.
    pub file: PathBuf,
    /// The SHA-256 digest that the file has to have, if the operator says so.
    pub sha256: Option<Digest>,
    /// Its settings, a JSON object that the plugin itself checks.
    pub config: serde_json::Value,
    /// The role it plays.
    pub role: Role,
    /// What a call may use.
    pub limits: CallLimits,
}

/// The role that a plugin plays.
#[derive(Clone, Debug)]
pub enum Role {
    /// Decides what applications are told about a person (`assent:claims`, world `claim-mapper`).
    ClaimMapper {
        /// The applications it serves; `None` stands for all.
        applications: Option<Vec<Did>>,
        /// The claims that it may write, `attribute:NAME` for SAML attributes. The component has to name them too.
        writes: Vec<String>,
        /// What a fault of the plugin does to the login.
        on_failure: OnFailure,
        /// How long a result at UserInfo and introspection may be reused although the time has changed.
        result_max_age: Duration,
    },
    /// Carries approval requests (`assent:approval`, world `approval-channel`).
    ApprovalChannel {
        /// The applications it serves; `None` stands for all.
        applications: Option<Vec<Did>>,
        /// Whether the operator takes its word.
        trust: Trust,
        /// Whether a vendor's app shows the letters of the waiting page.
        shows_letters: bool,
        /// Where it may send requests to.
        http: HttpGrant,
    },
}

/// What the word of an approval channel counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: it brings evidence, which the host verifies.
    #[default]
    Verified,
    /// It may say that a person approved, since a vendor holds the keys.
    Delegated,
}

/// What a fault of a claim mapper does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The login fails.
    #[default]
    Fail,
    /// Its edits are left out and the login goes on: for claims that grant nothing. A denial still denies.
    Omit,
}

/// Where a plugin may send HTTP requests to.
#[derive(Clone, Debug, Default)]
pub struct HttpGrant {
    /// Host names: exact, or `*.suffix` for every name below it, each with an optional `:port`. Without a port only the
    /// scheme's own is granted.
    pub hosts: Vec<String>,
    /// Whether plain `http` and addresses that are loopback or private are allowed: for development and tests.
    pub allow_private: bool,
    /// Whether redirects are followed, each step judged as a request of its own. The component has to ask for it too.
    pub follow_redirects: bool,
    /// What the host adds to requests when they leave, so that the plugin never holds it.
    pub credentials: Vec<CredentialGrant>,
}

/// A credential, and for which of the granted hosts it is.
#[derive(Clone, Debug)]
pub struct CredentialGrant {
    /// As in [`HttpGrant::hosts`]; empty for every granted host.
    pub hosts: Vec<String>,
    /// The credential.
    pub credential: Credential,
}

/// A credential that the host adds when a request leaves.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Voluntary application server identification (RFC 8292): `Authorization: vapid t=..., k=...`.
    Vapid,
    /// A header.
    Header {
        /// Its name.
        name: String,
        /// What stands before the secret in its value.
        prefix: String,
        /// The secret.
        secret: Secret,
    },
    /// A signature of method, URL and body with a shared key: HMAC-SHA256 (RFC 9421, section 3.3.3).
    Signature {
        /// What the receiver knows the key by.
        key_id: String,
        /// The shared key; its bytes are those of the text.
        key: Secret,
    },
}

/// Where the host gets the credentials from that it adds to plugins' requests.
pub trait Credentials: Send + Sync + 'static {
    /// The value of the `Authorization` header for a push service, `vapid t=..., k=...` (RFC 8292, section 3), given
    /// the origin of the push endpoint, which is the token's audience. `None` if there is no key; the request is then
    /// refused.
    fn vapid(&self, audience_origin: &str) -> Option<String>;
}

/// For hosts whose plugins have no credential configured.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn vapid(&self, _audience_origin: &str) -> Option<String> {
        None
    }
}

/// What one call of a plugin may use, and how many calls there are at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Units of work, about one a WebAssembly instruction.
    pub fuel: u64,
    /// How long the plugin's own code may run. Waits for the host do not count.
    pub deadline: Duration,
    /// Bytes of linear memory.
    pub memory_bytes: usize,
    /// Bytes that the plugin may hand to the host at a time: its answer, a request, a line for the log.
    pub output_bytes: usize,
    /// How long one outgoing request may take, from resolving the name to the answer's last byte.
    pub http_timeout: Duration,
    /// Calls that have an instance at once. Of a claim mapper, one application has at most half of them.
    pub concurrency: u32,
    /// The number of waiting calls for one application. The host rejects a further call at once. Calls of a channel
    /// wait together.
    pub queue_length: u32,
    /// How long a call waits for a place.
    pub wait: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            fuel: 50_000_000,
            deadline: Duration::from_millis(200),
            memory_bytes: 16 << 20,
            output_bytes: 256 << 10,
            http_timeout: Duration::from_secs(10),
            concurrency: 16,
            queue_length: 256,
            wait: QUEUE_DEADLINE,
        }
    }
}

impl CallLimits {
    /// Those of a channel: many requests wait for services elsewhere at once.
    pub fn of_channel() -> Self {
        Self {
            concurrency: 512,
            ..Self::default()
        }
    }
}
