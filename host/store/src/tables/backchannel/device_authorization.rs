//! The rows of device authorization requests (RFC 8628).

use crate::engine::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError};
use assent_model::clock::Timestamp;
use assent_model::device_authorization::DeviceAuthorization;
use assent_model::id::BackchannelRequestId;
use assent_model::scope::Scopes;
use assent_model::secret::Digest;

crate::engine::sql::row! {
    struct DeviceAuthorizationRow of device_authorizations {
        id: String,
        digest: String,
        user_code: String,
        application_id: String,
        scopes: String,
        origin: String,
        requested_at: i64,
        expires_at: i64,
        entered_at: Option<i64>,
    }
}

impl TryFrom<DeviceAuthorizationRow> for DeviceAuthorization {
    type Error = StoreError;
    fn try_from(row: DeviceAuthorizationRow) -> Result<Self> {
        let place = |column| cell("device_authorizations", column, &row.id);
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            digest: digest(&row.digest, place("digest"))?,
            user_code: digest(&row.user_code, place("user_code"))?,
            application: parse(&row.application_id, place("application_id"))?,
            scopes: Scopes::parse_known(&row.scopes),
            origin: from_json(&row.origin, place("origin"))?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            is_entered: row.entered_at.is_some(),
        })
    }
}

/// Records the entry of the code. Of any number of concurrent entries on any instance, one succeeds. Returns whether
/// this one did, which needs an unexpired code that no user has entered.
pub(crate) async fn enter(
    db: &mut Connection,
    id: BackchannelRequestId,
    now: Timestamp,
) -> Result<bool> {
    let entered = sql::query(
        "UPDATE device_authorizations SET entered_at = $2
         WHERE id = $1 AND entered_at IS NULL AND expires_at > $2",
    )
    .bind(id.to_string())
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(entered > 0)
}

impl Store {
    /// Adds a request. Returns `false`, and adds nothing, if another stored request has this user code.
    pub async fn add_device_authorization(&self, request: DeviceAuthorization) -> Result<bool> {
        self.write(request, |db, request| {
            Box::pin(async move {
                let added = sql::query(
                    "INSERT INTO device_authorizations (id, digest, user_code, application_id, scopes, origin,
                                                        requested_at, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (user_code) DO NOTHING",
                )
                .bind(request.id.to_string())
                .bind(request.digest.to_text())
                .bind(request.user_code.to_text())
                .bind(request.application.to_string())
                .bind(request.scopes.to_string())
                .bind(to_json(&request.origin)?)
                .bind(request.requested_at.millis())
                .bind(request.expires_at.millis())
                .execute(db)
                .await?;
                Ok(added > 0)
            })
        })
        .await
    }

    /// The request with this id. It may have expired.
    pub async fn device_authorization(
        &self,
        id: BackchannelRequestId,
    ) -> Result<Option<DeviceAuthorization>> {
        sql::query_as::<DeviceAuthorizationRow>(sql::statement!(
            "SELECT ",
            DeviceAuthorizationRow::COLUMNS,
            " FROM device_authorizations WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The unexpired request with the user code of this digest, whether or not a user has entered it.
    pub async fn device_authorization_of_code(
        &self,
        user_code: Digest,
        now: Timestamp,
    ) -> Result<Option<DeviceAuthorization>> {
        sql::query_as::<DeviceAuthorizationRow>(sql::statement!(
            "SELECT ",
            DeviceAuthorizationRow::COLUMNS,
            " FROM device_authorizations WHERE user_code = $1 AND expires_at > $2"
        ))
        .bind(user_code.to_text())
        .bind(now.millis())
        .fetch_value(self.readers.lookups())
        .await
    }
}
