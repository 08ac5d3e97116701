//! The test command: it runs every fixture with the component in the server's own runtime.

use std::path::Path;

use anyhow::{Result, bail};
use assent_admin_client::terminal;
use assent_model::printable::lines;

use crate::built_component::BuiltComponent;
use crate::description::settle;
use crate::fixture_run;
use crate::process::wait;
use crate::toolchain::Choice;

/// Runs the fixtures of a plugin.
///
/// # Errors
/// If a fixture fails, with the list of all differences, or if the component or a fixture cannot be read.
pub fn test(path: &Path, folder: Option<&Path>, choice: Choice) -> Result<()> {
    let subject = BuiltComponent::from_path(path, choice)?;
    let fixtures = subject.fixtures(folder)?;
    wait(async {
        let bench = fixture_run::open(&subject.component).await?;
        if let Some(plugin) = &subject.plugin {
            settle(plugin, bench.inspection())?;
        }
        let cases = fixture_run::read(&fixtures, bench.inspection().world)?;
        let mut failed = 0_usize;
        for case in &cases {
            if let Some(failure) = case.failure(&bench).await? {
                failed += 1;
                terminal::report_line(format_args!("FAILED  {}", lines(&failure)));
            } else {
                terminal::report_line(format_args!(
                    "ok      {}  {}",
                    case.file().display(),
                    case.about()
                ));
            }
        }
        if failed > 0 {
            bail!(
                "{failed} of {} fixtures failed (- expected, + got)",
                cases.len()
            );
        }
        terminal::report_line(format_args!("{} fixtures passed", cases.len()));
        Ok(())
    })?
}
