//! The stored form of an audit entry, and its digest.

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::sha::Sha256;

use crate::audit::USER_KIND;
use crate::audit::chain::{End, Mark, Root};
use crate::secret::Digest;

/// The names of the encodings. A changed encoding gets a new version.
const ENTRY: &str = "assent-audit-entry-v1";
const PERSONAL: &str = "assent-audit-personal-v1";
const MARK: &str = "assent-audit-mark-v1";
const ROOT: &str = "assent-audit-root-v1";

/// The key that authenticates the ends of lanes, and the root.
pub struct ChainKey(PKey<Private>);

impl std::fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChainKey(***)")
    }
}

impl ChainKey {
    /// Returns the key with these bytes. They must stay unknown to users with write access to the database.
    ///
    /// # Errors
    /// If OpenSSL fails.
    pub fn new(bytes: &[u8; 32]) -> Result<Self, ErrorStack> {
        PKey::hmac(bytes).map(Self)
    }

    /// Returns the message authentication code of an end of a lane: HMAC-SHA256. `known_root` is the number of the
    /// newest root that the writer knew; 0 for an anchor.
    ///
    /// # Errors
    /// If OpenSSL fails.
    pub fn end_code(
        &self,
        end: End,
        lane: i64,
        mark: &Mark,
        known_root: i64,
    ) -> Result<Digest, ErrorStack> {
        let mut message = Encoding::new(MARK);
        message.text(end.as_str());
        message.number(lane);
        message.number(mark.seq);
        message.text(&mark.digest.to_text());
        message.number(known_root);
        self.code(message)
    }

    /// Returns the message authentication code of a root: HMAC-SHA256.
    ///
    /// # Errors
    /// If OpenSSL fails.
    pub fn root_code(&self, root: &Root) -> Result<Digest, ErrorStack> {
        let mut message = Encoding::new(ROOT);
        message.number(root.number);
        message.text(&root.heads.to_text());
        self.code(message)
    }

    fn code(&self, message: Encoding) -> Result<Digest, ErrorStack> {
        let mut signer =
            openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &self.0)?;
        let mut code = [0; 32];
        signer.sign_oneshot(&mut code, message.digest().as_bytes())?;
        Ok(Digest::from_bytes(code))
    }
}

/// An entry of the database or of an export, with each value as it was written. Verification uses the uninterpreted
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the values are those of `audit::Entry`")]
pub struct Record {
    /// The lane, from 1.
    pub lane: i64,
    /// The position in the lane, from 1.
    pub seq: i64,
    /// The digest of the preceding entry of the lane.
    pub previous: String,
    /// The digest of this entry.
    pub digest: String,
    pub id: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub event: String,
    pub actor_kind: String,
    pub actor: Option<String>,
    pub user: Option<String>,
    pub application: Option<String>,
    pub approval: Option<String>,
    /// The exact JSON text.
    pub detail: String,
    /// The exact JSON text. `None` if the entry has no personal data, or it was erased.
    pub personal: Option<String>,
    /// Present and absent together with `personal`.
    pub salt: Option<String>,
    /// Present if the entry has personal data, erased or not.
    pub personal_digest: Option<String>,
    /// The exact JSON text: the address and browser of a user who changed another user's object. `None` if the entry
    /// has no origin, or that user was erased.
    pub origin: Option<String>,
    /// Present and absent together with `origin`.
    pub origin_salt: Option<String>,
    /// Present if the entry has an origin, erased or not.
    pub origin_digest: Option<String>,
}

impl Record {
    /// Returns the digest of the content.
    pub fn content_digest(&self) -> Digest {
        let mut encoding = Encoding::new(ENTRY);
        encoding.number(self.lane);
        encoding.number(self.seq);
        encoding.text(&self.previous);
        encoding.text(&self.id);
        encoding.number(self.at);
        encoding.text(&self.event);
        encoding.text(&self.actor_kind);
        for value in [&self.actor, &self.user, &self.application, &self.approval] {
            encoding.optional(value.as_deref());
        }
        encoding.text(&self.detail);
        encoding.optional(self.personal_digest.as_deref());
        // The last value, so that its absence needs no marker.
        if self.origin_digest.is_some() {
            encoding.optional(self.origin_digest.as_deref());
        }
        encoding.digest()
    }

    /// Appends the entry after `last`: sets its position and its digests. Returns its position.
    pub fn follow(&mut self, last: &Mark) -> Mark {
        self.seq = last.seq.saturating_add(1);
        self.previous = last.digest.to_text();
        let digest = self.content_digest();
        self.digest = digest.to_text();
        Mark {
            seq: self.seq,
            digest,
        }
    }

    /// Whether the entry is unchanged. Its position is not checked.
    pub fn is_intact(&self) -> bool {
        Digest::from_text(&self.digest) == Some(self.content_digest())
            && self.is_personal_data_intact()
    }

    /// Whether this user is the actor.
    pub fn is_by_user(&self, user: &str) -> bool {
        self.actor_kind == USER_KIND && self.actor.as_deref() == Some(user)
    }

    /// Whether the entry had personal data that was erased.
    pub const fn is_erased(&self) -> bool {
        self.personal_digest.is_some() && self.personal.is_none()
    }

    /// Whether the entry had an origin that was erased.
    pub const fn origin_is_erased(&self) -> bool {
        self.origin_digest.is_some() && self.origin.is_none()
    }

    /// Whether the personal data and the origin are unchanged, or completely erased.
    pub(super) fn is_personal_data_intact(&self) -> bool {
        is_covered(&self.personal, &self.salt, &self.personal_digest)
            && is_covered(&self.origin, &self.origin_salt, &self.origin_digest)
    }
}

/// Whether the digest covers the text, or the text was erased with its salt.
fn is_covered(text: &Option<String>, salt: &Option<String>, digest: &Option<String>) -> bool {
    match (text, salt, digest) {
        (None, None, _) => true,
        (Some(text), Some(salt), Some(digest)) => {
            Digest::from_text(digest).is_some_and(|digest| digest == personal_digest(salt, text))
        }
        _ => false,
    }
}

/// Returns the separate digest of personal data, so that erasure does not change the chain.
pub fn personal_digest(salt: &str, personal: &str) -> Digest {
    let mut encoding = Encoding::new(PERSONAL);
    encoding.text(salt);
    encoding.text(personal);
    encoding.digest()
}

/// The input of a digest.
pub(super) struct Encoding(Sha256);

impl Encoding {
    fn new(name: &str) -> Self {
        let mut encoding = Self(Sha256::new());
        encoding.text(name);
        encoding
    }

    fn number(&mut self, number: i64) {
        self.0.update(&number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.update(&[u8::from(text.is_some())]);
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn digest(self) -> Digest {
        Digest::from_bytes(self.0.finish())
    }
}
