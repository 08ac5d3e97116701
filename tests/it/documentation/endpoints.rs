//! The page of the endpoints contains each route of the server.

use std::path::Path;

use super::root;
use crate::harness::read_file;

/// Returns the paths of `.route("/...")` and `.nest("/...")` in a source.
fn routes(source: &str) -> Vec<String> {
    let calls = [".route(", ".nest("]
        .into_iter()
        .flat_map(|call| source.split(call).skip(1));
    calls
        .filter_map(|rest| rest.trim_start().strip_prefix("\"/")?.split_once('"'))
        .map(|(path, _)| format!("/{path}"))
        .collect()
}

#[test]
fn the_page_has_each_route() {
    let http = root().join("host/server/src/http");
    let page = read_file(root().join("docs/reference/endpoints.md"));
    let mut found = 0;
    for file in ["router.rs", "portal/mod.rs"] {
        for route in routes(&read_file(http.join(Path::new(file)))) {
            let documented = match route.as_str() {
                // The authenticator's own router serves these routes.
                "/manifest.webmanifest" | "/sw.js" => format!("/authenticator{route}"),
                "/api" => "/authenticator/api".to_owned(),
                "/authenticator" => "/authenticator/".to_owned(),
                route => route.replace("{*", "{"),
            };
            found += 1;
            let is_there = page.contains(&format!(" {documented}`"))
                || page.contains(&format!("`{documented}`"));
            assert!(
                is_there,
                "{documented} is not in docs/reference/endpoints.md"
            );
        }
    }
    assert!(found > 50, "only {found} routes were found");
}
