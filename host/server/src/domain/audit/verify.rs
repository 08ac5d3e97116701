//! Verifying the audit log: the one in the database, from its anchor to its head, and one that was exported.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Read};

use assent_model::audit::chain::{Break, End, Mark, Record, VerificationCounts, Walk};
use assent_model::audit::jsonl;
use assent_model::secret::Digest;
use assent_store::{Store, StoreError};

/// How many entries are read at a time.
const BATCH: u32 = 500;
/// Of how many users it is remembered when they were erased.
const ERASED: usize = 10_000;
/// How long a line of an export may be, in bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// How many lines of a stream may come again: it tells each entry at least once.
const REPEATED: usize = 2_000;

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was found good, up to the break.
    pub checked: VerificationCounts,
    /// The last place that was found good.
    pub last: Mark,
    /// The first break, where there is one.
    pub broken: Option<Break>,
}

/// Why an export could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file can't be read.
    #[error("it can't be read: {0}")]
    File(#[from] std::io::Error),
    /// A line is no entry of an export.
    #[error("line {line} is no entry of an export: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is none.
    #[error("there are no entries in it")]
    Empty,
}

/// Verifies the log of a database: all of it, or about the last `most` entries. It takes constant memory, and others
/// may write meanwhile.
///
/// # Errors
/// If the database fails.
pub async fn verify(store: &Store, most: Option<i64>) -> Result<Verdict, StoreError> {
    let anchor = store.audit_end(End::Anchor).await?;
    let head = store.audit_end(End::Head).await?.mark;
    let mut walk = Walk::after(anchor.mark.clone());
    let broken = if !anchor.authentic {
        Some(Break::AnchorForged {
            seq: anchor.mark.seq,
        })
    } else {
        let skipped = most
            .map(|most| head.seq.saturating_sub(most))
            .filter(|skipped| *skipped > anchor.mark.seq);
        if let Some(skipped) = skipped
            && let Some(before) = store.audit_records(skipped - 1, 1).await?.pop()
        {
            // Its own digest is believed: whether it follows is not asked.
            walk = Walk::after(Mark {
                seq: before.seq,
                digest: before.covered(),
            });
        }
        to_the_head(store, &mut walk).await?
    };
    Ok(Verdict {
        checked: walk.checked().clone(),
        last: walk.at().clone(),
        broken,
    })
}

async fn to_the_head(store: &Store, walk: &mut Walk) -> Result<Option<Break>, StoreError> {
    let mut erasures = Erasures::default();
    // What is read after it has all that it stands for: both change in one transaction.
    let head = store.audit_end(End::Head).await?;
    while walk.at().seq < head.mark.seq {
        let records = store.audit_records(walk.at().seq, BATCH).await?;
        if records.is_empty() && !has_anchor_moved(store, walk).await? {
            return Ok(Some(Break::CutOff {
                first: walk.at().seq.saturating_add(1),
                last: head.mark.seq,
            }));
        }
        for record in records {
            if record.seq > head.mark.seq {
                break;
            }
            match walk.step(&record) {
                Ok(()) => {}
                // Retention may have taken away what was about to be read.
                Err(Break::Missing { .. }) if has_anchor_moved(store, walk).await? => break,
                Err(broken) => return Ok(Some(broken)),
            }
            if was_taken(store, &record, &mut erasures).await? {
                return Ok(Some(Break::PersonalTaken {
                    seq: record.seq,
                    id: record.id,
                }));
            }
        }
    }
    if !head.authentic || (walk.at().seq == head.mark.seq && walk.at().digest != head.mark.digest) {
        return Ok(Some(Break::HeadForged { seq: head.mark.seq }));
    }
    Ok(store
        .stray_audit_entry()
        .await?
        .map(|id| Break::Stray { id }))
}

/// Goes on from the anchor, where retention has moved that past the walk.
async fn has_anchor_moved(store: &Store, walk: &mut Walk) -> Result<bool, StoreError> {
    let anchor = store.audit_end(End::Anchor).await?;
    Ok(anchor.authentic && walk.skip_to(anchor.mark))
}

/// The position of the last erasure of each user, as the log has it.
#[derive(Default)]
struct Erasures(HashMap<String, Option<i64>>);

impl Erasures {
    /// Whether an entry after this position records the erasure of this user.
    async fn is_erased(&mut self, store: &Store, user: &str, seq: i64) -> Result<bool, StoreError> {
        if self.0.len() >= ERASED {
            self.0.clear();
        }
        let last = match self.0.get(user) {
            Some(last) => *last,
            None => {
                let last = store.last_erasure(user).await?;
                self.0.insert(user.to_owned(), last);
                last
            }
        };
        Ok(last.is_some_and(|last| last > seq))
    }
}

/// Whether something is gone from an entry without an erasure that explains it.
async fn was_taken(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    Ok(personal_was_taken(store, record, erasures).await?
        || origin_was_taken(store, record, erasures).await?)
}

/// Whether the address and browser of the actor are gone, and no later entry records the erasure of the same user.
async fn origin_was_taken(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    if !record.origin_is_erased() {
        return Ok(false);
    }
    match &record.actor {
        Some(actor) if record.is_by_person(actor) => {
            Ok(!erasures.is_erased(store, actor, record.seq).await?)
        }
        _ => Ok(true),
    }
}

/// Whether the personal data of an entry is gone, and no later entry records the erasure of its user.
async fn personal_was_taken(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    if !record.is_erased() {
        return Ok(false);
    }
    match &record.user {
        Some(user) => Ok(!erasures.is_erased(store, user, record.seq).await?),
        None => Ok(true),
    }
}

/// Verifies an export, or the file of a stream: that it holds together from its first entry to its last.
///
/// # Errors
/// [`ExportError`] if the export cannot be read.
pub fn verify_export(mut lines: impl BufRead) -> Result<Verdict, ExportError> {
    let mut walk: Option<Walk> = None;
    let mut recent: VecDeque<Mark> = VecDeque::new();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        if lines
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut text)?
            == 0
        {
            break;
        }
        let record = std::str::from_utf8(&text).map_err(|error| error.to_string());
        let record = record.and_then(|text| jsonl::read(text).map_err(|error| error.to_string()));
        let record = record.map_err(|reason| ExportError::Line {
            line: number,
            reason,
        })?;
        let walk = walk.get_or_insert_with(|| {
            let previous = Digest::from_text(&record.previous).unwrap_or(Mark::START.digest);
            Walk::after(Mark {
                seq: record.seq.saturating_sub(1),
                digest: previous,
            })
        });
        // The same again is what a stream may do after an interruption.
        let digest = Digest::from_text(&record.digest);
        let again = |mark: &Mark| mark.seq == record.seq && Some(mark.digest) == digest;
        if recent.iter().any(again) && record.is_whole() {
            continue;
        }
        if let Err(broken) = walk.step(&record) {
            let broken = Some(broken);
            return Ok(Verdict {
                checked: walk.checked().clone(),
                last: walk.at().clone(),
                broken,
            });
        }
        if recent.len() == REPEATED {
            recent.pop_front();
        }
        recent.push_back(walk.at().clone());
    }
    let walk = walk.ok_or(ExportError::Empty)?;
    Ok(Verdict {
        checked: walk.checked().clone(),
        last: walk.at().clone(),
        broken: None,
    })
}
