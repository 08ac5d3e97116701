//! Lists of applications.

use std::fmt;
use std::str::FromStr;

use crate::engine::sql;
use crate::tables::applications::row::{ApplicationRow, OIDC, SAML};
use crate::tables::groups::access::granting_applications;
use crate::{Result, Store};
use assent_model::application::{Protocol, RegisteredApplication};
use assent_model::id::{Did, IdError, UserId};
use assent_model::search::search_form;

/// The order of a list of applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplicationOrder {
    /// By their ids.
    #[default]
    Id,
    /// By their names, without regard to case and accents.
    Name,
    /// By their names, descending.
    NameDescending,
}

/// A place in a list of applications. It contains the name, because the application may be deleted before the next page
/// is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationCursor {
    /// The id of the last application of a page.
    pub id: Did,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ApplicationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

impl FromStr for ApplicationCursor {
    type Err = IdError;
    fn from_str(text: &str) -> std::result::Result<Self, IdError> {
        let (id, name) = text.split_once(' ').ok_or(IdError)?;
        Ok(Self {
            id: id.parse()?,
            name: name.to_owned(),
        })
    }
}

/// The applications that follow the id `$1` and the search key `$5` in an order. Only those of the protocol `$2` with a
/// search key that begins with `$3`.
macro_rules! applications_found {
    ($after:literal, $order:literal) => {
        sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications
             WHERE ",
            $after,
            " AND ($2 = '' OR protocol = $2) AND substr(search_key, 1, length($3)) = $3
             ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

impl Store {
    /// Up to `limit` applications with ids that follow `after`.
    pub async fn applications(
        &self,
        after: Option<&Did>,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        sql::query_as::<ApplicationRow>(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications WHERE id > $1 ORDER BY id LIMIT $2"
        ))
        .bind(after.map(ToString::to_string).unwrap_or_default())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }

    /// Up to `limit` applications that follow `after`, with names that begin with `prefix`, without regard to case and
    /// accents. Only those of `protocol`, if it is set. The statement compares each name, because the applications are
    /// few.
    pub async fn applications_named(
        &self,
        prefix: &str,
        protocol: Option<Protocol>,
        order: ApplicationOrder,
        after: Option<&ApplicationCursor>,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        let statement = match order {
            ApplicationOrder::Id => applications_found!("id > $1", "id"),
            ApplicationOrder::Name => {
                applications_found!("($1 = '' OR (search_key, id) > ($5, $1))", "search_key, id")
            }
            ApplicationOrder::NameDescending => applications_found!(
                "($1 = '' OR (search_key, id) < ($5, $1))",
                "search_key DESC, id DESC"
            ),
        };
        let mut query = sql::query_as::<ApplicationRow>(statement)
            .bind(after.map(|after| after.id.to_string()).unwrap_or_default())
            .bind(match protocol {
                None => "",
                Some(Protocol::OpenidConnect) => OIDC,
                Some(Protocol::Saml) => SAML,
            })
            .bind(search_form(prefix))
            .bind(limit);
        if order != ApplicationOrder::Id {
            query = query.bind(
                after
                    .map(|after| search_form(&after.name))
                    .unwrap_or_default(),
            );
        }
        query.fetch_values(&self.readers).await
    }

    /// Up to `limit` applications that a user may use, by an account or by an assignment, in the order of their names.
    pub async fn applications_of(
        &self,
        user: UserId,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        sql::query_as::<ApplicationRow>(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            "
             FROM applications
             LEFT JOIN accounts ON accounts.application_id = applications.id AND accounts.user_id = $1
             WHERE applications.id IN (",
            granting_applications!(),
            ") AND (accounts.id IS NULL OR accounts.state IN ('invited', 'active'))
             ORDER BY applications.search_key, applications.id LIMIT $2"
        ))
        .bind(user.to_string())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }
}
