//! The approval of a manifest shows the values that it changes, like the approval of a change by hand.

use std::collections::BTreeSet;

use assent_test_macros::both_databases;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::Caller;
use super::super::protected_actions::{owner, requested};
use super::changed_members::{changes_of_client, changes_of_provider};
use super::{applied, by_key, plan, web};
use crate::harness::tls::{authorities_setting, authority, mtls_settings};
use crate::harness::{
    Database, EncodedCertificate, Json, TestHost, Text, certificate, id, parse_json, rsa_key,
    temp_folder,
};

/// Returns the summary of the approval that the console needs to apply a manifest.
pub(super) async fn summary(
    host: &TestHost,
    console: &Caller,
    manifest: &Value,
    prune: bool,
) -> String {
    let digest = plan(host, manifest, prune).await["digest"].clone();
    let body = json!({"manifest": manifest, "prune": prune, "digest": digest});
    // A device receives only some requests a minute.
    host.advance(10);
    let action = requested(console, Method::POST, "/plans/apply", &body).await;
    action["summary"].text().to_owned()
}

#[both_databases]
async fn a_manifest_shows_the_values_that_it_changes(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, _) = owner(&host).await;
    let payroll = json!({"name": "Payroll", "application_type": "web",
                         "redirect_uris": ["https://payroll.example.org/cb"]});
    let payroll = host.admin_ok(Method::POST, "/applications", payroll).await;
    let adopted = json!({"key": "sandbox-test", "adopt": id(&payroll), "name": "Payroll",
                         "application_type": "web", "redirect_uris": ["https://evil.example/cb"]});
    let mut robot = web("robot", "Robot");
    robot["grant_types"] = json!(["client_credentials"]);
    robot["admin_scopes"] = json!(["admin:users"]);
    let mut applications: Vec<Value> = (0..40)
        .map(|number| web(&format!("a{number}"), &format!("New {number}")))
        .collect();
    applications.extend([robot, adopted]);
    let manifest = json!({"owner": "dev", "applications": applications});
    let summary = summary(&host, &console, &manifest, false).await;
    for words in [
        "The manifest of dev manages the application “Payroll” from now on, by the key sandbox-test",
        "Change the application “Payroll”: redirect URIs. Addresses for responses, new: https://evil.example/cb",
        &format!("Its id is {}", id(&payroll)),
        "Create the application “Robot”. It has the admin scopes admin:users",
        "further changes grant no access",
    ] {
        assert!(summary.contains(words), "{database:?} {words}: {summary}");
    }
}

/// Groups, assignments and accounts decide who has access, so each name and role is shown.
#[both_databases]
async fn a_manifest_shows_members_and_roles(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, _) = owner(&host).await;
    for name in ["ada", "bob", "mallory"] {
        host.user(name).await;
    }
    let manifest = |members: Value, roles: Value| {
        json!({
            "owner": "dev", "applications": [web("treasury", "Treasury")],
            "groups": [{"key": "staff", "name": "Staff", "members": members}],
            "assignments": [{"application": "treasury", "group": "staff", "roles": roles},
                            {"application": "treasury", "roles": ["everyone-role"]}],
            "accounts": [{"application": "treasury", "user": "ada", "roles": roles}],
        })
    };
    let first = manifest(json!(["ada", "bob"]), json!(["reader"]));
    let shown = summary(&host, &console, &first, false).await;
    for words in [
        "Create the group “Staff”. Add to the group “Staff”: “ada”, “bob”",
        "Give the members of the group “Staff” access to the application “Treasury”. They have the roles there: \
         “reader”",
        "Give everyone access to the application “Treasury”. They have the roles there: “everyone-role”",
        "Give “ada” access to the application “Treasury”. They have the roles there: “reader”",
    ] {
        assert!(shown.contains(words), "{database:?} {words}: {shown}");
    }
    applied(&host, &first, false).await;
    let second = manifest(json!(["ada", "mallory"]), json!(["treasurer"]));
    let shown = summary(&host, &console, &second, false).await;
    for words in [
        "Add to the group “Staff”: “mallory”. Remove from the group “Staff”: “bob”",
        "They have the roles there: “treasurer”. Before they had: “reader”",
        "Give “ada” access to the application “Treasury”. They have the roles there: “treasurer”. Before they had: \
         “reader”",
    ] {
        assert!(shown.contains(words), "{database:?} {words}: {shown}");
    }
    let nothing = json!({"owner": "dev"});
    let shown = summary(&host, &console, &nothing, true).await;
    for words in [
        "Delete the application “Treasury”",
        "Delete the group “Staff”",
    ] {
        assert!(shown.contains(words), "{database:?} {words}: {shown}");
    }
}

/// A new application grants no access, unless the manifest gives access to it. Thirty others must not hide that. The
/// sentences about access identify the application, because another one may have the same name.
#[both_databases]
async fn a_new_application_with_access_is_shown(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, _) = owner(&host).await;
    host.user("ada").await;
    let mut applications: Vec<Value> = (0..30)
        .map(|number| web(&format!("a{number}"), &format!("New {number}")))
        .collect();
    let crm = json!({"key": "crm", "protocol": "saml", "name": "CRM", "entity_id": "https://crm.example.org",
        "acs": [{"url": "https://crm.example.org/acs"}]});
    applications.extend([web("payroll", "Payroll"), crm]);
    let first = json!({
        "owner": "dev", "applications": applications,
        "assignments": [{"application": "payroll"}],
        "accounts": [{"application": "crm", "user": "ada"}],
    });
    let shown = summary(&host, &console, &first, false).await;
    for words in [
        "Create the application “Payroll”. Addresses for responses, new: https://payroll.example.org/cb. ",
        "Create the application “CRM”. Its entity ID is “https://crm.example.org”. ",
        "Give everyone access to the application “Payroll”. They have no roles there. The same manifest creates the \
         application",
        "Give “ada” access to the application “CRM”. They have no roles there. The same manifest creates the \
         application",
        "further changes grant no access",
    ] {
        assert!(shown.contains(words), "{database:?} {words}: {shown}");
    }
    // The identifier of a new application is different in each plan, and the approval is valid nevertheless.
    let digest = plan(&host, &first, false).await["digest"].clone();
    let body = json!({"manifest": first, "digest": digest});
    console
        .call(Method::POST, "/plans/apply", body)
        .await
        .success();
    let (payroll, crm) = (
        by_key(&host, "dev", "payroll").await,
        by_key(&host, "dev", "crm").await,
    );
    let mut second = first.clone();
    second["assignments"] = json!([{"application": "payroll", "roles": ["clerk"]}]);
    second["accounts"] = json!([]);
    let shown = summary(&host, &console, &second, true).await;
    for words in [
        format!(
            "They have the roles there: “clerk”. Before they had no roles. The id of the application is {}",
            id(&payroll)
        ),
        format!(
            "Remove the account of “ada” in the application “CRM”. The id of the application is {}",
            id(&crm)
        ),
    ] {
        assert!(shown.contains(&words), "{database:?} {words}: {shown}");
    }
    second["assignments"] = json!([]);
    let shown = summary(&host, &console, &second, true).await;
    let words = format!(
        "neither by an account nor by a group. The id of the application is {}",
        id(&payroll)
    );
    assert!(shown.contains(&words), "{database:?} {words}: {shown}");
}

#[tokio::test]
async fn a_plan_that_does_not_fit_on_the_device_is_rejected() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let groups: Vec<Value> = (0..100)
        .map(|number| {
            let name = format!("{number} {}", "x".repeat(60));
            json!({"key": format!("g{number}"), "name": name})
        })
        .collect();
    applied(&host, &json!({"owner": "dev", "groups": groups}), false).await;
    let nothing = json!({"owner": "dev"});
    let digest = plan(&host, &nothing, true).await["digest"].clone();
    let body = json!({"manifest": nothing, "prune": true, "digest": digest});
    let answer = console
        .call_once(Method::POST, "/plans/apply", &body, None)
        .await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.body);
    assert!(
        answer.body.to_string().contains("divide the request"),
        "{}",
        answer.body
    );
    assert!(grace.device.pending_requests(0).await.is_empty());
    // A part fits, and a token needs no approval.
    let part = json!({"owner": "dev", "groups": groups[..80]});
    let shown = summary(&host, &console, &part, true).await;
    for number in 80..100 {
        assert!(
            shown.contains(&format!("Delete the group “{number} x")),
            "{shown}"
        );
    }
    applied(&host, &nothing, true).await;
}

/// Returns the members of a schema of the admin API.
pub(super) fn members_of(schema: &str) -> BTreeSet<String> {
    let document = include_str!("../../../../config/admin-api.openapi.json");
    let document: Value = parse_json(document);
    let properties = &document["components"]["schemas"][schema]["properties"];
    properties.members().keys().cloned().collect()
}

/// A manifest has no member whose change the approval does not show. The table contains each member of the admin API,
/// so a new member fails this test until it is here.
#[tokio::test]
async fn each_changed_member_of_an_application_is_in_the_summary() {
    let folder = temp_folder();
    let (settings, _) = mtls_settings(folder.path(), "");
    let root = authority("Root", None, (0, i64::from(u32::MAX)));
    let authorities = authorities_setting(folder.path(), &[&root]);
    let key = json!({"kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
    let thumbprint = assent::keys::client::thumbprint_text(key.members());
    let table = changes_of_client(&key, &thumbprint);
    // The type of an application never changes.
    let mut covered: BTreeSet<String> = BTreeSet::from(["application_type".to_owned()]);
    covered.extend(table.iter().map(|(member, ..)| (*member).to_owned()));
    assert_eq!(covered, members_of("ClientChange"));
    // The admin token of a host expires after fifteen minutes.
    for changes in table.chunks(30) {
        let settings = format!("{settings}{authorities}");
        let host = TestHost::start_with_settings(&settings).await;
        let (console, _) = owner(&host).await;
        let wiki = json!({"owner": "dev", "applications": [web("wiki", "Wiki")]});
        applied(&host, &wiki, false).await;
        for (member, value, others, words) in changes {
            let mut changed = web("wiki", "Wiki");
            for (name, value) in others.members() {
                changed[name] = value.clone();
            }
            changed[*member] = value.clone();
            let manifest = json!({"owner": "dev", "applications": [changed]});
            let shown = summary(&host, &console, &manifest, false).await;
            assert!(shown.contains(words), "{member}, {words}: {shown}");
            // The same request by its key.
            let mut body = manifest["applications"][0].clone();
            body.as_object_mut().expect("an object").remove("key");
            host.advance(10);
            let path = "/applications/by-key/dev/wiki";
            let action = requested(&console, Method::PUT, path, &body).await;
            let shown = action["summary"].text();
            assert!(shown.contains(words), "{member}, {words}: {shown}");
        }
    }
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let provider = json!({"key": "crm", "protocol": "saml", "name": "CRM", "entity_id": "https://crm.example.org",
        "acs": [{"url": "https://crm.example.org/acs"}]});
    let table = changes_of_provider();
    let covered: BTreeSet<String> = table
        .iter()
        .map(|(member, ..)| (*member).to_owned())
        .collect();
    assert_eq!(covered, members_of("ServiceProviderChange"));
    applied(
        &host,
        &json!({"owner": "sam", "applications": [provider]}),
        false,
    )
    .await;
    for (member, value, words) in table {
        let mut changed = provider.clone();
        if member == "require_signed_requests" {
            changed["certificates"] = json!([certificate(&rsa_key()).pem()]);
        }
        changed[member] = value;
        let manifest = json!({"owner": "sam", "applications": [changed]});
        let shown = summary(&host, &console, &manifest, false).await;
        assert!(shown.contains(&words), "{member}, {words}: {shown}");
    }
}

/// Each list of a manifest, with the schema of its objects in the admin API. The other members of applications have a
/// test of their own.
const LISTS: [(&str, &str); 4] = [
    ("applications", "CommonMembers"),
    ("groups", "ManifestGroup"),
    ("assignments", "ManifestAssignment"),
    ("accounts", "ManifestAccount"),
];

/// The groups, the access and the logos of a manifest. The tables contain each member of the admin API, so a new member
/// fails this test until it is here. A key identifies an object, so another key is a new object.
#[tokio::test]
async fn each_changed_member_of_groups_and_access_is_in_the_summary() {
    let lists = LISTS.map(|(list, _)| list.to_owned());
    let mut known = BTreeSet::from(lists);
    known.insert("owner".to_owned());
    assert_eq!(known, members_of("Manifest"));

    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    for name in ["ada", "mallory"] {
        host.user(name).await;
    }
    let old = json!({"name": "Old"});
    let old = host.admin_ok(Method::POST, "/groups", old).await;
    let mut payroll = web("payroll", "Payroll");
    payroll.members_mut().remove("key");
    let payroll = host.admin_ok(Method::POST, "/applications", payroll).await;
    let base = json!({
        "owner": "dev",
        "applications": [web("wiki", "Wiki"), web("blog", "Blog")],
        "groups": [{"key": "staff", "name": "Staff", "description": "", "members": []},
                   {"key": "guests", "name": "Guests"}],
        "assignments": [{"application": "wiki", "group": "staff", "roles": ["reader"]}],
        "accounts": [{"application": "wiki", "user": "ada", "roles": ["reader"]}],
    });
    applied(&host, &base, false).await;
    let (wiki, blog) = (
        by_key(&host, "dev", "wiki").await,
        by_key(&host, "dev", "blog").await,
    );
    let in_application = |application: &Value, roles: &str| {
        format!("{roles}. The id of the application is {}", id(application))
    };
    let changed = |list: &str, member: &str, value: Value| {
        let mut manifest = base.clone();
        manifest[list][0][member] = value;
        manifest
    };
    let added = |list: &str, object: Value| {
        let mut manifest = base.clone();
        let objects = manifest[list].as_array_mut().expect("a list");
        objects.push(object);
        manifest
    };
    let mut adopted = web("payroll", "Payroll");
    adopted["adopt"] = payroll["id"].clone();
    let image = STANDARD.encode(b"\x89PNG\r\n\x1a\n1");
    let words = |words: &str| words.to_owned();
    let roles_before = "They have the roles there: “writer”. Before they had: “reader”";
    let roles = "They have the roles there: “reader”";
    let table: Vec<(&str, &str, Value, String)> = vec![
        (
            "applications",
            "key",
            added("applications", web("new", "New")),
            words("Create the application “New”"),
        ),
        (
            "applications",
            "adopt",
            added("applications", adopted),
            words(
                "The manifest of dev manages the application “Payroll” from now on, by the key payroll",
            ),
        ),
        (
            "applications",
            "logo",
            changed("applications", "logo", json!(image)),
            words("Change the logo of the application with the key wiki"),
        ),
        (
            "groups",
            "key",
            added("groups", json!({"key": "new", "name": "New"})),
            words("Create the group “New”"),
        ),
        (
            "groups",
            "adopt",
            added(
                "groups",
                json!({"key": "old", "adopt": id(&old), "name": "Old"}),
            ),
            words("The manifest of dev manages the group “Old” from now on, by the key old"),
        ),
        (
            "groups",
            "name",
            changed("groups", "name", json!("Board")),
            words("Rename the group “Staff” to “Board”"),
        ),
        (
            "groups",
            "members",
            changed("groups", "members", json!(["mallory"])),
            words("Add to the group “Staff”: “mallory”"),
        ),
        (
            "groups",
            "description",
            changed("groups", "description", json!("Other")),
            words("Change the description of the group “Staff”"),
        ),
        (
            "assignments",
            "application",
            changed("assignments", "application", json!("blog")),
            in_application(&blog, roles),
        ),
        (
            "assignments",
            "group",
            changed("assignments", "group", json!("guests")),
            words("Give the members of the group “Guests” access to the application “Wiki”"),
        ),
        (
            "assignments",
            "roles",
            changed("assignments", "roles", json!(["writer"])),
            in_application(&wiki, roles_before),
        ),
        (
            "accounts",
            "application",
            changed("accounts", "application", json!("blog")),
            in_application(&blog, roles),
        ),
        (
            "accounts",
            "user",
            changed("accounts", "user", json!("mallory")),
            words("Give “mallory” access to the application “Wiki”"),
        ),
        (
            "accounts",
            "roles",
            changed("accounts", "roles", json!(["writer"])),
            in_application(&wiki, roles_before),
        ),
    ];
    for (list, schema) in LISTS {
        let covered = table.iter().filter(|(of, ..)| *of == list);
        let covered: BTreeSet<String> = covered
            .map(|(_, member, ..)| (*member).to_owned())
            .collect();
        assert_eq!(covered, members_of(schema), "{schema}");
    }
    for (list, member, manifest, words) in table {
        let shown = summary(&host, &console, &manifest, false).await;
        assert!(shown.contains(&words), "{list}, {member}, {words}: {shown}");
    }
}
