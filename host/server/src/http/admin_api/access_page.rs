//! The pages of lists of access, for the lists and the exports.

use super::input::{List, PageLimit, after};
use crate::domain::Services;
use crate::domain::admin::{self, AccessConditions, AccessQuery, AccessRow, UserAccess};
use crate::http::problem::Problem;
use assent_model::id::{Did, GroupId, UserId};
use assent_store::{AccessFilter, MemberUse};

/// A list of users with access, or of applications with access.
#[derive(Clone)]
pub(super) enum AccessList {
    /// The users with access to an application that a search finds, if there is one.
    To(Did, Option<String>),
    /// The applications that a user can open.
    Of(UserId),
}

impl AccessList {
    /// Returns up to `rows` rows after a cursor, each with its own cursor.
    async fn rows(
        &self,
        services: &Services,
        denied: bool,
        cursor: Option<&str>,
        rows: u32,
    ) -> Result<Vec<AccessRow>, Problem> {
        let found = match self {
            Self::To(application, None) => {
                let filter = if denied {
                    AccessFilter::Denied
                } else {
                    AccessFilter::All
                };
                admin::access_to(services, application, filter, after(cursor)?, rows).await?
            }
            Self::To(application, Some(q)) => {
                let query = AccessQuery {
                    q: q.clone(),
                    after: after(cursor)?,
                };
                admin::find_access(services, application, &query, rows).await?
            }
            Self::Of(user) => {
                admin::access_of(services, *user, after(cursor)?.as_ref(), rows).await?
            }
        };
        Ok(found)
    }
}

/// Returns the page of a list that begins after a cursor.
pub(super) async fn access_page(
    services: &Services,
    list: &AccessList,
    conditions: &AccessConditions,
    cursor: Option<String>,
    limit: PageLimit,
) -> Result<List<UserAccess>, Problem> {
    let now = services.now();
    let finds_denied = matches!(list, AccessList::To(_, None));
    let rows_at_once = conditions.rows_at_once(limit.rows(), finds_denied);
    let mut page = Progress::new(rows_at_once, cursor, limit);
    while let Some(rows) = page.wanted_rows() {
        let found = list
            .rows(services, conditions.denied, page.cursor.as_deref(), rows)
            .await?;
        page.add(found, |access| conditions.fit(access, now));
    }
    Ok(page.finish())
}

/// Returns the page of the members of a group that begins after a cursor.
pub(super) async fn member_page(
    services: &Services,
    group: GroupId,
    conditions: &AccessConditions,
    cursor: Option<String>,
    limit: PageLimit,
) -> Result<List<MemberUse>, Problem> {
    let now = services.now();
    let rows_at_once = conditions.rows_at_once(limit.rows(), false);
    let mut page = Progress::new(rows_at_once, cursor, limit);
    while let Some(rows) = page.wanted_rows() {
        let first = after(page.cursor.as_deref())?;
        let found = admin::access_by(services, group, first, rows).await?;
        page.add(found, |member| conditions.fit_member(member, now));
    }
    Ok(page.finish())
}

/// Whether further rows are read for a page.
#[derive(PartialEq, Eq)]
enum State {
    /// The page has room.
    Reading,
    /// The page ends, and the list has further rows.
    Ended,
    /// The list ends.
    Complete,
}

/// A page whose rows are being read.
struct Progress<T> {
    items: Vec<T>,
    limit: usize,
    rows_at_once: u32,
    examined: usize,
    /// The cursor of the last examined row.
    cursor: Option<String>,
    state: State,
}

impl<T> Progress<T> {
    const fn new(rows_at_once: u32, cursor: Option<String>, limit: PageLimit) -> Self {
        Self {
            items: Vec::new(),
            limit: limit.rows() as usize,
            rows_at_once,
            examined: 0,
            cursor,
            state: State::Reading,
        }
    }

    /// Returns the number of rows to read next, unless the page is finished.
    fn wanted_rows(&self) -> Option<u32> {
        (self.state == State::Reading).then_some(self.rows_at_once)
    }

    /// Adds those of the wanted rows that fit.
    fn add(&mut self, rows: Vec<(String, Option<T>)>, fits: impl Fn(&T) -> bool) {
        let is_last = rows.len() < self.rows_at_once as usize;
        for (cursor, item) in rows {
            if self.items.len() == self.limit {
                self.state = State::Ended;
                return;
            }
            self.examined += 1;
            self.cursor = Some(cursor);
            self.items.extend(item.filter(&fits));
        }
        if is_last {
            self.state = State::Complete;
        } else if AccessConditions::is_enough(self.examined) {
            self.state = State::Ended;
        }
    }

    fn finish(self) -> List<T> {
        List {
            items: self.items,
            next: self.cursor.filter(|_| self.state == State::Ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a list of numbers as a page of those that fit. Returns the items, the cursor, and the number of rows read.
    fn page(
        rows: u32,
        at_once: u32,
        fits: impl Fn(&u32) -> bool,
    ) -> (Vec<u32>, Option<String>, u32) {
        let mut page = Progress::new(at_once, None, PageLimit::default());
        let mut read = 0;
        while let Some(wanted) = page.wanted_rows() {
            let end = (read + wanted).min(rows);
            let found = (read..end)
                .map(|row| (row.to_string(), Some(row)))
                .collect();
            read = end;
            page.add(found, &fits);
        }
        let List { items, next } = page.finish();
        (items, next, read)
    }

    #[test]
    fn a_page_ends_with_its_limit_or_with_the_list() {
        let all = |rows| page(rows, 51, |_| true);
        assert_eq!(all(50), ((0..50).collect(), None, 50));
        let (items, next, read) = all(51);
        assert_eq!((items.len(), next.as_deref(), read), (50, Some("49"), 51));
        assert_eq!(all(0), (Vec::new(), None, 0));
    }

    #[test]
    fn a_page_examines_a_limited_number_of_rows() {
        let (items, next, read) = page(100_000, 250, |row| *row == 700);
        assert_eq!(
            (items, next.as_deref(), read),
            (vec![700], Some("999"), 1000)
        );
        // The page is full within the first rows, and the next one begins after the last examined row.
        let (items, next, read) = page(100_000, 250, |row| row % 2 == 0);
        assert_eq!((items.len(), next.as_deref(), read), (50, Some("98"), 250));
    }
}
