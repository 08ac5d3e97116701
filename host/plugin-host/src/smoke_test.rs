//! The smoke test of the claim mappers: each maps the claims of a fictitious user before a reload uses it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::claims::{ClaimInput, ClaimMapper, MapFailureKind, Protocol};
use super::fault::{Fault, LoadError};
use super::sink::Sink;
use assent_model::clock::Timestamp;
use assent_model::id::Did;

/// The time in the input: 2026-01-01, in seconds since the epoch.
const MOMENT: i64 = 1_767_225_600;

/// Calls each mapper with each destination of claims that it serves. A mapper may deny or report a failure. But a
/// mapper that breaks the contract or a limit with this input would do so with other input too.
pub(super) async fn run(mappers: &[Arc<ClaimMapper>]) -> Result<(), LoadError> {
    for mapper in mappers {
        for sink in Sink::ALL {
            let Some(application) = mapper.application_for_smoke_test(sink) else {
                continue;
            };
            match mapper.try_out(&input(application, sink)).await {
                Ok(())
                | Err(
                    MapFailureKind::Deny(_)
                    | MapFailureKind::Fault(Fault::Reported(_) | Fault::Busy | Fault::Suspended(_)),
                ) => {}
                Err(MapFailureKind::Fault(fault)) => {
                    return Err(LoadError::in_plugin(
                        mapper.name(),
                        format_args!("in the smoke test, it {fault}"),
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Returns the input: a user with every property that a user can have.
fn input(application: Did, sink: Sink) -> ClaimInput {
    let saml = sink == Sink::SamlAssertion;
    let application_json = if saml {
        json!({ "id": application, "name": "Smoke test", "entity_id": "urn:assent:smoke-test",
            "custom_attributes": [] })
    } else {
        json!({ "id": application, "name": "Smoke test", "application_type": "web" })
    };
    let claims = json!({
        "sub": "smoke-test", "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
        "preferred_username": "ada", "upn": "ada", "email": "ada@example.org", "email_verified": true,
        "updated_at": MOMENT, "user_short_code": "SMOKE00000",
    });
    let scopes = [
        "openid",
        "profile",
        "email",
        "phone",
        "address",
        "offline_access",
    ];
    ClaimInput {
        protocol: if saml { Protocol::Saml } else { Protocol::Oidc },
        sink,
        now: Timestamp::from_seconds(MOMENT),
        application_id: application,
        application: application_json,
        account: json!({ "id": "smoke-test", "name": "ada", "short_code": "SMOKE00000", "state": "active" }),
        user: json!({
            "did": "did:example:smoke-test", "name": "ada", "email": "ada@example.org", "groups": ["staff"],
            "profile": {},
        }),
        roles: vec!["user".to_owned()],
        scopes: if saml {
            Vec::new()
        } else {
            scopes.map(str::to_owned).to_vec()
        },
        requested: Vec::new(),
        acr: Some("urn:assent:acr:device".to_owned()),
        amr: vec!["swk".to_owned(), "user".to_owned()],
        claims: if let Value::Object(claims) = claims {
            claims
        } else {
            Map::new()
        },
    }
}
