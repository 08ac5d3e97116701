//! The rows of back-channel requests. The approval of a request refers to its row.

use crate::engine::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError};
use assent_model::approval::ApprovalSubject;
use assent_model::backchannel::{
    BackchannelBinding, BackchannelRequest, BindingMessage, FirstApprover, SecondApprovers,
};
use assent_model::device_authorization::{EnteredCode, UserCode};
use assent_model::id::{BackchannelRequestId, Did, UserId};
use assent_model::scope::Scopes;

crate::engine::sql::row! {
    pub(super) struct BackchannelRow of backchannel_requests {
        pub(super) id: String,
        pub(super) digest: String,
        pub(super) application_id: String,
        pub(super) user_id: String,
        pub(super) outline: BackchannelOutlineRow,
        pub(super) authorization_details: String,
        pub(super) requested_at: i64,
        pub(super) expires_at: i64,
        pub(super) claimed_at: Option<i64>,
    }
}

crate::engine::sql::row! {
    /// What the device shows of a back-channel request; NULL for an approval with another subject.
    #[derive(Clone)]
    pub(crate) struct BackchannelOutlineRow of backchannel_requests {
        binding_message: Option<String>,
        user_code: Option<String>,
        asked_at: Option<i64>,
        scopes: Option<String>,
        binding: Option<String>,
        second_group: Option<String>,
        second_for: Option<String>,
    }
}

impl BackchannelOutlineRow {
    /// The message as it was accepted, because the rules for messages may have changed since then.
    fn message(&self) -> Option<BindingMessage> {
        self.binding_message.clone().map(BindingMessage::of_stored)
    }

    fn scopes(&self, id: &str) -> Result<Scopes> {
        let scopes = self.scopes.as_deref();
        let unexpected = || cell("backchannel_requests", "scopes", id).unexpected();
        Ok(Scopes::parse_known(scopes.ok_or_else(unexpected)?))
    }

    fn binding(&self, id: &str) -> Result<BackchannelBinding> {
        let unexpected = || cell("backchannel_requests", "binding", id).unexpected();
        let binding = self.binding.as_deref();
        binding
            .and_then(BackchannelBinding::parse)
            .ok_or_else(unexpected)
    }

    fn entered_code(&self, id: &str) -> Result<Option<EnteredCode>> {
        let unexpected = || cell("backchannel_requests", "user_code", id).unexpected();
        match (&self.user_code, self.asked_at) {
            (None, None) => Ok(None),
            (Some(code), Some(asked_at)) => Ok(Some(EnteredCode {
                code: UserCode::parse_typed(code).ok_or_else(unexpected)?,
                asked_at: moment(asked_at),
            })),
            _ => Err(unexpected()),
        }
    }

    fn first(&self, id: &str) -> Result<Option<FirstApprover>> {
        let first = self.second_for.as_deref();
        first
            .map(|first| from_json(first, cell("backchannel_requests", "second_for", id)))
            .transpose()
    }

    fn second(&self, id: &str) -> Result<Option<SecondApprovers>> {
        let place = cell("backchannel_requests", "second_group", id);
        match (&self.second_group, self.first(id)?) {
            (None, None) => Ok(None),
            (Some(group), Some(first)) => Ok(Some(SecondApprovers {
                group: parse(group, place)?,
                first,
            })),
            _ => Err(place.unexpected()),
        }
    }

    /// The subject of the second approval of the request with this id.
    pub(crate) fn second_subject(&self, id: &str) -> Result<ApprovalSubject> {
        let first = self.first(id)?;
        Ok(ApprovalSubject::SecondApproval {
            id: parse(id, cell("backchannel_requests", "id", id))?,
            first: first.ok_or(cell("backchannel_requests", "second_for", id).unexpected())?,
            message: self.message(),
            scopes: self.scopes(id)?,
            binding: self.binding(id)?,
        })
    }

    /// The subject of the approval of the request with this id.
    pub(crate) fn subject(&self, id: &str) -> Result<ApprovalSubject> {
        let scopes = self.scopes(id)?;
        let request = parse(id, cell("backchannel_requests", "id", id))?;
        Ok(match self.entered_code(id)? {
            Some(entered) => ApprovalSubject::DeviceAuthorization {
                id: request,
                entered,
                scopes,
            },
            None => ApprovalSubject::Backchannel {
                id: request,
                message: self.message(),
                scopes,
                binding: self.binding(id)?,
            },
        })
    }
}

impl TryFrom<BackchannelRow> for BackchannelRequest {
    type Error = StoreError;
    fn try_from(row: BackchannelRow) -> Result<Self> {
        let place = |column| cell("backchannel_requests", column, &row.id);
        Ok(Self {
            id: parse(&row.id, place("id"))?,
            digest: digest(&row.digest, place("digest"))?,
            application: parse(&row.application_id, place("application_id"))?,
            user_id: parse(&row.user_id, place("user_id"))?,
            scopes: row.outline.scopes(&row.id)?,
            details: from_json(&row.authorization_details, place("authorization_details"))?,
            message: row.outline.message(),
            binding: row.outline.binding(&row.id)?,
            entered_code: row.outline.entered_code(&row.id)?,
            second: row.outline.second(&row.id)?,
            requested_at: moment(row.requested_at),
            expires_at: moment(row.expires_at),
            is_claimed: row.claimed_at.is_some(),
        })
    }
}

/// Adds a row, to which the approval request refers.
pub(crate) async fn insert(db: &mut Connection, request: &BackchannelRequest) -> Result<()> {
    sql::query(
        "INSERT INTO backchannel_requests (id, digest, application_id, user_id, scopes, binding_message, requested_at,
                                           expires_at, binding, authorization_details, user_code, asked_at,
                                           second_group, second_for)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(request.id.to_string())
    .bind(request.digest.to_text())
    .bind(request.application.to_string())
    .bind(request.user_id.to_string())
    .bind(request.scopes.to_string())
    .bind(request.message.as_ref().map(|message| message.as_str().to_owned()))
    .bind(request.requested_at.millis())
    .bind(request.expires_at.millis())
    .bind(request.binding.as_str())
    .bind(to_json(&request.details)?)
    .bind(request.entered_code.as_ref().map(|entered| entered.code.to_string()))
    .bind(request.entered_code.as_ref().map(|entered| entered.asked_at.millis()))
    .bind(request.second.as_ref().map(|second| second.group.to_string()))
    .bind(request.second.as_ref().map(|second| to_json(&second.first)).transpose()?)
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The back-channel request with this id. It may have expired.
    pub async fn backchannel_request(
        &self,
        id: BackchannelRequestId,
    ) -> Result<Option<BackchannelRequest>> {
        sql::query_as::<BackchannelRow>(sql::statement!(
            "SELECT ",
            BackchannelRow::COLUMNS,
            " FROM backchannel_requests WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(self.readers.lookups())
        .await
    }

    /// The user of an open session in which the application received this `sub`. It finds users whose `sub` differs by
    /// application.
    pub async fn user_of_subject(
        &self,
        application: &Did,
        subject: &str,
    ) -> Result<Option<UserId>> {
        let found: Option<(String,)> = sql::query_as(
            "SELECT user_id FROM session_applications WHERE application_id = $1 AND subject = $2 LIMIT 1",
        )
        .bind(application.to_string())
        .bind(subject.to_owned())
        .fetch_optional(self.readers.lookups())
        .await?;
        found
            .map(|(user,)| parse(&user, cell("session_applications", "user_id", subject)))
            .transpose()
    }
}
