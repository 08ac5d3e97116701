//! The metrics of the plugins.

use assent_telemetry::{Family, Label, label, number};

use crate::description::PluginIdentity;
use crate::loaded::LoadedPlugins;
use crate::meter::{Meter, PluginMetrics};
use crate::plugins::Plugins;
use crate::spec::Trust;

/// A plugin with the meter of its calls.
struct MeasuredPlugin<'p> {
    identity: &'p PluginIdentity,
    role: &'static str,
    meter: &'p Meter,
}

impl Trust {
    /// Returns the role of a channel with this trust.
    pub(crate) const fn role(self) -> &'static str {
        match self {
            Self::Verified => "approval-channel",
            Self::Delegated => "delegated-approval-channel",
        }
    }
}

fn measured_plugins(loaded: &LoadedPlugins) -> Vec<MeasuredPlugin<'_>> {
    let mappers = loaded.mappers.iter().map(|mapper| MeasuredPlugin {
        identity: mapper.identity(),
        role: "claim-mapper",
        meter: mapper.runner().meter(),
    });
    let channels = loaded.channels.iter().map(|channel| MeasuredPlugin {
        identity: &channel.identity,
        role: channel.trust.role(),
        meter: channel.runner.meter(),
    });
    mappers.chain(channels).collect()
}

impl Plugins {
    /// Returns the metrics of the plugins' calls since the instance started.
    pub fn metrics(&self) -> Vec<Family> {
        let loaded = self.loaded.load();
        let plugins = measured_plugins(&loaded);
        let status: Vec<(Vec<Label>, PluginMetrics)> = plugins
            .iter()
            .map(|plugin| (labels(plugin), plugin.meter.metrics()))
            .collect();
        let counters = |name, help, count: fn(&PluginMetrics) -> u64| {
            let samples = status.iter();
            let samples = samples.map(|(labels, measured)| (labels.clone(), count(measured)));
            Family::counters(name, help, samples)
        };
        vec![
            Family::gauges(
                "assent_plugin_loaded",
                "1 for each plugin that is loaded",
                plugins.iter().map(|plugin| {
                    let mut labels = labels(plugin);
                    labels.extend([
                        ("role", plugin.role.to_owned()),
                        ("version", plugin.identity.version.clone()),
                        ("sha256", plugin.identity.sha256.clone()),
                    ]);
                    (labels, 1.0)
                }),
            ),
            counters("assent_plugin_calls", "Started calls", |of| of.calls),
            counters(
                "assent_plugin_faults",
                "Calls that failed, or violated the contract or a limit",
                |of| of.faults,
            ),
            counters(
                "assent_plugin_denials",
                "Calls that denied the user access to the application",
                |of| of.denials,
            ),
            counters(
                "assent_plugin_rejected",
                "Calls that the queue rejected, and calls during a suspension",
                |of| of.rejected,
            ),
            counters(
                "assent_plugin_suspensions",
                "Suspensions of a plugin for an application, because it exceeded its limits repeatedly",
                |of| of.suspensions,
            ),
            Family::histograms(
                "assent_plugin_call_duration_seconds",
                "The plugin's own time of a call, without HTTP requests and waiting",
                plugins
                    .iter()
                    .map(|plugin| (labels(plugin), plugin.meter.time.buckets())),
            ),
            Family::histograms(
                "assent_plugin_call_fuel",
                "The fuel of a call",
                plugins
                    .iter()
                    .map(|plugin| (labels(plugin), plugin.meter.fuel.buckets())),
            ),
            Family::gauges(
                "assent_plugin_queue_length",
                "Calls in the queue",
                status
                    .iter()
                    .map(|(labels, measured)| (labels.clone(), number(measured.queue_length))),
            ),
        ]
    }
}

fn labels(plugin: &MeasuredPlugin<'_>) -> Vec<Label> {
    label("plugin", &plugin.identity.plugin)
}
