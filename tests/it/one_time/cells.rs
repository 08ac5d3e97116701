//! The table of one-time values: `docs/reference/one-time-values.md`. Each cell of it has a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The cells of a value, in the order of the page.
const COLUMNS: [&str; 5] = ["Spent", "Lost response", "Repeat", "No storage", "Scanner"];

/// A test, by its file and name. A function of a script counts as a test.
type Proof = (&'static str, &'static str);

/// The largest number of values with cells that one test proves. A test that proves more is about none of them.
const MOST_VALUES: usize = 2;

const LINKS: &str = "it/one_time/links.rs";
const REPEATS: &str = "it/one_time/repeats.rs";
const SCANNERS: &str = "it/one_time/scanners.rs";
const BROWSER: &str = "js/one_time.mjs";
const CONSOLE: &str = "js/console_api.test.mjs";
const SURROUNDINGS: &str = "js/authenticator_surroundings.test.mjs";
const CHALLENGES: &str = "it/passkeys/sign_in.rs";
const LOGOUT: &str = "it/saml/logout_principal.rs";
const SIGN_ON: &str = "it/saml/repeats.rs";
const ANSWERS: &str = "it/oidc/repeats.rs";
const TEST_SIGN_INS: &str = "it/admin_api/test_sign_ins.rs";
const CALLBACKS: &str = "it/channels/callbacks.rs";
const CIBA_POLLS: &str = "it/oidc/ciba/polls.rs";
const DEVICE_CODES: &str = "it/oidc/device_authorization/codes.rs";
const DEVICE_POLLS: &str = "it/oidc/device_authorization/polls.rs";
const PROOFS: &str = "it/oidc/dpop.rs";
const PUSHED: &str = "it/oidc/pushed_requests.rs";

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
        (SCANNERS, "an_address_with_a_recovery_code_spends_nothing"),
    ]),
    ("New recovery codes", [
        ("it/portal/recovery_codes.rs", "old_codes_stay_valid_until_the_new_ones_are_confirmed"),
        ("it/portal/recovery_codes.rs", "old_codes_stay_valid_until_the_new_ones_are_confirmed"),
        ("it/portal/recovery_codes.rs", "unconfirmed_codes_expire"),
        ("js/without.mjs", "storesNothing"),
        ("it/portal/recovery_codes.rs", "no_session_gets_codes_without_its_own_approval"),
    ]),
    ("QR code of a login page", [
        ("it/qr_sign_in.rs", "a_qr_code_is_valid_once_and_for_its_browser_only"),
        (REPEATS, "a_repeated_scan_of_the_same_device_gets_the_same_request"),
        (REPEATS, "a_repeated_scan_of_the_same_device_gets_the_same_request"),
        ("js/qr_sign_in.mjs", "notEnrolled"),
        ("it/qr_sign_in.rs", "a_relayed_qr_code_names_its_own_browser"),
    ]),
    ("Approval request and matching number", [
        ("it/store.rs", "an_approval_is_decided_once_by_a_device_of_its_user"),
        (REPEATS, "a_repeated_decision_of_the_same_device_gets_the_same_result"),
        (REPEATS, "a_repeated_decision_of_the_same_device_gets_the_same_result"),
        (SURROUNDINGS, "an open app notices that its data was cleared"),
        (SCANNERS, "a_call_without_the_key_of_a_device_decides_and_removes_nothing"),
    ]),
    ("Challenge of a passkey", [
        (CHALLENGES, "a_challenge_is_answered_once"),
        ("it/passkeys/mod.rs", "a_passkey_that_was_added_is_accepted_again"),
        ("it/passkeys/mod.rs", "a_passkey_that_was_added_is_accepted_again"),
        (CHALLENGES, "a_passkey_signs_in_without_an_approval"),
        (CHALLENGES, "a_challenge_is_bound_to_one_sign_in_in_one_browser"),
    ]),
    ("Removal of a device", [
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        (REPEATS, "a_repeated_removal_of_a_device_succeeds"),
        (SURROUNDINGS, "an open app notices that its data was cleared"),
        (SCANNERS, "a_call_without_the_key_of_a_device_decides_and_removes_nothing"),
    ]),
    ("Approval of a protected action", [
        ("it/admin_api/protected_actions.rs", "an_action_approval_is_valid_for_one_request_and_one_session"),
        (CONSOLE, "a protected request without a response is sent again with its approval"),
        ("it/admin_api/idempotency.rs", "a_request_with_a_repeated_idempotency_key_runs_once"),
        (CONSOLE, "a request without a response is kept without the storage of the browser"),
        ("it/admin_api/protected_actions.rs", "an_action_approval_is_valid_for_one_request_and_one_session"),
    ]),
    ("Link, secret or token that is shown once", [
        ("it/admin_api/idempotency.rs", "a_request_with_a_repeated_idempotency_key_runs_once"),
        (CONSOLE, "a request without a response is sent again with the same key"),
        ("it/admin_api/idempotency.rs", "concurrent_requests_with_one_idempotency_key_run_once"),
        (CONSOLE, "a request without a response is kept without the storage of the browser"),
        (LINKS, "an_administrator_sees_and_ends_open_links"),
    ]),
    ("Authorization code", [
        ("it/oidc/token.rs", "of_fifty_concurrent_exchanges_of_a_code_one_succeeds"),
        ("it/faults/mod.rs", "a_code_is_used_although_its_commit_reply_was_lost"),
        ("it/oidc/token.rs", "the_reuse_of_a_code_revokes_its_token_after_a_restart_too"),
        ("it/oidc/token.rs", "a_code_is_exchanged_by_a_web_application"),
        ("it/oidc/attacks.rs", "a_code_is_rejected_for_another_application_and_stays_valid_for_its_own"),
    ]),
    ("Identifier of a back-channel request", [
        (CIBA_POLLS, "concurrent_claims_on_two_instances_have_one_winner"),
        (CIBA_POLLS, "fapi_ciba_id1_auth_req_id_bound_to_client"),
        (CIBA_POLLS, "fapi_ciba_id1_auth_req_id_bound_to_client"),
        ("it/oidc/ciba.rs", "an_approval_on_a_device_gives_tokens_without_a_browser"),
        ("it/oidc/ciba/requests.rs", "only_a_confidential_client_with_the_grant_type_may_ask"),
    ]),
    ("Codes of a device", [
        (DEVICE_POLLS, "concurrent_entries_and_claims_on_two_instances_have_one_winner"),
        (DEVICE_CODES, "a_device_of_another_user_cannot_use_an_entered_code"),
        (DEVICE_CODES, "a_device_of_another_user_cannot_use_an_entered_code"),
        (DEVICE_CODES, "a_session_in_the_browser_is_never_used"),
        (DEVICE_CODES, "a_session_in_the_browser_is_never_used"),
    ]),
    ("Refresh token", [
        ("it/oidc/refresh.rs", "a_lost_refresh_response_is_returned_again_once"),
        ("it/oidc/refresh.rs", "a_lost_refresh_response_is_returned_again_once"),
        ("it/oidc/refresh.rs", "a_late_retry_is_reuse_and_the_grace_period_can_be_disabled"),
        ("it/oidc/refresh.rs", "a_refresh_returns_new_tokens_of_the_same_sign_in"),
        (SCANNERS, "an_address_with_a_refresh_token_spends_nothing"),
    ]),
    ("Client assertion", [
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        ("it/oidc/client_auth.rs", "a_client_assertion_is_valid_once_on_all_instances"),
        ("it/oidc/client_auth.rs", "private_key_jwt_with_each_key_format"),
        ("it/oidc/client_auth.rs", "an_address_with_a_client_assertion_spends_nothing"),
    ]),
    ("DPoP proof", [
        (PROOFS, "a_proof_is_valid_once_on_every_instance"),
        (PROOFS, "a_proof_is_valid_once_on_every_instance"),
        (PROOFS, "a_proof_is_valid_once_on_every_instance"),
        (PROOFS, "refresh_token"),
        ("it/oidc/dpop/negative.rs", "dpop_negative_tests"),
    ]),
    ("Pushed request", [
        (PUSHED, "two_sign_ins_by_one_request_have_one_answer"),
        (PUSHED, "par_attempt_reuse_request_uri"),
        (PUSHED, "par_attempt_reuse_request_uri"),
        (PUSHED, "a_pushed_request_signs_a_user_in"),
        (PUSHED, "par_ensure_reused_request_uri_prior_to_auth_completion_succeeds"),
    ]),
    ("Answer of a sign-in", [
        (ANSWERS, "concurrent_consents_on_two_instances_get_one_answer"),
        ("it/repeats_in_chromium.rs", "two_clicks_and_a_lost_response_lead_to_one_usable_code_in_chromium"),
        (ANSWERS, "an_exchanged_code_is_not_sent_again_and_its_tokens_stay_valid"),
        (ANSWERS, "a_repeated_form_post_has_the_same_code"),
        (ANSWERS, "a_later_time_another_browser_and_another_session_get_nothing"),
    ]),
    ("Answer of a test sign-in", [
        (TEST_SIGN_INS, "a_test_sign_in_belongs_to_one_session_and_its_url_to_one_test_sign_in"),
        (TEST_SIGN_INS, "a_response_that_arrives_twice_has_one_outcome"),
        (TEST_SIGN_INS, "a_test_sign_in_belongs_to_one_session_and_its_url_to_one_test_sign_in"),
        (TEST_SIGN_INS, "a_test_sign_in_leaves_no_session_and_no_token"),
        (TEST_SIGN_INS, "another_user_cannot_complete_a_test_sign_in_and_stays_undisclosed"),
    ]),
    ("AuthnRequest of a service provider", [
        ("it/saml/attacks.rs", "a_repeated_request_id_is_rejected_concurrently_and_later"),
        (SIGN_ON, "a_request_posted_twice_leads_to_the_same_sign_on"),
        (SIGN_ON, "a_request_posted_twice_leads_to_the_same_sign_on"),
        ("it/saml/sign_on.rs", "a_cross_site_form_without_cookies_is_accepted"),
        ("it/saml/sign_on.rs", "a_cross_site_form_without_cookies_is_accepted"),
    ]),
    ("Address of a sign-on", [
        ("it/saml/attacks.rs", "concurrent_requests_have_one_browser_each"),
        (SIGN_ON, "a_repeated_request_without_a_session_leads_to_the_same_sign_in"),
        (SIGN_ON, "a_sign_on_with_a_session_is_repeated_for_that_session_only"),
        (SIGN_ON, "a_request_posted_twice_leads_to_the_same_sign_on"),
        ("it/saml/attacks.rs", "concurrent_requests_have_one_browser_each"),
    ]),
    ("LogoutRequest of a service provider", [
        ("it/saml/logout_forged.rs", "a_logout_request_ends_only_the_named_sessions_and_once"),
        (LOGOUT, "a_request_that_ended_a_session_is_answered_again_for_30_seconds"),
        (LOGOUT, "a_rejected_request_is_rejected_again_for_30_seconds"),
        ("it/saml/logout_names.rs", "the_server_of_a_service_provider_sees_no_other_applications"),
        ("it/saml/logout.rs", "only_the_browser_of_the_session_continues_the_logout_and_sees_applications"),
    ]),
    ("Callback of an approval channel", [
        (CALLBACKS, "late_and_replayed_callbacks_change_nothing"),
        (CALLBACKS, "a_callback_triggers_a_poll_and_decides_nothing"),
        (CALLBACKS, "late_and_replayed_callbacks_change_nothing"),
        (CALLBACKS, "a_restart_between_begin_and_callback_loses_nothing"),
        (CALLBACKS, "a_callback_response_does_not_reveal_whether_a_request_exists"),
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

/// Returns the text with which the definition of a test begins.
fn definition(file: &str, name: &str) -> String {
    match file.strip_suffix(".mjs") {
        None => format!("fn {name}("),
        Some(script) if script.ends_with(".test") => format!("\ntest('{name}', "),
        Some(_) => format!("\nasync function {name}("),
    }
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
                source.contains(&definition(file, name)),
                "{value}, {column}: {file} has no {name}"
            );
        }
    }
    assert!(sections.is_empty(), "values without tests: {sections:?}");
}

#[test]
fn a_test_proves_cells_of_few_values() {
    let mut proven: BTreeMap<Proof, BTreeSet<&str>> = BTreeMap::new();
    for (value, proofs) in CELLS {
        for proof in proofs {
            proven.entry(*proof).or_default().insert(*value);
        }
    }
    proven.retain(|_, values| values.len() > MOST_VALUES);
    assert!(proven.is_empty(), "{proven:?}");
}
