//! Authorization codes. A code's row is the family of the tokens that come of it, and outlives the code.

use crate::sql::{self, Connection};

use crate::batch::loader::Row;
use crate::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::{Result, Store, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::CodeId;
use assent_model::scope::{Scope, Scopes};
use assent_model::token::{CodeGrant, GrantSubject};

pub(crate) const BY_ID: &str =
    "SELECT id, digest, application_id, redirect_uri, code_challenge, scopes, user_id,
    account_id, session_id, context, claims, created_at, expires_at FROM codes WHERE id IN ({$})";

crate::sql::row! {
    pub(crate) struct CodeRow {
        id: String,
        digest: String,
        application_id: String,
        redirect_uri: String,
        code_challenge: Option<String>,
        scopes: String,
        user_id: String,
        account_id: String,
        session_id: String,
        context: String,
        claims: String,
        created_at: i64,
        expires_at: i64,
    }
}

impl TryFrom<CodeRow> for CodeGrant {
    type Error = StoreError;
    fn try_from(row: CodeRow) -> Result<Self> {
        let challenge = row
            .code_challenge
            .as_deref()
            .map(|text| from_json(text, cell("codes", "code_challenge", &row.id)))
            .transpose()?;
        Ok(Self {
            id: parse(&row.id, cell("codes", "id", &row.id))?,
            digest: digest(&row.digest, cell("codes", "digest", &row.id))?,
            application: parse(
                &row.application_id,
                cell("codes", "application_id", &row.id),
            )?,
            redirect_uri: from_json(&row.redirect_uri, cell("codes", "redirect_uri", &row.id))?,
            code_challenge: challenge,
            scopes: Scopes::known(&row.scopes),
            subject: GrantSubject {
                user_id: parse(&row.user_id, cell("codes", "user_id", &row.id))?,
                account_id: parse(&row.account_id, cell("codes", "account_id", &row.id))?,
                session_id: parse(&row.session_id, cell("codes", "session_id", &row.id))?,
            },
            context: from_json(&row.context, cell("codes", "context", &row.id))?,
            claims: from_json(&row.claims, cell("codes", "claims", &row.id))?,
            created_at: moment(row.created_at),
            expires_at: moment(row.expires_at),
        })
    }
}

impl Row for CodeRow {
    type Value = CodeGrant;
    fn id(&self) -> &str {
        &self.id
    }
}

/// Keeps a code. Its row lasts no longer than the code, unless that is exchanged: it holds what the plugins said of a
/// person.
pub(crate) async fn insert(db: &mut Connection, code: &CodeGrant) -> Result<()> {
    sql::query(
        "INSERT INTO codes (id, digest, application_id, redirect_uri, code_challenge, scopes, user_id, account_id,
                            session_id, context, claims, offline, created_at, expires_at, retain_until)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)",
    )
    .bind(code.id.to_string())
    .bind(code.digest.to_text())
    .bind(code.application.to_string())
    .bind(to_json(&code.redirect_uri)?)
    .bind(code.code_challenge.as_ref().map(to_json).transpose()?)
    .bind(code.scopes.to_string())
    .bind(code.subject.user_id.to_string())
    .bind(code.subject.account_id.to_string())
    .bind(code.subject.session_id.to_string())
    .bind(to_json(&code.context)?)
    .bind(to_json(&code.claims)?)
    .bind(i64::from(code.scopes.has(Scope::OfflineAccess)))
    .bind(code.created_at.millis())
    .bind(code.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

pub(crate) async fn revoke(db: &mut Connection, family: CodeId, now: Timestamp) -> Result<()> {
    sql::query("UPDATE codes SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
        .bind(family.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// The code with this id, used or not.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn code(&self, id: CodeId) -> Result<Option<CodeGrant>> {
        self.lookups.codes.call(id.to_string()).await
    }

    /// Ends every token of a family.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn revoke_family(&self, family: CodeId, now: Timestamp) -> Result<()> {
        self.write(move |db| Box::pin(async move { revoke(db, family, now).await }))
            .await
    }
}
