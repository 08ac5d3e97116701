//! The chain of the audit log: each entry names the digest of the one before, so none can be changed, taken out or put in
//! without the rest showing it.
//!
//! A digest is SHA-256 over a name with a version and then each value in its order: numbers as eight bytes, texts with
//! their length before them, and before what may be missing a byte that says whether it is there. So no two entries have
//! one encoding. What is personal is covered by a salted digest of its own: with the salt erased nothing can be guessed
//! from that, and the chain stays whole. Where the chain begins and ends is authenticated by a key that is not in the
//! database.

use openssl::error::ErrorStack;
use openssl::sha::Sha256;
use zeroize::Zeroizing;

use crate::audit::PERSON;
use crate::clock::Timestamp;
use crate::secret::Digest;

/// The names of the encodings; another encoding has another version.
const ENTRY: &str = "assent-audit-entry-v1";
const PERSONAL: &str = "assent-audit-personal-v1";
const MARK: &str = "assent-audit-mark-v1";

/// The key that authenticates where the chain begins and ends.
pub struct ChainKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChainKey(***)")
    }
}

impl ChainKey {
    /// The key of these bytes, which nobody may know who can write the database.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The code that says that this is that end of the chain: HMAC-SHA256.
    pub fn code(&self, end: End, mark: &Mark) -> Result<Digest, ErrorStack> {
        let mut message = Encoding::new(MARK);
        message.text(end.as_str());
        message.number(mark.seq);
        message.text(&mark.digest.to_text());
        let key = openssl::pkey::PKey::hmac(&*self.0)?;
        let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key)?;
        let mut code = [0; 32];
        signer.sign_oneshot(&mut code, message.digest().as_bytes())?;
        Ok(Digest::from_bytes(code))
    }
}

/// An end of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it begins: what retention has taken away ends there.
    Anchor,
    /// Where it ends.
    Head,
}

impl End {
    /// Its name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Head => "head",
        }
    }
}

/// A place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The position of an entry, from 1; 0 before the first.
    pub seq: i64,
    /// Its digest.
    pub digest: Digest,
}

impl Mark {
    /// Before the first entry.
    pub const START: Self = Self {
        seq: 0,
        digest: Digest::from_bytes([0; 32]),
    };
}

/// A place as it stands in the database, with what vouches for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMark {
    /// The place.
    pub mark: Mark,
    /// Whether its code is that of a holder of the key.
    pub authentic: bool,
}

/// An entry as it stands in the database or in an export, each value as it was written: what is verified is not
/// interpreted first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the values are those of `audit::Entry`")]
pub struct Record {
    /// Its position, from 1.
    pub seq: i64,
    /// The digest of the entry before.
    pub previous: String,
    /// Its own.
    pub digest: String,
    pub id: String,
    /// In milliseconds since 1970.
    pub at: i64,
    pub event: String,
    pub actor_kind: String,
    pub actor: Option<String>,
    pub user: Option<String>,
    pub application: Option<String>,
    pub approval: Option<String>,
    /// JSON, letter by letter.
    pub detail: String,
    /// JSON, letter by letter. `None` where there is none, or it was erased.
    pub personal: Option<String>,
    /// There and gone with `personal`.
    pub salt: Option<String>,
    /// There where something personal was, erased or not.
    pub personal_digest: Option<String>,
    /// The exact JSON text: the address and browser of a user who acted upon another user's object. `None` where there is
    /// none, or that user was erased.
    pub origin: Option<String>,
    /// Present and absent with `origin`.
    pub origin_salt: Option<String>,
    /// Present where an origin was, erased or not.
    pub origin_digest: Option<String>,
}

impl Record {
    /// The digest of what it says.
    pub fn covered(&self) -> Digest {
        let mut encoding = Encoding::new(ENTRY);
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
        // The last value, so that its absence needs no mark.
        if self.origin_digest.is_some() {
            encoding.optional(self.origin_digest.as_deref());
        }
        encoding.digest()
    }

    /// Gives it its place after `last`, and its digests.
    pub fn follow(&mut self, last: &Mark) -> Mark {
        self.seq = last.seq.saturating_add(1);
        self.previous = last.digest.to_text();
        let digest = self.covered();
        self.digest = digest.to_text();
        Mark {
            seq: self.seq,
            digest,
        }
    }

    /// Whether it is what was written, wherever it stands.
    pub fn is_whole(&self) -> bool {
        Digest::from_text(&self.digest) == Some(self.covered()) && self.personal_is_good()
    }

    /// Whether this user did it.
    pub fn is_by_person(&self, user: &str) -> bool {
        self.actor_kind == PERSON && self.actor.as_deref() == Some(user)
    }

    /// Whether what is personal was there once, and is not any more.
    pub const fn is_erased(&self) -> bool {
        self.personal_digest.is_some() && self.personal.is_none()
    }

    /// Whether an origin was there once, and is not any more.
    pub const fn origin_is_erased(&self) -> bool {
        self.origin_digest.is_some() && self.origin.is_none()
    }

    /// Whether what is personal is what it was, or was erased whole.
    fn personal_is_good(&self) -> bool {
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

/// The digest of what is personal, so that it can be erased without a trace in the chain.
pub fn personal_digest(salt: &str, personal: &str) -> Digest {
    let mut encoding = Encoding::new(PERSONAL);
    encoding.text(salt);
    encoding.text(personal);
    encoding.digest()
}

/// Values on their way into a digest.
struct Encoding(Sha256);

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

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// An entry says something else than when it was written.
    #[error("entry {seq} ({id}) was changed")]
    Changed {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// What is personal in it does.
    #[error("what is personal in entry {seq} ({id}) was changed")]
    PersonalChanged {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// What is personal in it is gone, and nobody erased the person.
    #[error(
        "what is personal in entry {seq} ({id}) was taken away, and nobody has erased that user"
    )]
    PersonalTaken {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// An entry is whole in itself, but does not follow the one before: one of them is in place of another.
    #[error(
        "entry {seq} ({id}) does not follow the one before it: one of the two was put in place of another"
    )]
    Replaced {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// Entries are missing.
    #[error("{} missing", entries(*.first, *.last))]
    Missing {
        /// The first one's position.
        first: i64,
        /// The last one's.
        last: i64,
    },
    /// Entries are missing at the end.
    #[error("the end is cut off: {} missing", entries(*.first, *.last))]
    CutOff {
        /// The first one's position.
        first: i64,
        /// The last one's.
        last: i64,
    },
    /// An entry has no place in the chain.
    #[error("the entry {id} was put in: it has no place in the chain")]
    Stray {
        /// Its id.
        id: String,
    },
    /// An entry stands before or beside one that should come later.
    #[error("entry {seq} ({id}) stands after entry {after}")]
    OutOfOrder {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
        /// The position of the one before.
        after: i64,
    },
    /// The beginning is not what a holder of the master key has set.
    #[error(
        "the anchor (after entry {seq}) is forged: somebody without the master key has moved where the log begins"
    )]
    AnchorForged {
        /// The position it names.
        seq: i64,
    },
    /// The end is not what a holder of the master key has set.
    #[error(
        "the head (entry {seq}) is forged: somebody without the master key has written the log anew or cut it"
    )]
    HeadForged {
        /// The position it names.
        seq: i64,
    },
}

impl Break {
    /// What is wrong, by its stable name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::PersonalChanged { .. } => "personal_changed",
            Self::PersonalTaken { .. } => "personal_taken",
            Self::Replaced { .. } => "replaced",
            Self::Missing { .. } => "missing",
            Self::CutOff { .. } => "cut_off",
            Self::Stray { .. } => "inserted",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::AnchorForged { .. } => "anchor_forged",
            Self::HeadForged { .. } => "head_forged",
        }
    }

    /// The position at which it shows; `None` for an entry that has none.
    pub const fn seq(&self) -> Option<i64> {
        match self {
            Self::Changed { seq, .. }
            | Self::PersonalChanged { seq, .. }
            | Self::PersonalTaken { seq, .. }
            | Self::Replaced { seq, .. }
            | Self::OutOfOrder { seq, .. }
            | Self::AnchorForged { seq }
            | Self::HeadForged { seq } => Some(*seq),
            Self::Missing { first, .. } | Self::CutOff { first, .. } => Some(*first),
            Self::Stray { .. } => None,
        }
    }
}

/// Positions in words.
fn entries(first: i64, last: i64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first} to {last} are")
    }
}

/// What was found good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationCounts {
    /// How many entries.
    pub entries: u64,
    /// In how many of them what is personal was erased.
    pub erased: u64,
    /// The first one's position and moment.
    pub first: Option<(i64, Timestamp)>,
    /// The last one's.
    pub last: Option<(i64, Timestamp)>,
}

/// Goes along a chain, an entry at a time.
#[derive(Clone, Debug)]
pub struct Walk {
    at: Mark,
    checked: VerificationCounts,
}

impl Walk {
    /// Begins after this place.
    pub fn after(mark: Mark) -> Self {
        Self {
            at: mark,
            checked: VerificationCounts::default(),
        }
    }

    /// Goes on to the next entry, if it is what follows.
    pub fn step(&mut self, record: &Record) -> Result<(), Break> {
        let (seq, id) = (record.seq, record.id.clone());
        let expected = self.at.seq.saturating_add(1);
        if seq < expected {
            return Err(Break::OutOfOrder {
                seq,
                id,
                after: self.at.seq,
            });
        }
        if seq > expected {
            return Err(Break::Missing {
                first: expected,
                last: seq.saturating_sub(1),
            });
        }
        let digest = record.covered();
        if Digest::from_text(&record.digest) != Some(digest) {
            return Err(Break::Changed { seq, id });
        }
        if Digest::from_text(&record.previous) != Some(self.at.digest) {
            return Err(Break::Replaced { seq, id });
        }
        if !record.personal_is_good() {
            return Err(Break::PersonalChanged { seq, id });
        }
        let at = Timestamp::from_millis(record.at);
        self.at = Mark { seq, digest };
        self.checked.entries += 1;
        self.checked.erased += u64::from(record.is_erased() || record.origin_is_erased());
        self.checked.first.get_or_insert((seq, at));
        self.checked.last = Some((seq, at));
        Ok(())
    }

    /// Goes on from a later place, which is believed. `false`, and nothing done, if it is none.
    pub fn skip_to(&mut self, mark: Mark) -> bool {
        let later = mark.seq > self.at.seq;
        if later {
            self.at = mark;
        }
        later
    }

    /// Where it stands.
    pub const fn at(&self) -> &Mark {
        &self.at
    }

    /// What was found good so far.
    pub fn checked(&self) -> &VerificationCounts {
        &self.checked
    }
}
