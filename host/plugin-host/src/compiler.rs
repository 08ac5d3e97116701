//! Compiling, in a process of its own.
//!
//! A compiler is much code that reads what a stranger wrote. So it runs as another process, with nothing but the
//! component on its standard input and a pipe for its answer: it can open no file and no socket, and its time and
//! memory end. What it answers is machine code, and it runs in the server's process, so it is only as good as the
//! component's origin. Three actors may choose a component: the operator, with a plugin's file in the settings; the
//! operator, with a token of the machine; and an administrator who approved the same component, by its digest, on the
//! phone (`ProtectedActionKind::TryComponent`).

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rlimit::Resource;
use wasmtime::Engine;

use super::engine;

/// The argument by which this program compiles.
pub const COMPILE: &str = "compile-plugin";
/// The largest component, in bytes; those made of JavaScript are about a tenth.
pub(super) const LARGEST: u64 = 64 << 20;
/// The largest compiled component, in bytes.
pub(super) const LARGEST_COMPILED: u64 = 256 << 20;
/// What the compiler may use: processor time in seconds, and bytes of address space.
const SECONDS: u64 = 60;
const MEMORY: u64 = 3 << 30;
/// How much of what it says about an error is read, in bytes.
const ERROR: u64 = 4 << 10;

/// How components are compiled.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// By this program, called with [`COMPILE`].
    Program(PathBuf),
    /// In this process: for tools that run what their user wrote.
    InProcess,
}

impl Compiler {
    /// The program that runs is asked to compile: this very file, even if another has taken its place since.
    pub fn of_this_program() -> Self {
        Self::Program(PathBuf::from("/proc/self/exe"))
    }

    /// Compiles a component for engines of this kind. The error is the end of a sentence about the plugin.
    pub(super) fn compile(&self, engine: &Engine, component: &[u8]) -> Result<Vec<u8>, String> {
        let failed =
            |why: &dyn std::fmt::Display| format!("the component can't be compiled: {why}");
        match self {
            Self::InProcess => engine
                .precompile_component(component)
                .map_err(|error| failed(&format!("{error:#}"))),
            Self::Program(program) => call(program, component).map_err(|error| failed(&error)),
        }
    }
}

/// Has the program compile.
fn call(program: &Path, component: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .arg(COMPILE)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} can't be started: {error}", program.display()))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err("it has no pipes".to_owned());
    };
    let (mut compiled, mut said) = (Vec::new(), Vec::new());
    let read = std::thread::scope(|scope| {
        // A compiler that fails early does not read everything; its exit code says so.
        scope.spawn(move || stdin.write_all(component));
        scope.spawn(|| stderr.take(ERROR).read_to_end(&mut said));
        stdout.take(LARGEST_COMPILED + 1).read_to_end(&mut compiled)
    });
    if compiled.len() as u64 > LARGEST_COMPILED || read.is_err() {
        // It may go on writing, to nobody.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() && read.is_ok() {
        return Ok(compiled);
    }
    match String::from_utf8_lossy(&said).trim() {
        "" => Err(format!(
            "the compiler ended with {status}; a component may take {SECONDS} s and {} GiB",
            MEMORY >> 30
        )),
        said => Err(super::log_line::one_line(said)),
    }
}

/// The compiler's process: compiles the component on standard input to standard output. The exit code says whether it
/// could; standard error says why not. A program calls this from `main`, before it opened anything.
#[allow(
    clippy::print_stderr,
    reason = "the parent process reads the cause there"
)]
pub fn compile_plugin() -> ExitCode {
    match compile_standard_input() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The other side: compiles what comes on standard input to standard output, after it has given up everything else.
/// Called by `main` before anything was opened.
///
/// # Errors
/// Why the component can't be compiled, or this process can't be limited.
fn compile_standard_input() -> Result<(), String> {
    let limit = |resource: Resource, most: u64| {
        resource
            .set(most, most)
            .map_err(|error| format!("the compiler can't be limited: {error}"))
    };
    // What is open stays so; no file and no socket comes to it, not even in the place of one that is closed.
    limit(Resource::NOFILE, 0)?;
    limit(Resource::NPROC, 0)?;
    limit(Resource::FSIZE, 0)?;
    limit(Resource::CORE, 0)?;
    limit(Resource::CPU, SECONDS)?;
    limit(Resource::AS, MEMORY)?;
    let mut component = Vec::new();
    let read = io::stdin()
        .lock()
        .take(LARGEST + 1)
        .read_to_end(&mut component);
    read.map_err(|error| error.to_string())?;
    let mut config = engine::config();
    // Threads would take address space, and the host has other work.
    config.parallel_compilation(false);
    let engine = Engine::new(&config).map_err(|error| format!("{error:#}"))?;
    let compiled = engine
        .precompile_component(&component)
        .map_err(|error| format!("{error:#}"))?;
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(&compiled)
        .and_then(|()| stdout.flush())
        .map_err(|error| error.to_string())
}
