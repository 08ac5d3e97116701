//! The requirements of containers and packages: health checks, settings from a variable, and the path of the master
//! key.

use super::{assent, assent_with, err, out, serve, settings, stop};
use crate::harness::{read_file, temp_folder, write_file};

#[tokio::test]
async fn health_reports_whether_the_instance_can_serve() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let health = ["health", "--config", "assent.toml"];
    let stopped = assent(folder, &health).await;
    assert_eq!(stopped.status.code(), Some(1));
    let message = err(&stopped);
    assert!(
        message.contains("no instance answers at http://127.0.0.1:"),
        "{message}"
    );
    let (process, _) = serve(folder).await;
    let ready = assent(folder, &health).await;
    assert!(ready.status.success(), "{}", err(&ready));
    assert_eq!(out(&ready), "ready\n");
    stop(process).await;
}

#[tokio::test]
async fn the_settings_file_is_named_by_a_variable() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let variables = [("ASSENT_CONFIG", "assent.toml")];
    let checked = assent_with(folder, &["config", "check"], &variables).await;
    assert_eq!(out(&checked), "assent.toml: valid\n", "{}", err(&checked));
}

#[tokio::test]
async fn a_master_key_is_created_only_where_the_settings_allow() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let text = read_file(folder.join("assent.toml"));
    for (create, file, reason) in [
        (
            "never",
            "data/master.key",
            "`openssl rand -base64 32` prints a key",
        ),
        // The root of the file system is no volume.
        ("on_volume", "/master.key", "no volume is mounted there"),
    ] {
        let keys = format!("[keys]\nmaster_key_file = \"{file}\"\ncreate_file = \"{create}\"\n");
        write_file(folder.join("assent.toml"), format!("{text}{keys}"));
        let refused = assent(folder, &["serve", "--config", "assent.toml"]).await;
        let message = err(&refused);
        assert!(!refused.status.success());
        assert!(
            message.contains(file) && message.contains(reason),
            "{message}"
        );
        assert!(!folder.join(file).exists());
    }
}
