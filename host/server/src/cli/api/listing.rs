//! Listings: the rows of a table or a file, page by page.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::api::columns::{Column, begin, cells, heads, quiet_text};
use crate::cli::api::document::ResponseDescription;
use crate::cli::api::show::{OutputFormat, json, quoted, show};
use assent_admin_client::terminal;
use assent_admin_client::terminal::{Table, harmless};

/// A page of a list.
#[derive(Deserialize)]
pub(crate) struct Page<'a> {
    /// The items, unchanged.
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
    /// The position of the next page.
    pub(super) next: Option<String>,
}

impl Page<'_> {
    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

/// A list with pages that is printed to standard output.
pub(crate) struct Listing<'a> {
    answer: &'a ResponseDescription,
    form: OutputFormat,
    table: Option<(Vec<Column>, Table)>,
    shown: usize,
    /// Whether the response was printed unchanged.
    is_unchanged: bool,
}

impl<'a> Listing<'a> {
    /// Creates a list before its first page.
    pub(super) const fn new(answer: &'a ResponseDescription, form: OutputFormat) -> Self {
        Self {
            answer,
            form,
            table: None,
            shown: 0,
            is_unchanged: false,
        }
    }

    /// Prints one more page, which has the content `bytes`. In JSON, a single page is printed unchanged.
    ///
    /// # Errors
    /// If standard output cannot be written, or the page is not a list.
    pub(super) fn page(
        &mut self,
        page: &Page<'_>,
        bytes: &[u8],
        is_last: bool,
    ) -> anyhow::Result<()> {
        let mut text = String::new();
        if self.form.json && is_last && self.shown == 0 {
            self.is_unchanged = true;
            return show(self.answer, self.form, bytes);
        }
        if self.form.json {
            for item in &page.items {
                text.push_str(if self.shown == 0 { "{\"items\":[" } else { "," });
                text.push_str(&json(item.get()));
                self.shown += 1;
            }
            return terminal::print(&text);
        }
        let items: Vec<Value> = page
            .items
            .iter()
            .map(|item| serde_json::from_str(item.get()))
            .collect::<Result<_, _>>()?;
        self.shown += items.len();
        if self.form.quiet {
            return terminal::print(
                &items
                    .iter()
                    .filter_map(quiet_text)
                    .map(|name| name + "\n")
                    .collect::<String>(),
            );
        }
        let first = self.table.is_none();
        let columns = match self.table.take() {
            Some(begun) => begun,
            None => begin(
                self.answer.schema.as_deref(),
                self.answer.items.as_deref(),
                &items,
            ),
        };
        let (columns, table) = self.table.insert(columns);
        if first {
            text.push_str(&table.line(&heads(columns)));
        }
        items
            .iter()
            .for_each(|item| text.push_str(&table.line(&cells(columns, item))));
        terminal::print(&text)
    }

    /// Ends the list, which may have further pages.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn end(&self, next: Option<&str>) -> anyhow::Result<()> {
        if self.form.json && !self.is_unchanged {
            let begin = if self.shown == 0 { "{\"items\":[" } else { "" };
            let next = next
                .map(|next| format!(",\"next\":{}", Value::from(next)))
                .unwrap_or_default();
            terminal::print(&json(&format!("{begin}]{next}}}\n")))?;
        }
        if let Some(next) = next {
            terminal::note(format_args!(
                "There are more: --all shows all, --after {} continues.",
                quoted(&harmless(next))
            ));
        }
        Ok(())
    }
}
