//! npm's `node-saml`.

use serde_json::json;

use super::journey::{HostOptions, Journey};
use super::server::Software::NodeSaml;
use super::{PERSISTENT, UNSPECIFIED};

#[tokio::test]
async fn node_saml_with_signed_forms_and_persistent_names() {
    let settings = json!({"name_id_format": "persistent"});
    let journey = Journey::new(
        NodeSaml,
        HostOptions {
            settings,
            ..HostOptions::default()
        },
    )
    .await;
    let known = journey.full_flow(&[("binding", "post")]).await;
    assert_eq!(known["format"], PERSISTENT, "{known}");
}

#[tokio::test]
async fn node_saml_without_a_key_and_with_account_names() {
    let settings = json!({"name_id_format": "unspecified", "name_id_source": "account_name"});
    let journey = Journey::new(
        NodeSaml,
        HostOptions {
            signs: false,
            settings,
            ..HostOptions::default()
        },
    )
    .await;
    for binding in ["redirect", "post"] {
        let (known, _) = journey
            .signs_in(&[("format", UNSPECIFIED), ("binding", binding)])
            .await;
        assert_eq!(
            (&known["name_id"], &known["format"]),
            (&json!("ada"), &json!(UNSPECIFIED)),
            "{known}"
        );
    }
}

#[tokio::test]
async fn node_saml_forces_authentication_and_receives_a_denial() {
    let journey = Journey::new(NodeSaml, HostOptions::default()).await;
    journey
        .is_refused(&[("passive", "yes")], &["NoPassive"])
        .await;
    assert_eq!(journey.signs_in(&[]).await.1, 1);
    assert_eq!(
        journey.signs_in(&[("force", "yes")]).await.1,
        1,
        "a session was enough"
    );
    assert_eq!(journey.signs_in(&[("passive", "yes")]).await.1, 0);
    journey.is_denied().await;
}
