//! The operator's branding: a logo and colours. They are served without active content, and rejected at startup if
//! invalid.

use std::path::Path;

use assent::config;
use reqwest::StatusCode;

use crate::harness::{
    Body, Browser, Respond, Run, TestHost, Text, binary, get, http_client, temp_folder, write_file,
};
use crate::javascript::run;

/// A logo with active content.
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
    write_file(&file, LOGO);
    format!(
        "[branding]\nlogo_file = \"{}\"\naccent = \"#7a1fa2\"\naccent_dark = \"#d6a3ee\"\n",
        file.display()
    )
}

#[tokio::test]
async fn a_logo_is_served_without_active_content() {
    let folder = temp_folder();
    let settings = settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let page = Browser::new(&host.base).get("/").await;
    let policy = page.headers["content-security-policy"].text();
    assert!(
        !policy.contains("unsafe")
            && policy.contains("img-src 'self'")
            && policy.contains("style-src 'self'")
    );
    let address = of_page(&page.body, "/assets/logo.");
    let answer = http_client()
        .get(format!("{}{address}", host.base))
        .response()
        .await;
    let headers = answer.headers().clone();
    assert_eq!(answer.read_text().await, LOGO);
    assert_eq!(headers["content-type"], "image/svg+xml");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(
        headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    let policy = headers["content-security-policy"].text();
    assert!(
        policy.contains("default-src 'none'") && policy.ends_with("; sandbox"),
        "{policy}"
    );
    let other = address.replace("logo.", "logo.0");
    assert_eq!(
        get(format!("{}{other}", host.base)).await.status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn branding_colours_have_their_own_stylesheet() {
    let folder = temp_folder();
    let settings = settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let page = Browser::new(&host.base).get("/").await;
    // The operator's stylesheet follows the server's own, so that it takes precedence.
    let (default_style, own) = (
        page.body.find("/assets/assent."),
        page.body.find("/assets/colours."),
    );
    assert!(
        default_style.is_some() && default_style < own,
        "{}",
        page.body
    );
    let address = of_page(&page.body, "/assets/colours.");
    let answer = get(format!("{}{address}", host.base)).await;
    assert_eq!(answer.headers()["content-type"], "text/css; charset=utf-8");
    let css = answer.read_text().await;
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
fn invalid_branding_settings_name_the_remedy() {
    let folder = temp_folder();
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
            "branding.support: expected an email address or an https address",
        ),
        (
            "logo = \"x.svg\"",
            "branding.logo: unknown key; expected one of language, logo_file, accent, accent_dark, support",
        ),
    ] {
        write_file(
            &file,
            format!("base_url = \"https://id.example\"\n[branding]\n{pages}\n"),
        );
        let error = config::load(&file).expect_err("rejected").to_string();
        assert!(error.contains(message), "{pages}: {error}");
    }
}

#[tokio::test]
async fn an_invalid_logo_is_rejected_at_startup() {
    let folder = temp_folder();
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
            write_file(folder.path().join(name), content);
        }
        let text =
            format!("base_url = \"https://id.example\"\n[branding]\nlogo_file = \"{name}\"\n");
        write_file(&file, text);
        let mut command = tokio::process::Command::new(binary("assent"));
        command
            .args(["config", "check", "--config", "assent.toml"])
            .current_dir(folder.path());
        let output = command.finish().await;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{name}");
        assert!(
            stderr.contains(&format!("branding.logo_file: {name}: ")) && stderr.contains(message),
            "{name}: {stderr}"
        );
    }
}

#[tokio::test]
async fn branding_is_readable_and_its_logo_runs_no_script_in_chromium() {
    let folder = temp_folder();
    let settings = settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let ada = host.ada().await;
    let request = format!("{}{}", host.base, ada.application.request(&[]));
    run(
        "branding.mjs",
        &[("BASE_URL", &host.base), ("AUTHORIZE_URL", &request)],
    )
    .await;
}
