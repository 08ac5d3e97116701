//! A route of the admin API: its handler, permission and description are in one place, so that none can be missing.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa_axum::router::UtoipaMethodRouter;

use super::compression;
use super::conditional;
use super::idempotency;
use super::import_limit;
use crate::domain::Services;
use crate::domain::admin::Caller;
use crate::http::api::openapi::operations;
use crate::http::compression::compress_list;
use crate::http::problem::{Problem, ProblemKind};
use assent_model::administration::{Permission, ProtectedActionKind};

/// The resources with an `ETag` in their responses. Their changes support `If-Match`.
pub(super) const VERSIONED: [&str; 5] = [
    "/users/{id}",
    "/accounts/{id}",
    "/applications/{id}",
    "/applications/by-key/{owner}/{key}",
    "/groups/{id}",
];

/// The permission of a route, and the kind of protected action of its command.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rule {
    /// The required permission.
    pub permission: Permission,
    /// The kind of protected action that the command may be.
    pub protected_action: Option<ProtectedActionKind>,
}

/// A route with its description.
pub(super) struct Route {
    /// The HTTP method.
    pub(super) method: Method,
    /// The path below that of the API, with `{name}` for the variable segments.
    pub(super) path: String,
    /// The rule for callers.
    pub(super) rule: Rule,
    /// The operation's name: nouns and a verb. It is the OpenAPI operationId and, with spaces for the dots, the command
    /// of the command line.
    pub(super) name: String,
    /// The noun of the name.
    pub(super) noun: &'static str,
    /// The OpenAPI operation as the handler describes it.
    pub(super) operation: Map<String, Value>,
    /// The schemas that the operation refers to.
    pub(super) schemas: Vec<(String, RefOr<Schema>)>,
    handler: MethodRouter<Arc<Services>>,
}

/// The prefix of operation names, with its description.
#[derive(Clone, Copy)]
pub(super) struct Noun {
    /// One or several words with dots, as in `users.sessions`.
    pub(super) name: &'static str,
    /// The description, in one sentence.
    pub(super) about: &'static str,
}

/// The routes of one area, with the nouns of their names.
pub(super) struct Area {
    /// The nouns that the area adds.
    pub(super) nouns: Vec<Noun>,
    /// The noun of the next routes.
    noun: &'static str,
    routes: Vec<Route>,
}

impl Area {
    /// Creates an area without routes.
    pub(super) const fn new() -> Self {
        Self {
            nouns: Vec::new(),
            noun: "",
            routes: Vec::new(),
        }
    }

    /// Adds a noun, to which the next routes belong.
    pub(super) fn noun(mut self, name: &'static str, about: &'static str) -> Self {
        self.nouns.push(Noun { name, about });
        self.of_noun(name)
    }

    /// Continues with the routes of a noun that was added before.
    pub(super) const fn of_noun(mut self, noun: &'static str) -> Self {
        self.noun = noun;
        self
    }

    /// Declares that the command of the last route may be a protected action of this kind.
    pub(super) fn protected(mut self, kind: ProtectedActionKind) -> Self {
        if let Some(route) = self.routes.last_mut() {
            route.rule.protected_action = Some(kind);
        }
        self
    }

    /// Adds a route of the current noun.
    pub(super) fn route(
        mut self,
        verb: &'static str,
        permission: Permission,
        described: UtoipaMethodRouter<Arc<Services>, Infallible>,
    ) -> Self {
        let noun = self.noun;
        let (schemas, paths, handler) = described;
        for (path, item) in paths.paths {
            for (method, operation) in operations(item) {
                let (path, schemas, handler) = (path.clone(), schemas.clone(), handler.clone());
                self.routes.push(Route {
                    method,
                    path,
                    rule: Rule {
                        permission,
                        protected_action: None,
                    },
                    name: format!("{noun}.{verb}"),
                    noun,
                    operation,
                    schemas,
                    handler,
                });
            }
        }
        self
    }

    pub(super) fn into_routes(self) -> Vec<Route> {
        self.routes
    }
}

impl Route {
    /// Whether the route is a resource with a version.
    pub(super) fn is_versioned(&self) -> bool {
        VERSIONED.contains(&self.path.as_str())
    }

    /// Whether the body contains a file, and may be larger than others: a table, a component, SAML metadata, or a
    /// manifest.
    pub(super) fn takes_file(&self) -> bool {
        const WITH_FILES: [&str; 5] = [
            "/applications",
            "/applications/{id}/claims-preview",
            "/applications/{id}/metadata",
            "/plans",
            "/plans/apply",
        ];
        let posts_file = self.method == Method::POST && WITH_FILES.contains(&self.path.as_str());
        posts_file || self.is_import()
    }

    fn is_import(&self) -> bool {
        self.path.ends_with("/import")
    }

    fn takes_manifest(&self) -> bool {
        self.path.starts_with("/plans")
    }

    /// Adds the route to a router, behind the layers that it needs. Its path begins with `base`.
    pub(super) fn mount(
        self,
        router: Router<Arc<Services>>,
        base: &str,
        services: &Arc<Services>,
    ) -> Router<Arc<Services>> {
        let (versioned, is_import, takes_manifest) =
            (self.is_versioned(), self.is_import(), self.takes_manifest());
        let is_compressed = compression::is_compressed(&self.method, &self.name);
        let handler = match self.method {
            Method::GET => self.handler.route_layer(from_fn(conditional::not_modified)),
            Method::POST => self
                .handler
                .route_layer(from_fn_with_state(Arc::clone(services), idempotency::once)),
            _ if versioned => self.handler,
            _ => self
                .handler
                .route_layer(from_fn(conditional::without_version)),
        };
        let handler = if is_compressed {
            handler.route_layer(from_fn(compress_list))
        } else {
            handler
        };
        let rule = self.rule;
        // This layer must come before any reader of the body.
        let handler = if is_import {
            handler.route_layer(from_fn_with_state(
                Arc::clone(services),
                import_limit::limit_imports,
            ))
        } else if takes_manifest {
            handler.route_layer(from_fn_with_state(
                Arc::clone(services),
                import_limit::limit_plans,
            ))
        } else {
            handler
        };
        let handler = handler.route_layer(from_fn(permit)).route_layer(from_fn(
            move |mut request: Request, next: Next| {
                request.extensions_mut().insert(rule);
                next.run(request)
            },
        ));
        router.route(&format!("{base}{}", self.path), handler)
    }
}

/// Rejects callers without the permission of the route.
async fn permit(
    Extension(caller): Extension<Caller>,
    Extension(rule): Extension<Rule>,
    request: Request,
    next: Next,
) -> Response {
    if !caller.may(rule.permission) {
        let detail = format!(
            "this needs the permission {}, which you do not have",
            rule.permission.as_str()
        );
        return Problem::with_kind(ProblemKind::Forbidden, detail).into_response();
    }
    next.run(request).await
}
