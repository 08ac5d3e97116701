//! `assent admin master-key`

use std::path::Path;

use crate::cli::config_file::host_without_plugins;
use crate::domain::audit::moment_text;
use crate::domain::keys::sealing_keys::{self, Replacement, ReplacementStage, SealingKeyStage};
use assent_admin_client::terminal;

/// Prints the progress of the replacement of the master key, and the next step.
pub(super) async fn run(file: &Path) -> anyhow::Result<()> {
    let services = host_without_plugins(file).await?;
    let found = sealing_keys::replacement(&services).await?;
    services.store.close().await;
    terminal::print(&replacement_text(&found))
}

fn replacement_text(found: &Replacement) -> String {
    let mut text = format!("Fingerprint of the master key: {}\n", found.master_key);
    for key in &found.sealing_keys {
        let (from, generation) = (moment_text(key.seals_from), key.generation);
        let state = match key.stage {
            SealingKeyStage::Waits => "not in use yet",
            SealingKeyStage::Seals => "in use",
            SealingKeyStage::Replaced => "replaced; opens the values that it sealed",
        };
        text.push_str(&format!("Sealing key {generation}, from {from}: {state}\n"));
    }
    text.push_str(&match found.stage {
        ReplacementStage::None if !found.has_previous => "No replacement is in progress.\n".to_owned(),
        ReplacementStage::Waits { instances: 0 } => {
            "A running instance begins the replacement within a minute. Keep the previous master key in the settings.\n"
                .to_owned()
        }
        ReplacementStage::Waits { instances } => format!(
            "{instances} running instances have another master key. Start them again with the new one. Keep the \
             previous master key in the settings of all instances.\n"
        ),
        ReplacementStage::OtherMasterKey => {
            "Keys are also encrypted with a master key that the settings do not have. Set it as the previous one, so \
             that the server can replace it.\n"
                .to_owned()
        }
        ReplacementStage::Created => {
            "The new sealing key will be in use within a minute. Keep the previous master key in the settings.\n"
                .to_owned()
        }
        ReplacementStage::SealsAgain { values } => format!(
            "The new master key is in use. {values} values are to be sealed again, which the instances do by \
             themselves.{}\n",
            previous_advice(found)
        ),
        ReplacementStage::Expires => format!(
            "The new master key is in use. The replaced sealing keys are deleted when nothing needs them.{}\n",
            previous_advice(found)
        ),
        ReplacementStage::None => format!("The new master key is in use.{}\n", previous_advice(found)),
    });
    text
}

const fn previous_advice(found: &Replacement) -> &'static str {
    match found.has_previous {
        true => " The previous master key is not needed any more: remove it from the settings.",
        false => "",
    }
}
