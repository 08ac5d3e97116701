//! Authorization codes. A code's row is the family of the tokens that come of it, and outlives the code.

use sqlx::AnyConnection;

use super::lookup::Row;
use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::CodeId;
use crate::model::scope::{Scope, Scopes};
use crate::model::token::{CodeGrant, GrantSubject};

pub(super) const BY_ID: &str = "SELECT id, digest, application_id, redirect_uri, code_challenge, scopes, user_id,
    account_id, session_id, context, claims, created_at, expires_at FROM codes WHERE id IN ({$})";

#[derive(sqlx::FromRow)]
pub(super) struct CodeRow {
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

impl TryFrom<CodeRow> for CodeGrant {
    type Error = StoreError;
    fn try_from(row: CodeRow) -> Result<Self> {
        let challenge = row.code_challenge.as_deref().map(|text| from_json(text, "a code's challenge")).transpose()?;
        Ok(Self {
            id: parse(&row.id, "a code's id")?,
            digest: digest(&row.digest, "a code's digest")?,
            application: parse(&row.application_id, "a code's application")?,
            redirect_uri: from_json(&row.redirect_uri, "a code's redirect URI")?,
            code_challenge: challenge,
            scopes: Scopes::known(&row.scopes),
            subject: GrantSubject {
                user_id: parse(&row.user_id, "a code's user")?,
                account_id: parse(&row.account_id, "a code's account")?,
                session_id: parse(&row.session_id, "a code's session")?,
            },
            context: from_json(&row.context, "a code's sign-in")?,
            claims: from_json(&row.claims, "a code's claims")?,
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

/// Keeps a code. Its row lasts no longer than the code, unless that is exchanged: it holds what the plugins said of a person.
pub(super) async fn insert(db: &mut AnyConnection, code: &CodeGrant) -> Result<()> {
    sqlx::query(
        "INSERT INTO codes (id, digest, application_id, redirect_uri, code_challenge, scopes, user_id, account_id,
                            session_id, context, claims, offline, created_at, expires_at, kept_until)
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

pub(super) async fn revoke(db: &mut AnyConnection, family: CodeId, now: Timestamp) -> Result<()> {
    sqlx::query("UPDATE codes SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
        .bind(family.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// The code with this id, used or not.
    pub async fn code(&self, id: CodeId) -> Result<Option<CodeGrant>> {
        self.lookups.codes.ask(id.to_string()).await
    }

    /// Ends every token of a family.
    pub async fn revoke_family(&self, family: CodeId, now: Timestamp) -> Result<()> {
        self.write(move |db| Box::pin(async move { revoke(db, family, now).await })).await
    }
}
