//! Token families. The row of a family is created with its authorization code, and stays after the code's exchange.

use std::sync::{Arc, LazyLock};

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::sql;
use crate::engine::sql::{Connection, Query};

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, digest, from_json, moment, parse, to_json};
use crate::tables::tokens::state_rows::CallerRow;
use crate::{Result, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, FamilyId};
use assent_model::scope::{Scope, Scopes};
use assent_model::token::{CodeGrant, GrantContext, GrantSubject};

/// Codes, each with the application that presents it.
pub(crate) const PRESENTED_CODE: &str = sql::statement!(
    "SELECT ",
    CodeRow::COLUMNS,
    ", v.column2 AS caller_id, c.version AS caller_version, c.updated_at AS caller_updated_at,
        (SELECT MAX(epoch) FROM token_epochs) AS epoch
    FROM (VALUES {($, $)}) AS v
    JOIN token_families ON token_families.id = v.column1 AND token_families.code_digest IS NOT NULL
    LEFT JOIN applications c ON c.id = v.column2"
);

crate::engine::sql::row! {
    pub(crate) struct PresentedCodeRow {
        code: CodeRow,
        caller: CallerRow,
    }
}

/// A code, and the application that presents it.
#[derive(Clone, Debug)]
pub(crate) struct PresentedCode {
    pub(crate) grant: Box<CodeGrant>,
    pub(crate) caller: CallerRow,
}

impl Row for PresentedCodeRow {
    /// The code and the application, which may be empty.
    type Key = (String, String);
    type Value = PresentedCode;
    fn key(&self) -> Self::Key {
        (self.code.id.clone(), self.caller.caller_id.clone())
    }
}

impl TryFrom<PresentedCodeRow> for PresentedCode {
    type Error = StoreError;
    fn try_from(row: PresentedCodeRow) -> Result<Self> {
        Ok(Self {
            grant: Box::new(row.code.try_into()?),
            caller: row.caller,
        })
    }
}

crate::engine::sql::row! {
    pub(crate) struct CodeRow of token_families {
        id: String,
        code_digest: String,
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
        code_expires_at: i64,
    }
}

impl TryFrom<CodeRow> for CodeGrant {
    type Error = StoreError;
    fn try_from(row: CodeRow) -> Result<Self> {
        let challenge = row
            .code_challenge
            .as_deref()
            .map(|text| from_json(text, cell("token_families", "code_challenge", &row.id)))
            .transpose()?;
        Ok(Self {
            id: parse(&row.id, cell("token_families", "id", &row.id))?,
            digest: digest(
                &row.code_digest,
                cell("token_families", "code_digest", &row.id),
            )?,
            application: parse(
                &row.application_id,
                cell("token_families", "application_id", &row.id),
            )?,
            redirect_uri: from_json(
                &row.redirect_uri,
                cell("token_families", "redirect_uri", &row.id),
            )?,
            code_challenge: challenge,
            scopes: Scopes::parse_known(&row.scopes),
            subject: GrantSubject {
                user_id: parse(&row.user_id, cell("token_families", "user_id", &row.id))?,
                account_id: parse(
                    &row.account_id,
                    cell("token_families", "account_id", &row.id),
                )?,
                session_id: parse(
                    &row.session_id,
                    cell("token_families", "session_id", &row.id),
                )?,
            },
            context: from_json(&row.context, cell("token_families", "context", &row.id))?,
            claims: from_json(&row.claims, cell("token_families", "claims", &row.id))?,
            created_at: moment(row.created_at),
            expires_at: moment(row.code_expires_at),
        })
    }
}

/// The columns of a code's row.
macro_rules! code_columns {
    () => {
        "id, code_digest, application_id, redirect_uri, code_challenge, scopes, user_id, account_id, session_id,
         context, claims, offline, created_at, code_expires_at, retain_until"
    };
}
pub(crate) use code_columns;

/// Stores a code. Without an exchange, its row lasts no longer than the code, because it contains the claims of plugins
/// about a user.
static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "INSERT INTO token_families (",
            code_columns!(),
            ") VALUES {($, $, $, $, $, $, $, $, $, $, $, $, $, $, $)} ON CONFLICT (id) DO NOTHING"
        ),
        0,
    )
});

/// Inserts families with their codes.
pub(crate) async fn insert_all(db: &mut Connection, codes: &[&CodeGrant]) -> Result<()> {
    for codes in codes.chunks(MOST) {
        let mut query = sql::query(INSERT.sql_for(codes.len()));
        for code in INSERT.padded(codes) {
            query = bind_code(query, code)?;
        }
        check_inserted(query.execute(&mut *db).await?, codes.len())?;
    }
    Ok(())
}

/// Binds the columns of a code's row, in the order of [`code_columns!`].
pub(crate) fn bind_code(query: Query, code: &CodeGrant) -> Result<Query> {
    Ok(query
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
        .bind(code.scopes.has(Scope::OfflineAccess))
        .bind(code.created_at.millis())
        .bind(code.expires_at.millis())
        .bind(code.expires_at.millis()))
}

/// Checks that each code has its own row.
pub(crate) fn check_inserted(inserted: u64, codes: usize) -> Result<()> {
    match inserted == codes as u64 {
        true => Ok(()),
        false => Err(StoreError::Internal("two codes have the same id")),
    }
}

pub(crate) async fn revoke(db: &mut Connection, family: FamilyId, now: Timestamp) -> Result<()> {
    sql::query("UPDATE token_families SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
        .bind(family.to_string())
        .bind(now.millis())
        .execute(db)
        .await?;
    Ok(())
}

/// The constant part of a family.
#[derive(Clone, Debug)]
pub struct TokenFamily {
    /// The id.
    pub id: FamilyId,
    /// The application that it was granted to.
    pub application: Did,
    /// The scopes that were granted.
    pub scopes: Scopes,
    /// The user that its tokens represent.
    pub subject: GrantSubject,
    /// The common data of its ID tokens.
    pub context: GrantContext,
    /// When it was granted.
    pub created_at: Timestamp,
}

pub(crate) const FAMILY_BY_ID: &str =
    "SELECT id, application_id, scopes, user_id, account_id, session_id, context,
    created_at FROM token_families WHERE id IN ({$})";

crate::engine::sql::row! {
    pub(crate) struct FamilyRow {
        id: String,
        application_id: String,
        scopes: String,
        user_id: String,
        account_id: String,
        session_id: String,
        context: String,
        created_at: i64,
    }
}

impl Row for FamilyRow {
    type Key = String;
    type Value = Arc<TokenFamily>;
    fn key(&self) -> String {
        self.id.clone()
    }
}

impl TryFrom<FamilyRow> for Arc<TokenFamily> {
    type Error = StoreError;
    fn try_from(row: FamilyRow) -> Result<Self> {
        let cell = |column| cell("token_families", column, &row.id);
        Ok(Self::new(TokenFamily {
            id: parse(&row.id, cell("id"))?,
            application: parse(&row.application_id, cell("application_id"))?,
            scopes: Scopes::parse_known(&row.scopes),
            subject: GrantSubject {
                user_id: parse(&row.user_id, cell("user_id"))?,
                account_id: parse(&row.account_id, cell("account_id"))?,
                session_id: parse(&row.session_id, cell("session_id"))?,
            },
            context: from_json(&row.context, cell("context"))?,
            created_at: moment(row.created_at),
        }))
    }
}
