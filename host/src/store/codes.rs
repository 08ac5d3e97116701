//! Authorization codes, and the access tokens that they are exchanged for.

use sqlx::AnyConnection;

use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::{CodeId, TokenId};
use crate::model::scope::Scopes;
use crate::model::token::{AccessGrant, CodeGrant, GrantSubject};

#[derive(sqlx::FromRow)]
struct CodeRow {
    id: String,
    digest: String,
    application_id: String,
    redirect_uri: String,
    code_challenge: Option<String>,
    scopes: String,
    user_id: String,
    account_id: String,
    session_id: String,
    claims: String,
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
            subject: subject(&row.user_id, &row.account_id, &row.session_id)?,
            claims: from_json(&row.claims, "a code's claims")?,
            expires_at: moment(row.expires_at),
        })
    }
}

#[derive(sqlx::FromRow)]
struct TokenRow {
    id: String,
    digest: String,
    application_id: String,
    user_id: String,
    account_id: String,
    session_id: String,
    code_id: String,
    scopes: String,
    issued_at: i64,
    expires_at: i64,
}

impl TryFrom<TokenRow> for AccessGrant {
    type Error = StoreError;
    fn try_from(row: TokenRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, "a token's id")?,
            digest: digest(&row.digest, "a token's digest")?,
            application: parse(&row.application_id, "a token's application")?,
            subject: subject(&row.user_id, &row.account_id, &row.session_id)?,
            code_id: parse(&row.code_id, "a token's code")?,
            scopes: Scopes::known(&row.scopes),
            issued_at: moment(row.issued_at),
            expires_at: moment(row.expires_at),
        })
    }
}

fn subject(user: &str, account: &str, session: &str) -> Result<GrantSubject> {
    Ok(GrantSubject {
        user_id: parse(user, "a token's user")?,
        account_id: parse(account, "a token's account")?,
        session_id: parse(session, "a token's session")?,
    })
}

/// What came of an attempt to exchange a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    /// The code was exchanged, now and never again.
    Redeemed,
    /// The code had been exchanged before, or its time was over. What it gave is revoked.
    Refused,
}

pub(super) async fn insert(db: &mut AnyConnection, code: &CodeGrant) -> Result<()> {
    sqlx::query(
        "INSERT INTO codes (id, digest, application_id, redirect_uri, code_challenge, scopes, user_id, account_id,
                            session_id, claims, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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
    .bind(to_json(&code.claims)?)
    .bind(code.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// The code with this id, used or not.
    pub async fn code(&self, id: CodeId) -> Result<Option<CodeGrant>> {
        let row: Option<CodeRow> = sqlx::query_as(
            "SELECT id, digest, application_id, redirect_uri, code_challenge, scopes, user_id, account_id, session_id,
                    claims, expires_at
             FROM codes WHERE id = $1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(CodeGrant::try_from).transpose()
    }

    /// Exchanges a code for an access token. However many try at once, one succeeds; a second use revokes what the
    /// first one gave (RFC 6749 section 4.1.2).
    pub async fn redeem_code(&self, code: CodeId, token: AccessGrant, now: Timestamp) -> Result<Redemption> {
        self.write(move |db| {
            let token = token.clone();
            Box::pin(async move {
                let claimed: Option<(String,)> = sqlx::query_as(
                    "UPDATE codes SET used_at = $2 WHERE id = $1 AND used_at IS NULL AND expires_at > $2 RETURNING id",
                )
                .bind(code.to_string())
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    sqlx::query("UPDATE access_tokens SET revoked_at = $2 WHERE code_id = $1 AND revoked_at IS NULL")
                        .bind(code.to_string())
                        .bind(now.millis())
                        .execute(db)
                        .await?;
                    return Ok(Redemption::Refused);
                }
                insert_token(db, &token).await?;
                Ok(Redemption::Redeemed)
            })
        })
        .await
    }

    /// The access token with this id, if it is neither revoked nor over at `now`.
    pub async fn open_token(&self, id: TokenId, now: Timestamp) -> Result<Option<AccessGrant>> {
        let row: Option<TokenRow> = sqlx::query_as(
            "SELECT id, digest, application_id, user_id, account_id, session_id, code_id, scopes, issued_at, expires_at
             FROM access_tokens WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        row.map(AccessGrant::try_from).transpose()
    }
}

async fn insert_token(db: &mut AnyConnection, token: &AccessGrant) -> Result<()> {
    sqlx::query(
        "INSERT INTO access_tokens (id, digest, application_id, user_id, account_id, session_id, code_id, scopes,
                                    issued_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(token.id.to_string())
    .bind(token.digest.to_text())
    .bind(token.application.to_string())
    .bind(token.subject.user_id.to_string())
    .bind(token.subject.account_id.to_string())
    .bind(token.subject.session_id.to_string())
    .bind(token.code_id.to_string())
    .bind(token.scopes.to_string())
    .bind(token.issued_at.millis())
    .bind(token.expires_at.millis())
    .execute(db)
    .await?;
    Ok(())
}
