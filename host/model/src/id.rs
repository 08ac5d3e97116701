//! Identifiers: each kind of object has its own type, so that the compiler prevents mix-ups.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::entropy::Entropy;

/// A text that is not an identifier of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid identifier")]
pub struct IdError;

/// Returns a time-ordered row identifier (UUID version 7, RFC 9562 section 5.7), written as 32 hexadecimal digits.
///
/// Ordered keys keep the indexes of tables compact, because new rows are appended.
fn ordered(now: Timestamp, entropy: &dyn Entropy) -> Uuid {
    ordered_with(now, &entropy.bytes())
}

fn ordered_with(now: Timestamp, bits: &[u8; 10]) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, bits).into_uuid()
}

/// The counter of audit entry ids, so that ids of one millisecond keep their order of creation.
static AUDIT_IDS: AtomicU32 = AtomicU32::new(0);

/// Returns a time-ordered identifier with a counter of 26 bits after the time (RFC 9562 section 6.2, method 1). The
/// counter continues across milliseconds. 48 random bits follow.
fn ordered_and_counted(now: Timestamp, entropy: &dyn Entropy) -> Uuid {
    let count = AUDIT_IDS.fetch_add(1, Ordering::Relaxed);
    let [a, b, c, d, e, f] = entropy.bytes();
    // The version occupies the first four bits of the first byte, and the variant two bits of the third.
    let bits = |from: u32, mask: u32| u8::try_from((count >> from) & mask).unwrap_or(u8::MAX);
    let counter = [bits(22, 0x0f), bits(14, 0xff), bits(8, 0x3f), bits(0, 0xff)];
    let [first, second, third, fourth] = counter;
    let bytes = [first, second, third, fourth, a, b, c, d, e, f];
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

/// Returns a lower bound for the text of ids that were created at `moment` or later. Rows with a lower id are older.
pub fn first_text_of(moment: Timestamp) -> String {
    let millis = u64::try_from(moment.millis()).unwrap_or(0);
    // 48 bits of time (RFC 9562 section 5.7) are twelve of the 32 digits.
    format!("{:012x}{:020}", millis & 0xffff_ffff_ffff, 0)
}

macro_rules! ids {
    ($make:ident: $($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(Uuid);

        impl $name {
            /// Returns a new identifier with the time `now`.
            pub fn new(now: Timestamp, entropy: &dyn Entropy) -> Self {
                Self($make(now, entropy))
            }

            /// Returns the identifier with these sixteen bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// Returns the sixteen bytes of the identifier.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_simple().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                // Only the canonical form: a second spelling of an id would be a second key for the same row.
                let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                let canonical = text.len() == 32 && text.bytes().all(is_digit);
                if !canonical {
                    return Err(IdError);
                }
                Uuid::try_parse(text).map(Self).map_err(|_| IdError)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    )*};
}

ids! {
    ordered:
    /// A user.
    UserId;
    /// An account: a user's membership in one application.
    AccountId;
    /// A group of users.
    GroupId;
    /// An enrolled authenticator.
    DeviceId;
    /// The right to enrol one authenticator.
    EnrolmentId;
    /// A recovery code.
    RecoveryCodeId;
    /// Recovery codes that were created together.
    RecoveryBatchId;
    /// A sign-in: one attempt of a browser to sign in.
    LoginId;
    /// An approval request.
    ApprovalId;
    /// A back-channel authentication request.
    BackchannelRequestId;
    /// A check whether a user is on the phone.
    CallerCheckId;
    /// A user's report that an approval request was not theirs.
    ReportId;
    /// The approval of a protected action.
    ActionApprovalId;
    /// A request that an approval channel has begun.
    DeliveryId;
    /// A browser's signed-in session.
    SessionId;
    /// A remembered consent.
    ConsentId;
    /// A token family: all tokens that came from one authorization.
    FamilyId;
    /// An access token or an administrator's token.
    TokenId;
    /// A signing key.
    KeyId;
    /// A pushed authorization request.
    PushedRequestId;
    /// A SAML request for sign-on that waits for its browser.
    SignOnId;
    /// A logout that SAML service providers are notified of.
    LogoutId;
    /// A claim trace: the plugins' changes to one token or assertion.
    TraceId;
    /// A request of an application, for its administrator.
    ClientRequestId;
    /// A test sign-in.
    TestSignInId;
    /// A client secret of an application. The identifier itself is not secret.
    ClientSecretId;
    /// An initial access token, with which applications register themselves.
    RegistrationTokenId;
}

ids! {
    ordered_and_counted:
    /// An entry of the audit log.
    AuditId;
}

/// Identifiers that a repeated message has again.
macro_rules! derived {
    ($($name:ident)*) => {$(
        impl $name {
            /// Returns the identifier with this time, and with the first bits of a code in place of random ones. The
            /// code must not be guessable.
            pub fn derived(at: Timestamp, code: &[u8; 32]) -> Self {
                let mut bits = [0; 10];
                bits.iter_mut()
                    .zip(code)
                    .for_each(|(bits, code)| *bits = *code);
                Self(ordered_with(at, &bits))
            }
        }
    )*};
}

derived!(SignOnId LogoutId);

impl AuditId {
    /// Returns the next identifier in the order.
    #[must_use]
    pub fn next(self) -> Self {
        Self(Uuid::from_u128(self.0.as_u128().saturating_add(1)))
    }

    /// Returns the time in the identifier.
    pub fn time(&self) -> Timestamp {
        let millis = self.0.as_u128() >> 80;
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

/// A decentralized identifier (`did:key`): the external identifier of applications and users.
///
/// It is the `did:key` of a new Ed25519 key (W3C did:key method). So it can be resolved without network access, and
/// needs no percent-encoding in a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Did(String);

impl Did {
    /// Returns the `did:key` of an Ed25519 public key.
    pub fn from_ed25519(public_key: &[u8; 32]) -> Self {
        // 0xed 0x01 is the multicodec prefix of an Ed25519 public key; `z` indicates base58btc.
        let mut bytes = vec![0xed, 0x01];
        bytes.extend_from_slice(public_key);
        Self(format!("did:key:z{}", bs58::encode(bytes).into_string()))
    }

    /// Returns the identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Did {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let encoded = text.strip_prefix("did:key:z").ok_or(IdError)?;
        if encoded.len() > 64 {
            return Err(IdError);
        }
        let bytes = bs58::decode(encoded).into_vec().map_err(|_| IdError)?;
        match bytes.strip_prefix(&[0xed, 0x01]) {
            Some(key) if key.len() == 32 => Ok(Self(text.to_owned())),
            _ => Err(IdError),
        }
    }
}

impl TryFrom<String> for Did {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<Did> for String {
    fn from(did: Did) -> String {
        did.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn ids_are_ordered_by_time_and_round_trip_through_text() {
        let early = UserId::new(Timestamp::from_millis(1_000), &SystemEntropy);
        let late = UserId::new(Timestamp::from_millis(2_000), &SystemEntropy);
        assert!(early < late);
        assert_eq!(early.to_string().parse(), Ok(early));
        assert!(early.to_string() < late.to_string());
    }

    #[test]
    fn a_derived_id_depends_on_the_code_and_is_ordered_by_time() {
        let derived = |millis, first| {
            let mut code = [7; 32];
            code[0] = first;
            SignOnId::derived(Timestamp::from_millis(millis), &code)
        };
        assert_eq!(derived(1_000, 1), derived(1_000, 1));
        assert_ne!(derived(1_000, 1), derived(1_000, 2));
        assert!(derived(1_000, 255) < derived(2_000, 0));
    }

    #[test]
    fn audit_ids_of_one_millisecond_are_in_creation_order() {
        let now = Timestamp::from_millis(1_000);
        let ids: Vec<AuditId> = (0..5000)
            .map(|_| AuditId::new(now, &SystemEntropy))
            .collect();
        // The counter may wrap around once.
        let descents = ids.windows(2).filter(|pair| pair[0] >= pair[1]).count();
        assert!(descents <= 1, "{descents}");
        assert!(ids.iter().all(|id| id.time() == now));
        assert!(ids[0] < ids[0].next());
        assert_eq!(ids[0].to_string().chars().nth(12), Some('7'));
    }

    #[test]
    fn ids_are_compared_with_timestamps() {
        let (before, moment) = (
            Timestamp::from_millis(1_999_999),
            Timestamp::from_millis(2_000_000),
        );
        assert!(UserId::new(before, &SystemEntropy).to_string() < first_text_of(moment));
        assert!(UserId::new(moment, &SystemEntropy).to_string() >= first_text_of(moment));
    }

    #[test]
    fn another_spelling_of_an_id_is_rejected() {
        let id = UserId::new(Timestamp::from_millis(1_000), &SystemEntropy).to_string();
        assert_eq!(format!("{{{id}}}").parse::<UserId>(), Err(IdError));
        assert_eq!("A".repeat(32).parse::<UserId>(), Err(IdError));
    }

    proptest! {
        #[test]
        fn a_did_round_trips_through_text(key in any::<[u8; 32]>()) {
            let did = Did::from_ed25519(&key);
            prop_assert!(did.as_str().starts_with("did:key:z6Mk"));
            prop_assert_eq!(did.as_str().parse::<Did>(), Ok(did));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Did>();
            let _ = text.parse::<UserId>();
        }
    }
}
