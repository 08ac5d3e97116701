//! The operator's settings of a plugin.

use std::path::PathBuf;
use std::time::Duration;

use assent_model::clock::QUEUE_DEADLINE;
use assent_model::id::Did;
use assent_model::secret::{Digest, Secret};

/// The operator's settings of one plugin.
#[derive(Clone, Debug)]
pub struct PluginSpec {
    /// The operator's name of the plugin: in the log, in errors, and as the name of a channel.
    pub name: String,
    /// The file of the component.
    pub file: PathBuf,
    /// The required SHA-256 digest of the file, if the operator sets one.
    pub sha256: Option<Digest>,
    /// The settings for the plugin, a JSON object. The plugin checks it.
    pub config: serde_json::Value,
    /// The role.
    pub role: Role,
    /// The limits of each call.
    pub limits: CallLimits,
}

/// The role of a plugin.
#[derive(Clone, Debug)]
pub enum Role {
    /// Decides which claims about a user an application receives (`assent:claims`, world `claim-mapper`).
    ClaimMapper {
        /// The applications that it serves. `None` means all of them.
        applications: Option<Vec<Did>>,
        /// The claims that it may write, with `attribute:NAME` for SAML attributes. The component must name them too.
        writes: Vec<String>,
        /// The effect of a fault on the sign-in.
        on_failure: OnFailure,
        /// The time for which UserInfo and introspection may reuse a result although the clock has advanced.
        result_max_age: Duration,
    },
    /// Carries approval requests (`assent:approval`, world `approval-channel`).
    ApprovalChannel {
        /// The applications that it serves. `None` means all of them.
        applications: Option<Vec<Did>>,
        /// Whether the operator trusts the channel's decision.
        trust: Trust,
        /// Whether a vendor's app shows the letters of the waiting page.
        shows_letters: bool,
        /// The hosts to which it may send requests.
        http: HttpGrant,
    },
}

/// The trust in the result of an approval channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// None: the channel returns a channel proof, which the server verifies.
    #[default]
    Verified,
    /// The channel may report that a user approved, because a vendor holds the keys.
    Delegated,
}

/// The effect of a claim mapper's fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The sign-in fails.
    #[default]
    Fail,
    /// The mapper's edits are omitted and the sign-in continues. This is for claims that grant nothing. A denial still
    /// ends the sign-in, and so does an undeclared one, which is a fault.
    Omit,
}

/// The permission of a plugin to send HTTP requests.
#[derive(Clone, Debug, Default)]
pub struct HttpGrant {
    /// The host names: exact, or `*.suffix` for every name below it, each with an optional `:port`. Without a port,
    /// only the default port of the scheme is granted.
    pub hosts: Vec<String>,
    /// Whether plain `http` and loopback or private addresses are permitted, for development and tests.
    pub allow_private: bool,
    /// Whether redirects are followed. Each step is checked like a request of its own. The component must request it
    /// too.
    pub follow_redirects: bool,
    /// The credentials that the host adds when a request leaves, so that the plugin never holds them.
    pub credentials: Vec<CredentialGrant>,
}

/// A credential, with the granted hosts that receive it.
#[derive(Clone, Debug)]
pub struct CredentialGrant {
    /// In the format of [`HttpGrant::hosts`]. Empty means every granted host.
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
        /// The text before the secret in its value.
        prefix: String,
        /// The secret.
        secret: Secret,
    },
    /// A signature of method, URL and body with a shared key: HMAC-SHA256 (RFC 9421, section 3.3.3).
    Signature {
        /// The identifier of the key at the receiver.
        key_id: String,
        /// The shared key: the bytes of this text.
        key: Secret,
    },
}

/// The source of the credentials that the host adds to plugins' requests.
pub trait Credentials: Send + Sync + 'static {
    /// Returns the value of the `Authorization` header for a push service, `vapid t=..., k=...` (RFC 8292, section 3).
    /// The argument is the origin of the push endpoint, which becomes the token's audience. `None` if there is no key;
    /// then the request fails.
    fn vapid(&self, audience_origin: &str) -> Option<String>;
}

/// For instances without configured credentials.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn vapid(&self, _audience_origin: &str) -> Option<String> {
        None
    }
}

/// The limits of one call of a plugin, and of the concurrent calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The units of work. A WebAssembly instruction is about one unit.
    pub fuel: u64,
    /// The running time of the plugin's own code. Waits for the host do not count.
    pub deadline: Duration,
    /// The linear memory, in bytes.
    pub memory_bytes: usize,
    /// The bytes that the plugin may pass to the host at once: its result, a request, or a log line.
    pub output_bytes: usize,
    /// The time of one HTTP request, from the name resolution to the last byte of the response.
    pub http_timeout: Duration,
    /// The concurrent calls with an instance. One application has at most half of a claim mapper's calls.
    pub concurrency: u32,
    /// The waiting calls for one application. The host rejects a further call at once. The calls of a channel share one
    /// queue.
    pub queue_length: u32,
    /// The time for which a call waits for a place.
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
    /// Returns the defaults of a channel: many concurrent requests wait for external services.
    pub fn of_channel() -> Self {
        Self {
            concurrency: 512,
            ..Self::default()
        }
    }
}
