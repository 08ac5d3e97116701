//! The most frequent mappings, also in other products, as an operator would write them.

use super::*;

/// The roles of one client without their prefix, like the role mappers of Keycloak.
#[test]
fn the_roles_of_one_application_as_groups() {
    let rules = r#"
        [[rules]]
        claim = "groups"
        from = "roles"
        only = "wiki-*"
        strip_prefix = "wiki-"
    "#;
    assert_eq!(
        output(rules, &input()),
        json!({ "groups": ["editor", "reader"] })
    );
}

/// An object of roles inside an object. The client libraries of Keycloak expect this shape of access tokens.
#[test]
fn roles_nested_as_in_tokens_of_keycloak() {
    let rules = r#"
        [[rules]]
        claim = "realm_access"
        value = { roles = "{roles}" }

        [[rules]]
        claim = "resource_access"
        value = { wiki = { roles = ["{roles}", "default"] } }
    "#;
    let output = output(rules, &input());
    assert_eq!(
        output["realm_access"]["roles"],
        json!(["wiki-editor", "wiki-reader", "staff"])
    );
    assert_eq!(output["resource_access"]["wiki"]["roles"][3], "default");
}

/// One role for an application that accepts only one, such as Grafana. The last rule that applies wins.
#[test]
fn the_highest_of_several_roles() {
    let rules = r#"
        [[rules]]
        claim = "role"
        value = "Viewer"

        [[rules]]
        claim = "role"
        value = "Editor"
        when = { role = "wiki-editor" }

        [[rules]]
        claim = "role"
        value = "Admin"
        when = { role = ["wiki-admin", "root"] }
    "#;
    let with = |role: &str| {
        output(
            rules,
            &Input {
                roles: vec![role.to_owned()],
                ..input()
            },
        )["role"]
            .clone()
    };
    assert_eq!(
        [with("guest"), with("wiki-editor"), with("root")],
        ["Viewer", "Editor", "Admin"]
    );
}

/// The attribute names of a directory, which many service providers expect: SimpleSAMLphp's `core:AttributeMap` with
/// `name2oid`.
#[test]
fn attributes_under_the_names_of_a_directory() {
    let rules = r#"
        [[rules]]
        attribute = "urn:oid:0.9.2342.19200300.100.1.3"
        friendly_name = "mail"
        name_format = "uri"
        from = "user.email"

        [[rules]]
        attribute = "urn:oid:1.3.6.1.4.1.5923.1.1.1.6"
        friendly_name = "eduPersonPrincipalName"
        name_format = "uri"
        value = "{account.name}@example.org"
    "#;
    let output = output(rules, &assertion());
    assert_eq!(
        output["urn:oid:0.9.2342.19200300.100.1.3"],
        json!(["ada@example.org"])
    );
    assert_eq!(
        output["urn:oid:1.3.6.1.4.1.5923.1.1.1.6"],
        json!(["ada@example.org"])
    );
}

/// Values from a table; other values are dropped. This combines SimpleSAMLphp's `core:AttributeValueMap` and
/// `core:AttributeLimit`.
#[test]
fn groups_as_entitlements() {
    let rules = r#"
        [[rules]]
        attribute = "eduPersonEntitlement"
        from = "roles"
        default = "urn:mace:example.org:guest"

        [rules.lookup]
        wiki-editor = "urn:mace:example.org:wiki:write"
        wiki-reader = ["urn:mace:example.org:wiki:read", "urn:mace:dir:entitlement:common-lib-terms"]
    "#;
    let entitlements = json!([
        "urn:mace:example.org:wiki:write",
        "urn:mace:example.org:wiki:read",
        "urn:mace:dir:entitlement:common-lib-terms",
    ]);
    assert_eq!(
        output(rules, &assertion())["eduPersonEntitlement"],
        entitlements
    );
    let guest = Input {
        roles: Vec::new(),
        ..assertion()
    };
    assert_eq!(
        output(rules, &guest)["eduPersonEntitlement"],
        json!(["urn:mace:example.org:guest"])
    );
}

/// The user name under the names that applications read. The property mappings of authentik use expressions for this.
#[test]
fn the_user_name_under_another_name() {
    let rules = r#"
        [[rules]]
        claim = "preferred_username"
        from = "account.name"
        scopes = "profile"

        [[rules]]
        claim = "nickname"
        from = ["nickname", "user.profile.given_name", "account.name"]
        scopes = "profile"

        [[rules]]
        claim = "is_superuser"
        value = true
        when = { role = "admin" }
    "#;
    assert_eq!(
        output(rules, &input()),
        json!({ "preferred_username": "ada", "nickname": "ada" })
    );
    let admin = Input {
        roles: vec!["admin".to_owned()],
        scopes: Vec::new(),
        ..input()
    };
    assert_eq!(output(rules, &admin), json!({ "is_superuser": true }));
}

/// Access only for these users, like authentik's policy bindings and SimpleSAMLphp's `authorize:Authorize`.
#[test]
fn access_only_with_a_role_and_a_verified_address() {
    let rules = r#"
        [[rules]]
        deny = "Ask the help desk for the role `staff`."
        unless = { role = "staff" }

        [[rules]]
        deny = "Use your address of example.org."
        unless = { is = { "user.email" = "*@example.org", "user.profile.email_verified" = true } }
    "#;
    let mut ada = input();
    assert_eq!(
        denial(rules, &ada).as_deref(),
        Some("Use your address of example.org."),
        "the address is not verified"
    );
    ada.user["profile"]["email_verified"] = json!(true);
    assert_eq!(denial(rules, &ada), None);
    ada.user["email"] = json!("ada@example.org.evil.example");
    assert_eq!(
        denial(rules, &ada).as_deref(),
        Some("Use your address of example.org.")
    );
    ada.roles.clear();
    assert_eq!(
        denial(rules, &ada).as_deref(),
        Some("Ask the help desk for the role `staff`.")
    );
}

/// Roles as one text, for applications that cannot read lists.
#[test]
fn roles_in_one_text() {
    let rules = r#"
        [[rules]]
        claim = "roles_text"
        from = "roles"
        except = "wiki-*"
        join = ","
        default = "none"
    "#;
    assert_eq!(output(rules, &input()), json!({ "roles_text": "staff" }));
    assert_eq!(
        output(
            rules,
            &Input {
                roles: Vec::new(),
                ..input()
            }
        ),
        json!({ "roles_text": "none" })
    );
}
