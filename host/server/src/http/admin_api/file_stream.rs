//! Files that are streamed page by page: tables in CSV and lists in JSON.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;

use super::input::List;
use super::table;
use crate::http::problem::Problem;

/// The position of an export in its list.
enum ExportPosition {
    Beginning,
    After(String),
    End,
}

/// The rows of a page, and its place in the file.
struct Part<T> {
    rows: Vec<T>,
    is_first: bool,
    is_last: bool,
}

/// Streams a table in CSV. Each page returns the position of the next one.
pub(super) fn stream_table<P>(
    name: &'static str,
    columns: &'static [&'static str],
    page: P,
) -> Response
where
    P: Fn(Option<String>) -> BoxFuture<'static, Result<List<Vec<String>>, Problem>>
        + Send
        + 'static,
{
    let write = |part: Part<Vec<String>>| {
        let (mark, head) = if part.is_first {
            let head = columns.iter().map(|column| (*column).to_owned()).collect();
            (table::MARK, Some(head))
        } else {
            ("", None)
        };
        let lines = table::lines(head.into_iter().chain(part.rows))?;
        Ok([mark.as_bytes(), &lines].concat())
    };
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    stream(&format!("{name}.csv"), kind, page, write)
}

/// Streams a JSON array of objects, which are texts in JSON. An incomplete file is no JSON.
pub(super) fn stream_json<P>(name: &'static str, page: P) -> Response
where
    P: Fn(Option<String>) -> BoxFuture<'static, Result<List<String>, Problem>> + Send + 'static,
{
    let mut is_empty = true;
    let write = move |part: Part<String>| {
        let mut text = String::from(if part.is_first { "[" } else { "" });
        for row in part.rows {
            text.push_str(if is_empty { "\n" } else { ",\n" });
            text.push_str(&row);
            is_empty = false;
        }
        text.push_str(if part.is_last { "\n]\n" } else { "" });
        Ok(text.into_bytes())
    };
    let kind = HeaderValue::from_static("application/json");
    stream(&format!("{name}.json"), kind, page, write)
}

/// Streams a file. `write` returns the bytes of each page.
fn stream<T, P, W>(file: &str, kind: HeaderValue, page: P, write: W) -> Response
where
    T: Send + 'static,
    P: Fn(Option<String>) -> BoxFuture<'static, Result<List<T>, Problem>> + Send + 'static,
    W: FnMut(Part<T>) -> std::io::Result<Vec<u8>> + Send + 'static,
{
    let parts = stream::try_unfold(
        (ExportPosition::Beginning, page, write),
        async |(at, page, mut write)| -> std::io::Result<_> {
            let (is_first, after) = match at {
                ExportPosition::Beginning => (true, None),
                ExportPosition::After(after) => (false, Some(after)),
                ExportPosition::End => return Ok(None),
            };
            // A client detects an incomplete file by the aborted response.
            let found = page(after)
                .await
                .map_err(|_| std::io::Error::other("the list ended early"))?;
            let bytes = write(Part {
                rows: found.items,
                is_first,
                is_last: found.next.is_none(),
            })?;
            let at = found
                .next
                .map_or(ExportPosition::End, ExportPosition::After);
            Ok(Some((Bytes::from(bytes), (at, page, write))))
        },
    );
    let mut response = Body::from_stream(parts).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{file}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
