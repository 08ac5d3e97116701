//! Compilation in a separate process.
//!
//! The compiler is much code, and its input may come from a stranger. So it runs in another process with only the
//! component on standard input and a pipe for its output. The process cannot open a file or a socket, and its time and
//! memory are limited.
//!
//! The output is machine code that runs in the server's process, so it is only as trustworthy as the component's
//! origin. Three actors may choose a component:
//!
//! - the operator, with a plugin's file in the settings;
//! - the operator, with an operator token;
//! - an administrator who approved the digest of the component on a device (`ProtectedActionKind::TryComponent`).

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rlimit::Resource;
use wasmtime::Engine;

use super::engine;

/// The argument of this program that starts the compiler.
pub const COMPILE: &str = "compile-plugin";
/// The largest component, in bytes. Components from JavaScript have about a tenth of it.
pub(super) const LARGEST: u64 = 64 << 20;
/// The largest compiled component, in bytes.
pub(super) const LARGEST_COMPILED: u64 = 256 << 20;
/// The limits of the compiler: processor time in seconds, and address space in bytes.
const SECONDS: u64 = 60;
const MEMORY: u64 = 3 << 30;
/// The largest error text that is read from the compiler, in bytes.
const ERROR: u64 = 4 << 10;

/// The way in which components are compiled.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// This program in another process, with the argument [`COMPILE`].
    Program(PathBuf),
    /// This process, for tools that run components of their own user.
    InProcess,
}

impl Compiler {
    /// Returns a compiler that runs the executable of this process, even if another file has replaced it since.
    pub fn of_this_program() -> Self {
        Self::Program(PathBuf::from("/proc/self/exe"))
    }

    /// Compiles a component for engines with the settings of `engine`. The error is the end of a sentence about the
    /// plugin.
    pub(super) fn compile(&self, engine: &Engine, component: &[u8]) -> Result<Vec<u8>, String> {
        let failed =
            |why: &dyn std::fmt::Display| format!("the component cannot be compiled: {why}");
        match self {
            Self::InProcess => engine
                .precompile_component(component)
                .map_err(|error| failed(&format!("{error:#}"))),
            Self::Program(program) => call(program, component).map_err(|error| failed(&error)),
        }
    }
}

/// Runs the compiler's process.
fn call(program: &Path, component: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .arg(COMPILE)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err("it has no pipes".to_owned());
    };
    let (mut compiled, mut errors) = (Vec::new(), Vec::new());
    let read = std::thread::scope(|scope| {
        // A compiler that fails early does not read the whole input; its exit code reports the failure.
        scope.spawn(move || stdin.write_all(component));
        scope.spawn(|| stderr.take(ERROR).read_to_end(&mut errors));
        stdout.take(LARGEST_COMPILED + 1).read_to_end(&mut compiled)
    });
    if compiled.len() as u64 > LARGEST_COMPILED || read.is_err() {
        // Nothing reads the rest of the compiler's output.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() && read.is_ok() {
        return Ok(compiled);
    }
    match String::from_utf8_lossy(&errors).trim() {
        "" => Err(format!(
            "the compiler ended with {status}; a component may take {SECONDS} s and {} GiB",
            MEMORY >> 30
        )),
        errors => Err(super::log_line::one_line(errors)),
    }
}

/// Runs the compiler's process: compiles the component on standard input to standard output. The exit code is the
/// result, and standard error has the reason of a failure. A program must call this at the beginning of `main`, before
/// it opens files.
pub fn compile_plugin() -> ExitCode {
    match compile_standard_input() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Gives up all other rights, then compiles the component on standard input to standard output. `main` calls it before
/// it opens files.
///
/// # Errors
/// The component cannot be compiled, or this process cannot be limited.
fn compile_standard_input() -> Result<(), String> {
    let limit = |resource: Resource, most: u64| {
        resource
            .set(most, most)
            .map_err(|error| format!("the compiler cannot be limited: {error}"))
    };
    // Open files stay open. The process cannot open another file or socket, not even after it closed one.
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
    // Threads would use address space, and the server needs the processors.
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
