//! A claim mapper for a second version of the contract, which only the tests support.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: ["../../../wit/host@1.0.0", "../../wit/claims@2.0.0"],
    world: "assent:claims/claim-mapper",
    generate_all,
});

use exports::assent::claims::mapper::{Guest, Person};
use serde_json::{Value, json};

struct Next;

export!(Next);

impl Guest for Next {
    fn describe() -> String {
        json!({ "name": "next-mapper", "version": "2.0.0", "writes": ["team"] }).to_string()
    }

    fn validate(_config: String) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn map_claims(person: Person, _config: String) -> Result<Vec<(String, String)>, String> {
        let claims: Value = person
            .claims
            .parse()
            .map_err(|_| "the claims are not JSON".to_owned())?;
        // The claim of the earlier plugin, which is built for the first version.
        let account = claims.get("account").cloned().unwrap_or_default();
        Ok(vec![(
            "team".to_owned(),
            json!({ "roles": person.roles, "account": account }).to_string(),
        )])
    }
}
