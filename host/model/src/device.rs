//! Devices: the enrolled authenticators of users.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{DeviceId, EnrolmentId, UserId};
use crate::secret::Digest;

/// An enrolled authenticator.
#[derive(Clone, Debug)]
pub struct Device {
    /// The row's id.
    pub id: DeviceId,
    /// The user of the device.
    pub user_id: UserId,
    /// The name that the user chose.
    pub name: String,
    /// The public key for the device's proofs.
    pub key: DeviceKey,
    /// The push subscription for wake-ups, if the device registered one.
    pub push: Option<PushSubscription>,
    /// The time of the enrolment.
    pub created_at: Timestamp,
    /// The time of the revocation, if the device was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// The right to enrol one authenticator. It is single use and valid for a short time.
#[derive(Clone, Debug)]
pub struct Enrolment {
    /// The row's id.
    pub id: EnrolmentId,
    /// The user of the future authenticator.
    pub user_id: UserId,
    /// The digest of the token in the link.
    pub digest: Digest,
    /// The expiry of the link.
    pub expires_at: Timestamp,
    /// The source of the link, unless an administrator or the server created it.
    pub created_by: Option<LinkMaker>,
}

/// The state of an enrolment link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It can enrol a device.
    Open,
    /// It enrolled a device.
    Used,
    /// It was ended before its use: by an administrator, by a newer link, or by a change of the user.
    Withdrawn,
    /// It was not used in time.
    Expired,
}

/// The way in which an enrolment link reaches its user.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EnrolledBy {
    /// The server sent it by email.
    Email,
    /// An administrator, or the operator, handed it over.
    Link,
    /// Another device of the user created it.
    Device,
    /// A recovery code created it.
    RecoveryCode,
}
crate::enum_texts!(EnrolledBy);

/// The origin of a device: its link, and the request that used it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOrigin {
    /// The way in which the link reached the user.
    pub by: EnrolledBy,
    /// The time at which the link was sent, or created if it was not sent.
    pub link_issued_at: Timestamp,
    /// The IP address from which the device enrolled.
    pub address: Option<String>,
}

/// An enrolment link that can still be used, as an administrator sees it.
#[derive(Clone, Debug)]
pub struct OpenLink {
    /// The row's id.
    pub id: EnrolmentId,
    /// The way in which the link reaches the user.
    pub by: EnrolledBy,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

/// The source of a link with which users enrol another device themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMaker {
    /// A device of the user. Its revocation also ends the link.
    Device(DeviceId),
    /// A recovery code.
    Code,
}

/// A Web Push subscription (RFC 8030, with the keys of RFC 8291), as a browser's `PushSubscription.toJSON()` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PushSubscription {
    /// The push resource's URL.
    pub endpoint: String,
    /// The keys that messages are encrypted with.
    pub keys: PushKeys,
}

/// The keys of a Web Push subscription, base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PushKeys {
    /// The P-256 public key of the browser, 65 bytes.
    pub p256dh: String,
    /// The authentication secret, 16 bytes.
    pub auth: String,
}

/// The credentials with which a device authenticates a call of the authenticator API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCredentials {
    /// The device, as the call claims.
    pub device: DeviceId,
    /// The device's time, in seconds since the epoch.
    pub time: i64,
    /// The signature of the [`CallStatement`](crate::statement::CallStatement); empty if it was not valid base64url.
    pub signature: Vec<u8>,
}

impl CallCredentials {
    /// Parses the `Authorization` header `Assent-Device {device}.{seconds}.{signature}`.
    pub fn parse(authorization: &str) -> Option<Self> {
        let mut fields = authorization.strip_prefix("Assent-Device ")?.splitn(3, '.');
        let (device, time) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        // Invalid base64url becomes an empty signature, whose verification fails.
        let signature = URL_SAFE_NO_PAD.decode(fields.next()?).unwrap_or_default();
        Some(Self {
            device,
            time,
            signature,
        })
    }
}

/// A device's P-256 public key, in the form of a JSON Web Key (RFC 7518 section 6.2) without further members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Jwk", try_from = "Jwk")]
pub struct DeviceKey {
    x: [u8; 32],
    y: [u8; 32],
}

/// A key that is not a point on the curve P-256, or not a JSON Web Key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key is not a P-256 public key as a JSON Web Key")]
pub struct DeviceKeyError;

/// A P-256 public key as a JSON Web Key (RFC 7518 section 6.2).
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct Jwk {
    /// `EC`.
    kty: String,
    /// `P-256`.
    crv: String,
    /// 32 bytes, base64url.
    x: String,
    /// 32 bytes, base64url.
    y: String,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for DeviceKey {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Jwk::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for DeviceKey {}

impl DeviceKey {
    /// Returns the key with these coordinates.
    ///
    /// # Errors
    /// [`DeviceKeyError`] if the coordinates are not a point on the curve.
    pub fn from_coordinates(x: [u8; 32], y: [u8; 32]) -> Result<Self, DeviceKeyError> {
        let key = Self { x, y };
        key.to_openssl().map_err(|_| DeviceKeyError)?;
        Ok(key)
    }

    /// Returns the JWK thumbprint (RFC 7638), base64url.
    pub fn thumbprint(&self) -> String {
        let (x, y) = (
            URL_SAFE_NO_PAD.encode(self.x),
            URL_SAFE_NO_PAD.encode(self.y),
        );
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        URL_SAFE_NO_PAD.encode(openssl::sha::sha256(canonical.as_bytes()))
    }

    /// Whether `signature` is this key's signature of `text`: ECDSA with SHA-256, `r` and `s` of 32 bytes each, as in
    /// WebCrypto.
    pub fn verifies(&self, text: &str, signature: &[u8]) -> bool {
        let Some((r, s)) = signature
            .split_at_checked(32)
            .filter(|(_, s)| s.len() == 32)
        else {
            return false;
        };
        let check = || -> Result<bool, openssl::error::ErrorStack> {
            let signature =
                EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?;
            let key = self.to_openssl()?;
            signature.verify(&openssl::sha::sha256(text.as_bytes()), &key)
        };
        check().unwrap_or(false)
    }

    fn to_openssl(&self) -> Result<EcKey<openssl::pkey::Public>, openssl::error::ErrorStack> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
        let (x, y) = (BigNum::from_slice(&self.x)?, BigNum::from_slice(&self.y)?);
        let key = EcKey::from_public_key_affine_coordinates(&group, &x, &y)?;
        key.check_key()?;
        let mut context = BigNumContext::new()?;
        if !key.public_key().is_on_curve(&group, &mut context)? {
            return Err(openssl::error::ErrorStack::get());
        }
        Ok(key)
    }
}

impl TryFrom<Jwk> for DeviceKey {
    type Error = DeviceKeyError;
    fn try_from(jwk: Jwk) -> Result<Self, DeviceKeyError> {
        if jwk.kty != "EC" || jwk.crv != "P-256" {
            return Err(DeviceKeyError);
        }
        let coordinate = |text: &str| -> Result<[u8; 32], DeviceKeyError> {
            let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| DeviceKeyError)?;
            bytes.try_into().map_err(|_| DeviceKeyError)
        };
        Self::from_coordinates(coordinate(&jwk.x)?, coordinate(&jwk.y)?)
    }
}

impl From<DeviceKey> for Jwk {
    fn from(key: DeviceKey) -> Self {
        Self {
            kty: "EC".to_owned(),
            crv: "P-256".to_owned(),
            x: URL_SAFE_NO_PAD.encode(key.x),
            y: URL_SAFE_NO_PAD.encode(key.y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_off_the_curve_is_rejected() {
        assert_eq!(
            DeviceKey::from_coordinates([1; 32], [2; 32]),
            Err(DeviceKeyError)
        );
        let jwk = r#"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#;
        assert!(serde_json::from_str::<DeviceKey>(jwk).is_err());
    }
}
