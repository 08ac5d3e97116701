//! Statements over several rows. They have only a few sizes, because the database caches a plan for each.

use std::sync::Arc;

use crate::engine::sql::StatementText;

/// The numbers of rows for which there are statements. The smallest sufficient one is used.
const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, MOST];
/// The most rows of a statement.
pub(crate) const MOST: usize = 64;

/// The most rows of a statement for many callers.
pub(crate) const LARGEST: usize = 512;

/// A statement over up to 64 rows, or 512. Unused placeholders repeat the last row, so a repeated row must do no harm.
pub(crate) struct BulkSql {
    texts: [(usize, StatementText); SIZES.len()],
    /// The statement over 512 rows, if there is one.
    largest: Option<StatementText>,
}

impl BulkSql {
    /// Creates the statements from a template. In it, `{$}` stands for the placeholders of all ids, `$1, $2, ...`, and
    /// `{($, $)}` for those of all rows with this many columns. Their numbers follow the `before` placeholders that the
    /// text itself contains. A template with several such groups has the same number of rows in each.
    pub(crate) fn new(text: &str, before: usize) -> Self {
        Self::with_sizes(text, before, false)
    }

    /// The same for up to 512 rows. The text contains no other placeholders.
    pub(crate) fn large(text: &str) -> Self {
        Self::with_sizes(text, 0, true)
    }

    fn with_sizes(text: &str, before: usize, is_large: bool) -> Self {
        let mut parts = text.split('{');
        let head = parts.next().unwrap_or_default();
        let groups: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('}')).collect();
        let is_in_order =
            is_numbered_once(head, before) && groups.iter().all(|(_, tail)| !tail.contains('$'));
        let text_for = |size: usize| {
            let mut next = before;
            let mut numbered = head.to_owned();
            let mut anonymous = without_numbers(head);
            for (row, tail) in &groups {
                let rows: Vec<String> = (0..size)
                    .map(|_| number_placeholders(row, &mut next))
                    .collect();
                numbered.extend([&rows.join(", "), *tail]);
                anonymous.extend([&vec![*row; size].join(", "), *tail]);
            }
            let numbered = Arc::from(numbered);
            match is_in_order {
                true => StatementText::of_bulk(numbered, anonymous.replace('$', "?").into()),
                false => numbered.into(),
            }
        };
        Self {
            texts: SIZES.map(|size| (size, text_for(size))),
            largest: is_large.then(|| text_for(LARGEST)),
        }
    }

    pub(crate) fn sql_for(&self, rows: usize) -> StatementText {
        let found = self.texts.iter().find(|(size, _)| *size >= rows);
        let [.., (_, last)] = &self.texts;
        let largest = self.largest.as_ref().unwrap_or(last);
        found.map_or(largest, |(_, text)| text).clone()
    }

    /// These rows, and the last one again for each unused placeholder of their statement.
    pub(crate) fn padded<'r, T>(&self, rows: &'r [T]) -> impl Iterator<Item = &'r T> {
        self.padded_to(rows, rows.len())
    }

    /// These rows, and the last one again for each unused placeholder of the statement for `count` rows.
    pub(crate) fn padded_to<'r, T>(
        &self,
        rows: &'r [T],
        count: usize,
    ) -> impl Iterator<Item = &'r T> {
        rows.iter()
            .chain(rows.last().into_iter().cycle())
            .take(if rows.is_empty() {
                0
            } else {
                self.places(count)
            })
    }

    /// The number of rows in the statement for `count` rows.
    pub(crate) fn places(&self, count: usize) -> usize {
        let size = SIZES.into_iter().find(|size| *size >= count);
        size.unwrap_or(match self.largest {
            Some(_) => LARGEST,
            None => count,
        })
    }
}

/// The first row for each key, in the order of the keys. So transactions that claim the same rows concurrently lock
/// them in the same order.
pub(crate) fn first_of_each<'r, T, K: Ord>(rows: &[&'r T], key: impl Fn(&'r T) -> K) -> Vec<&'r T> {
    let mut first = rows.to_vec();
    first.sort_by_key(|row| key(*row));
    first.dedup_by_key(|row| key(*row));
    first
}

/// Whether the text contains `$1`, `$2`, ... up to this number, each once and in this order.
fn is_numbered_once(text: &str, count: usize) -> bool {
    let numbers = text.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    });
    numbers.eq((1..=count).map(|number| number.to_string()))
}

/// The text without the numbers after each `$`.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split('$');
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| {
        text + "$" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// The text with a number after each `$`.
fn number_placeholders(row: &str, next: &mut usize) -> String {
    let mut text = String::new();
    for part in row.split_inclusive('$') {
        text.push_str(part);
        if part.ends_with('$') {
            *next += 1;
            text.push_str(&next.to_string());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::BulkSql;

    fn text(statement: &BulkSql, rows: usize) -> String {
        statement.sql_for(rows).as_str().to_owned()
    }

    #[test]
    fn placeholders_are_numbered_after_preceding_ones() {
        let ids = BulkSql::new("SELECT * FROM t WHERE id IN ({$})", 0);
        assert_eq!(text(&ids, 1), "SELECT * FROM t WHERE id IN ($1)");
        assert_eq!(
            text(&ids, 3),
            "SELECT * FROM t WHERE id IN ($1, $2, $3, $4)"
        );
        assert_eq!(
            ids.sql_for(2).for_sqlite(),
            "SELECT * FROM t WHERE id IN (?, ?)"
        );
        let rows = BulkSql::new("UPDATE t SET a = $1 FROM (VALUES {($, $)}) AS v", 1);
        assert_eq!(
            text(&rows, 1),
            "UPDATE t SET a = $1 FROM (VALUES ($2, $3)) AS v"
        );
        assert!(text(&rows, 3).ends_with("($8, $9)) AS v"));
        assert_eq!(
            rows.sql_for(1).for_sqlite(),
            "UPDATE t SET a = ? FROM (VALUES (?, ?)) AS v"
        );
    }

    #[test]
    fn each_group_has_a_row_for_each_number() {
        let groups = BulkSql::new("WITH a AS (VALUES {($, $)}) INSERT INTO t VALUES {($)}", 0);
        assert_eq!(
            text(&groups, 2),
            "WITH a AS (VALUES ($1, $2), ($3, $4)) INSERT INTO t VALUES ($5), ($6)"
        );
        assert_eq!(
            groups.sql_for(1).for_sqlite(),
            "WITH a AS (VALUES (?, ?)) INSERT INTO t VALUES (?)"
        );
        assert!(groups.padded_to(&[1], 3).eq(&[1; 4]));
    }

    #[test]
    fn placeholders_in_another_order_keep_their_numbers() {
        for (text, before) in [
            ("SELECT $1 FROM t WHERE id IN ({$}) LIMIT $2", 2),
            ("SELECT $2, $1 FROM t WHERE id IN ({$})", 2),
            ("SELECT $1, $1 FROM t WHERE id IN ({$})", 1),
        ] {
            let statement = BulkSql::new(text, before).sql_for(1);
            assert_eq!(statement.for_sqlite(), statement.as_str());
        }
    }

    #[test]
    fn a_large_statement_has_a_further_size() {
        let ids = BulkSql::large("SELECT * FROM t WHERE id IN ({$})");
        assert_eq!((ids.places(64), ids.places(65)), (64, 512));
        assert!(text(&ids, 64).ends_with("$64)"));
        assert!(text(&ids, 65).ends_with("$512)"));
        assert_eq!(ids.sql_for(65).for_sqlite().matches('?').count(), 512);
    }

    #[test]
    fn each_placeholder_has_a_value() {
        let ids = BulkSql::new("{$}", 0);
        for rows in [1, 2, 4, 5, 16, 63, 64] {
            let indices: Vec<usize> = (0..rows).collect();
            let filled: Vec<usize> = ids.padded(&indices).copied().collect();
            assert_eq!(filled.len(), text(&ids, rows).split(", ").count());
            assert_eq!(filled[..rows], indices);
        }
        assert_eq!(ids.padded(&Vec::<usize>::new()).count(), 0);
    }
}
