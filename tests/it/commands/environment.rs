//! Environment variables in place of settings and arguments.

use super::{assent_with, err, settings};
use crate::harness::temp_folder;

#[tokio::test]
async fn an_empty_variable_counts_as_unset() {
    let folder = temp_folder();
    let path = folder.path();
    settings(path);
    let check = ["config", "check", "--config", "assent.toml"];
    for name in [
        "ASSENT__HTTP__LISTEN",
        "ASSENT__BASE_URL",
        "assent__http__listen",
        "ASSENT__DATABASE__URL",
        "ASSENT__DATABASE__URL_FILE",
        "ASSENT__KEYS__MASTER_KEY",
        "ASSENT__MAIL__PASSWORD",
        "ASSENT__HTTP__TRUSTED_PROXIES",
        "ASSENT_CONFIG",
        "ASSENT_SERVER",
        "ASSENT_ADMIN_TOKEN",
    ] {
        let output = assent_with(path, &check, &[(name, "")]).await;
        assert!(output.status.success(), "{name}: {}", err(&output));
    }
    // `--config` would replace the variable.
    std::fs::create_dir(path.join("config")).expect("a folder");
    std::fs::rename(path.join("assent.toml"), path.join("config/assent.toml")).expect("moved");
    let output = assent_with(path, &["config", "check"], &[("ASSENT_CONFIG", "")]).await;
    assert!(output.status.success(), "{}", err(&output));
    let wrong = [("ASSENT__HTTP__LISTEN", "nowhere")];
    let output = assent_with(path, &["config", "check"], &wrong).await;
    assert!(
        err(&output).contains("ASSENT__HTTP__LISTEN"),
        "{}",
        err(&output)
    );
}
