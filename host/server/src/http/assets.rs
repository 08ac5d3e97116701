//! The stylesheet, scripts and icons, compiled into the binary.
//!
//! Each file has a plain address, revalidated by its `ETag`, and an address with the hash of its content (see [`url`]),
//! which browsers may cache for a year. Modules import each other by their plain addresses.
//! The authenticator's module of messages, its manifest and its service worker exist in each language, and the server
//! chooses the language by the request.

use std::collections::HashMap;
use std::sync::LazyLock;

use openssl::sha::sha256;
use serde_json::Value;

use super::script_texts;
use crate::messages::Message;
use assent_model::language::Language;

/// A file to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The body.
    pub bytes: &'static [u8],
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// The `ETag` header, quotes included (RFC 9110 section 8.8.3).
    pub etag: String,
    /// The `Cache-Control` header: a year for an address with a hash, otherwise revalidation at each use.
    pub cache_control: &'static str,
    /// The `Service-Worker-Allowed` header. Only the service worker has it: its scope includes `/authenticator` without
    /// a slash at the end, which is outside the folder of the script.
    pub service_worker_allowed: Option<&'static str>,
    /// Whether the content depends on the language.
    pub speaks: bool,
}

pub(super) const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const SVG: &str = "image/svg+xml";
pub(super) const PNG: &str = "image/png";
const JSON: &str = "application/json";
const MANIFEST: &str = "application/manifest+json";

const REVALIDATE: &str = "no-cache";
pub(super) const FOREVER: &str = "public, max-age=31536000, immutable";

/// The path of the authenticator's service worker.
const SERVICE_WORKER: &str = "/authenticator/sw.js";
const MANIFEST_URL: &str = "/authenticator/manifest.webmanifest";
/// The path of the authenticator's module of messages.
const MESSAGES_URL: &str = "/assets/authenticator/messages.js";

/// The script of the console that is no module. It runs while the modules are loaded.
const LOADING: &str = "console/loading.js";
/// The module that the console and the portal share.
const NAMES: &str = "names.js";

/// The content of a file, or of several scripts that are served as one file, so that a page loads fewer files.
macro_rules! content {
    ($name:literal) => {
        include_bytes!(concat!("../../assets/", $name))
    };
    ($($name:literal)+) => {
        concat!($(include_str!(concat!("../../assets/", $name))),+).as_bytes()
    };
}

macro_rules! files {
    ($($content_type:ident $name:literal $(after $($first:literal)+)?,)*) => {
        &[$(($name, $content_type, content!($($($first)+)? $name))),*]
    };
}

/// Name under `assets/` (and, but for the last two, under `/assets/`), type, content.
const FILES: &[(&str, &str, &[u8])] = files![
    CSS "assent.css",
    CSS "authenticator.css",
    CSS "portal.css",
    JAVASCRIPT "names.js",
    JAVASCRIPT "portal.js",
    JAVASCRIPT "forms.js",
    JAVASCRIPT "login.js" after "forms.js" "here.js" "follow_sign_in.js",
    JAVASCRIPT "waiting.js" after "forms.js" "here.js" "follow_sign_in.js" "countdown.js",
    JAVASCRIPT "passkey_sign_in.js",
    JAVASCRIPT "decided.js" after "countdown.js",
    JAVASCRIPT "recover.js",
    JAVASCRIPT "recovery_codes.js",
    JAVASCRIPT "copy_reference.js",
    JAVASCRIPT "form_post.js",
    JAVASCRIPT "signing_out.js",
    JAVASCRIPT "signing_out_frames.js",
    JAVASCRIPT "authenticator/main.js",
    JAVASCRIPT "authenticator/account_notifications.js",
    JAVASCRIPT "authenticator/accounts.js",
    JAVASCRIPT "authenticator/actions.js",
    JAVASCRIPT "authenticator/answer.js",
    JAVASCRIPT "authenticator/api.js",
    JAVASCRIPT "authenticator/canonical.js",
    JAVASCRIPT "authenticator/code_entry.js",
    JAVASCRIPT "authenticator/devices.js",
    JAVASCRIPT "authenticator/dom.js",
    JAVASCRIPT "authenticator/enrol.js",
    JAVASCRIPT "authenticator/follow.js",
    JAVASCRIPT "authenticator/history.js",
    JAVASCRIPT "authenticator/home.js",
    JAVASCRIPT "authenticator/keypad.js",
    JAVASCRIPT "authenticator/life.js",
    JAVASCRIPT "authenticator/link_token.js",
    JAVASCRIPT "authenticator/navigation.js",
    JAVASCRIPT "authenticator/passkey.js",
    JAVASCRIPT "authenticator/poll.js",
    JAVASCRIPT "authenticator/push.js",
    JAVASCRIPT "authenticator/request.js",
    JAVASCRIPT "authenticator/requests.js",
    JAVASCRIPT "authenticator/scan.js",
    JAVASCRIPT "authenticator/settings.js",
    JAVASCRIPT "authenticator/state.js",
    JAVASCRIPT "authenticator/steps.js",
    JAVASCRIPT "authenticator/store.js",
    JAVASCRIPT "authenticator/texts.js",
    JAVASCRIPT "authenticator/view.js",
    JAVASCRIPT "authenticator/viewport.js",
    CSS "console.css",
    JAVASCRIPT "console/api.js",
    JAVASCRIPT "console/api_texts.js",
    JAVASCRIPT "console/batches.js",
    JAVASCRIPT "console/certificates.js",
    JAVASCRIPT "console/chart.js",
    JAVASCRIPT "console/durations.js",
    JAVASCRIPT "console/role_chips.js",
    JAVASCRIPT "console/pages/access.js",
    JAVASCRIPT "console/pages/reports.js",
    JAVASCRIPT "console/pages/several_users.js",
    JAVASCRIPT "console/pages/unconfirmed.js",
    JAVASCRIPT "console/pages/user_groups.js",
    JAVASCRIPT "console/pages/user_links.js",
    JAVASCRIPT "console/form.js",
    JAVASCRIPT "console/icons.js",
    JAVASCRIPT "console/importer.js",
    JAVASCRIPT "console/language.js",
    JAVASCRIPT "console/language_switch.js",
    JSON "console/german.json",
    JSON "console/german_messages.json",
    JSON "console/german_settings.json",
    JAVASCRIPT "console/lists.js",
    JAVASCRIPT "console/loading.js",
    JAVASCRIPT "console/order.js",
    JAVASCRIPT "console/recipes.js",
    JSON "console/recipes/argo-cd.json",
    JSON "console/recipes/aws.json",
    JSON "console/recipes/gitea.json",
    JSON "console/recipes/github-enterprise.json",
    JSON "console/recipes/gitlab.json",
    JSON "console/recipes/google-workspace.json",
    JSON "console/recipes/grafana.json",
    JSON "console/recipes/jenkins.json",
    JSON "console/recipes/jira.json",
    JSON "console/recipes/keycloak.json",
    JSON "console/recipes/kubernetes.json",
    JSON "console/recipes/mattermost.json",
    JSON "console/recipes/mediawiki.json",
    JSON "console/recipes/nextcloud.json",
    JSON "console/recipes/proxmox.json",
    JSON "console/recipes/salesforce.json",
    JSON "console/recipes/slack.json",
    JSON "console/recipes/vault.json",
    JSON "console/recipes/wordpress.json",
    JSON "console/recipes/zabbix.json",
    JAVASCRIPT "console/search.js",
    JAVASCRIPT "console/select_box.js",
    JAVASCRIPT "console/session.js",
    JAVASCRIPT "console/setting_texts.js",
    JAVASCRIPT "console/theme.js",
    JAVASCRIPT "console/main.js",
    JAVASCRIPT "console/action_approval.js",
    JAVASCRIPT "console/view.js",
    JAVASCRIPT "console/pages/account.js",
    JAVASCRIPT "console/pages/application.js",
    JAVASCRIPT "console/pages/applications.js",
    JAVASCRIPT "console/pages/assignments.js",
    JAVASCRIPT "console/pages/audit.js",
    JAVASCRIPT "console/pages/audit_entry.js",
    JAVASCRIPT "console/pages/audit_events.js",
    JAVASCRIPT "console/pages/bulk.js",
    JAVASCRIPT "console/pages/claims.js",
    JAVASCRIPT "console/pages/client_fields.js",
    JAVASCRIPT "console/pages/client_secrets.js",
    JAVASCRIPT "console/pages/credentials.js",
    JAVASCRIPT "console/pages/getting_started.js",
    JAVASCRIPT "console/pages/guide.js",
    JAVASCRIPT "console/pages/management.js",
    JAVASCRIPT "console/pages/metadata.js",
    JAVASCRIPT "console/pages/name_id.js",
    JAVASCRIPT "console/pages/invitation_link.js",
    JAVASCRIPT "console/pages/invitations.js",
    JAVASCRIPT "console/pages/keys.js",
    JAVASCRIPT "console/pages/mail.js",
    JAVASCRIPT "console/pages/new_application.js",
    JAVASCRIPT "console/pages/overview.js",
    JAVASCRIPT "console/pages/chosen_users.js",
    JAVASCRIPT "console/pages/group_picker.js",
    JAVASCRIPT "console/pages/groups.js",
    JAVASCRIPT "console/pages/picker.js",
    JAVASCRIPT "console/pages/plugins.js",
    JAVASCRIPT "console/pages/provider_fields.js",
    JAVASCRIPT "console/pages/recipe.js",
    JAVASCRIPT "console/pages/backchannel_requests.js",
    JAVASCRIPT "console/pages/caller_check.js",
    JAVASCRIPT "console/pages/details_types.js",
    JAVASCRIPT "console/pages/registration_tokens.js",
    JAVASCRIPT "console/pages/security.js",
    JAVASCRIPT "console/pages/settings.js",
    JAVASCRIPT "console/pages/test_sign_in.js",
    JAVASCRIPT "console/pages/user.js",
    JAVASCRIPT "console/pages/user_cell.js",
    JAVASCRIPT "console/pages/users.js",
    JAVASCRIPT "vendor/qr/decode.js",
    JAVASCRIPT "vendor/qr/index.js",
    SVG "icons/icon.svg",
    PNG "icons/icon-192.png",
    PNG "icons/icon-512.png",
    PNG "icons/maskable-512.png",
    PNG "icons/touch-180.png",
    PNG "icons/badge-96.png",
    MANIFEST "authenticator/manifest.webmanifest",
    JAVASCRIPT "authenticator/sw.js",
];

/// The files that are the same in every language, by their paths.
static SERVED: LazyLock<HashMap<String, Asset>> = LazyLock::new(|| {
    let mut served = HashMap::new();
    for &(name, content_type, bytes) in plain_files() {
        let asset = Asset::new(bytes, content_type);
        served.insert(
            hashed_path(name, bytes),
            Asset {
                cache_control: FOREVER,
                ..asset.clone()
            },
        );
        served.insert(format!("/assets/{name}"), asset);
    }
    served
});

static ENGLISH: LazyLock<LocalizedAssets> =
    LazyLock::new(|| LocalizedAssets::new(Language::English));
static GERMAN: LazyLock<LocalizedAssets> = LazyLock::new(|| LocalizedAssets::new(Language::German));

/// The files that do not depend on the language: all but the last two.
fn plain_files() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static [u8])> {
    FILES
        .iter()
        .filter(|(name, ..)| !name.ends_with("sw.js") && !name.ends_with(".webmanifest"))
}

impl Asset {
    fn new(bytes: &'static [u8], content_type: &'static str) -> Self {
        let etag = format!("\"{}\"", digest(bytes));
        Self {
            bytes,
            content_type,
            etag,
            cache_control: REVALIDATE,
            service_worker_allowed: None,
            speaks: false,
        }
    }
}

/// The texts of the authenticator in one language.
struct LocalizedAssets {
    messages: String,
    manifest: String,
    worker: String,
}

impl LocalizedAssets {
    fn new(language: Language) -> Self {
        let spoken = Value::Object(script_texts::messages(language, "app-"));
        let messages = format!("export default {spoken};\n");
        let text_of = |message: Message| Value::String(message.plain(language));
        let manifest = include_str!("../../assets/authenticator/manifest.webmanifest")
            .replace("\"{lang}\"", &Value::from(language.tag()).to_string())
            .replace("\"{dir}\"", &Value::from(language.direction()).to_string())
            .replace(
                "\"{description}\"",
                &text_of(Message::new("authenticator-description")).to_string(),
            );
        let worker = worker(&[&messages, &manifest])
            .replace(
                "'{title}'",
                &text_of(Message::new("authenticator-push")).to_string(),
            )
            .replace(
                "'{body}'",
                &text_of(Message::new("authenticator-push-body")).to_string(),
            )
            .replace(
                "'{notification}'",
                &text_of(Message::new("authenticator-push-notification")).to_string(),
            );
        Self {
            messages,
            manifest,
            worker,
        }
    }

    fn find(&'static self, path: &str) -> Option<Asset> {
        let (text, content_type) = match path {
            MESSAGES_URL => (&self.messages, JAVASCRIPT),
            MANIFEST_URL => (&self.manifest, MANIFEST),
            SERVICE_WORKER => (&self.worker, JAVASCRIPT),
            _ => return None,
        };
        let scope = (path == SERVICE_WORKER).then_some("/authenticator");
        Some(Asset {
            service_worker_allowed: scope,
            speaks: true,
            ..Asset::new(text.as_bytes(), content_type)
        })
    }
}

/// Returns the service worker with its version and the list of the files that it caches. A change of any file or text
/// changes the version, and therefore the script. The browser detects an update by this difference.
fn worker(spoken: &[&str]) -> String {
    let mut contents: Vec<u8> = spoken
        .iter()
        .flat_map(|text| sha256(text.as_bytes()))
        .collect();
    let mut shell = vec![
        "/authenticator".to_owned(),
        MANIFEST_URL.to_owned(),
        MESSAGES_URL.to_owned(),
    ];
    for &(name, content_type, bytes) in FILES {
        contents.extend_from_slice(&sha256(bytes));
        if ["assent.css", "authenticator.css", "icons/icon.svg"].contains(&name) {
            shell.push(hashed_path(name, bytes));
        } else if content_type == JAVASCRIPT
            && name.starts_with("authenticator/")
            && name != "authenticator/sw.js"
        {
            shell.push(format!("/assets/{name}"));
        }
    }
    // The worker signs calls as the app does. A service worker that imports modules does not run in each browser.
    let signing =
        include_str!("../../assets/authenticator/canonical.js").replace("\nexport ", "\n");
    format!(
        "{signing}\n{}",
        include_str!("../../assets/authenticator/sw.js")
    )
    .replace("{version}", &digest(&contents))
    .replace("{shell}", &shell.join(" "))
}

/// Returns the file that is served at `path` (a URL's path, as in `/assets/assent.css`) in a language, or `None` if
/// there is no such file.
pub fn find(path: &str, language: Language) -> Option<Asset> {
    let spoken = match language {
        Language::English => &*ENGLISH,
        Language::German => &*GERMAN,
    };
    spoken.find(path).or_else(|| SERVED.get(path).cloned())
}

/// The addresses of the files with the hashes of their contents, by their names.
static URLS: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let urls = FILES.iter();
    urls.map(|&(name, _, bytes)| (name, hashed_path(name, bytes)))
        .collect()
});

/// Returns the address of the file `name` (as in `assent.css`) with the hash of its content. For an unknown name it
/// returns the plain address, where the server responds with 404.
pub fn url(name: &str) -> String {
    match URLS.get(name) {
        Some(url) => url.clone(),
        None => format!("/assets/{name}"),
    }
}

/// Returns the addresses of the modules of the console and of those that it imports from elsewhere. The modules import
/// each other by these addresses.
pub(super) fn console_modules() -> Vec<String> {
    FILES
        .iter()
        .filter(|(name, content_type, _)| {
            let is_console = name.starts_with("console/") && *name != LOADING;
            *content_type == JAVASCRIPT && (is_console || *name == NAMES)
        })
        .map(|(name, ..)| format!("/assets/{name}"))
        .collect()
}

/// Returns the path with the hash: `icons/icon.svg` becomes `/assets/icons/icon.0123456789abcdef.svg`.
pub(super) fn hashed_path(name: &str, bytes: &[u8]) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("/assets/{stem}.{}.{extension}", digest(bytes)),
        None => format!("/assets/{name}"),
    }
}

/// Returns sixteen hexadecimal digits of the content's SHA-256.
fn digest(bytes: &[u8]) -> String {
    sha256(bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Asset> {
        super::find(path, Language::English)
    }

    #[test]
    fn every_file_is_served_and_hashed_urls_are_cached_forever() {
        for &(name, content_type, bytes) in plain_files() {
            let plain = find(&format!("/assets/{name}")).expect(name);
            assert_eq!(
                (plain.bytes, plain.content_type, plain.cache_control),
                (bytes, content_type, REVALIDATE)
            );
            let asset = find(&url(name)).expect(name);
            assert_eq!((asset.bytes, asset.cache_control), (bytes, FOREVER));
        }
        assert_eq!(find("/assets/../Cargo.toml"), None);
        assert_eq!(
            find("/assets/authenticator/sw.js"),
            None,
            "the URL of a service worker determines its scope"
        );
    }

    /// A browser runs no module of a page if one of them is missing.
    #[test]
    fn each_imported_module_is_served() {
        let mut imports = 0;
        for &(name, content_type, bytes) in FILES {
            if content_type != JAVASCRIPT {
                continue;
            }
            let base = url::Url::parse(&format!("http://localhost/{name}")).unwrap();
            let text = std::str::from_utf8(bytes).unwrap();
            for rest in text.split(" from '.").skip(1) {
                let path = format!(".{}", rest.split('\'').next().unwrap_or_default());
                let module = base.join(&path).unwrap();
                let module = module.path().trim_start_matches('/');
                // Comments import types.
                if module.ends_with(".d.ts") {
                    continue;
                }
                // The server creates the module of messages.
                let is_served = FILES.iter().any(|(known, ..)| *known == module)
                    || format!("/assets/{module}") == MESSAGES_URL;
                assert!(is_served, "{name} imports {module}");
                imports += 1;
            }
        }
        assert!(imports > 100, "{imports}");
    }

    #[test]
    fn the_service_worker_keeps_only_files_that_exist() {
        let worker = find(SERVICE_WORKER).unwrap();
        assert_eq!(worker.service_worker_allowed, Some("/authenticator"));
        let text = std::str::from_utf8(worker.bytes).unwrap();
        assert!(!text.contains("export "), "it is no module");
        for place in [
            "{version}",
            "{shell}",
            "{title}",
            "{body}",
            "{notification}",
        ] {
            assert!(!text.contains(place), "{place}");
        }
        let shell = text
            .lines()
            .find_map(|line| line.strip_prefix("const SHELL = '"))
            .unwrap();
        let paths: Vec<_> = shell.split('\'').next().unwrap().split(' ').collect();
        assert!(paths.contains(&"/assets/authenticator/main.js") && paths.contains(&MESSAGES_URL));
        for path in paths.into_iter().filter(|path| *path != "/authenticator") {
            assert!(find(path).is_some(), "{path}");
        }
    }

    #[test]
    fn every_imported_module_is_served() {
        for &(name, _, bytes) in FILES
            .iter()
            .filter(|(name, ..)| name.starts_with("authenticator/"))
        {
            let text = std::str::from_utf8(bytes).unwrap();
            for line in text
                .lines()
                .filter(|line| line.starts_with("import ") || line.starts_with("} from "))
            {
                let Some((_, rest)) = line.split_once("'./") else {
                    continue;
                };
                let module = rest.split('\'').next().unwrap();
                assert!(
                    find(&format!("/assets/authenticator/{module}")).is_some(),
                    "{name} imports {module}"
                );
            }
        }
    }

    #[test]
    fn the_manifest_names_icons_that_exist() {
        let manifest = find(MANIFEST_URL).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(manifest.bytes).unwrap();
        let icons = manifest["icons"].as_array().unwrap();
        assert!(icons.len() >= 2);
        for icon in icons {
            assert!(find(icon["src"].as_str().unwrap()).is_some(), "{icon}");
        }
    }

    #[test]
    fn the_authenticator_is_served_in_the_requested_language() {
        for (path, english, german) in [
            (MESSAGES_URL, "\"Approve\"", "\"Bestätigen\""),
            (MANIFEST_URL, "\"lang\": \"en\"", "\"lang\": \"de\""),
            (SERVICE_WORKER, "\"Sign-in request\"", "\"Anmeldeanfrage\""),
        ] {
            let asset = |language| super::find(path, language).unwrap();
            let text = |language| String::from_utf8(asset(language).bytes.to_vec()).unwrap();
            assert!(
                text(Language::English).contains(english)
                    && text(Language::German).contains(german),
                "{path}"
            );
            assert!(!text(Language::German).contains(english), "{path}");
            assert!(
                asset(Language::English).speaks
                    && asset(Language::English).etag != asset(Language::German).etag
            );
        }
    }
}
