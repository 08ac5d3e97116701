//! The SAML service providers that participate in a session.

use std::sync::LazyLock;

use crate::engine::sql;
use crate::engine::sql::{Connection, Query};

use crate::engine::batch::bulk_sql::{BulkSql, MOST, first_of_each};
use crate::engine::rows::{Cell, cell, parse};
use crate::tables::tokens::TokenFamily;
use crate::{Result, Store, StoreError};
use assent_model::id::{Did, UserId};
use assent_model::name::{is_same_name, name_key};
use assent_model::saml::{NameId, NameIdFormat, Participation};
use assent_model::secret::Digest;
use assent_model::token::CodeGrant;

static BY_INDEX: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT sid, application_id, user_id, name_format, name, session_index FROM saml_participants
         WHERE application_id = $1 AND session_index IN ({$})",
        1,
    )
});

crate::engine::sql::row! {
    pub(crate) struct ParticipantRow {
        sid: String,
        application_id: String,
        user_id: String,
        name_format: String,
        name: String,
        session_index: String,
    }
}

impl TryFrom<ParticipantRow> for Participation {
    type Error = StoreError;
    fn try_from(row: ParticipantRow) -> Result<Self> {
        Ok(Self {
            application: parse(
                &row.application_id,
                cell("saml_participants", "application_id", &row.sid),
            )?,
            user_id: parse(&row.user_id, cell("saml_participants", "user_id", &row.sid))?,
            name_id: name_id(
                &row.name_format,
                row.name,
                cell("saml_participants", "name_format", &row.sid),
            )?,
            session_index: Digest::from_text(&row.session_index)
                .ok_or(cell("saml_participants", "session_index", &row.sid).unexpected())?,
            sid: row.sid,
        })
    }
}

pub(crate) fn name_id(format: &str, value: String, cell: Cell<'_>) -> Result<NameId> {
    let format = NameIdFormat::from_uri(format).ok_or(cell.unexpected())?;
    Ok(NameId { format, value })
}

/// The repeated rows of unused placeholders count once.
static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO saml_participants (sid, application_id, user_id, name_format, name, name_key, session_index)
         SELECT DISTINCT column1, column2, column3, column4, column5, column6, column7
         FROM (VALUES {($, $, $, $, $, $, $)}) AS v WHERE 1 = 1 ORDER BY column1, column2, column4
         ON CONFLICT (sid, application_id, name_format)
         DO UPDATE SET name = excluded.name, name_key = excluded.name_key",
        0,
    )
});

/// Stores that service providers participate in sessions, and the NameIDs of the users there. Of several with one
/// NameID format, the last one counts.
pub(crate) async fn insert_participations(
    db: &mut Connection,
    participations: &[&Participation],
) -> Result<()> {
    let latest: Vec<&Participation> = participations.iter().rev().copied().collect();
    let rows = first_of_each(&latest, |one| {
        (&one.sid, &one.application, one.name_id.format.uri())
    });
    for rows in rows.chunks(MOST) {
        let mut query = sql::query(INSERT.sql_for(rows.len()));
        for participation in INSERT.padded(rows) {
            query = query
                .bind(&participation.sid)
                .bind(participation.application.to_string())
                .bind(participation.user_id.to_string())
                .bind(participation.name_id.format.uri())
                .bind(&participation.name_id.value)
                .bind(name_key(&participation.name_id.value))
                .bind(participation.session_index.to_text());
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

static JOIN: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO session_applications (sid, application_id, user_id, subject) VALUES {($, $, $, $)}
         ON CONFLICT (sid, application_id) DO NOTHING",
        0,
    )
});

/// Stores that the applications of codes participate in their sessions.
pub(crate) async fn join_applications(db: &mut Connection, codes: &[&CodeGrant]) -> Result<()> {
    // Transactions insert the same rows in one order, so that they do not deadlock.
    let codes = first_of_each(codes, |code| (&code.context.sid, &code.application));
    for codes in codes.chunks(MOST) {
        let mut query = sql::query(JOIN.sql_for(codes.len()));
        for code in JOIN.padded(codes) {
            query = bind_application(query, code)?;
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

/// Stores that the application of a grant without a code participates in its session, with this `sub`.
pub(crate) async fn join_application(
    db: &mut Connection,
    family: &TokenFamily,
    subject: &str,
) -> Result<()> {
    sql::query(
        "INSERT INTO session_applications (sid, application_id, user_id, subject) VALUES ($1, $2, $3, $4)
         ON CONFLICT (sid, application_id) DO NOTHING",
    )
    .bind(&family.context.sid)
    .bind(family.application.to_string())
    .bind(family.subject.user_id.to_string())
    .bind(subject.to_owned())
    .execute(db)
    .await?;
    Ok(())
}

/// Binds the columns of the row by which the application of a code participates in its session.
pub(crate) fn bind_application(query: Query, code: &CodeGrant) -> Result<Query> {
    let subject = code.claims.get("sub").and_then(|sub| sub.as_str());
    let unexpected = || cell("token_families", "claims", &code.id.to_string()).unexpected();
    Ok(query
        .bind(&code.context.sid)
        .bind(code.application.to_string())
        .bind(code.subject.user_id.to_string())
        .bind(subject.ok_or_else(unexpected)?.to_owned()))
}

impl Store {
    /// The participations of a service provider in sessions under this name, in any spelling.
    pub async fn sessions_of_name(
        &self,
        application: &Did,
        name: &str,
    ) -> Result<Vec<Participation>> {
        let rows: Vec<ParticipantRow> = sql::query_as(
            "SELECT sid, application_id, user_id, name_format, name, session_index FROM saml_participants
             WHERE application_id = $1 AND name_key = $2",
        )
        .bind(application.to_string())
        .bind(name_key(name))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .filter(|row| is_same_name(&row.name, name))
            .map(Participation::try_from)
            .collect()
    }

    /// The participations of a service provider in the sessions with these indexes, which are stored as digests.
    pub async fn sessions_of_indexes(
        &self,
        application: &Did,
        indexes: &[Digest],
    ) -> Result<Vec<Participation>> {
        let mut found = Vec::new();
        for indexes in indexes.chunks(MOST) {
            let mut query = sql::query_as::<ParticipantRow>(BY_INDEX.sql_for(indexes.len()))
                .bind(application.to_string());
            for index in BY_INDEX.padded(indexes) {
                query = query.bind(index.to_text());
            }
            for row in query.fetch_all(&self.readers).await? {
                found.push(row.try_into()?);
            }
        }
        Ok(found)
    }

    /// Whether a service provider participates in a session of this user.
    pub async fn participates_in_saml(&self, application: &Did, user: UserId) -> Result<bool> {
        Ok(sql::query(
            "SELECT 1 FROM saml_participants WHERE user_id = $1 AND application_id = $2 LIMIT 1",
        )
        .bind(user.to_string())
        .bind(application.to_string())
        .exists(&self.readers)
        .await?)
    }
}
