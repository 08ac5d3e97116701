//! Markdown.

/// The first lines of a generated page.
pub(crate) fn heading(title: &str, source: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from {source}. Change it there, and run `make docs`. -->\n\n"
    )
}

/// A table. Without rows there is none.
pub(crate) fn table<const COLUMNS: usize>(
    names: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut text = line(&names.map(str::to_owned));
    text.push_str(&line(&[(); COLUMNS].map(|()| "---".to_owned())));
    rows.for_each(|row| text.push_str(&line(&row.map(|cell| one_line(&cell)))));
    text.push('\n');
    text
}

fn line<const COLUMNS: usize>(cells: &[String; COLUMNS]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// A text in a cell of a table: without line breaks, and with its bars escaped. An empty cell has a dash, so that it
/// does not look forgotten.
fn one_line(text: &str) -> String {
    if text.trim().is_empty() {
        return "–".to_owned();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// A text as code. Empty stays empty.
pub(crate) fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.contains('`') => format!("`` {text} ``"),
        text => format!("`{text}`"),
    }
}

/// A text that is no Markdown and no HTML: `<` and `>` outside of code are escaped.
pub(crate) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| {
        if number % 2 == 1 {
            return part.to_owned();
        }
        part.replace('<', "&lt;").replace('>', "&gt;")
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_prose_are_escaped() {
        let rows = [["a | b\nc".to_owned(), code("x`y")]];
        assert_eq!(
            table(["A", "B"], rows),
            "| A | B |\n| --- | --- |\n| a \\| b c | `` x`y `` |\n\n"
        );
        assert_eq!(table::<1>(["A"], []), "");
        assert_eq!(prose("a <b> `<c>`"), "a &lt;b&gt; `<c>`");
    }
}
