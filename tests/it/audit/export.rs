//! An export can be verified without the database.

use assent::domain::audit::verify::{ExportError, verify_export};
use assent_model::audit::chain::Break;
use assent_model::audit::jsonl;

use super::all_records;
use crate::harness::TestHost;

/// Returns the lines of an exported log.
async fn exported() -> Vec<String> {
    let host = TestHost::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        host.user(name).await;
    }
    let records = all_records(&host.host.store).await;
    records
        .iter()
        .map(|record| jsonl::write(record).expect("written"))
        .collect()
}

fn verified(lines: &[String]) -> Result<Option<Break>, ExportError> {
    let text = lines
        .iter()
        .fold(String::new(), |text, line| text + line + "\n");
    verify_export(text.as_bytes()).map(|verdict| verdict.broken.map(|broken| broken.what))
}

#[tokio::test]
async fn an_export_verifies_by_itself_and_reveals_tampering() {
    let lines = exported().await;
    assert!(lines.len() >= 5);
    assert_eq!(verified(&lines).expect("readable"), None);
    assert_eq!(
        verified(&lines[2..4]).expect("readable"),
        None,
        "a part of it, too"
    );
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        verified(&changed)
            .expect("readable")
            .map(|broken| broken.kind())
    };
    assert_eq!(with(&|lines| drop(lines.remove(2))), Some("missing"));
    assert_eq!(with(&|lines| lines.swap(2, 3)), Some("missing"));
    assert_eq!(
        with(&|lines| lines[2] = lines[2].replace("user.created", "user.updated")),
        Some("changed")
    );
    assert_eq!(
        with(&|lines| lines[2] = lines[2].replace("127.0.0.1", "127.0.0.2")),
        Some("personal_changed")
    );

    // A stream contains each entry at least once.
    let repeated: Vec<String> = lines[..4].iter().chain(&lines[2..]).cloned().collect();
    assert_eq!(verified(&repeated).expect("readable"), None);
    let mut forged = repeated.clone();
    forged[4] = forged[4].replace("127.0.0.1", "127.0.0.2");
    assert_eq!(
        verified(&forged)
            .expect("readable")
            .map(|broken| broken.kind()),
        Some("out_of_order")
    );

    assert!(matches!(verified(&[]), Err(ExportError::Empty)));
    let unknown = vec![lines[0].replacen('{', "{\"unknown\":1,", 1)];
    assert!(
        matches!(verified(&unknown), Err(ExportError::Line { line: 1, .. })),
        "a value outside all digests"
    );
    assert!(matches!(
        verified(&["nonsense".to_owned()]),
        Err(ExportError::Line { line: 1, .. })
    ));
}
