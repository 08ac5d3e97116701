//! The server of an application that publishes its logo.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use super::listen;

/// A server with images and other content. It counts the requests.
pub struct LogoServer {
    port: u16,
    count: Arc<AtomicUsize>,
}

impl LogoServer {
    pub async fn start() -> Self {
        let (listener, port) = listen().await;
        let count = Arc::new(AtomicUsize::new(0));
        let router = Router::new()
            .route("/{name}", get(content))
            .with_state(Arc::clone(&count));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, count }
    }

    /// Returns the address of an image or of other content.
    pub fn address(&self, name: &str) -> String {
        format!("http://localhost:{}/{name}", self.port)
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Returns a small image.
pub fn png(byte: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".as_slice(), &[byte]].concat()
}

async fn content(State(count): State<Arc<AtomicUsize>>, Path(name): Path<String>) -> Response {
    count.fetch_add(1, Ordering::SeqCst);
    let typed = |kind: &'static str, body: Vec<u8>| ([(header::CONTENT_TYPE, kind)], body);
    match name.as_str() {
        "first" => typed("image/png", png(1)).into_response(),
        // The content decides, and not the media type.
        "second" => typed("text/html", png(2)).into_response(),
        "redirect" => Redirect::temporary("/first").into_response(),
        "large" => typed("image/png", [png(1), vec![0; 10 << 20]].concat()).into_response(),
        "svg" => typed(
            "image/svg+xml",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
        )
        .into_response(),
        "page" => typed("image/png", b"<script>alert(1)</script>".to_vec()).into_response(),
        "empty" => typed("image/png", Vec::new()).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
