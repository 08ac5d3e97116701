//! The operator's looks: a logo and colours, served so that they can do no harm, and refused at the start where they
//! are unfit.

use std::path::Path;

use assent::config;
use reqwest::StatusCode;

use crate::harness::{Browser, HostOptions, TestHost, binary, http_client};
use crate::javascript::run;

/// A logo that would do harm if it could.
const LOGO: &str = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 2 1\" \
onload=\"document.title = 'harm'\">\
    <script>document.title = 'harm'</script><rect width=\"2\" height=\"1\"/></svg>";

fn of_page<'a>(page: &'a str, start: &str) -> &'a str {
    page.split('"')
        .find(|value| value.starts_with(start))
        .unwrap_or_else(|| panic!("no {start} in {page}"))
}

fn settings(folder: &Path) -> String {
    let file = folder.join("logo.svg");
    std::fs::write(&file, LOGO).expect("written");
    format!(
        "[branding]\nlogo_file = \"{}\"\naccent = \"#7a1fa2\"\naccent_dark = \"#d6a3ee\"\n",
        file.display()
    )
}

#[tokio::test]
async fn a_logo_is_shown_as_a_picture_that_can_do_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    let page = Browser::new(&host.base).get("/").await;
    let policy = page.headers["content-security-policy"]
        .to_str()
        .expect("text");
    assert!(
        !policy.contains("unsafe")
            && policy.contains("img-src 'self'")
            && policy.contains("style-src 'self'")
    );
    let address = of_page(&page.body, "/assets/logo.");
    let answer = http_client()
        .get(format!("{}{address}", host.base))
        .send()
        .await
        .expect("an answer");
    let headers = answer.headers().clone();
    assert_eq!(answer.text().await.expect("text"), LOGO);
    assert_eq!(headers["content-type"], "image/svg+xml");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(
        headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    let policy = headers["content-security-policy"].to_str().expect("text");
    assert!(
        policy.contains("default-src 'none'") && policy.ends_with("; sandbox"),
        "{policy}"
    );
    let other = address.replace("logo.", "logo.0");
    assert_eq!(
        reqwest::get(format!("{}{other}", host.base))
            .await
            .expect("an answer")
            .status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn colours_are_a_stylesheet_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    let page = Browser::new(&host.base).get("/").await;
    // Behind ours, so that it wins.
    let (ours, own) = (
        page.body.find("/assets/assent."),
        page.body.find("/assets/colours."),
    );
    assert!(ours.is_some() && ours < own, "{}", page.body);
    let address = of_page(&page.body, "/assets/colours.");
    let answer = reqwest::get(format!("{}{address}", host.base))
        .await
        .expect("an answer");
    assert_eq!(answer.headers()["content-type"], "text/css; charset=utf-8");
    let css = answer.text().await.expect("text");
    assert!(
        css.contains("--accent: #7a1fa2;") && css.contains("--accent: #d6a3ee;"),
        "{css}"
    );
    let plain = TestHost::start().await;
    assert!(
        !Browser::new(&plain.base)
            .get("/")
            .await
            .body
            .contains("colours.")
    );
}

#[test]
fn settings_that_are_unfit_are_told_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("assent.toml");
    for (pages, message) in [
        (
            "language = \"fr\"",
            "branding.language: found \"fr\", expected one of en, de",
        ),
        (
            "accent = \"red\"",
            "branding.accent: expected a colour such as \"#0b5a6e\"",
        ),
        (
            "accent = \"#ffcc00\"",
            "expected a darker colour, such as #",
        ),
        (
            "accent_dark = \"#333333\"",
            "expected a lighter colour, such as #",
        ),
        (
            "support = \"ask us\"",
            "branding.support: expected an e-mail address or an https address",
        ),
        (
            "logo = \"x.svg\"",
            "branding.logo: unknown key; expected one of language, logo_file, accent, accent_dark, support",
        ),
    ] {
        std::fs::write(
            &file,
            format!("base_url = \"https://id.example\"\n[branding]\n{pages}\n"),
        )
        .expect("written");
        let error = config::load(&file).expect_err("refused").to_string();
        assert!(error.contains(message), "{pages}: {error}");
    }
}

#[tokio::test]
async fn a_logo_that_cannot_be_used_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("assent.toml");
    for (name, content, message) in [
        ("missing.svg", None, "cannot be read"),
        (
            "logo.gif",
            Some("GIF89a".to_owned()),
            "expected an SVG (without a DOCTYPE) or a PNG",
        ),
        (
            "large.svg",
            Some(format!("<svg>{}</svg>", " ".repeat(64 * 1024))),
            "is larger than 64 KiB",
        ),
    ] {
        if let Some(content) = content {
            std::fs::write(folder.path().join(name), content).expect("written");
        }
        let text =
            format!("base_url = \"https://id.example\"\n[branding]\nlogo_file = \"{name}\"\n");
        std::fs::write(&file, text).expect("written");
        let mut command = tokio::process::Command::new(binary("assent"));
        command
            .args(["config", "check", "--config", "assent.toml"])
            .current_dir(folder.path());
        let output = command.output().await.expect("run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{name}");
        assert!(
            said.contains(&format!("branding.logo_file: {name}: ")) && said.contains(message),
            "{name}: {said}"
        );
    }
}

#[tokio::test]
async fn the_operators_looks_can_be_read_and_their_logo_runs_nothing_in_chromium() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    run(
        "looks.mjs",
        &[("BASE_URL", &host.base), ("AUTHORIZE_URL", &request)],
    )
    .await;
}
