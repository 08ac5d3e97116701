//! Programs that a test runs.

use std::future::Future;
use std::process::Output;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::in_time;

/// A command that must run.
pub trait Run {
    fn start(&mut self) -> Child;
    /// Waits for the end of the program.
    fn finish(&mut self) -> impl Future<Output = Output> + Send;
}

impl Run for Command {
    #[track_caller]
    fn start(&mut self) -> Child {
        match self.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {:?}: {error}", self.as_std()),
        }
    }

    async fn finish(&mut self) -> Output {
        match in_time(self.output()).await {
            Ok(output) => output,
            Err(error) => panic!("cannot run {:?}: {error}", self.as_std()),
        }
    }
}

/// The pipes of a program.
pub trait Pipes {
    fn input(&mut self) -> ChildStdin;
    fn output_lines(&mut self) -> Lines<BufReader<ChildStdout>>;
}

impl Pipes for Child {
    #[track_caller]
    fn input(&mut self) -> ChildStdin {
        match self.stdin.take() {
            Some(input) => input,
            None => panic!("the standard input of {self:?} is not a pipe, or is taken"),
        }
    }

    #[track_caller]
    fn output_lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        match self.stdout.take() {
            Some(output) => BufReader::new(output).lines(),
            None => panic!("the standard output of {self:?} is not a pipe, or is taken"),
        }
    }
}
