//! Receipts of answers to approval requests. A receipt is signed before the write of the answer, so that the
//! transaction does not wait for the signature. It is stored only if the answer counts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use webauthn_rs::prelude::{COSEKey, COSEKeyType, ECDSACurve, PublicKeyCredential};

use crate::domain::approvals::purpose;
use crate::domain::devices::passkey::{from_stored, passkey_error};
use crate::domain::{InternalError, Services};
use assent_model::approval::Approval;
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::UserId;
use assent_model::passkey::PasskeyCredential;
use assent_model::receipt::content::{
    NewReceipt, RECEIPT_VERSION, ReceiptAnswer, ReceiptContent, ReceiptDevice, ReceiptPasskey,
    ReceiptRequest, ReceiptUser,
};
use assent_model::receipt::passkey_key::PasskeyPublicKey;
use assent_model::statement::Decision;
use assent_store::StoreError;

/// The source of an answer, with its proof.
#[derive(Clone, Copy)]
pub(crate) enum AnswerSource<'a> {
    /// The device signed this text.
    Device {
        device: &'a Device,
        statement: &'a str,
        signature: &'a str,
        passkey: Option<UsedPasskey<'a>>,
    },
    /// The passkey of the device signed in on the login page.
    Passkey {
        device: &'a Device,
        passkey: UsedPasskey<'a>,
    },
    /// A vendor decided through this delegated channel.
    Channel(&'a str),
}

/// A valid assertion, and the passkey that created it.
#[derive(Clone, Copy)]
pub(crate) struct UsedPasskey<'a> {
    /// The assertion.
    pub(crate) assertion: &'a PublicKeyCredential,
    /// The stored credential.
    pub(crate) credential: &'a PasskeyCredential,
}

/// Returns the receipt of an answer. Returns `None` if this server keeps no receipts (`receipts.retention`).
///
/// # Errors
/// If the database fails, or there is no receipt key. Then the answer does not count either.
pub(crate) async fn receipt_of(
    services: &Services,
    approval: &Approval,
    decision: Decision,
    source: AnswerSource<'_>,
    now: Timestamp,
) -> Result<Option<NewReceipt>, InternalError> {
    if services.settings.receipts.retention.get().is_zero() {
        return Ok(None);
    }
    let Some(user) = approval.user_id else {
        return Ok(None);
    };
    let content = ReceiptContent {
        answer: answer(source)?,
        decided_at: now.seconds(),
        decision,
        iss: services.issuer.clone(),
        request: ReceiptRequest {
            application: approval.shown.application.clone(),
            id: approval.id,
            kind: purpose::receipt_subject(&approval.subject),
            requested_at: approval.requested_at.seconds(),
        },
        user: receipt_user(services, user).await?,
        version: RECEIPT_VERSION,
    };
    let key = services.key_ring.receipt_signer(now)?;
    Ok(Some(key.sign(&content)?))
}

async fn receipt_user(services: &Services, id: UserId) -> Result<ReceiptUser, InternalError> {
    let user = services.store.user(id).await?;
    let user = user.ok_or(StoreError::Internal("an approval request has no user"))?;
    Ok(ReceiptUser {
        id,
        name: user.name.as_str().to_owned(),
    })
}

fn answer(source: AnswerSource<'_>) -> Result<ReceiptAnswer, InternalError> {
    Ok(match source {
        AnswerSource::Channel(channel) => ReceiptAnswer::Channel {
            channel: channel.to_owned(),
        },
        AnswerSource::Device {
            device,
            statement,
            signature,
            passkey,
        } => ReceiptAnswer::Device {
            device: receipt_device(device),
            passkey: passkey.map(receipt_passkey).transpose()?,
            signature: signature.to_owned(),
            statement: statement.to_owned(),
        },
        AnswerSource::Passkey { device, passkey } => ReceiptAnswer::Passkey {
            device: receipt_device(device),
            passkey: receipt_passkey(passkey)?,
        },
    })
}

fn receipt_device(device: &Device) -> ReceiptDevice {
    ReceiptDevice {
        enrolled_at: device.created_at.seconds(),
        id: device.id,
        key: device.key.clone(),
        name: device.name.clone(),
    }
}

fn receipt_passkey(used: UsedPasskey<'_>) -> Result<ReceiptPasskey, InternalError> {
    let credential = from_stored(used.credential)?;
    let response = &used.assertion.response;
    Ok(ReceiptPasskey {
        authenticator_data: URL_SAFE_NO_PAD.encode(&response.authenticator_data),
        client_data_json: URL_SAFE_NO_PAD.encode(&response.client_data_json),
        credential_id: URL_SAFE_NO_PAD.encode(&used.credential.id),
        key: public_key(credential.get_public_key())?,
        signature: URL_SAFE_NO_PAD.encode(&response.signature),
    })
}

/// Returns a passkey's key in the form of receipts. The server offers only these kinds when a passkey is created.
fn public_key(key: &COSEKey) -> Result<PasskeyPublicKey, InternalError> {
    match &key.key {
        COSEKeyType::EC_EC2(point) => match point.curve {
            ECDSACurve::SECP256R1 => Ok(PasskeyPublicKey::es256(&point.x, &point.y)),
            ECDSACurve::SECP384R1 => Ok(PasskeyPublicKey::es384(&point.x, &point.y)),
            _ => Err(passkey_error("its curve is not supported")),
        },
        COSEKeyType::RSA(key) => Ok(PasskeyPublicKey::rs256(&key.n, &key.e)),
        COSEKeyType::EC_OKP(_) => Err(passkey_error("its kind of key is not supported")),
    }
}
