//! Initial access tokens and registrations in their stored form.

use crate::engine::rows::{cell, digest, from_json, moment, parse};
use crate::{Result, StoreError};
use assent_model::client_registration::{
    ClientRegistration, RegistrationSource, RegistrationToken,
};
use assent_model::id::Did;

crate::engine::sql::row! {
    pub(super) struct RegistrationTokenRow of registration_tokens {
        id: String,
        digest: String,
        name: String,
        created_by: Option<String>,
        created_at: i64,
        expires_at: i64,
        quota: i64,
        daily_quota: i64,
        used: i64,
        used_on_day: i64,
        day: i64,
        limits: String,
    }
}

impl TryFrom<RegistrationTokenRow> for RegistrationToken {
    type Error = StoreError;
    fn try_from(row: RegistrationTokenRow) -> Result<Self> {
        let at = |column| cell("registration_tokens", column, &row.id);
        let count =
            |number: i64, column| u32::try_from(number).map_err(|_| at(column).unexpected());
        Ok(Self {
            id: parse(&row.id, at("id"))?,
            digest: digest(&row.digest, at("digest"))?,
            created_by: row.created_by.clone(),
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
            quota: count(row.quota, "quota")?,
            daily_quota: count(row.daily_quota, "daily_quota")?,
            used: count(row.used, "used")?,
            used_on_day: count(row.used_on_day, "used_on_day")?,
            day: row.day,
            limits: from_json(&row.limits, at("limits"))?,
            name: row.name.clone(),
        })
    }
}

crate::engine::sql::row! {
    pub(super) struct ClientRegistrationRow of client_registrations {
        application_id: String,
        digest: String,
        token_id: String,
        token_name: String,
        registered_at: i64,
        limits: String,
        metadata: String,
    }
}

impl TryFrom<ClientRegistrationRow> for ClientRegistration {
    type Error = StoreError;
    fn try_from(row: ClientRegistrationRow) -> Result<Self> {
        let at = |column| cell("client_registrations", column, &row.application_id);
        Ok(Self {
            application: parse(&row.application_id, at("application_id"))?,
            digest: digest(&row.digest, at("digest"))?,
            limits: from_json(&row.limits, at("limits"))?,
            metadata: from_json(&row.metadata, at("metadata"))?,
            source: RegistrationSource {
                token: parse(&row.token_id, at("token_id"))?,
                token_name: row.token_name.clone(),
                registered_at: moment(row.registered_at),
            },
        })
    }
}

crate::engine::sql::row! {
    pub(super) struct SourceRow {
        application_id: String,
        token_id: String,
        token_name: String,
        registered_at: i64,
    }
}

impl TryFrom<SourceRow> for (Did, RegistrationSource) {
    type Error = StoreError;
    fn try_from(row: SourceRow) -> Result<Self> {
        let at = |column| cell("client_registrations", column, &row.application_id);
        let source = RegistrationSource {
            token: parse(&row.token_id, at("token_id"))?,
            token_name: row.token_name.clone(),
            registered_at: moment(row.registered_at),
        };
        Ok((parse(&row.application_id, at("application_id"))?, source))
    }
}
