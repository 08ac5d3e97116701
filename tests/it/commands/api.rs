//! The commands of the admin API with the real binary, at a terminal and in scripts.

mod manifest;
mod terminal;

use std::collections::BTreeSet;
use std::process::{Output, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::{err, out};
use crate::harness::tls::https_settings;
use crate::harness::{
    Json, PATIENCE, Pipes, Run, TestHost, Text, binary, id, parse_json, write_file,
};

/// The verbs of the commands. A new verb is added here only if none of these describes the operation.
const VERBS: [&str; 34] = [
    "list", "show", "create", "update", "delete", "set", "activate", "add", "apply", "ask",
    "assign", "cancel", "compare", "confirm", "days", "end", "end-all", "enrol", "erase", "export",
    "import", "preview", "refresh", "reload", "remove", "replace", "revoke", "rollback", "rotate",
    "settle", "start", "test", "validate", "withdraw",
];

#[test]
fn operations_and_commands_match_the_committed_table() {
    let mut commands = assent::cli::api_commands().expect("the commands");
    commands.sort();
    let lines: String = commands
        .iter()
        .map(|(name, operation)| format!("{name} | {operation}\n"))
        .collect();
    let agreed = include_str!("names.txt");
    assert!(
        agreed == lines,
        "the names of operations have changed; if this is intended, tests/it/commands/names.txt must be:\n{lines}"
    );
    let names: BTreeSet<&str> = commands.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names.len(),
        agreed.lines().count(),
        "two operations have one name"
    );
    assert_eq!(names.len(), assent::http::admin_api::rules().len());
    for name in names {
        let verb = name.rsplit_once('.').map(|(_, verb)| verb);
        assert!(verb.is_some_and(|verb| VERBS.contains(&verb)), "{name}");
    }
}

/// Returns a command with an instance and a token in its environment.
fn command(host: &TestHost, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .current_dir(host.folder())
        .kill_on_drop(true)
        .stdin(Stdio::null());
    command
        .env("ASSENT_SERVER", &host.base)
        .env("ASSENT_ADMIN_TOKEN", &host.token);
    command
}

async fn ended(mut command: Command) -> Output {
    command.finish().await
}

async fn run(host: &TestHost, arguments: &[&str]) -> Output {
    ended(command(host, arguments)).await
}

/// Runs a command that must succeed. Returns its output.
pub(super) async fn output_of(host: &TestHost, arguments: &[&str]) -> String {
    let output = run(host, arguments).await;
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        err(&output)
    );
    out(&output)
}

pub(super) async fn json_of(host: &TestHost, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    parse_json(&output_of(host, &arguments).await)
}

/// Runs a command that must fail. Returns its exit code and its message.
async fn failed(host: &TestHost, arguments: &[&str]) -> (i32, String) {
    let output = run(host, arguments).await;
    assert_eq!(out(&output), "", "{arguments:?}");
    (output.status.code().expect("an exit code"), err(&output))
}

#[tokio::test]
async fn an_import_with_rejected_rows_exits_with_an_error() {
    let host = TestHost::start().await;
    let file = host.folder().join("people.csv");
    let text = file.text();
    for (rows, code) in [
        ("name\nada\n", 0),
        ("name,email\nbob,no address\ngrace,\n", 1),
    ] {
        write_file(&file, rows);
        for dry in [true, false] {
            let arguments = ["users", "import", "--file", text, "--dry-run"];
            let output = run(
                &host,
                arguments.get(..if dry { 5 } else { 4 }).expect("some"),
            )
            .await;
            assert_eq!(
                output.status.code(),
                Some(code),
                "{rows}: {}{}",
                out(&output),
                err(&output)
            );
            assert_eq!(
                err(&output).contains("1 of 2 rows are rejected"),
                code == 1,
                "{}",
                err(&output)
            );
        }
    }
}

#[tokio::test]
async fn commands_create_a_user_an_application_and_an_account() {
    let host = TestHost::start().await;
    let user = [
        "users",
        "create",
        "--name",
        "ada",
        "--email",
        "ada@example.org",
        "-q",
    ];
    let profile = [
        "--profile",
        "given-name=Ada",
        "--profile",
        "email_verified=true",
    ];
    let ada = output_of(&host, &[&user[..], &profile[..]].concat()).await;
    let ada = ada.trim();
    let shown = json_of(&host, &["users", "show", "ada@example.org"]).await;
    assert_eq!(
        (&shown["id"], &shown["profile"]["given_name"]),
        (&json!(ada), &json!("Ada"))
    );
    assert_eq!(
        (&shown["profile"]["email_verified"], &shown["state"]),
        (&json!(true), &json!("invited"))
    );

    let uris = [
        "--redirect-uri",
        "https://a.example/cb",
        "--redirect-uri",
        "https://b.example/cb",
    ];
    let application = [
        "applications",
        "create",
        "--name",
        "Expenses",
        "--application-type",
        "web",
        "--json",
    ];
    let application = output_of(&host, &[&application[..], &uris[..]].concat()).await;
    let application: Value = parse_json(&application);
    assert_eq!(
        application["redirect_uris"],
        json!(["https://a.example/cb", "https://b.example/cb"])
    );
    let created = run(&host, &["applications", "secrets", "create", "Expenses"]).await;
    assert!(
        out(&created).starts_with("client_secret  ")
            && err(&created).contains("It is not shown again"),
        "{created:?}"
    );
    let account = [
        "accounts", "create", "Expenses", "--user", "ADA", "--role", "approver", "--role", "reader",
    ];
    let account = json_of(&host, &account).await;
    assert_eq!(
        (&account["user_id"], &account["roles"]),
        (&json!(ada), &json!(["approver", "reader"]))
    );
    let listed = output_of(&host, &["accounts", "list", "Expenses"]).await;
    assert!(
        listed.contains("approver, reader") && listed.lines().count() == 2,
        "{listed}"
    );
    let preview = json_of(
        &host,
        &[
            "claims",
            "preview",
            "Expenses",
            "--account",
            "ada",
            "--scope",
            "openid email",
        ],
    )
    .await;
    assert_eq!(
        preview["sinks"][0]["claims"]["email"], "ada@example.org",
        "{preview}"
    );
    let link = output_of(&host, &["users", "devices", "enrol", "ada", "-q"]).await;
    assert!(link.contains("/authenticator#enrol=en_"), "{link}");
}

#[tokio::test]
async fn users_and_groups_are_found_by_name_and_lists_have_columns() {
    let host = TestHost::start().await;
    for arguments in [
        "users create --name ada --email ada@example.org",
        "groups create --name Staff",
        "applications create --name Wiki --application-type web --redirect-uri https://a.example/cb",
        "groups members add Staff --user ada",
        "applications groups assign Wiki Staff --role reader --role editor",
        "invitations create --user ada@example.org --delivery link",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        output_of(&host, &arguments).await;
    }
    let ada = json_of(&host, &["users", "show", "ada"]).await;
    for (arguments, words) in [
        ("groups members list Staff", "ada"),
        ("groups applications list Staff", "reader, editor"),
        ("applications groups list Wiki", "Staff"),
        ("applications groups list Wiki", "reader, editor"),
        ("audit events list", "sign-in.completed"),
        ("audit events list --quiet", "sign-in.completed"),
        ("invitations list --quiet", ada["id"].text()),
        ("users list --order -created", "ada"),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let listed = output_of(&host, &arguments).await;
        assert!(listed.contains(words), "{arguments:?}: {listed}");
    }
    let secret = output_of(
        &host,
        &["applications", "secrets", "create", "Wiki", "--quiet"],
    )
    .await;
    assert_eq!(
        secret.trim().len(),
        43,
        "the secret, and not its id: {secret}"
    );
    let rollback = failed(&host, &["plugins", "rollback"]).await;
    assert!(rollback.1.contains("were not reloaded"), "{rollback:?}");
}

#[tokio::test]
async fn commands_update_and_delete_a_user_and_an_application() {
    let host = TestHost::start().await;
    let user = host.user("ada").await;
    host.authenticator(&user).await;
    let application = json!({"name": "Expenses", "application_type": "web", "redirect_uris": ["https://a.example/cb"]});
    let application = host
        .admin_ok(Method::POST, "/applications", application)
        .await;
    let path = format!("/applications/{}/accounts", id(&application));
    let account = json!({"user_id": id(&user), "roles": ["approver"]});
    let account = host.admin_ok(Method::POST, &path, account).await;
    let changed = [
        "accounts",
        "update",
        id(&account),
        "--role",
        "",
        "--state",
        "suspended",
    ];
    let changed = json_of(&host, &changed).await;
    assert_eq!(
        (&changed["roles"], &changed["state"]),
        (&json!([]), &json!("suspended"))
    );
    let changed = json_of(
        &host,
        &[
            "applications",
            "update",
            "Expenses",
            "--slim-id-token",
            "--name",
            "Costs",
        ],
    )
    .await;
    assert_eq!(
        (&changed["slim_id_token"], &changed["name"]),
        (&json!(true), &json!("Costs"))
    );
    let changed = json_of(
        &host,
        &["applications", "update", "Costs", "--slim-id-token=false"],
    )
    .await;
    assert_eq!(changed["slim_id_token"], false);
    let changed = json_of(
        &host,
        &[
            "users",
            "update",
            "ada",
            "--console-role",
            "auditor",
            "--state",
            "active",
        ],
    )
    .await;
    assert_eq!(
        (&changed["console_role"], &changed["state"]),
        (&json!("auditor"), &json!("active"))
    );
    assert_eq!(
        json_of(
            &host,
            &["users", "update", "ada", "--unset", "console-role"]
        )
        .await["console_role"],
        Value::Null
    );

    write_file(
        host.folder().join("body.json"),
        json!({"email": "x@example.org", "state": "suspended"}).to_string(),
    );
    let changed = json_of(
        &host,
        &[
            "users",
            "update",
            "ada",
            "--file",
            "body.json",
            "--state",
            "terminated",
        ],
    )
    .await;
    assert_eq!(
        (&changed["email"], &changed["state"]),
        (&json!("x@example.org"), &json!("terminated"))
    );

    let refused = failed(&host, &["applications", "delete", "Costs"]).await;
    assert!(refused.0 == 2 && refused.1.contains("--yes"), "{refused:?}");
    let deleted = run(&host, &["applications", "delete", "Costs", "--yes"]).await;
    assert_eq!(
        (deleted.status.code(), out(&deleted), err(&deleted)),
        (Some(0), String::new(), "Deleted.\n".to_owned())
    );
    output_of(&host, &["users", "delete", "ada", "--yes"]).await;
    assert_eq!(
        json_of(&host, &["users", "list"]).await,
        json!({"items": [], "total": 0})
    );
    let returned = output_of(&host, &["audit", "list", "--event", "user.deleted", "-q"]).await;
    assert_eq!(returned.lines().count(), 1, "{returned}");
}

#[tokio::test]
async fn binary_content_is_transferred_by_files() {
    let host = TestHost::start().await;
    let metadata = r#"<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://wiki.example/saml">
        <md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
        <md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://wiki.example/acs" index="0"/>
        </md:SPSSODescriptor></md:EntityDescriptor>"#;
    write_file(host.folder().join("sp.xml"), metadata);
    let created = [
        "applications",
        "create",
        "--protocol",
        "saml",
        "--name",
        "Wiki",
        "--from",
        "metadata=sp.xml",
    ];
    let created = json_of(&host, &created).await;
    assert_eq!(
        (&created["entity_id"], &created["acs"][0]["url"]),
        (
            &json!("https://wiki.example/saml"),
            &json!("https://wiki.example/acs")
        )
    );
    let acs = [
        "--acs",
        "url=https://wiki.example/new",
        "--acs",
        r#"{"url":"https://wiki.example/other","index":7}"#,
    ];
    let changed = json_of(
        &host,
        &[&["applications", "update", "Wiki"][..], &acs[..]].concat(),
    )
    .await;
    assert_eq!(
        (&changed["acs"][0]["url"], &changed["acs"][1]["index"]),
        (&json!("https://wiki.example/new"), &json!(7))
    );

    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let png = openssl::base64::decode_block(png).expect("base64");
    write_file(host.folder().join("logo.png"), &png);
    let logo = json_of(
        &host,
        &["applications", "logo", "set", "Wiki", "--file", "logo.png"],
    )
    .await;
    assert_eq!(
        (&logo["media_type"], &logo["bytes"]),
        (&json!("image/png"), &json!(png.len()))
    );
    let missing = failed(
        &host,
        &[
            "applications",
            "logo",
            "set",
            "Wiki",
            "--file",
            "no-such-file",
        ],
    )
    .await;
    assert!(
        missing.0 == 2 && missing.1.contains("no-such-file: No such file"),
        "{missing:?}"
    );
}

#[tokio::test]
async fn lists_are_printed_page_by_page() {
    let host = TestHost::start().await;
    for number in 0..230 {
        let body = json!({"name": format!("user{number:03}")});
        host.admin_ok(Method::POST, "/users", body).await;
    }
    let page = run(&host, &["users", "list", "--limit", "3"]).await;
    assert!(
        out(&page).starts_with("ID  ") && out(&page).lines().count() == 4,
        "{page:?}"
    );
    assert_eq!(
        out(&page)
            .matches("  -      false            invited  ")
            .count(),
        3,
        "{page:?}"
    );
    let hint = err(&page);
    let after = hint
        .split("--after ")
        .nth(1)
        .expect("a hint")
        .trim_end_matches(" continues.\n");
    assert!(
        hint.starts_with("There are more: --all shows all, --after "),
        "{hint}"
    );
    let next = json_of(&host, &["users", "list", "--limit", "1", "--after", after]).await;
    assert_eq!(
        next,
        host.admin_ok(
            Method::GET,
            &format!("/users?limit=1&after={after}"),
            Value::Null
        )
        .await
    );

    let unchanged = host
        .admin_ok(Method::GET, "/users?limit=3", Value::Null)
        .await;
    assert_eq!(
        json_of(&host, &["users", "list", "--limit", "3"]).await,
        unchanged
    );
    let names = |list: &Value| -> BTreeSet<String> {
        let items = list["items"].items().iter();
        items.map(|user| user["name"].text().to_owned()).collect()
    };
    let all = json_of(&host, &["users", "list", "--all"]).await;
    assert_eq!((names(&all).len(), &all["next"]), (230, &Value::Null));
    let several = json_of(&host, &["users", "list", "--limit", "205"]).await;
    assert!(names(&several).len() == 205 && several["next"].is_string());
    assert_eq!(
        output_of(&host, &["users", "list", "--all", "-q"])
            .await
            .lines()
            .count(),
        230
    );
    assert_eq!(
        json_of(&host, &["users", "list", "--all", "--search", "nobody"]).await,
        json!({"items": []})
    );
    let none = output_of(&host, &["users", "list", "--search", "nobody"]).await;
    assert_eq!(none.lines().count(), 1, "{none}");

    // A reader such as `head` that closes the pipe early causes no error.
    for form in [&["--json"][..], &["-q"], &[]] {
        let mut command = command(&host, &[&["users", "list", "--all"][..], form].concat());
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .start();
        let mut lines =
            BufReader::with_capacity(1, process.stdout.take().expect("its output")).lines();
        if form.is_empty() {
            lines.next_line().await.expect("readable").expect("a line");
        }
        drop(lines);
        let output = process.wait_with_output().await.expect("ended");
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), b"".as_slice()),
            "{output:?}"
        );
    }
}

#[tokio::test]
async fn exit_codes_and_messages_name_the_failure() {
    let host = TestHost::start().await;
    host.user("ada").await;
    for (arguments, code, message) in [
        (
            &["users", "show", "nobody"][..],
            3,
            "assent: there is no user nobody\n",
        ),
        (
            &["users", "show", "019aa6bb00007000800000000000abcd"],
            3,
            "assent: Not found: there is no such user\n",
        ),
        (
            &["users", "create", "--name", "ada"],
            1,
            "assent: Conflict\n  --name: another user signs in with it",
        ),
        (
            &[
                "applications",
                "create",
                "--name",
                "x",
                "--application-type",
                "web",
                "--redirect-uri",
                "",
            ],
            1,
            "assent: Invalid value\n  --redirect-uri: ",
        ),
        (
            &[
                "users",
                "create",
                "--name",
                "eve",
                "--profile",
                "nonsense=1",
            ],
            2,
            "there is no nonsense; expected one of",
        ),
        (
            &["users", "create", "--state", "gone"],
            2,
            "invalid value 'gone'",
        ),
        (&["users", "update", "ada"], 2, "no change specified"),
        (&["users", "list", "--limit", "0"], 2, "--limit"),
        (&["users", "list", "--json", "-q"], 2, "cannot be used with"),
        (&["accounts", "create", "x"], 2, "--user"),
        (
            &["users", "sessions", "end", "ada", "..", "--yes"],
            2,
            "\"..\" is not a name or an id",
        ),
        (
            &["users", "sessions", "end", "ada", ".", "--yes"],
            2,
            "\".\" is not a name or an id",
        ),
        (&["users", "show", ""], 2, "\"\" is not a name or an id"),
        (
            &["keys", "revoke", "-nothing", "--yes"],
            3,
            "there is no such key",
        ),
        (&["nonsense"], 2, "unrecognized subcommand"),
    ] {
        let (found, errors) = failed(&host, arguments).await;
        assert!(
            found == code && errors.contains(message),
            "{arguments:?}: {found} {errors}"
        );
    }
}

#[tokio::test]
async fn invalid_connection_settings_are_named() {
    let host = TestHost::start().await;
    let with = async |name: &str, value: &str| {
        let mut command = command(&host, &["users", "list"]);
        command.env(name, value);
        let output = ended(command).await;
        (output.status.code().expect("a code"), err(&output))
    };
    let unauthenticated = with("ASSENT_ADMIN_TOKEN", "at_wrong").await;
    assert!(
        unauthenticated.0 == 4 && unauthenticated.1.starts_with("assent: Sign in first: "),
        "{unauthenticated:?}"
    );
    let away = with("ASSENT_SERVER", "http://localhost:1").await;
    assert!(
        away.0 == 5
            && away
                .1
                .starts_with("assent: no server answers at http://localhost:1: "),
        "{away:?}"
    );
    for wrong in [
        "http://id.example.org",
        "ftp://localhost",
        "https://id.example.org/x",
        "https://a:b@id.example.org",
        "x",
    ] {
        let refused = with("ASSENT_SERVER", wrong).await;
        assert!(
            refused.0 == 2 && refused.1.contains("expected a URL such as https://"),
            "{wrong}: {refused:?}"
        );
    }
    let mut nameless = command(&host, &["users", "list"]);
    let nameless = ended_with_code(nameless.env_remove("ASSENT_ADMIN_TOKEN")).await;
    assert!(
        nameless.0 == 2 && nameless.1.contains("a token is required"),
        "{nameless:?}"
    );
    write_file(host.folder().join("token"), format!("{}\n", host.token));
    let mut by_file = command(&host, &["users", "list", "-q", "--token-file", "token"]);
    assert_eq!(
        ended_with_code(by_file.env_remove("ASSENT_ADMIN_TOKEN")).await,
        (0, String::new())
    );
}

async fn ended_with_code(command: &mut Command) -> (i32, String) {
    let output = command.finish().await;
    (output.status.code().expect("an exit code"), err(&output))
}

#[tokio::test]
async fn an_ambiguous_name_is_rejected() {
    let host = TestHost::start().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let body = json!({"name": "Twin", "application_type": "spa", "redirect_uris": ["https://spa.example/cb"]});
        ids.push(id(&host.admin_ok(Method::POST, "/applications", body).await).to_owned());
    }
    let (code, output) = failed(&host, &["applications", "delete", "Twin", "--yes"]).await;
    assert!(
        code == 2 && ids.iter().all(|id| output.contains(id)),
        "{output}"
    );
    // A prefix of a name matches no application.
    assert_eq!(failed(&host, &["applications", "show", "Twi"]).await.0, 3);
    assert_eq!(
        json_of(&host, &["applications", "show", &ids[1]]).await["id"],
        ids[1]
    );
}

/// Runs a command at a terminal of 80 columns with this input. Returns the exit code and the terminal's output.
async fn at_terminal(host: &TestHost, words: &str, typed: &str) -> (i32, String) {
    let mut command = Command::new("script");
    let line = format!(
        "stty cols 80 rows 24 -echo; {} {words}",
        binary("assent").display()
    );
    command
        .args(["-qefc", &line, "/dev/null"])
        .current_dir(host.folder())
        .kill_on_drop(true);
    command
        .env("ASSENT_SERVER", &host.base)
        .env("ASSENT_ADMIN_TOKEN", &host.token)
        .env("SHELL", "/bin/sh");
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    let mut input = process.input();
    input.write_all(typed.as_bytes()).await.expect("written");
    let ended = tokio::time::timeout(PATIENCE, process.wait_with_output()).await;
    drop(input);
    let output = ended.expect("in time").expect("ended");
    (output.status.code().expect("an exit code"), out(&output))
}

#[tokio::test]
async fn deletion_at_a_terminal_requires_the_name() {
    let host = TestHost::start().await;
    host.user("ada").await;
    let (code, output) = at_terminal(&host, "users delete ada@example.org", "yes\n").await;
    assert!(
        code == 1 && output.contains("Type ada to go on:") && output.contains("nothing was done"),
        "{output}"
    );
    assert_eq!(
        output_of(&host, &["users", "list", "-q"])
            .await
            .lines()
            .count(),
        1
    );
    let (code, output) = at_terminal(&host, "users delete ada@example.org", "ada\n").await;
    assert!(code == 0 && output.contains("Deleted."), "{output}");
    assert_eq!(output_of(&host, &["users", "list", "-q"]).await, "");
}
