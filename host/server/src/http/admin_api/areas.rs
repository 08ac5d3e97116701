//! The areas of the admin API, which contain all nouns and routes.

use crate::http::admin_api::routes::{Area, Route};
use crate::http::admin_api::{
    access, accounts, action_approvals, activity, application_security, applications, assignments,
    audit, backchannel_requests, caller_checks, claims, client_secrets, details_types,
    email_confirmations, error_references, external_authenticators, groups, invitations, keys,
    logos, mail, managed_applications, manifests, me, operation, plugins, receipts,
    registration_tokens, reports, service_providers, test_sign_ins, transfers, users,
};

pub(super) fn areas() -> Vec<Area> {
    vec![
        me::routes(),
        action_approvals::routes(),
        users::routes(),
        transfers::of_users(),
        email_confirmations::routes(),
        invitations::routes(),
        activity::routes(),
        caller_checks::routes(),
        external_authenticators::routes(),
        access::routes(),
        accounts::routes(),
        transfers::of_accounts(),
        groups::routes(),
        assignments::routes(),
        applications::routes(),
        managed_applications::routes(),
        manifests::routes(),
        client_secrets::routes(),
        registration_tokens::routes(),
        details_types::routes(),
        application_security::routes(),
        backchannel_requests::routes(),
        service_providers::routes(),
        logos::routes(),
        test_sign_ins::routes(),
        claims::routes(),
        audit::routes(),
        receipts::routes(),
        reports::routes(),
        error_references::routes(),
        keys::routes(),
        plugins::routes(),
        mail::routes(),
        operation::routes(),
    ]
}

pub(super) fn all_routes() -> Vec<Route> {
    areas().into_iter().flat_map(Area::into_routes).collect()
}
