//! An export of the audit log, as `assent audit verify --file` reads it. A valid export is identical to the text that
//! would be written again, and no changed export is valid.

#![no_main]

use assent::domain::audit::verify::verify_export;
use assent_model::audit::jsonl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(verdict) = verify_export(input) else {
        return;
    };
    if let Some(broken) = verdict.broken {
        assert!(!broken.to_string().is_empty() && !broken.what.kind().is_empty());
        return;
    }
    assert!(verdict.checked.entries > 0);
    let text = std::str::from_utf8(input).expect("it was read");
    let records: Vec<_> = text
        .lines()
        .map(|line| jsonl::read(line).expect("it was read"))
        .collect();
    let written = |records: &[assent_model::audit::chain::Record]| {
        let lines = records
            .iter()
            .map(|record| jsonl::write(record).expect("written") + "\n");
        verify_export(lines.collect::<String>().as_bytes())
    };
    assert_eq!(written(&records).expect("readable"), verdict);
    for place in 0..records.len() {
        let mut changed = records.clone();
        changed[place].event.push('x');
        assert!(written(&changed).is_ok_and(|verdict| verdict.broken.is_some()));
    }
});
