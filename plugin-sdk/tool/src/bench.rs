//! The benchmark: the cost of a fresh instance and of one call of a plugin.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assent_admin_client::terminal;
use assent_plugin_host::Usage;
use rustix::time::{ClockId, clock_gettime};

use crate::built_component::BuiltComponent;
use crate::check::thousands;
use crate::fixture_run::{self, Case, Ready};
use crate::process::wait;
use crate::toolchain::Choice;

/// The unmeasured calls at the beginning. On a busy server, the pool's places and the processor's caches are warm.
const WARM_UP: usize = 100;

/// The resource use of one call.
struct Sample {
    usage: Usage,
    /// The processor time of this thread. It includes the plugin and the server's work for the call.
    cpu: Duration,
}

/// Calls a plugin repeatedly with one fixture.
///
/// # Errors
/// If the plugin or the fixture cannot be read, or a call fails.
pub fn bench(path: &Path, folder: Option<&Path>, calls: usize, choice: Choice) -> Result<()> {
    let subject = BuiltComponent::from_path(path, choice)?;
    let fixtures = subject.fixtures(folder)?;
    wait(async {
        let bench = fixture_run::open(&subject.component).await?;
        let cases = fixture_run::read(&fixtures, bench.inspection().world)?;
        let case = cases.iter().find(|case| case.calls());
        let case =
            case.with_context(|| format!("no fixture of {} calls the plugin", fixtures.display()))?;
        if let Some(failure) = case.failure(&bench).await? {
            bail!("the fixture must pass before it is measured: {failure}");
        }
        let ready = Ready::new(case, &bench)?;
        for _ in 0..WARM_UP {
            ready.call().await?;
        }
        let mut samples = Vec::with_capacity(calls);
        for _ in 0..calls {
            let before = thread_time();
            let usage = ready.call().await?;
            samples.push(Sample {
                usage,
                cpu: thread_time().saturating_sub(before),
            });
        }
        show(case, &samples);
        Ok(())
    })?
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn show(case: &Case, samples: &[Sample]) {
    let microseconds = |time: Duration| format!("{:.1} us", time.as_secs_f64() * 1e6);
    let row = |name: &str, half: String, most: String, what: &str| {
        terminal::report_line(format_args!(
            "{}",
            format!("{name:<8}{half:>16}{most:>16}   {what}").trim_end()
        ));
    };
    terminal::report_line(format_args!(
        "{} calls with {}, each in a fresh instance\n",
        thousands(&samples.len()),
        case.file().display()
    ));
    row("", "p50".to_owned(), "p99".to_owned(), "");
    let [half, most] = quantiles(samples, |sample| sample.usage.time);
    row(
        "time",
        microseconds(half),
        microseconds(most),
        "from the fresh instance to its answer, without waits for the host",
    );
    let [half, most] = quantiles(samples, |sample| sample.cpu);
    row(
        "CPU",
        microseconds(half),
        microseconds(most),
        "processor time of the call, with the server's own part",
    );
    let [half, most] = quantiles(samples, |sample| sample.usage.fuel);
    row(
        "fuel",
        thousands(&half),
        thousands(&most),
        "units of work, about one per instruction; `limits.fuel` bounds it",
    );
    let [half, most] = quantiles(samples, |sample| sample.usage.memory);
    let kibibytes = |bytes: usize| format!("{} KiB", thousands(&(bytes / 1024)));
    row(
        "memory",
        kibibytes(half),
        kibibytes(most),
        "memory at the end; `limits.memory` is its limit",
    );
    if cfg!(debug_assertions) {
        terminal::report_line(format_args!(
            "\nThis tool was built without optimisation: the host's own part of a call is faster in a release."
        ));
    }
}

/// Returns the median and the 99th percentile of the samples.
fn quantiles<T: Ord + Copy + Default>(samples: &[Sample], of: impl Fn(&Sample) -> T) -> [T; 2] {
    let mut values: Vec<T> = samples.iter().map(of).collect();
    values.sort_unstable();
    [50, 99].map(|share| {
        let place = (values.len() * share).div_ceil(100).saturating_sub(1);
        values.get(place).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_observed_values() {
        let sample = |fuel| Sample {
            usage: Usage {
                fuel,
                ..Usage::default()
            },
            cpu: Duration::ZERO,
        };
        let samples: Vec<Sample> = (1..=200).rev().map(sample).collect();
        assert_eq!(quantiles(&samples, |sample| sample.usage.fuel), [100, 198]);
        assert_eq!(
            quantiles(&samples[..1], |sample| sample.usage.fuel),
            [200, 200]
        );
        assert_eq!(quantiles(&[], |sample| sample.usage.fuel), [0, 0]);
    }
}
