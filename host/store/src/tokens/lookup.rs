//! Tokens as requests look them up.

use assent_model::clock::Timestamp;
use assent_model::id::CodeId;
use assent_model::scope::Scopes;
use assent_model::token::{AccessGrant, GrantContext, GrantSubject, RefreshGrant, TokenScopes};

use crate::batch::loader::Row;
use crate::rows::{cell, digest, from_json, moment, parse};
use crate::{Result, StoreError};

/// A token's family as it stands.
#[derive(Clone, Debug)]
pub struct TokenFamily {
    /// Its id: the code's.
    pub id: CodeId,
    /// The scopes that were granted.
    pub scopes: Scopes,
    /// On whose behalf its tokens act.
    pub subject: GrantSubject,
    /// What its ID tokens have in common.
    pub context: GrantContext,
    /// When it was granted.
    pub created_at: Timestamp,
}

/// An access token that is good, as far as the database tells.
#[derive(Clone, Debug)]
pub struct ActiveAccessToken {
    /// What it stands for.
    pub grant: AccessGrant,
    /// Its family; `None` for an application's own token.
    pub family: Option<TokenFamily>,
    /// Whether its first use was noted.
    pub used: bool,
}

/// A refresh token as it stands.
#[derive(Clone, Debug)]
pub struct RefreshTokenState {
    /// What it stands for.
    pub grant: RefreshGrant,
    /// Its family.
    pub family: TokenFamily,
    /// Whether it is neither used, nor revoked, nor over.
    pub is_active: bool,
}

/// `open` is 1 where neither the token nor its family is revoked, nor the session that the family is bound to over.
pub(crate) const ACCESS_TOKEN_BY_ID: &str = "SELECT t.id, t.digest, t.application_id, t.family_id, t.scopes, t.certificate,
        t.issued_at, t.expires_at, t.track_use_until, t.used_at, c.scopes AS family_scopes, c.user_id, c.account_id,
        c.session_id, c.context, c.created_at,
        CASE WHEN t.revoked_at IS NULL
              AND (t.family_id IS NULL
                   OR (c.revoked_at IS NULL AND a.grants_not_before <= c.created_at
                       AND (c.offline = 1 OR COALESCE(s.signed_out, 0) = 0)))
             THEN 1 ELSE 0 END AS open
    FROM access_tokens t
    LEFT JOIN codes c ON c.id = t.family_id
    LEFT JOIN accounts a ON a.id = c.account_id
    LEFT JOIN sessions s ON s.id = c.session_id
    WHERE t.id IN ({$})";

/// `open` is 1 where the family is not revoked; `unused` where the token is neither used nor revoked.
pub(crate) const REFRESH_TOKEN_BY_ID: &str =
    "SELECT t.id, t.digest, t.application_id, t.family_id, t.issued_at, t.expires_at,
        CASE WHEN t.used_at IS NULL AND t.revoked_at IS NULL THEN 1 ELSE 0 END AS unused,
        CASE WHEN c.revoked_at IS NULL AND a.grants_not_before <= c.created_at THEN 1 ELSE 0 END AS open,
        c.scopes AS family_scopes, c.user_id, c.account_id, c.session_id, c.context, c.created_at
    FROM refresh_tokens t
    JOIN codes c ON c.id = t.family_id
    JOIN accounts a ON a.id = c.account_id
    WHERE t.id IN ({$})";

/// An access token that is open, whenever that was asked.
#[derive(Clone)]
pub(crate) struct AccessLookup(pub(super) Option<ActiveAccessToken>);

/// A refresh token as it stands, whenever that was asked.
#[derive(Clone)]
pub(crate) struct RefreshLookup {
    pub(super) open: bool,
    pub(super) unused: bool,
    pub(super) grant: RefreshGrant,
    pub(super) family: TokenFamily,
}

crate::sql::row! {
    pub(crate) struct AccessRow {
        id: String,
        digest: String,
        application_id: String,
        family_id: Option<String>,
        scopes: String,
        certificate: Option<String>,
        issued_at: i64,
        expires_at: i64,
        track_use_until: Option<i64>,
        used_at: Option<i64>,
        family_scopes: Option<String>,
        user_id: Option<String>,
        account_id: Option<String>,
        session_id: Option<String>,
        context: Option<String>,
        created_at: Option<i64>,
        open: i64,
    }
}

impl Row for AccessRow {
    type Value = AccessLookup;
    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<AccessRow> for AccessLookup {
    type Error = StoreError;
    fn try_from(row: AccessRow) -> Result<Self> {
        if row.open != 1 {
            return Ok(Self(None));
        }
        let family_id = row
            .family_id
            .as_deref()
            .map(|id| parse(id, cell("access_tokens", "family_id", &row.id)))
            .transpose()?;
        let subject = row.user_id.zip(row.account_id).zip(row.session_id);
        let family = match (
            family_id,
            row.family_scopes,
            subject,
            row.context,
            row.created_at,
        ) {
            (None, ..) => None,
            (
                Some(id),
                Some(scopes),
                Some(((user, account), session)),
                Some(context),
                Some(created_at),
            ) => Some(family(
                id,
                &scopes,
                [&user, &account, &session],
                &context,
                created_at,
            )?),
            _ => return Err(cell("access_tokens", "family_id", &row.id).unexpected()),
        };
        let found = ActiveAccessToken {
            grant: AccessGrant {
                id: parse(&row.id, cell("access_tokens", "id", &row.id))?,
                digest: digest(&row.digest, cell("access_tokens", "digest", &row.id))?,
                application: parse(
                    &row.application_id,
                    cell("access_tokens", "application_id", &row.id),
                )?,
                family: family_id,
                scopes: TokenScopes::known(&row.scopes),
                certificate: row
                    .certificate
                    .map(|text| digest(&text, cell("access_tokens", "certificate", &row.id)))
                    .transpose()?,
                issued_at: moment(row.issued_at),
                expires_at: moment(row.expires_at),
                track_use_until: row.track_use_until.map(moment),
            },
            family,
            used: row.used_at.is_some(),
        };
        Ok(Self(Some(found)))
    }
}

crate::sql::row! {
    pub(crate) struct RefreshRow {
        id: String,
        digest: String,
        application_id: String,
        family_id: String,
        issued_at: i64,
        expires_at: i64,
        unused: i64,
        open: i64,
        family_scopes: String,
        user_id: String,
        account_id: String,
        session_id: String,
        context: String,
        created_at: i64,
    }
}

impl Row for RefreshRow {
    type Value = RefreshLookup;
    fn id(&self) -> &str {
        &self.id
    }
}

impl TryFrom<RefreshRow> for RefreshLookup {
    type Error = StoreError;
    fn try_from(row: RefreshRow) -> Result<Self> {
        let family_id = parse(&row.family_id, cell("refresh_tokens", "family_id", &row.id))?;
        let subject = [row.user_id.as_str(), &row.account_id, &row.session_id];
        Ok(Self {
            grant: RefreshGrant {
                id: parse(&row.id, cell("refresh_tokens", "id", &row.id))?,
                digest: digest(&row.digest, cell("refresh_tokens", "digest", &row.id))?,
                application: parse(
                    &row.application_id,
                    cell("refresh_tokens", "application_id", &row.id),
                )?,
                family: family_id,
                issued_at: moment(row.issued_at),
                expires_at: moment(row.expires_at),
            },
            family: family(
                family_id,
                &row.family_scopes,
                subject,
                &row.context,
                row.created_at,
            )?,
            open: row.open == 1,
            unused: row.unused == 1,
        })
    }
}

/// A family by its row's columns; `subject` is the ids of the user, the account and the session.
pub(super) fn family(
    id: CodeId,
    scopes: &str,
    subject: [&str; 3],
    context: &str,
    created_at: i64,
) -> Result<TokenFamily> {
    let [user, account, session] = subject;
    let row = id.to_string();
    Ok(TokenFamily {
        id,
        scopes: Scopes::known(scopes),
        subject: GrantSubject {
            user_id: parse(user, cell("codes", "user_id", &row))?,
            account_id: parse(account, cell("codes", "account_id", &row))?,
            session_id: parse(session, cell("codes", "session_id", &row))?,
        },
        context: from_json(context, cell("codes", "context", &row))?,
        created_at: moment(created_at),
    })
}
