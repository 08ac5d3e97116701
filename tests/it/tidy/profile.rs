//! A text of the profile has a place in each list of claims. Some of the lists belong to programs of other languages,
//! and the compiler notices a missing text in none of them.

use super::root;
use crate::harness::read_file;
use assent_model::user::profile::Profile;

/// The lists, each with the form of an entry, in which `NAME` stands for the name of the claim.
const LISTS: [(&str, &str); 9] = [
    ("host/model/src/scope.rs", "\"NAME\","),
    (
        "host/server/src/domain/admin/user_table.rs",
        "    \"NAME\",\n",
    ),
    (
        "host/server/src/http/portal/words.rs",
        "\"NAME\" => Message::new(",
    ),
    (
        "host/server/src/http/portal/profile.rs",
        "profile.NAME.as_deref()",
    ),
    ("host/server/assets/console/pages/user.js", "  ['NAME', '"),
    (
        "host/server/assets/console/pages/audit_events.js",
        "  NAME: '",
    ),
    (
        "plugins/claim-map/src/check.rs",
        "(\"NAME\", \"user.profile.NAME\")",
    ),
    (
        "plugin-sdk/typescript/assent.ts",
        "readonly NAME?: string | null;",
    ),
    ("tests/it/snapshots/members.json", "\"NAME\": \""),
];

#[test]
fn each_text_of_the_profile_is_in_each_list_of_claims() {
    let mut missing = Vec::new();
    for (path, form) in LISTS {
        let text = read_file(root().join(path));
        for (name, _) in Profile::default().texts() {
            // In files, `name` is the name at the sign-in.
            let column = if name == "name" && path.ends_with("user_table.rs") {
                "display_name"
            } else {
                name
            };
            // The formatter divides long entries.
            let entry = form.replace("NAME", column);
            let words = |text: &str| {
                text.split_whitespace()
                    .collect::<String>()
                    .replace(",)", ")")
            };
            if !words(&text).contains(&words(&entry)) {
                missing.push(format!("{path}: {entry}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
