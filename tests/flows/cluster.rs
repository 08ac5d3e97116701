//! Two instances as separate processes, with one PostgreSQL database and a load balancer. Each instance has its own
//! proxy in front of the database.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use assent_model::clock::{Clock, SystemClock};
use tempfile::TempDir;
use tokio::process::Command;

use super::balancer::Balancer;
use super::fault::new_name;
use super::sign_in::SignIn;
use crate::harness::{
    Admin, Browser, Database, DatabaseUrl, FaultProxy, Run, ServerProcess, TestUser, binary,
    free_port, give_master_key, http_client_builder, in_time, shipped, temp_folder, utf8,
    write_file,
};

/// The time limit for service: of the healthy instances after a fault, and of the faulty instance after the end of the
/// fault.
pub const RECOVERY: Duration = Duration::from_secs(10);
/// The tolerance for a busy machine.
const BUSY: Duration = Duration::from_secs(5);

const UNLIMITED: &str = "[rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\n\
    prompts_per_user = { per_minute = 0 }\nsign_ins_per_browser = { per_minute = 0 }\n\
    login_pages_per_ip = { per_minute = 0 }\nsign_ins_per_ip = { per_minute = 0 }\n\
    actions_per_device = { per_minute = 0 }\ntoken_requests_per_ip = { per_minute = 0, burst = 1 }\n\
    unauthenticated_requests = { per_minute = 0 }\n";

/// The instances, and their common parts.
pub struct Cluster {
    admin: Admin,
    pub balancer: Balancer,
    pub database: DatabaseUrl,
    pub instances: [Instance; 2],
    /// A user whose sign-ins show that an instance serves.
    witness: Option<TestUser>,
    pub folder: TempDir,
}

/// An instance, and its connection to the database.
pub struct Instance {
    name: &'static str,
    pub proxy: FaultProxy,
    pub port: u16,
    pub process: Option<ServerProcess>,
}

impl std::ops::Deref for Cluster {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

impl Cluster {
    /// Starts two instances on a database of the tests' PostgreSQL server.
    pub async fn start() -> Self {
        let folder = temp_folder();
        let database = Database::Postgres.create(folder.path()).await;
        Self::start_on(folder, database).await
    }

    /// Starts two instances on this database.
    pub async fn start_on(folder: TempDir, database: DatabaseUrl) -> Self {
        give_master_key(folder.path(), &database, SystemClock.now()).await;
        let balancer = Balancer::start().await;
        let mut cluster = Self {
            admin: Admin {
                base: format!("http://localhost:{}", balancer.port()),
                token: String::new(),
            },
            balancer,
            instances: [
                Instance::new("first", &database).await,
                Instance::new("second", &database).await,
            ],
            witness: None,
            database,
            folder,
        };
        for index in [0, 1] {
            cluster.start_instance(index, &[]).await;
        }
        cluster.admin.token = cluster.command(&["admin", "token"]).await.trim().to_owned();
        cluster.route_to(0);
        cluster.renew_witness().await;
        cluster
    }

    /// Creates another user whose sign-ins show that an instance serves, because the sign-ins of one user name within
    /// two minutes are limited.
    pub async fn renew_witness(&mut self) {
        self.witness = Some(self.ada_named(&new_name()).await);
    }

    /// Creates a user with this name, a device, and an account in the user's own application.
    pub async fn ada_named(&self, name: &str) -> TestUser {
        let application = self.web_application().await;
        self.user_with_account(name, application).await
    }

    /// Starts an instance with these environment variables. Its log is in the cluster's folder.
    pub async fn start_instance(&mut self, index: usize, environment: &[(&str, &str)]) {
        let (base, settings) = (self.base.clone(), self.settings(Some(index)));
        let instance = &mut self.instances[index];
        let file = self.folder.path().join(format!("{}.toml", instance.name));
        write_file(&file, settings);
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join(format!("{}.log", instance.name)))
            .expect("a log");
        let mut command = Command::new(binary("assent"));
        command
            .args(["serve", "--config"])
            .arg(file)
            .envs(environment.iter().copied())
            .current_dir(self.folder.path())
            .stderr(Stdio::from(log));
        instance.process = Some(ServerProcess::start_by(&mut command, base).await);
    }

    /// Returns the settings of an instance, or of commands.
    fn settings(&self, index: Option<usize>) -> String {
        let (port, url) = match index.map(|index| &self.instances[index]) {
            Some(instance) => (
                instance.port,
                self.database.behind(instance.proxy.port()).url().to_owned(),
            ),
            None => (1, self.database.url().to_owned()),
        };
        format!(
            "base_url = \"{}\"\n{UNLIMITED}[egress]\nallow_private_addresses = true\n[http]\n\
             listen = \"127.0.0.1:{port}\"\ndrain_time = \"0s\"\n\
             trusted_proxies = [\"127.0.0.1\"]\n\
             [database]\nurl = \"{url}\"\n[keys]\nmaster_key_file = \"{}\"\n{}\n",
            self.base,
            self.folder.path().join("master.key").display(),
            shipped(),
        )
    }

    /// Routes all connections to this instance.
    pub fn route_to(&self, index: usize) {
        self.balancer.route_to(vec![self.instances[index].port]);
    }

    /// Routes the connections to both instances in turn.
    pub fn route_to_both(&self) {
        let ports = self.instances.iter().map(|instance| instance.port);
        self.balancer.route_to(ports.collect());
    }

    /// Kills the instance, and waits for its end.
    pub async fn kill(&mut self, index: usize) {
        if let Some(process) = self.instances[index].process.take() {
            process.signal("KILL").await;
            process.ended().await;
        }
    }

    /// Waits until the instance behind the balancer has signed a user in. `since` is the time of the fault, or of its
    /// end.
    pub async fn expect_service(&self, since: Instant) -> Duration {
        let witness = self.witness.as_ref().expect("the witness");
        let mut sign_in = SignIn::new(witness, Browser::new(&self.base), &[]);
        let served = async {
            while let Err(error) = sign_in.attempt().await {
                assert!(
                    since.elapsed() < RECOVERY + BUSY,
                    "no sign-in {:?} after the fault: {error}",
                    since.elapsed()
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        in_time(served).await;
        let took = since.elapsed();
        assert!(took < RECOVERY + BUSY, "the first sign-in took {took:?}");
        took
    }

    /// Returns the response to `/readyz` of an instance.
    pub async fn readiness(&self, index: usize) -> Option<(u16, String)> {
        let url = format!("http://127.0.0.1:{}/readyz", self.instances[index].port);
        let client = http_client_builder()
            .timeout(Duration::from_secs(5))
            .build();
        let response = client.expect("a client").get(url).send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }

    /// Returns the log of the instance.
    pub fn log(&self, index: usize) -> String {
        let file = format!("{}.log", self.instances[index].name);
        std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    /// Asserts that the audit log is intact.
    pub async fn verify_audit_log(&self) {
        self.command(&["audit", "verify"]).await;
    }

    /// Runs a command of `assent`, which must succeed, and returns its output.
    async fn command(&self, arguments: &[&str]) -> String {
        let file: PathBuf = self.folder.path().join("commands.toml");
        write_file(&file, self.settings(None));
        let mut command = Command::new(binary("assent"));
        command
            .args(arguments)
            .arg("--config")
            .arg(file)
            .current_dir(self.folder.path())
            .kill_on_drop(true);
        let output = command.finish().await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        utf8(output.stdout)
    }
}

impl Instance {
    async fn new(name: &'static str, database: &DatabaseUrl) -> Self {
        Self {
            name,
            proxy: FaultProxy::start(database.socket()).await,
            port: free_port(),
            process: None,
        }
    }

    /// Sends this signal to the process, if it runs.
    pub async fn signal(&self, name: &str) {
        if let Some(process) = &self.process {
            process.signal(name).await;
        }
    }
}
