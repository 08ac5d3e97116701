//! The table of one-time values: `docs/reference/one-time-values.md`. Each cell of it has a test.

use std::collections::BTreeMap;
use std::path::Path;

/// The cells of a value, in the order of the page.
const COLUMNS: [&str; 5] = ["Spent", "Lost response", "Repeat", "No storage", "Scanner"];

/// A test, by its file and name. A part of a script counts as a test.
type Proof = (&'static str, &'static str);

const LINKS: &str = "it/one_time/links.rs";
const REPEATS: &str = "it/one_time/repeats.rs";
const BROWSER: &str = "js/one_time.mjs";
const CONSOLE: &str = "js/console_api.test.mjs";

/// For cells in which nothing can happen: the property that rules it out.
const NOT_IN_A_LINK: Proof = (
    "it/secrets.rs",
    "logs_traces_audit_log_and_database_contain_no_secrets_of_a_sign_in",
);
const SIGNED: Proof = (
    "it/authenticator_api.rs",
    "the_document_lists_exactly_the_routes",
);

#[rustfmt::skip]
const CELLS: &[(&str, [Proof; 5])] = &[
    ("Enrolment link", [
        ("it/login.rs", "an_enrolment_link_is_valid_once_for_a_day"),
        (LINKS, "a_lost_response_to_an_enrolment_is_repeated_with_the_same_key"),
        (LINKS, "only_the_key_that_used_a_link_gets_its_result_again"),
        (BROWSER, "nothingStored"),
        (BROWSER, "scanners"),
    ]),
    ("Link for another device", [
        ("it/lifecycle/devices.rs", "a_device_link_is_valid_once_for_15_minutes_while_its_user_may_sign_in"),
        (LINKS, "an_administrator_sees_and_ends_open_links"),
        (LINKS, "an_administrator_sees_and_ends_open_links"),
        (BROWSER, "nothingStored"),
        (BROWSER, "scanners"),
    ]),
    ("Recovery code", [
        ("it/lifecycle/recovery.rs", "a_recovery_code_enrols_one_device_and_notifies_the_others"),
        (REPEATS, "a_recovery_code_gives_the_same_link_to_the_same_browser_only"),
        (REPEATS, "a_recovery_code_gives_the_same_link_to_the_same_browser_only"),
        (BROWSER, "codeWithoutStorage"),
        NOT_IN_A_LINK,
    ]),
    ("New recovery codes", [
        ("it/portal/recovery_codes.rs", "old_codes_stay_valid_until_the_new_ones_are_confirmed"),
        ("it/portal/recovery_codes.rs", "old_codes_stay_valid_until_the_new_ones_are_confirmed"),
        ("it/portal/recovery_codes.rs", "unconfirmed_codes_expire"),
        NOT_IN_A_LINK,
        NOT_IN_A_LINK,
    ]),
    ("QR code of a login page", [
        ("it/qr_sign_in.rs", "a_qr_code_is_valid_once_and_for_its_browser_only"),
        (REPEATS, "a_repeated_scan_of_the_same_device_gets_the_same_request"),
        (REPEATS, "a_repeated_scan_of_the_same_device_gets_the_same_request"),
        ("js/qr_sign_in.mjs", "not set up"),
        ("it/qr_sign_in.rs", "a_relayed_qr_code_names_its_own_browser"),
    ]),
    ("Approval request and matching number", [
        ("it/store.rs", "an_approval_is_decided_once_by_a_device_of_its_user"),
        (REPEATS, "a_repeated_decision_of_the_same_device_gets_the_same_result"),
        (REPEATS, "a_repeated_decision_of_the_same_device_gets_the_same_result"),
        SIGNED,
        SIGNED,
    ]),
    ("Challenge of a passkey", [
        ("it/passkeys/sign_in.rs", "a_challenge_is_answered_once"),
        ("it/passkeys/mod.rs", "a_passkey_that_was_added_is_accepted_again"),
        ("it/passkeys/mod.rs", "a_passkey_that_was_added_is_accepted_again"),
        SIGNED,
        SIGNED,
    ]),
    ("Removal of a device", [
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        SIGNED,
        SIGNED,
    ]),
    ("Approval of a protected action", [
        ("it/admin_api/protected_actions.rs", "an_action_approval_is_valid_for_one_request_and_one_session"),
        (CONSOLE, "a protected request without a response is sent again with its approval"),
        ("it/admin_api/idempotency.rs", "a_request_with_a_repeated_idempotency_key_runs_once"),
        NOT_IN_A_LINK,
        ("it/admin_api/protected_actions.rs", "an_action_approval_is_valid_for_one_request_and_one_session"),
    ]),
    ("Link, secret or token that is shown once", [
        ("it/admin_api/idempotency.rs", "a_request_with_a_repeated_idempotency_key_runs_once"),
        (CONSOLE, "a request without a response is sent again with the same key"),
        ("it/admin_api/idempotency.rs", "concurrent_requests_with_one_idempotency_key_run_once"),
        NOT_IN_A_LINK,
        NOT_IN_A_LINK,
    ]),
    ("Authorization code", [
        ("it/oidc/token.rs", "of_fifty_concurrent_exchanges_of_a_code_one_succeeds"),
        ("it/faults/mod.rs", "a_code_is_used_although_its_commit_reply_was_lost"),
        ("it/oidc/token.rs", "the_reuse_of_a_code_revokes_its_token_after_a_restart_too"),
        NOT_IN_A_LINK,
        ("it/oidc/attacks.rs", "a_code_is_rejected_for_another_application_and_stays_valid_for_its_own"),
    ]),
    ("Refresh token", [
        ("it/oidc/refresh.rs", "a_lost_refresh_response_is_returned_again_once"),
        ("it/oidc/refresh.rs", "a_lost_refresh_response_is_returned_again_once"),
        ("it/oidc/refresh.rs", "a_late_retry_is_reuse_and_the_grace_period_can_be_disabled"),
        NOT_IN_A_LINK,
        NOT_IN_A_LINK,
    ]),
    ("Client assertion", [
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        NOT_IN_A_LINK,
        NOT_IN_A_LINK,
    ]),
    ("Request ID of a service provider", [
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
    ]),
];

/// Returns the names of the cells of each section of the page.
fn sections() -> BTreeMap<String, Vec<String>> {
    let page = include_str!("../../../docs/reference/one-time-values.md");
    let mut sections = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let (title, text) = section.split_once('\n').expect("a title");
        let cells: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("- **")?.split_once("**:"))
            .map(|(name, _)| name.to_owned())
            .collect();
        if !cells.is_empty() {
            sections.insert(title.to_owned(), cells);
        }
    }
    sections
}

#[test]
fn each_cell_of_the_table_has_a_test() {
    let mut sections = sections();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (value, proofs) in CELLS {
        let cells = sections.remove(*value);
        assert_eq!(
            cells.as_deref(),
            Some(&COLUMNS.map(str::to_owned)[..]),
            "{value}"
        );
        for (column, (file, name)) in COLUMNS.iter().zip(proofs) {
            let source = std::fs::read_to_string(tests.join(file));
            let source =
                source.unwrap_or_else(|error| panic!("{value}, {column}: {file}: {error}"));
            assert!(
                source.contains(name),
                "{value}, {column}: {file} has no {name}"
            );
        }
    }
    assert!(sections.is_empty(), "values without tests: {sections:?}");
}
