//! The check for requests for the time in sources in TypeScript. It recognises the usual forms; the script at the
//! beginning of the component rejects the others at run time.

/// The requests for the time. `new Date(value)` is permitted.
const CALLS: [&str; 2] = ["new Date()", "Date.now()"];
/// The characters after which a slash begins a regular expression. After a value, a slash is a division.
const BEFORE_VALUE: &str = "([{,;=:!&|?+-*%~^<>";
/// The words after which a slash begins a regular expression.
const WORDS_BEFORE_VALUE: [&str; 3] = ["return", "case", "typeof"];

/// Returns a message for each request for the time in a source.
pub(super) fn clock_errors(file: &str, source: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for (number, line) in (1..).zip(code_of(source).lines()) {
        for call in CALLS {
            for (place, _) in line.match_indices(call) {
                let (before, _) = line.split_at(place);
                // `globalThis.Date` is left to the script, because the object may be another one.
                if before.ends_with(|last: char| last == '.' || is_identifier(last)) {
                    continue;
                }
                let column = before.chars().count() + 1;
                errors.push(format!(
                    "{file}({number},{column}): error: `{call}`: a plugin has no clock; use input.now"
                ));
            }
        }
    }
    errors
}

fn is_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Returns the code of a source. Comments, strings, regular expressions and the texts of templates are spaces, so that
/// the code keeps its lines and columns.
fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    // The number of open braces in each open `${` of a template, the innermost last.
    let mut expressions: Vec<usize> = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let ends_expression = first == '}' && expressions.last() == Some(&0);
        if ends_expression {
            expressions.pop();
        }
        let text = if first == '`' || ends_expression {
            let (length, has_expression) = template_text(rest);
            if has_expression {
                expressions.push(0);
            }
            Some(length)
        } else {
            comment_or_literal(rest, &code)
        };
        let (read, later) = rest.split_at(text.unwrap_or(first.len_utf8()));
        rest = later;
        if text.is_some() {
            code.extend(read.chars().map(|c| if c == '\n' { c } else { ' ' }));
            continue;
        }
        code.push_str(read);
        if let Some(braces) = expressions.last_mut() {
            match first {
                '{' => *braces += 1,
                '}' => *braces = braces.saturating_sub(1),
                _ => {}
            }
        }
    }
    code
}

/// Returns the length in bytes of the comment, string or regular expression at the beginning of a text. The code before
/// the text determines the meaning of a slash.
fn comment_or_literal(text: &str, before: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or(text.len(), |end| end + 4));
    }
    match text.chars().next()? {
        quote @ ('"' | '\'') => Some(literal(text, quote).unwrap_or_else(|end| end)),
        '/' if expects_value(before) => literal(text, '/').ok(),
        _ => None,
    }
}

/// Returns whether code ends where a value is expected.
fn expects_value(code: &str) -> bool {
    let code = code.trim_end();
    let begin = code.trim_end_matches(is_identifier);
    let word = code.strip_prefix(begin).unwrap_or_default();
    if word.is_empty() {
        code.is_empty() || code.ends_with(|last: char| BEFORE_VALUE.contains(last))
    } else {
        WORDS_BEFORE_VALUE.contains(&word)
    }
}

/// Returns the length in bytes of the string or regular expression at the beginning of a text. If its line ends before
/// it, the error is the length of the line.
fn literal(text: &str, end: char) -> Result<usize, usize> {
    let mut characters = text.char_indices().skip(1);
    // In brackets, a slash does not end a regular expression.
    let mut is_in_brackets = false;
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '\n' => return Err(at),
            '[' if end == '/' => is_in_brackets = true,
            ']' => is_in_brackets = false,
            _ if character == end && !is_in_brackets => return Ok(at + 1),
            _ => {}
        }
    }
    Err(text.len())
}

/// Returns the length in bytes of a template's text up to the template's end or its next `${`, and whether this is a
/// `${`. The text begins with the template's first character or with the end of an expression.
fn template_text(text: &str) -> (usize, bool) {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '`' => return (at + 1, false),
            '$' if characters.peek().is_some_and(|(_, next)| *next == '{') => {
                return (at + 2, true);
            }
            _ => {}
        }
    }
    (text.len(), false)
}

#[cfg(test)]
mod tests {
    use super::{clock_errors, code_of};

    /// Returns the places of the errors, with a space between them.
    fn places(source: &str) -> String {
        let errors = clock_errors("", source);
        let places = errors
            .iter()
            .filter_map(|error| error.split_once(": error"))
            .map(|(place, _)| place);
        places.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn requests_for_the_time_are_rejected() {
        let text = "// new Date() is not available\nconst at = new Date(input.now * 1000);\n\
                    const now = Date.now();\nreturn [set(\"at\", new Date().toISOString())];\n";
        assert_eq!(
            clock_errors("src/plugin.ts", text),
            [
                "src/plugin.ts(3,13): error: `Date.now()`: a plugin has no clock; use input.now",
                "src/plugin.ts(4,19): error: `new Date()`: a plugin has no clock; use input.now",
            ]
        );
        for (source, expected) in [
            ("Date.now()", "(1,1)"),
            ("a = Date.now() - Date.now();", "(1,5) (1,18)"),
            ("/* a\n * b */ Date.now();\r\nnew Date()", "(2,9) (3,1)"),
            ("`until ${new Date().toISOString()}`", "(1,10)"),
            (
                "`${`${{ a: Date.now() }.a}`}` + Date.now()",
                "(1,12) (1,33)",
            ),
            ("s = 'it\\'s'; Date.now();", "(1,14)"),
            ("s = \"ü\"; Date.now();", "(1,10)"),
            ("a.split(/[/'`]/); Date.now();", "(1,19)"),
            ("return /\"/.test(a) && Date.now();", "(1,23)"),
            ("half = a / 2; rest = b / 2; Date.now();", "(1,29)"),
            ("a = total! / 2;\nDate.now();", "(2,1)"),
            ("a = 'unterminated\nDate.now();", "(2,1)"),
        ] {
            assert_eq!(places(source), expected, "{source}");
        }
    }

    #[test]
    fn other_texts_with_the_words_of_a_request_are_permitted() {
        for source in [
            "myDate.now(); my_Date.now(); $Date.now(); this.Date.now();",
            "globalThis.Date.now();",
            "new Date(input.now * 1000); new Date(\"\");",
            "throw new Error(\"new Date() is not available\");",
            "throw new Error('no \\'new Date()\\'');",
            "a(); /* not Date.now() */",
            "/*\n  Date.now()\n  new Date()\n*/",
            "/**/ a(); // Date.now()",
            "`new Date()\nDate.now() \\` ${a} new Date()`",
            "`${a ? `Date.now()` : { b: '}' }} Date.now()` + \"Date.now()\"",
            "a.replace(/Date.now()/, '');",
            "a.replace(/`/g, ''); b = `new Date()`;",
            "/* Date.now()",
        ] {
            assert_eq!(places(source), "", "{source}");
        }
    }

    #[test]
    fn code_keeps_its_lines_and_columns() {
        let source = "a('ä', `b\n${c}`); // d\n/* e\n */ f(/[/]/);\n";
        assert_eq!(
            code_of(source),
            "a(   ,   \n  c  );     \n    \n    f(     );\n"
        );
    }
}
