//! The real `assent` on a dedicated core.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use assent_tests::harness::{binary, component};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The server's core. The caller runs this program on another core.
const CORE: &str = "0";

/// Returns a command whose process may use only the server's core.
pub fn on_its_core(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", CORE]).arg(program);
    command
}

/// A running `assent`.
pub struct Server {
    process: Child,
    pub address: SocketAddr,
    pub base: String,
    pub started_in: Duration,
    metrics: SocketAddr,
}

impl Server {
    /// Starts the server with the plugins that ship, and waits for the first answer.
    pub async fn start(folder: &Path, database: &str) -> Self {
        let address = free_address();
        let base = format!("http://localhost:{}", address.port());
        Self::start_at(folder, address, base, (database, "")).await
    }

    /// Starts the server with additional settings.
    pub async fn start_with(folder: &Path, database: &str, more: &str) -> Self {
        let address = free_address();
        let base = format!("http://localhost:{}", address.port());
        Self::start_at(folder, address, base, (database, more)).await
    }

    /// Starts another instance of the same service, with the same settings.
    pub async fn start_beside(&self, folder: &Path, database: &str) -> Self {
        self.start_beside_with(folder, database, "").await
    }

    /// Starts another instance of the same service, with additional settings.
    pub async fn start_beside_with(&self, folder: &Path, database: &str, more: &str) -> Self {
        Self::start_at(folder, free_address(), self.base.clone(), (database, more)).await
    }

    async fn start_at(
        folder: &Path,
        address: SocketAddr,
        base: String,
        (database, more): (&str, &str),
    ) -> Self {
        let text = settings(&base, address, database);
        let metrics = free_address();
        let text = format!("{text}{more}[metrics]\nlisten = \"{metrics}\"\n");
        std::fs::write(folder.join("assent.toml"), text).expect("written");
        let start = Instant::now();
        let mut command = on_its_core(&binary("assent"));
        command
            .args(["serve", "--config", "assent.toml"])
            .current_dir(folder)
            .kill_on_drop(true);
        let log = std::fs::File::create(folder.join("log")).expect("a file");
        let process = command
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("started");
        while !answers(address).await {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it does not start; see {}",
                folder.display()
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Self {
            process,
            address,
            base,
            started_in: start.elapsed(),
            metrics,
        }
    }

    /// Returns the numbers of commits and of writes in them so far.
    pub async fn commits(&self) -> (f64, f64) {
        let names = [
            "assent_store_batch_size_count",
            "assent_store_batch_size_sum",
        ];
        let [commits, writes] = self.metrics(names).await;
        (commits, writes)
    }

    /// Returns the number of statements so far.
    pub async fn statements(&self) -> f64 {
        let names = ["assent_store_statement_duration_seconds_count"];
        let [statements] = self.metrics(names).await;
        statements
    }

    /// Returns the metrics with these names, which have no labels.
    async fn metrics<const COUNT: usize>(&self, names: [&str; COUNT]) -> [f64; COUNT] {
        let metrics = get(self.metrics, "/metrics").await.expect("metrics");
        let metrics = String::from_utf8(metrics).expect("text");
        names.map(|name| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse().ok())
                .unwrap_or_else(|| panic!("no {name}: {metrics}"))
        })
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.process.id().expect("running")
    }

    pub async fn admin_token(&self, folder: &Path) -> String {
        let mut command = Command::new(binary("assent"));
        let output = command
            .args(["admin", "token", "--config", "assent.toml"])
            .current_dir(folder)
            .output()
            .await;
        String::from_utf8(output.expect("run").stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    /// Returns the CPU time that the server's threads have used, with a resolution of 10 ms.
    pub fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // The name, in parentheses, may contain any character. User and system time are the 12th and 13th field after
        // it.
        let (_, fields) = stat.rsplit_once(')').expect("a stat");
        let ticks = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().expect("ticks"));
        Duration::from_millis(ticks.sum::<u64>() * 10)
    }

    pub fn resident_mib(&self) -> f64 {
        self.memory("status", "VmRSS:")
    }

    pub fn peak_mib(&self) -> f64 {
        self.memory("status", "VmHWM:")
    }

    /// Returns the proportional set size, which counts a shared page in parts.
    pub fn proportional_mib(&self) -> f64 {
        self.memory("smaps_rollup", "Pss:")
    }

    fn memory(&self, file: &str, name: &str) -> f64 {
        let text = self.proc(file);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("the line");
        line.split_whitespace()
            .next()
            .expect("a size")
            .parse::<f64>()
            .expect("KiB")
            / 1024.0
    }

    fn proc(&self, file: &str) -> String {
        let id = self.id();
        std::fs::read_to_string(format!("/proc/{id}/{file}")).expect("the process")
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

/// Returns whether the server reports that it is ready.
async fn answers(address: SocketAddr) -> bool {
    get(address, "/readyz").await.is_ok_and(|answer| {
        answer.starts_with(b"HTTP/1.") && answer.windows(5).any(|bytes| bytes == b" 200 ")
    })
}

async fn get(address: SocketAddr, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

fn settings(base: &str, address: SocketAddr, database: &str) -> String {
    // All requests come from one IP address, which would soon reach a rate limit.
    format!(
        "base_url = \"{base}\"\n[http]\nlisten = \"{address}\"\nconnections_per_network = 20000\n\
         [database]\nurl = \"{database}\"\n\
         [keys]\nmaster_key_file = \"master.key\"\n\
         [rate_limits]\ntoken_requests_per_ip = {{ per_minute = 0, burst = 1 }}\nlogin_pages_per_ip = {{ per_minute = \
         0, burst = 1 }}\n\
         sign_ins_per_user_name = {{ per_minute = 0, burst = 1 }}\nsign_ins_per_ip = {{ per_minute = 0, burst = 1 }}\n\
         sign_ins_per_browser = {{ per_minute = 0, burst = 1 }}\nprompts_per_user = {{ per_minute = 0, burst = 1 }}\n\
         [plugins]\ncompiled_folder = \"compiled\"\n\
         [[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n\
         [[plugins.approval_channels]]\nname = \"web-push\"\nfile = \"{}\"\nhttp_hosts = \
              [\"fcm.googleapis.com\"]\ncredentials = [{{ kind = \"vapid\" }}]\n",
        component("account-roles").display(),
        component("web-push").display(),
    )
}
