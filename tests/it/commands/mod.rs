//! The `assent` command with the real binary: its first start and its messages.

mod api;
mod ask;
mod authenticator;
mod byte_order_mark;
mod containers;
mod doctor;
mod environment;
mod first_link;
mod preview;
mod service;
mod unwritable_output;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::harness::tls::{certificate_of, files};
use crate::harness::{
    Body, Browser, Pipes, Respond, Run, Text, binary, component, free_port, http_client, in_time,
    parse_json, read_file, temp_folder, write_file,
};

pub(crate) async fn assent(folder: &Path, arguments: &[&str]) -> Output {
    assent_with(folder, arguments, &[]).await
}

/// Runs the command with environment variables.
pub(crate) async fn assent_with(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Output {
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .kill_on_drop(true);
    command.finish().await
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns settings for a first start on a free port.
fn settings(folder: &Path) -> String {
    let port = free_port();
    let text = format!(
        "base_url = \"http://localhost:{port}\"\n[http]\nlisten = \"127.0.0.1:{port}\"\n\
         [bootstrap]\nadministrator = \"admin\"\n\
         [bootstrap.demo]\nredirect_uri = \"http://127.0.0.1/callback\"\nclient_file = \"data/demo-client.json\"\n\
         [[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n",
        component("account-roles").display()
    );
    write_file(folder.join("assent.toml"), text);
    format!("http://localhost:{port}")
}

/// Starts `assent serve`. Returns the process, and its output until it is ready.
async fn serve(folder: &Path) -> (Child, String) {
    let (process, printed, _) = serve_with_output(folder).await;
    (process, printed)
}

/// Starts the server. Returns what it printed until the address of the console, and its further output.
async fn serve_with_output(folder: &Path) -> (Child, String, Lines<BufReader<ChildStdout>>) {
    let mut command = Command::new(binary("assent"));
    command
        .args(["serve", "--config", "assent.toml"])
        .current_dir(folder)
        .kill_on_drop(true);
    let mut process = command.stdout(Stdio::piped()).start();
    let mut lines = process.output_lines();
    let mut printed = String::new();
    while !printed.contains("The console:") {
        let line = in_time(lines.next_line()).await;
        printed.push_str(&line.expect("readable").expect("it serves"));
        printed.push('\n');
    }
    (process, printed, lines)
}

async fn stop(mut process: Child) {
    let id = process.id().expect("running").to_string();
    Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .await
        .expect("signalled");
    let ended = in_time(process.wait()).await.expect("ended");
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn the_first_start_bootstraps_and_the_second_keeps_the_data() {
    let folder = temp_folder();
    let folder = folder.path();
    let base = settings(folder);
    let (process, printed) = serve(folder).await;
    let link = run_printed_command(folder, &printed).await;
    let link = link.trim();
    assert!(printed.contains("Try the sign-in:  http://127.0.0.1/"));
    let client = read_file(folder.join("data/demo-client.json"));
    let client: Value = parse_json(&client);

    let enrolled = assent(
        folder,
        &["authenticator", "enrol", link, "--store", "phone.json"],
    )
    .await;
    assert!(enrolled.status.success(), "{}", err(&enrolled));
    let again = assent(
        folder,
        &["authenticator", "enrol", link, "--store", "other.json"],
    )
    .await;
    assert!(
        err(&again).contains("link_used") && !folder.join("other.json").exists(),
        "{}",
        err(&again)
    );
    let again = assent(
        folder,
        &["authenticator", "enrol", link, "--store", "phone.json"],
    )
    .await;
    assert!(
        err(&again).contains("cannot create phone.json; name another file"),
        "{}",
        err(&again)
    );

    let browser = Browser::new(&base);
    let request = format!(
        "/oidc/auth?client_id={}&redirect_uri=http://127.0.0.1/callback&response_type=code&scope=openid\
         &code_challenge={}&code_challenge_method=S256",
        client["client_id"].text(),
        crate::harness::CHALLENGE
    );
    let login = browser.get(&request).await.followed().await;
    let waiting = login.submit_name("admin").await;
    let number = waiting.number();
    let approved = assent(
        folder,
        &[
            "authenticator",
            "decide",
            "--store",
            "phone.json",
            "--number",
            &number,
        ],
    )
    .await;
    assert!(
        out(&approved).starts_with("approved: admin on Firefox on Linux for Demo Application"),
        "{}",
        err(&approved)
    );
    assert!(
        browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    stop(process).await;
    for secret in ["data/assent.db", "data/master.key", "phone.json"] {
        let mode = std::fs::metadata(folder.join(secret))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o600, "only the owner may read {secret}");
    }

    let (process, printed) = serve(folder).await;
    assert!(!printed.contains("#enrol="), "{printed}");
    assert!(
        browser.get("/").await.body.contains("Hello,"),
        "the session survives"
    );
    let token = assent(folder, &["admin", "token", "--config", "assent.toml"]).await;
    let users = http_client()
        .get(format!("{base}/admin/api/v1/users"))
        .bearer_auth(out(&token).trim());
    let users: Value = users.response().await.read_json().await;
    assert_eq!(users["items"][0]["console_role"], "owner");
    run_printed_command(folder, &printed).await;
    stop(process).await;
}

/// The output may be a journal that others read.
#[tokio::test]
async fn the_link_of_the_first_owner_is_printed_on_a_terminal_only() {
    let folder = temp_folder();
    settings(folder.path());
    let (process, mut printed, mut further) = serve_with_output(folder.path()).await;
    stop(process).await;
    while let Some(line) = in_time(further.next_line()).await.expect("readable") {
        printed.push_str(&line);
    }
    assert!(
        !printed.contains("#enrol=") && !printed.contains('█'),
        "a link outside of a terminal: {printed}"
    );
}

/// Runs the command for a new enrolment link that `assent serve` printed. Returns the link.
async fn run_printed_command(folder: &Path, printed: &str) -> String {
    let command = printed
        .lines()
        .find_map(|line| line.strip_prefix("New enrolment link:"))
        .expect("a command");
    let mut shell = Command::new("sh");
    let link = shell
        .args(["-c", command])
        .current_dir(folder)
        .finish()
        .await;
    assert!(
        out(&link).contains("/authenticator#enrol=en_"),
        "{}",
        err(&link)
    );
    out(&link)
}

/// Checks the settings with a replaced text.
async fn check_changed(folder: &Path, (old, new): (&str, &str)) -> Output {
    let settings = read_file(folder.join("assent.toml"));
    assert!(settings.contains(old), "{old}");
    write_file(folder.join("changed.toml"), settings.replace(old, new));
    assent(folder, &["config", "check", "--config", "changed.toml"]).await
}

#[tokio::test]
async fn config_check_names_each_error_and_its_location() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let good = check_changed(folder, ("", "")).await;
    assert_eq!(out(&good), "changed.toml: valid\n", "{}", err(&good));
    assert!(
        err(&good).contains("warning: no claim mapper writes attributes"),
        "{}",
        err(&good)
    );
    let mapper = format!(
        "writes = [\"account\"]\n[[plugins.claim_mappers]]\nname = \"map\"\nfile = \"{}\"\nwrites = [\"attribute:*\"]\n\
         [[plugins.claim_mappers.config.rules]]\nattribute = \"roles\"\nfrom = \"roles\"",
        component("claim-map").display()
    );
    let writes = check_changed(folder, ("writes = [\"account\"]", &mapper)).await;
    assert_eq!(
        (out(&writes).as_str(), err(&writes).as_str()),
        ("changed.toml: valid\n", "")
    );
    for (change, message) in [
        (
            ("administrator", "administrater"),
            "changed.toml:5: bootstrap.administrater: unknown key",
        ),
        (
            ("writes = [\"account\"]", "writes = [\"sub\"]"),
            "account-roles",
        ),
        (("account-roles.wasm", "nothing.wasm"), "account-roles"),
        (
            (
                "writes = [\"account\"]",
                "writes = [\"account\"]\nconfig = { nonsense = 1 }",
            ),
            "account-roles",
        ),
        (
            ("http://127.0.0.1/callback", "http://rp.example/callback"),
            "bootstrap.demo.redirect_uri: a redirect URI",
        ),
        (
            (
                "redirect_uri = ",
                "initiate_login_uri = \"http://rp.example/\"\nredirect_uri = ",
            ),
            "bootstrap.demo.initiate_login_uri: expected an address that starts with https://",
        ),
        (
            ("[bootstrap]", "[database]\nurl = \"nonsense\"\n[bootstrap]"),
            "database.url: expected sqlite://",
        ),
        (
            (
                "[bootstrap]",
                "[database]\nurl = \"postgres://a@b/c?sslmode=foo\"\n[bootstrap]",
            ),
            "database.url: ",
        ),
        (
            (
                "[bootstrap]",
                "[metrics]\nlisten = \"127.0.0.1:9464\"\nsecret_file = \"missing\"\n[bootstrap]",
            ),
            "metrics.secret_file",
        ),
        (
            (
                "[bootstrap]",
                "[mail]\nserver = \"smtp.example.org\"\nfrom = \"a@example.org\"\nuser = \"a\"\n\
                 password_file = \"missing\"\n[bootstrap]",
            ),
            "mail.password_file",
        ),
        (
            (
                "[bootstrap]",
                "[telemetry]\notlp_endpoint = \"https://otlp.example.org\"\nheaders_file = \"missing\"\n[bootstrap]",
            ),
            "telemetry.headers_file",
        ),
        (
            (
                "[bootstrap]",
                "[telemetry]\notlp_endpoint = \"https://otlp.example.org\"\nheaders_file = \"assent.toml\"\n\
                 [bootstrap]",
            ),
            "telemetry.headers_file",
        ),
        (
            ("[bootstrap]", "[log]\nlevel = \"=,,=\"\n[bootstrap]"),
            "log.level: expected",
        ),
        (
            ("[bootstrap]", "[keys]\nmaster_key = \"abc\"\n[bootstrap]"),
            "keys.master_key: expected 32 bytes",
        ),
        (
            (
                "base_url = \"http://localhost",
                "base_url = \"http://id.example",
            ),
            "base_url: expected https",
        ),
    ] {
        let bad = check_changed(folder, change).await;
        assert_eq!(bad.status.code(), Some(1), "{change:?}");
        assert!(
            err(&bad).starts_with("assent: ") && err(&bad).contains(message),
            "{change:?}: {}",
            err(&bad)
        );
    }
}

#[tokio::test]
async fn config_check_names_all_errors_of_files_and_plugins_with_their_lines() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let text = read_file(folder.join("assent.toml"));
    let line_of =
        |text: &str, part: &str| text[..text.find(part).expect(part)].matches('\n').count() + 1;
    let text = text.replace("account-roles.wasm", "nothing.wasm");
    let channel = component("web-push");
    let text = format!(
        "{text}[geoip]\ndatabase_file = \"no.mmdb\"\n[mail]\nserver = \"smtp.example.org\"\nfrom = \"a@example.org\"\n\
         user = \"a\"\npassword_file = \"no-password\"\n[audit.stream]\nfile = \"/no/such/folder/audit.jsonl\"\n\
         [[plugins.approval_channels]]\nname = \"push\"\nfile = \"{}\"\nconfig = {{ nonsense = 1 }}\n",
        channel.display()
    );
    write_file(folder.join("wrong.toml"), &text);
    let wrong = assent(folder, &["config", "check", "--config", "wrong.toml"]).await;
    assert_eq!(wrong.status.code(), Some(1));
    let errors = err(&wrong);
    let errors: Vec<&str> = errors.trim_start_matches("assent: ").lines().collect();
    let mapper = line_of(&text, "[[plugins.claim_mappers]]");
    let channel = line_of(&text, "[[plugins.approval_channels]]");
    for (line, begin) in [
        (line_of(&text, "password_file"), "mail.password_file: "),
        (line_of(&text, "database_file"), "geoip.database_file: "),
        (line_of(&text, "file = \"/no/such"), "audit.stream.file: "),
        (mapper, "plugins.claim_mappers.0: plugin `account-roles`: "),
        (channel, "plugins.approval_channels.0: plugin `push`: "),
    ] {
        let begin = format!("wrong.toml:{line}: {begin}");
        assert!(
            errors.iter().any(|error| error.starts_with(&begin)),
            "{begin} in {errors:#?}"
        );
    }
    assert_eq!(errors.len(), 5, "{errors:#?}");

    let text = text.replace(
        "config = { nonsense = 1 }",
        "http_hosts = [\"push.example\"]\n[[plugins.approval_channels.credentials]]\nkind = \"header\"\n\
         header = \"authorization\"\nsecret_file = \"no-secret\"",
    );
    write_file(folder.join("wrong.toml"), &text);
    let wrong = assent(folder, &["config", "check", "--config", "wrong.toml"]).await;
    let expected = format!(
        "wrong.toml:{}: plugins.approval_channels.0.credentials.0.secret_file: no-secret: ",
        line_of(&text, "secret_file = \"no-secret")
    );
    assert!(err(&wrong).contains(&expected), "{}", err(&wrong));
    let mapper = "plugins.claim_mappers.0: plugin `account-roles`: ";
    assert!(err(&wrong).contains(mapper), "{}", err(&wrong));
}

#[tokio::test]
async fn config_check_validates_the_folder_of_compiled_plugins() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    write_file(folder.join("file"), "");
    for (name, mode) in [("open", 0o777), ("own", 0o700)] {
        std::fs::create_dir(folder.join(name)).expect("created");
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode))
            .expect("set");
    }
    for (compiled, message) in [
        ("file", "plugins.compiled_folder: file: it must be a folder"),
        (
            "file/below",
            "plugins.compiled_folder: file/below: Not a directory",
        ),
        (
            "open",
            "plugins.compiled_folder: open: only the owner may be able to write to the folder",
        ),
        ("own", ""),
        ("data/compiled", ""),
        ("own/data/compiled", ""),
    ] {
        let table =
            format!("[plugins]\ncompiled_folder = \"{compiled}\"\n[[plugins.claim_mappers]]");
        let checked = check_changed(folder, ("[[plugins.claim_mappers]]", &table)).await;
        assert_eq!(
            checked.status.success(),
            message.is_empty(),
            "{compiled}: {}",
            err(&checked)
        );
        assert!(
            err(&checked).contains(message),
            "{compiled}: {}",
            err(&checked)
        );
    }
}

#[tokio::test]
async fn config_check_names_environment_variables() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let check = ["config", "check", "--config", "assent.toml"];
    let bad = assent_with(folder, &check, &[("ASSENT__HTTP__LISTEN", "nowhere")]).await;
    assert!(
        err(&bad).contains("ASSENT__HTTP__LISTEN: http.listen"),
        "{}",
        err(&bad)
    );
    assert!(!folder.join("data").exists(), "a check creates nothing");
}

#[tokio::test]
async fn a_secret_in_a_variable_is_always_text_and_no_error_shows_it() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let file = folder.join("assent.toml");
    let mail = "\n[mail]\nserver = \"localhost\"\nsecurity = \"none\"\nuser = \"id\"\nfrom = \"id@example.org\"\n";
    let good = read_file(&file) + mail;
    write_file(&file, &good);
    let check = ["config", "check", "--config", "assent.toml"];
    for secret in ["8675309", "[8675309]", "true", "{a=8675309}", "\"8675309"] {
        let checked = assent_with(folder, &check, &[("ASSENT__MAIL__PASSWORD", secret)]).await;
        assert!(checked.status.success(), "{secret}: {}", err(&checked));
    }
    write_file(&file, good + "password = 8675309\n");
    let bad = assent_with(folder, &check, &[]).await;
    let message = err(&bad);
    assert!(
        message.contains("mail.password: expected a string"),
        "{message}"
    );
    assert!(!message.contains("8675309"), "{message}");
}

#[tokio::test]
async fn config_check_warns_that_the_mtls_listener_ignores_the_certificate_header() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let good = read_file(folder.join("assent.toml"));
    let (certificate, key) = certificate_of("server");
    let files = files(folder, &certificate, &key);
    let header = "trusted_proxies = [\"127.0.0.1\"]\nclient_cert_header = true\n";
    let listener = format!(
        "mtls_url = \"https://mtls.id.example\"\n[http.mtls]\nlisten = \"127.0.0.1:0\"\n{}\n",
        files.trim_end()
    );
    let note =
        "changed.toml: note: http.client_cert_header: does not apply to the listener of http.mtls";
    for (lines, is_noted) in [
        (header.to_owned(), false),
        (listener.clone(), false),
        (format!("{header}{listener}"), true),
    ] {
        // The lines belong to the end of the table `[http]`.
        let changed = good.replacen("[bootstrap]", &format!("{lines}[bootstrap]"), 1);
        write_file(folder.join("changed.toml"), changed);
        let checked = assent(folder, &["config", "check", "--config", "changed.toml"]).await;
        assert_eq!(
            out(&checked),
            "changed.toml: valid\n",
            "{lines}: {}",
            err(&checked)
        );
        assert_eq!(
            err(&checked).lines().any(|line| line.starts_with(note)),
            is_noted,
            "{lines}: {}",
            err(&checked)
        );
    }
}

#[tokio::test]
async fn config_check_warns_that_a_user_of_the_machine_could_claim_a_certificate() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let good = read_file(folder.join("assent.toml"));
    let (before, after) = good.split_once("[http]\n").expect("a table");
    let (_, after) = after.split_once('\n').expect("the address");
    let port = "listen = \"127.0.0.1:8080\"\n";
    let socket = "listen = \"unix:/run/assent/assent.sock\"\n";
    let header = "client_cert_header = true\n";
    let note = "changed.toml: note: http.client_cert_header: every user of this machine can connect as the proxy";
    for (listen, proxy, header, is_noted) in [
        (port, "127.0.0.1", header, true),
        (port, "::1", header, true),
        (port, "127.0.0.0/8", header, true),
        (port, "10.0.0.7", header, false),
        (port, "127.0.0.1", "", false),
        (socket, "127.0.0.1", header, false),
    ] {
        let lines = format!("{listen}trusted_proxies = [\"{proxy}\"]\n{header}");
        let changed = format!("{before}[http]\n{lines}{after}");
        write_file(folder.join("changed.toml"), changed);
        let checked = assent(folder, &["config", "check", "--config", "changed.toml"]).await;
        let notes = err(&checked);
        assert_eq!(out(&checked), "changed.toml: valid\n", "{lines}: {notes}");
        let found = notes.lines().any(|line| line.starts_with(note));
        assert_eq!(found, is_noted, "{lines}: {notes}");
    }
}

#[tokio::test]
async fn a_lost_master_key_is_not_replaced() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    stop(serve(folder).await.0).await;
    let key = folder.join("data/master.key");
    std::fs::rename(&key, folder.join("backup")).expect("moved");
    let refused = assent(folder, &["serve", "--config", "assent.toml"]).await;
    assert!(
        err(&refused).contains("data/master.key: the master key is missing"),
        "{}",
        err(&refused)
    );
    assert!(!key.exists());
    std::fs::rename(folder.join("backup"), &key).expect("put back");
    stop(serve(folder).await.0).await;
}

#[tokio::test]
async fn a_command_in_another_folder_creates_no_database() {
    let folder = temp_folder();
    settings(folder.path());
    for arguments in [
        ["admin", "token", "--config", "assent.toml"].as_slice(),
        &["admin", "enrolment", "admin", "--config", "assent.toml"],
    ] {
        let refused = assent(folder.path(), arguments).await;
        assert!(
            err(&refused).contains("there is no database at sqlite://data/assent.db"),
            "{}",
            err(&refused)
        );
    }
    assert!(!folder.path().join("data").exists());
}

#[tokio::test]
async fn an_occupied_port_is_named() {
    let folder = temp_folder();
    let base = settings(folder.path());
    let address = base
        .trim_start_matches("http://localhost")
        .trim_start_matches(':');
    let _taken = std::net::TcpListener::bind(format!("127.0.0.1:{address}")).expect("free");
    let refused = assent(folder.path(), &["serve", "--config", "assent.toml"]).await;
    assert!(
        err(&refused).contains("cannot listen on 127.0.0.1"),
        "{}",
        err(&refused)
    );
}

#[tokio::test]
async fn plugin_check_describes_a_component() {
    let folder = temp_folder();
    let good = assent(
        folder.path(),
        &["plugin", "check", component("account-roles").text()],
    )
    .await;
    assert!(
        out(&good).contains("claim mapper (assent:claims 1.0.0)")
            && out(&good).contains("writes   account"),
        "{}",
        out(&good)
    );
    write_file(folder.path().join("x.wasm"), "nonsense");
    let bad = assent(folder.path(), &["plugin", "check", "x.wasm"]).await;
    assert!(
        !bad.status.success() && err(&bad).contains("not WebAssembly"),
        "{}",
        err(&bad)
    );
}

#[tokio::test]
async fn plugins_are_reloaded_by_command() {
    let folder = temp_folder();
    settings(folder.path());
    let (process, _) = serve(folder.path()).await;
    let listed = assent(
        folder.path(),
        &["plugins", "list", "--config", "assent.toml"],
    )
    .await;
    assert!(
        listed.status.success() && out(&listed).contains("account-roles"),
        "{}",
        err(&listed)
    );
    assert!(
        out(&listed).contains("PLUGIN ") && out(&listed).contains(" P99 US "),
        "{}",
        out(&listed)
    );

    let file = folder.path().join("assent.toml");
    let good = read_file(&file);
    write_file(
        &file,
        good.replace("name = \"account-roles\"", "name = \"renamed\""),
    );
    let reloaded = assent(
        folder.path(),
        &["plugin", "reload", "--config", "assent.toml"],
    )
    .await;
    assert!(
        reloaded.status.success() && out(&reloaded).contains("renamed"),
        "{}",
        err(&reloaded)
    );

    write_file(&file, format!("{good}config = {{ inclde = [] }}\n"));
    let refused = assent(
        folder.path(),
        &["plugin", "reload", "--config", "assent.toml"],
    )
    .await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("the previous plugins stay in use")
            && err(&refused).contains("inclde"),
        "{}",
        err(&refused)
    );
    let listed = assent(
        folder.path(),
        &["plugin", "list", "--config", "assent.toml"],
    )
    .await;
    assert!(out(&listed).contains("renamed"), "{}", out(&listed));
    stop(process).await;
}

#[tokio::test]
async fn plugins_are_reloaded_by_signal() {
    let folder = temp_folder();
    settings(folder.path());
    let file = folder.path().join("assent.toml");
    let good = read_file(&file);
    write_file(
        &file,
        good.replace("name = \"account-roles\"", "name = \"renamed\""),
    );
    let (process, _) = serve(folder.path()).await;
    write_file(&file, &good);
    let id = process.id().expect("running").to_string();
    Command::new("kill")
        .args(["-HUP", &id])
        .status()
        .await
        .expect("signalled");
    let listed = in_time(async {
        loop {
            let listed = out(&assent(
                folder.path(),
                &["plugin", "list", "--config", "assent.toml"],
            )
            .await);
            if listed
                .split("previous.plugins")
                .next()
                .is_some_and(|now| now.contains("\naccount-roles  "))
            {
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    let (now, before) = listed
        .split_once("previous.plugins")
        .expect("the previous content");
    assert!(
        now.contains("\naccount-roles  ") && !now.contains("\nrenamed  "),
        "{listed}"
    );
    assert!(before.contains("\nrenamed  "), "{listed}");
    stop(process).await;

    let unanswered = assent(
        folder.path(),
        &["plugin", "reload", "--config", "assent.toml"],
    )
    .await;
    assert_eq!(unanswered.status.code(), Some(5));
    assert!(
        err(&unanswered).contains("no server answers at http://127.0.0.1"),
        "{}",
        err(&unanswered)
    );
}
