//! A real Apache as one foreground process.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::harness::{temp_folder, write_file};

const PROGRAM: &str = "/usr/sbin/apache2";
/// The folder of Debian's modules.
const MODULES: &str = "/usr/lib/apache2/modules";
/// The user id of `nobody`. Apache runs as this user if the tests run as root, because it would not serve pages as
/// root.
const NOBODY: u32 = 65_534;

/// A running Apache on a port of its own. Its pages are in `pages` in its folder, and are server-side includes.
pub struct Apache {
    process: Child,
    folder: tempfile::TempDir,
    /// The base URL, without a slash at the end.
    pub base: String,
}

impl Apache {
    /// Starts Apache with this module.
    ///
    /// `configure` receives the base URL and the folder, writes the required files, and returns the directives. It is
    /// called again if another program took the port first.
    pub async fn start(
        module: &str,
        mut configure: impl AsyncFnMut(&str, &Path) -> String,
    ) -> Self {
        for _ in 0..8 {
            // Apache cannot inherit an open listener, so another program may take the port before Apache opens it.
            let free = TcpListener::bind("127.0.0.1:0")
                .and_then(|free| free.local_addr())
                .expect("a port");
            let base = format!("http://localhost:{}", free.port());
            let folder = temp_folder();
            fs::create_dir(folder.path().join("pages")).expect("a folder");
            let directives = configure(&base, folder.path()).await;
            let configuration = configuration(folder.path(), free.port(), module, &directives);
            write_file(folder.path().join("apache.conf"), configuration);
            let process = spawn(folder.path());
            let mut apache = Self {
                process,
                folder,
                base,
            };
            if apache.is_up().await {
                return apache;
            }
        }
        panic!("Apache found no free port");
    }

    /// Returns whether Apache serves. Returns false if another program took its port first.
    async fn is_up(&mut self) -> bool {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        for _ in 0..30_000 {
            ticks.tick().await;
            if let Some(ended) = self.process.try_wait().expect("a process") {
                let log = self.log();
                assert!(
                    log.contains("Address already in use"),
                    "Apache ended with {ended}: {log}"
                );
                return false;
            }
            // Apache opens its port before it writes this file.
            if self.folder.path().join("apache.pid").exists() {
                return true;
            }
        }
        panic!("Apache does not start: {}", self.log());
    }

    /// Returns the error log, for messages.
    pub fn log(&self) -> String {
        match fs::read_to_string(self.folder.path().join("error.log")) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            log => log.expect("text"),
        }
    }

    /// Returns Apache's own folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Writes a page into the folder of an Apache. Its path ends in a slash.
pub fn write_page(folder: &Path, path: &str, text: &str) {
    let page = folder.join("pages").join(path);
    fs::create_dir_all(&page).expect("a folder");
    write_file(page.join("index.shtml"), text);
}

fn configuration(folder: &Path, port: u16, module: &str, directives: &str) -> String {
    let root = folder.display();
    let modules: String = [
        "mpm_event",
        "authn_core",
        "authz_core",
        "authz_user",
        "dir",
        "include",
        "filter",
        module,
    ]
    .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
    .concat();
    format!(
        r#"{modules}
ServerName localhost
ServerRoot {root}
DefaultRuntimeDir {root}
PidFile {root}/apache.pid
ErrorLog {root}/error.log
LogLevel warn {module}:info
Listen 127.0.0.1:{port}
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
DocumentRoot {root}/pages
DirectoryIndex index.shtml
<Directory {root}/pages>
  Options +IncludesNOEXEC
  ForceType text/html
  SetOutputFilter INCLUDES
  Require all granted
</Directory>
{directives}"#
    )
}

/// Starts Apache as one process in the foreground, so that it ends with the test.
fn spawn(folder: &Path) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .arg("-X")
        .arg("-f")
        .arg(folder.join("apache.conf"))
        .env_clear()
        .kill_on_drop(true);
    if fs::metadata(folder).expect("a folder").uid() == 0 {
        chown(folder, Some(NOBODY), Some(NOBODY)).expect("owned by another user");
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .spawn()
        .unwrap_or_else(|error| panic!("{PROGRAM}: {error}; run `make test`, which installs it"))
}
