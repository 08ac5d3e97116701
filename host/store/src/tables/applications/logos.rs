//! The logos of applications.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::{Connection, Query};
use crate::tables::groups::access::granting_applications;
use crate::{Result, Store, VersionedWrite};
use assent_model::id::{Did, UserId};
use assent_model::logo::{ApplicationLogo, LogoFormat};

/// Changes the logo of an application, if it still has the one with the digest `before`.
pub(crate) async fn change(
    db: &mut Connection,
    application: &Did,
    before: Option<&String>,
    after: Option<&ApplicationLogo>,
) -> Result<VersionedWrite> {
    let id = application.to_string();
    // The application may have been deleted meanwhile. Other changes of it do not matter.
    let locked = sql::query("UPDATE applications SET version = version WHERE id = $1")
        .bind(&id)
        .execute(&mut *db)
        .await?;
    if locked == 0 {
        return Ok(VersionedWrite::Stale);
    }
    let query = match (before, after) {
        (None, Some(logo)) => with_image(
            sql::query(
                "INSERT INTO application_logos (application_id, kind, digest, content)
                 VALUES ($1, $2, $3, $4) ON CONFLICT (application_id) DO NOTHING",
            )
            .bind(id),
            logo,
        ),
        (Some(before), Some(logo)) => with_image(
            sql::query(
                "UPDATE application_logos SET kind = $2, digest = $3, content = $4
                 WHERE application_id = $1 AND digest = $5",
            )
            .bind(id),
            logo,
        )
        .bind(before),
        (Some(before), None) => {
            sql::query("DELETE FROM application_logos WHERE application_id = $1 AND digest = $2")
                .bind(id)
                .bind(before)
        }
        (None, None) => return Ok(VersionedWrite::Done),
    };
    Ok(VersionedWrite::of_rows(query.execute(db).await?))
}

fn with_image(query: Query, logo: &ApplicationLogo) -> Query {
    query
        .bind(logo.kind.as_str())
        .bind(&logo.digest)
        .bind(STANDARD.encode(&logo.bytes))
}

impl Store {
    /// The logo of an application.
    pub async fn logo(&self, application: &Did) -> Result<Option<ApplicationLogo>> {
        let row: Option<(String, String, String)> = sql::query_as(
            "SELECT kind, digest, content FROM application_logos WHERE application_id = $1",
        )
        .bind(application.to_string())
        .fetch_optional(self.readers.lookups())
        .await?;
        let id = application.to_string();
        row.map(|(kind, digest, content)| {
            Ok(ApplicationLogo {
                kind: LogoFormat::parse(&kind)
                    .ok_or(cell("application_logos", "kind", &id).unexpected())?,
                digest,
                bytes: STANDARD
                    .decode(content)
                    .map_err(|_| cell("application_logos", "content", &id).unexpected())?,
            })
        })
        .transpose()
    }

    /// The format and the digest of an application's logo; `None` without a logo.
    pub async fn logo_version(&self, application: &Did) -> Result<Option<(LogoFormat, String)>> {
        let id = application.to_string();
        let row: Option<(String, String)> =
            sql::query_as("SELECT kind, digest FROM application_logos WHERE application_id = $1")
                .bind(&id)
                .fetch_optional(self.readers.lookups())
                .await?;
        row.map(|(kind, digest)| {
            let kind = LogoFormat::parse(&kind)
                .ok_or_else(|| cell("application_logos", "kind", &id).unexpected())?;
            Ok((kind, digest))
        })
        .transpose()
    }

    /// The digest of an application's logo; `None` without a logo.
    pub async fn logo_digest(&self, application: &Did) -> Result<Option<String>> {
        let row: Option<(String,)> =
            sql::query_as("SELECT digest FROM application_logos WHERE application_id = $1")
                .bind(application.to_string())
                .fetch_optional(self.readers.lookups())
                .await?;
        Ok(row.map(|(digest,)| digest))
    }

    /// The digests of the logos of the applications that grant a user access.
    pub async fn logos_of(&self, user: UserId) -> Result<Vec<(Did, String)>> {
        let rows: Vec<(String, String)> = sql::query_as(concat!(
            "SELECT logo.application_id, logo.digest FROM application_logos AS logo
                 WHERE logo.application_id IN (",
            granting_applications!(),
            ")"
        ))
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, digest)| {
                Ok((
                    parse(&id, cell("application_logos", "application_id", &id))?,
                    digest,
                ))
            })
            .collect()
    }
}
