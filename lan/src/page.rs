//! The page that explains how to trust a trial's certificate. It uses plain http, because a phone cannot open an https
//! page before it trusts the certificate.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::authority::Authority;

/// The stylesheet of Assent's own pages.
const STYLE: &str = include_str!("../../host/server/assets/assent.css");
const SCRIPT: &str = include_str!("trusted.js");

/// The trial that the page describes.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The origin of Assent.
    pub origin: String,
    /// The authority that the phone must trust.
    pub authority: Authority,
}

#[derive(Template)]
#[template(path = "trust.html")]
struct TrustPage<'a> {
    origin: &'a str,
    fingerprint: &'a str,
}

/// Returns the page's routes.
pub fn router(trial: Trial) -> Router {
    Router::new()
        .route("/", get(show))
        .route("/assent-trial.crt", get(certificate))
        .route(
            "/assent.css",
            get(async || ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)),
        )
        .route(
            "/trusted.js",
            get(async || ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)),
        )
        .with_state(Arc::new(trial))
}

async fn show(State(trial): State<Arc<Trial>>) -> Response {
    let page = TrustPage {
        origin: &trial.origin,
        fingerprint: &trial.authority.fingerprint,
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src {}; frame-ancestors 'none'; base-uri \
         'none'; form-action 'none'",
        trial.origin
    );
    let headers = [
        (CONTENT_SECURITY_POLICY, policy.as_str()),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    match page.render() {
        Ok(html) => (headers, Html(html)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the authority's certificate, in the format that phones offer to install.
async fn certificate(State(trial): State<Arc<Trial>>) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/x-x509-ca-cert"),
        (
            CONTENT_DISPOSITION,
            "attachment; filename=\"assent-trial.crt\"",
        ),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, trial.authority.certificate.clone()).into_response()
}
