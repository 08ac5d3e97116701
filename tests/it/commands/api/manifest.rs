//! `assent apply`, `diff` and `export`.

use std::process::Stdio;

use super::*;
use crate::harness::{Database, in_time, read_file, temp_folder, write_file};
use assent_test_macros::both_databases;

const MANIFEST: &str = r#"
owner = "team"

[[applications]]
key = "wiki"
name = "Wiki"
application_type = "web"
redirect_uris = ["https://wiki.example.org/cb"]

[[groups]]
key = "staff"
name = "Staff"
members = ["ada"]

[[assignments]]
application = "wiki"
group = "staff"
roles = ["editor"]
"#;

#[both_databases]
async fn a_manifest_is_compared_applied_and_exported(database: Database) {
    let host = TestHost::start_on(database).await;
    host.user("ada").await;
    let file = host.folder().join("team.toml");
    write_file(&file, MANIFEST);
    let file = file.text();

    let differs = run(&host, &["diff", "-f", file]).await;
    let shown = out(&differs);
    assert_eq!(differs.status.code(), Some(6), "{}", err(&differs));
    assert!(
        shown.contains("+ application wiki\n")
            && shown.contains("    name: \"Wiki\"\n")
            && shown.contains("+ assignment wiki/staff\n")
            && shown.contains("for team: 3 to create.\n"),
        "{shown}"
    );
    let (code, message) = at_terminal(&host, &format!("apply -f {file}"), "no\n").await;
    assert!(
        code == 8 && message.contains("declined"),
        "{code} {message}"
    );
    let unconfirmed = run(&host, &["apply", "-f", file]).await;
    assert_eq!(unconfirmed.status.code(), Some(2), "{}", err(&unconfirmed));
    assert!(err(&unconfirmed).contains("--yes"));
    assert_eq!(
        run(&host, &["diff", "-f", file]).await.status.code(),
        Some(6)
    );

    let (code, shown) = at_terminal(&host, &format!("apply -f {file}"), "yes\n").await;
    assert!(code == 0 && shown.contains("Applied."), "{code} {shown}");
    let again = output_of(&host, &["apply", "-f", file]).await;
    assert!(again.ends_with("Nothing to change for team.\n"), "{again}");
    assert_eq!(
        run(&host, &["diff", "-f", file]).await.status.code(),
        Some(0)
    );

    // The export is a manifest in both formats, and creates the same objects on another instance.
    let folder = temp_folder();
    let toml = output_of(&host, &["export"]).await;
    let other = TestHost::start_on(database).await;
    other.user("ada").await;
    for format in ["toml", "json"] {
        let exported = output_of(&host, &["export", "--owner", "team", "--format", format]).await;
        let file = folder.path().join(format!("export.{format}"));
        write_file(&file, &exported);
        assert_eq!(
            run(&host, &["diff", "--prune", "-f", file.text()])
                .await
                .status
                .code(),
            Some(0)
        );
        output_of(&other, &["apply", "--yes", "-f", file.text()]).await;
        let same = output_of(&other, &["export", "--format", format]).await;
        assert_eq!(same, read_file(&file), "{database:?}");
    }
    assert!(
        toml.contains("[[applications]]\n") && toml.contains("owner = \"team\"\n"),
        "{toml}"
    );

    // Files of one owner are merged. Without the second file, pruning deletes its objects.
    let more = folder.path().join("more.json");
    write_file(
        &more,
        r#"{"owner": "team", "groups": [{"key": "more", "name": "More"}]}"#,
    );
    output_of(&host, &["apply", "--yes", "-f", file, "-f", more.text()]).await;
    let pruned = output_of(&host, &["apply", "--yes", "--prune", "-f", file]).await;
    assert!(pruned.contains("- group more\n"), "{pruned}");
}

#[tokio::test]
async fn an_error_in_a_manifest_is_named_with_its_key_or_line() {
    let host = TestHost::start().await;
    let file = host.folder().join("team.toml");
    write_file(&file, MANIFEST);
    let (code, message) = failed(&host, &["diff", "-f", file.text()]).await;
    assert_eq!(code, 1);
    assert!(
        message.contains("staff: there is no user with the name \"ada\""),
        "{message}"
    );
    write_file(&file, "owner = \"team\"\n[[applications]]\nkey = \n");
    let (code, message) = failed(&host, &["apply", "--yes", "-f", file.text()]).await;
    assert!(code == 2 && message.contains("line 3"), "{code} {message}");
    let (code, message) = failed(&host, &["export"]).await;
    assert!(
        code == 3 && message.contains("no manifest"),
        "{code} {message}"
    );
    let (code, _) = failed(&host, &["export", "--owner", "nobody"]).await;
    assert_eq!(code, 3);
}

#[tokio::test]
async fn an_administrator_approves_a_plan_on_the_device() {
    let host = TestHost::start().await;
    let grace = host.user("grace").await;
    let path = format!("/users/{}", id(&grace));
    host.admin_ok(Method::PATCH, &path, json!({"console_role": "admin"}))
        .await;
    let device = host.authenticator(&grace).await;
    let file = host.folder().join("team.toml");
    write_file(
        &file,
        "owner = \"team\"\n[[groups]]\nkey = \"staff\"\nname = \"Staff\"\n",
    );
    let arguments = ["apply", "--yes", "--approve-by", "grace", "-f", file.text()];
    for (approves, code) in [(false, 8), (true, 0)] {
        let mut command = command(&host, &arguments);
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .start();
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let mut output = String::new();
        let number = loop {
            let line = in_time(lines.next_line())
                .await
                .expect("readable")
                .expect("a number");
            output.push_str(&line);
            if let Some((_, rest)) = line.split_once("Matching number: ") {
                break rest.split('.').next().expect("a number").to_owned();
            }
        };
        assert!(
            output.contains("Apply the manifest of team: 1 new"),
            "{output}"
        );
        let requests = device.pending_requests(5).await;
        let request = requests.last().expect("a request");
        if approves {
            assert_eq!(device.approve(request, &number).await, "approved");
        } else {
            assert_eq!(device.deny(request).await, "denied");
        }
        let ended = in_time(process.wait()).await.expect("ended");
        assert_eq!(ended.code(), Some(code));
        let groups = json_of(&host, &["groups", "list"]).await;
        assert_eq!(groups["items"][0]["name"] == "Staff", approves);
    }
}
