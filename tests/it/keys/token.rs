//! A master key in a PKCS#11 token: SoftHSM, with the real binary.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::process::Command;

use super::master_key::previous_is;
use crate::harness::{
    Body, ServerProcess, binary, connect, get, in_time, temp_folder, utf8, write_file,
};

const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
const PIN: &str = "5678";

/// A PKCS#11 token that belongs to one test.
struct Token {
    folder: tempfile::TempDir,
}

impl Token {
    async fn new() -> Self {
        let folder = temp_folder();
        let tokens = folder.path().join("tokens");
        std::fs::create_dir(&tokens).expect("a folder");
        let text = format!(
            "directories.tokendir = {}\nlog.level = ERROR\n",
            tokens.display()
        );
        write_file(folder.path().join("softhsm2.conf"), text);
        write_file(folder.path().join("pin"), PIN);
        let token = Self { folder };
        let arguments = [
            "--init-token",
            "--free",
            "--label",
            "assent",
            "--pin",
            PIN,
            "--so-pin",
            PIN,
        ];
        token.succeeds("softhsm2-util", &arguments).await;
        token
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("softhsm2.conf")
    }

    async fn run(
        &self,
        program: impl AsRef<std::ffi::OsStr>,
        folder: &Path,
        arguments: &[&str],
    ) -> Output {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null());
        let command = command.env("SOFTHSM2_CONF", self.configuration());
        command.output().await.expect("it runs")
    }

    async fn succeeds(&self, program: &str, arguments: &[&str]) {
        let output = self.run(program, self.folder.path(), arguments).await;
        assert!(
            output.status.success(),
            "{program}: {}",
            utf8(output.stderr.as_slice())
        );
    }

    /// Creates an AES key with this label, as the documentation describes.
    async fn create_key(&self, label: &str, id: &str) {
        let arguments = [
            "--module",
            MODULE,
            "--token-label",
            "assent",
            "--login",
            "--pin",
            PIN,
            "--keygen",
            "--key-type",
            "AES:32",
            "--label",
            label,
            "--id",
            id,
        ];
        self.succeeds("pkcs11-tool", &arguments).await;
    }

    /// Returns the settings of `[keys]` with these keys of the token.
    fn settings(&self, keys: &str) -> String {
        let pin = self.folder.path().join("pin");
        format!(
            "[keys.pkcs11]\nmodule = \"{MODULE}\"\ntoken = \"assent\"\npin_file = \"{}\"\n{keys}\n",
            pin.display()
        )
    }
}

/// Starts the server with these settings. Returns it with the output of `assent admin master-key`: the fingerprint, and
/// the number of sealing keys.
async fn started(token: &Token, folder: &Path, settings: &str) -> (ServerProcess, String) {
    let server =
        ServerProcess::start_with(folder, settings, ("SOFTHSM2_CONF", &token.configuration()))
            .await;
    let arguments = ["admin", "master-key", "--config", "assent.toml"];
    let output = token.run(binary("assent"), folder, &arguments).await;
    assert!(
        output.status.success(),
        "{}",
        utf8(output.stderr.as_slice())
    );
    (server, utf8(output.stdout.as_slice()))
}

async fn master_keys(folder: &Path) -> Vec<String> {
    let mut connection = connect(&format!("sqlite://{}", folder.join("assent.db").display())).await;
    let rows: Vec<(String,)> =
        assent_store::sql::query_as("SELECT DISTINCT master_key FROM wrapped_keys")
            .fetch_all(&mut connection)
            .await
            .expect("read");
    connection.close().await;
    rows.into_iter().map(|(key,)| key).collect()
}

/// Returns the key set. It shows whether the server can decrypt the same signing keys.
async fn key_set(server: &ServerProcess) -> String {
    let address = format!("{}/oidc/jwks", server.base);
    get(&address).await.read_text().await
}

#[tokio::test]
async fn the_master_key_moves_from_a_file_to_a_token() {
    let token = Token::new().await;
    token.create_key("assent master key", "01").await;
    let folder = temp_folder();
    let folder = folder.path();
    let database = "[database]\nurl = \"sqlite://assent.db\"\n";
    let file = format!("{database}[keys]\nmaster_key_file = \"master.key\"\n");
    let (server, _) = started(&token, folder, &file).await;
    let before = key_set(&server).await;
    server.signal("TERM").await;
    server.ended().await;

    let key = token.settings("key = \"assent master key\"");
    let both = format!(
        "{database}[keys]\n{}\n{key}",
        previous_is(Path::new("master.key"))
    );
    let (server, printed) = started(&token, folder, &both).await;
    assert!(printed.contains("previous master key"), "{printed}");
    assert_eq!(key_set(&server).await, before);
    // The server creates a sealing key for the new master key, and deletes the keys that the old one encrypts.
    in_time(async {
        while master_keys(folder).await.len() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.signal("TERM").await;
    server.ended().await;
    std::fs::remove_file(folder.join("master.key")).expect("removed");

    let settings = format!("{database}{key}");
    let (server, printed) = started(&token, folder, &settings).await;
    assert!(printed.contains("Sealing key 2"), "{printed}");
    assert_eq!(key_set(&server).await, before);
    server.signal("TERM").await;
    server.ended().await;
}

#[tokio::test]
async fn errors_of_a_token_name_the_remedy() {
    let token = Token::new().await;
    token.create_key("one", "01").await;
    let folder = temp_folder();
    for (from, to, expected) in [
        (MODULE, "/nowhere.so", "cannot load /nowhere.so"),
        (
            "\"assent\"",
            "\"other\"",
            "no token with the label \"other\"; it has \"assent\"",
        ),
        (
            "\"one\"",
            "\"two\"",
            "--keygen --key-type AES:32 --label \"two\"",
        ),
        (
            "/pin\"",
            "/wrong\"",
            "rejected the PIN of keys.pkcs11.pin_file",
        ),
    ] {
        write_file(token.folder.path().join("wrong"), "9999");
        let settings = token.settings("key = \"one\"").replace(from, to);
        let text = format!(
            "base_url = \"http://localhost:1\"\n[database]\nurl = \"sqlite://assent.db\"\n{settings}"
        );
        write_file(folder.path().join("assent.toml"), text);
        let arguments = ["serve", "--config", "assent.toml"];
        let output = token.run(binary("assent"), folder.path(), &arguments).await;
        let printed = utf8(output.stderr.as_slice());
        assert!(
            !output.status.success() && printed.contains(expected),
            "{printed}"
        );
    }
}
