//! The keys that sign ID tokens, and those that sign receipts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{RevokeSigningKey, RotateSigningKeys};
use crate::domain::audit::moment_text;
use crate::domain::keys::signing_keys;
use crate::http::problem::Problem;
use crate::keys::KnownKey;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::key::{KeyStage, SigningAlgorithm, SigningKeyKind};

pub(super) fn routes() -> Area {
    Area::new()
        .noun("keys", "The keys that sign ID tokens and receipts.")
        .route("list", Permission::KeysRead, routes!(list))
        .route("rotate", Permission::KeysWrite, routes!(rotate))
        .protected(ProtectedActionKind::RotateKey)
        .route("revoke", Permission::KeysWrite, routes!(revoke))
        .protected(ProtectedActionKind::RevokeKey)
}

/// A key that signs or signed ID tokens or receipts.
#[derive(Serialize, ToSchema)]
#[schema(as = SigningKey)]
struct KeyView {
    /// The thumbprint of the key (RFC 7638).
    kid: String,
    purpose: SigningKeyKind,
    alg: SigningAlgorithm,
    stage: KeyStage,
    /// When it entered its stage.
    #[schema(format = DateTime)]
    since: String,
    /// When it leaves its stage, if that is known.
    #[schema(format = DateTime)]
    until: Option<String>,
}

fn view(key: KnownKey) -> KeyView {
    KeyView {
        kid: key.key_id,
        purpose: key.purpose.kind(),
        alg: key.algorithm,
        stage: key.life.stage,
        since: moment_text(key.life.since),
        until: key.life.until.map(moment_text),
    }
}

fn all(services: &Services) -> Json<List<KeyView>> {
    let (ring, now) = (&services.key_ring, services.now());
    let mut of_receipts = ring.all_receipt_keys(now);
    of_receipts.sort_by_key(|key| key.life.stage);
    let all = ring.all_keys(now).into_iter().chain(of_receipts);
    Json(List::whole(all.map(view)))
}

/// List the signing keys.
#[utoipa::path(
    get,
    path = "/keys",
    responses((status = 200, description = "All signing keys.", body = List<KeyView>))
)]
async fn list(State(services): State<Arc<Services>>) -> Result<Json<List<KeyView>>, Problem> {
    signing_keys::reload(&services).await?;
    Ok(all(&services))
}

/// A rotation of signing keys.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyRotation)]
struct Rotation {
    /// What the keys sign.
    #[serde(default)]
    purpose: SigningKeyKind,
    /// The algorithm of ID tokens; by default each that has a key.
    algorithm: Option<SigningAlgorithm>,
    /// Whether the next key signs as soon as possible: five and a half minutes after its publication, because
    /// applications may cache the key set for five minutes.
    #[serde(default)]
    now: bool,
}

/// The signing keys after a rotation.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyRotationResult)]
struct RotationResult {
    /// Whether the rotation published a key, or lets a published key sign earlier.
    changed: bool,
    items: Vec<KeyView>,
}

/// Publish the next signing key.
///
/// It signs after the time of `keys.publish_ahead`, or with `now` as soon as the caches of applications have it. If a
/// published key does not sign yet, it is the next one.
#[utoipa::path(
    post,
    path = "/keys/rotate",
    request_body = Rotation,
    responses((status = 200, description = "The signing keys, and whether they changed.", body = RotationResult)),
)]
async fn rotate(
    State(services): State<Arc<Services>>,
    context: Context,
    Body(rotation): Body<Rotation>,
) -> Result<Json<RotationResult>, Problem> {
    let Rotation {
        purpose,
        algorithm,
        now,
    } = rotation;
    let command = RotateSigningKeys {
        purpose,
        algorithm,
        now,
    };
    let changed = context.run(command).await?;
    let Json(List { items, .. }) = all(&services);
    Ok(Json(RotationResult { changed, items }))
}

/// Revoke a signing key at once.
///
/// For a key that may have leaked. If it signs, the server activates the next key. If it must publish that key first,
/// the response takes five seconds longer, until each instance serves it. Applications that fetch the key set again
/// reject tokens with the signature of the revoked key.
///
/// The key set of receipts keeps a revoked key, with the time of its revocation. Its receipts are not valid by
/// themselves any more, only together with their entries in the audit log.
#[utoipa::path(
    post,
    path = "/keys/{kid}/revoke",
    responses((status = 200, description = "The signing keys.", body = List<KeyView>)),
)]
async fn revoke(
    State(services): State<Arc<Services>>,
    context: Context,
    Path(kid): Path<String>,
) -> Result<Json<List<KeyView>>, Problem> {
    context.run(RevokeSigningKey { kid }).await?;
    Ok(all(&services))
}
