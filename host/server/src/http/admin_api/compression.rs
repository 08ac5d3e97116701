//! Which responses of the admin API are compressed. See [`crate::http::compression`] for the reason to choose.
//!
//! A response to a change is never compressed, because some of them contain a secret or a link that is shown once.

use axum::http::Method;

/// The lists that are compressed, by the names of their operations. They contain no secret, and the console shows them
/// on most pages.
const COMPRESSED: [&str; 26] = [
    "users.list",
    "users.devices.list",
    "users.sessions.list",
    "users.consents.list",
    "users.activity.list",
    "users.accounts.list",
    "users.groups.list",
    "users.access.list",
    "users.emails.list",
    "access.list",
    "reports.list",
    "invitations.list",
    "accounts.list",
    "groups.list",
    "groups.members.list",
    "groups.access.list",
    "groups.applications.list",
    "applications.list",
    "applications.profiles.list",
    "applications.backchannel-requests.list",
    "applications.backchannel-requests.days",
    "applications.groups.list",
    "manifests.list",
    "audit.list",
    "audit.events.list",
    "keys.list",
];

/// Whether the response of the operation with this method and name is compressed.
pub(super) fn is_compressed(method: &Method, name: &str) -> bool {
    *method == Method::GET && COMPRESSED.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::areas::all_routes;
    use super::*;

    /// The reads that are never compressed, with the reasons.
    const NEVER: [(&str, &str); 39] = [
        ("me.show", "it has the CSRF token"),
        ("action-approvals.show", "it has the matching number"),
        ("caller-checks.show", "it has the matching number"),
        (
            "users.show",
            "a single resource, with an entity tag for changes",
        ),
        (
            "accounts.show",
            "a single resource, with an entity tag for changes",
        ),
        (
            "groups.show",
            "a single resource, with an entity tag for changes",
        ),
        (
            "applications.show",
            "a single resource, with an entity tag for changes",
        ),
        (
            "applications.by-key.show",
            "a single resource, with an entity tag for changes",
        ),
        ("manifests.show", "a single resource, for the command line"),
        (
            "users.recovery-codes.show",
            "it is small, and about recovery codes",
        ),
        (
            "users.enrolment-links.list",
            "it is about links that are shown once",
        ),
        ("receipts.show", "a single resource, for the command line"),
        ("cooldowns.list", "it is small"),
        (
            "access.export",
            "a stream, which the server does not hold in memory",
        ),
        (
            "groups.access.export",
            "a stream, which the server does not hold in memory",
        ),
        (
            "users.access.export",
            "a stream, which the server does not hold in memory",
        ),
        (
            "users.external-authenticators.list",
            "it is about keys of approval channels",
        ),
        (
            "users.export",
            "a stream, which the server does not hold in memory",
        ),
        (
            "accounts.export",
            "a stream, which the server does not hold in memory",
        ),
        (
            "groups.members.export",
            "a stream, which the server does not hold in memory",
        ),
        ("applications.roles.list", "it is small"),
        ("redirect-uris.validate", "it repeats what the caller sent"),
        ("registration-tokens.list", "few rows, on one page"),
        ("authorization-details-types.list", "few rows, on one page"),
        ("authorization-details-types.show", "it is small"),
        ("applications.secrets.list", "it is about client secrets"),
        (
            "applications.requests.list",
            "it has the state and nonce of requests",
        ),
        ("applications.certificates.list", "it is small"),
        (
            "applications.logo.show",
            "an image, which is compressed already",
        ),
        (
            "test-sign-ins.show",
            "it has tokens and claims of a test sign-in",
        ),
        (
            "claims.preview",
            "it has claims, which a plugin may fill with a secret",
        ),
        (
            "claim-traces.list",
            "it has claims, which a plugin may fill with a secret",
        ),
        (
            "claim-traces.show",
            "it has claims, which a plugin may fill with a secret",
        ),
        ("audit.verification.show", "it is small"),
        (
            "error-references.show",
            "it may repeat what the caller sent",
        ),
        ("plugins.list", "it has settings of plugins"),
        ("mail.preview", "it is the form of an email with a link"),
        ("overview.show", "it is small"),
        ("settings.list", "it has settings of the operator"),
    ];

    #[test]
    fn each_read_is_compressed_or_has_a_reason_against_it() {
        let routes = all_routes();
        let reads: BTreeSet<&str> = routes
            .iter()
            .filter(|route| route.method == Method::GET)
            .map(|route| route.name.as_str())
            .collect();
        let compressed = BTreeSet::from(COMPRESSED);
        let never: BTreeSet<&str> = NEVER.iter().map(|(name, _)| *name).collect();
        let both: Vec<_> = compressed.intersection(&never).collect();
        assert!(both.is_empty(), "{both:?} are in both lists");
        let chosen: BTreeSet<&str> = compressed.union(&never).copied().collect();
        let missing: Vec<_> = reads.difference(&chosen).collect();
        assert!(
            missing.is_empty(),
            "add {missing:?} to COMPRESSED if no response contains a CSRF token, a code, a token, a secret or a link \
             that is shown once; otherwise to NEVER, with the reason"
        );
        let unknown: Vec<_> = chosen.difference(&reads).collect();
        assert!(unknown.is_empty(), "there are no operations {unknown:?}");
    }

    #[test]
    fn no_response_to_a_change_is_compressed() {
        for route in all_routes() {
            let is_read = route.method == Method::GET;
            assert!(
                is_read || !is_compressed(&route.method, &route.name),
                "{} {}",
                route.method,
                route.path
            );
        }
    }
}
