//! JSON in snapshots. It is laid out again without parsing, so the order of members and the form of values stay
//! visible.

/// Members with a measured value, or with an object of such values.
const MEASURED: [&str; 5] = ["time_us", "fuel", "duration_ms", "p50_us", "p99_us"];

/// Returns the JSON with a member or item on each line.
pub(super) fn indented(json: &str) -> String {
    let mut lines = String::new();
    let mut depth = 0;
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '"' => {
                length = text_length(rest);
                lines.push_str(&rest[..length]);
            }
            '{' | '[' => {
                lines.push(c);
                let after = rest[length..].trim_start();
                if after.starts_with(['}', ']']) {
                    lines.push_str(&after[..1]);
                    length = rest.len() - after.len() + 1;
                } else {
                    depth += 1;
                    line_break(&mut lines, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                line_break(&mut lines, depth);
                lines.push(c);
            }
            ',' => {
                lines.push(c);
                line_break(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            c => lines.push(c),
        }
        rest = &rest[length..];
    }
    lines
}

/// Replaces the values of members that are measured.
pub(super) fn without_measurements(json: &str) -> String {
    let mut text = json.to_owned();
    for name in MEASURED {
        let start = format!("\"{name}\":");
        let mut parts = text.split(start.as_str());
        let mut replaced = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = match part.strip_prefix('{') {
                Some(object) => object.find('}').map_or(0, |end| end + 2),
                None => part
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(part.len()),
            };
            replaced.push_str(&start);
            if end > 0 {
                replaced.push_str("<measured>");
            }
            replaced.push_str(&part[end..]);
        }
        text = replaced;
    }
    text
}

fn line_break(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.push_str(&"  ".repeat(depth));
}

/// Returns the length of the text in quotation marks at the beginning.
fn text_length(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in json.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}
