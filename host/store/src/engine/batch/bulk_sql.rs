//! Statements over several rows. They have only a few sizes, because the database caches a plan for each.

use std::sync::Arc;

use crate::engine::sql::StatementText;

/// The numbers of rows for which there are statements. The smallest sufficient one is used.
const SIZES: [usize; 5] = [1, 4, 16, 32, MOST];
/// The most rows of a statement.
pub(crate) const MOST: usize = 64;

/// A statement over up to 64 rows. Unused placeholders repeat the last row, so a repeated row must do no harm.
pub(crate) struct BulkSql {
    texts: [(usize, Arc<str>); SIZES.len()],
}

impl BulkSql {
    /// Creates the statements from a template. In it, `{$}` stands for the placeholders of all ids, `$1, $2, ...`, and
    /// `{($, $)}` for those of all rows with this many columns. Their numbers follow the `before` placeholders that the
    /// text itself contains.
    pub(crate) fn new(text: &str, before: usize) -> Self {
        let (head, rest) = text.split_once('{').unwrap_or((text, ""));
        let (row, tail) = rest.split_once('}').unwrap_or(("", rest));
        let texts = SIZES.map(|size| {
            let mut next = before;
            let rows: Vec<String> = std::iter::repeat_n(row, size)
                .map(|row| number_placeholders(row, &mut next))
                .collect();
            (size, Arc::from(format!("{head}{}{tail}", rows.join(", "))))
        });
        Self { texts }
    }

    pub(crate) fn sql_for(&self, rows: usize) -> StatementText {
        let found = self
            .texts
            .iter()
            .find(|(size, _)| *size >= rows)
            .or(self.texts.last());
        found
            .map(|(_, text)| Arc::clone(text))
            .unwrap_or_default()
            .into()
    }

    /// These rows, and the last one again for each unused placeholder of their statement.
    pub(crate) fn padded<'r, T>(&self, rows: &'r [T]) -> impl Iterator<Item = &'r T> {
        let size = SIZES
            .into_iter()
            .find(|size| *size >= rows.len())
            .unwrap_or(rows.len());
        rows.iter()
            .chain(rows.last().into_iter().cycle())
            .take(if rows.is_empty() { 0 } else { size })
    }
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
        let rows = BulkSql::new("UPDATE t SET a = $1 FROM (VALUES {($, $)}) AS v", 1);
        assert_eq!(
            text(&rows, 1),
            "UPDATE t SET a = $1 FROM (VALUES ($2, $3)) AS v"
        );
        assert!(text(&rows, 2).ends_with("($8, $9)) AS v"));
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
