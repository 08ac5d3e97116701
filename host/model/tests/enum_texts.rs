//! The texts of an enum are also its serialized form: strum and serde each derive them.

use assent_model::administration::{AdminScope, ProtectedActionKind};
use assent_model::application::GrantType;
use assent_model::client_auth::ClientAuthMethod;
use assent_model::key::{KeyStage, SigningAlgorithm};
use assent_model::scope::Scope;
use assent_model::session::Amr;
use assent_model::statement::Decision;
use assent_model::test_sign_in::TestSignInStep;
use assent_model::user::{ConsoleRole, LifecycleState};
use serde::Serialize;
use serde_json::json;
use strum::VariantArray;

fn compare<T: VariantArray + Copy + Serialize + Into<&'static str>>() {
    for variant in T::VARIANTS {
        let text: &str = (*variant).into();
        assert_eq!(json!(variant), text);
    }
}

#[test]
fn variants_are_serialized_as_their_texts() {
    compare::<AdminScope>();
    compare::<Amr>();
    compare::<ClientAuthMethod>();
    compare::<ConsoleRole>();
    compare::<Decision>();
    compare::<GrantType>();
    compare::<KeyStage>();
    compare::<LifecycleState>();
    compare::<ProtectedActionKind>();
    compare::<Scope>();
    compare::<SigningAlgorithm>();
    compare::<TestSignInStep>();
}

#[test]
fn a_text_has_at_most_one_variant() {
    assert_eq!(Scope::parse("openid"), Some(Scope::OpenId));
    assert_eq!(AdminScope::parse("admin:read"), Some(AdminScope::Read));
    for text in ["", "open_id", "OpenId", "read", "openid "] {
        assert_eq!(Scope::parse(text), None);
        assert_eq!(AdminScope::parse(text), None);
    }
}
