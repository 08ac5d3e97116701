//! The verification of the audit log: of the log in the database, each lane from its anchor to its head, and of an
//! export.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Read};

use assent_model::audit::chain::{
    Break, Heads, LaneBreak, Mark, Record, StoredMark, VerificationCounts, Walk,
};
use assent_model::audit::jsonl;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_model::text::without_mark;
use assent_store::{CLOCK_SKEW, Store, StoreError};

/// The number of entries that are read at a time.
const BATCH: u32 = 500;
/// The number of users for whom the time of the erasure is cached.
const ERASED: usize = 10_000;
/// The largest length of a line of an export, in bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// The number of lines of each lane that a stream may repeat, because it sends each entry at least once.
const REPEATED: usize = 2_000;
/// The largest number of lanes in an export.
const MOST_LANES: usize = 10_000;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The counts of the verified entries, up to the break.
    pub checked: VerificationCounts,
    /// The last verified position of each lane.
    pub heads: Heads,
    /// The first break, if there is one.
    pub broken: Option<LaneBreak>,
}

impl Verdict {
    fn add(&mut self, walk: &Walk, broken: Option<Break>) {
        self.checked.add(walk.counts());
        self.heads.advance(walk.lane(), walk.position().clone());
        self.broken = self.broken.take().or(broken.map(|what| LaneBreak {
            lane: Some(walk.lane()),
            what,
        }));
    }
}

/// The reason why an export could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    File(#[from] std::io::Error),
    /// A line is not an entry of an export.
    #[error("line {line} is not an entry of an export: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// The reason.
        reason: String,
    },
    /// The export has no entries.
    #[error("it has no entries")]
    Empty,
}

/// Verifies the log of a database: all of it, or about the last `most` entries. It uses constant memory, and other
/// writes may continue.
pub async fn verify(store: &Store, most: Option<i64>) -> Result<Verdict, StoreError> {
    let mut verdict = Verdict::default();
    // The root is read first. All entries that it covers must then be in the later reads.
    let root = store.audit_root().await?;
    if !root.authentic {
        verdict.broken = Some(LaneBreak {
            lane: None,
            what: Break::RootForged,
        });
    }
    let mut lanes = store.audit_lanes().await?;
    let in_root = root.root.heads.iter().map(|(lane, _)| lane);
    lanes.extend(in_root);
    lanes.sort_unstable();
    lanes.dedup();
    let most = most.map(|most| most / i64::try_from(lanes.len()).unwrap_or(1).max(1));
    let mut erasures = Erasures::default();
    for lane in lanes {
        if verdict.broken.is_some() {
            break;
        }
        let known = root.root.heads.get(lane);
        let lane = LaneVerification {
            store,
            lane,
            known,
            root: root.root.number,
        };
        let (walk, broken) = lane.verify(most, &mut erasures).await?;
        verdict.add(&walk, broken);
    }
    if verdict.broken.is_none()
        && let Some((lane, id)) = store.stray_audit_entry().await?
    {
        verdict.broken = Some(LaneBreak {
            lane: Some(lane),
            what: Break::Stray { id },
        });
    }
    Ok(verdict)
}

/// Compares the log with heads of an earlier time. Each entry must still be there unchanged, unless retention deleted
/// it.
pub async fn compare_heads(store: &Store, heads: &Heads) -> Result<Option<LaneBreak>, StoreError> {
    for (lane, mark) in heads.iter() {
        let anchor = store.audit_anchor(lane).await?.mark;
        let found = if mark.seq <= anchor.seq {
            (mark.seq == anchor.seq).then_some(anchor.digest)
        } else {
            let record = store.audit_records(lane, mark.seq - 1, 1).await?.pop();
            let record = record.filter(|record| record.seq == mark.seq);
            let Some(record) = record else {
                let (first, last) = (mark.seq, mark.seq);
                let what = Break::CutOff { first, last };
                return Ok(Some(LaneBreak {
                    lane: Some(lane),
                    what,
                }));
            };
            Some(record.content_digest())
        };
        if found.is_some_and(|digest| digest != mark.digest) {
            let what = Break::HeadForged { seq: mark.seq };
            return Ok(Some(LaneBreak {
                lane: Some(lane),
                what,
            }));
        }
    }
    Ok(None)
}

/// The verification of a lane.
struct LaneVerification<'a> {
    store: &'a Store,
    lane: i64,
    /// The head of the lane in the root.
    known: Option<&'a Mark>,
    root: i64,
}

impl LaneVerification<'_> {
    async fn verify(
        &self,
        most: Option<i64>,
        erasures: &mut Erasures,
    ) -> Result<(Walk, Option<Break>), StoreError> {
        let (store, lane) = (self.store, self.lane);
        let anchor = store.audit_anchor(lane).await?;
        let mut walk = Walk::after(lane, anchor.mark.clone());
        if !anchor.authentic {
            let seq = anchor.mark.seq;
            return Ok((walk, Some(Break::AnchorForged { seq })));
        }
        let head = store.audit_head(lane).await?;
        let skipped = head
            .as_ref()
            .zip(most)
            .map(|(head, most)| head.mark.seq.saturating_sub(most))
            .filter(|skipped| *skipped > anchor.mark.seq);
        if let Some(skipped) = skipped
            && let Some(before) = store.audit_records(lane, skipped - 1, 1).await?.pop()
        {
            // The digest of this entry is trusted. The entries before it are not verified.
            let digest = before.content_digest();
            let seq = before.seq;
            walk = Walk::after(lane, Mark { seq, digest });
        }
        let broken = match head {
            Some(head) if !self.is_root_current(&head).await? => Some(Break::RootForged),
            Some(head) => self.to_the_head(&head, &mut walk, erasures).await?,
            None => {
                // Retention may have deleted the last entries in the meantime.
                has_anchor_moved(store, &mut walk).await?;
                self.compare_with_root(&walk)
            }
        };
        let broken = broken.or_else(|| self.is_cut_off(&walk));
        Ok((walk, broken))
    }

    async fn to_the_head(
        &self,
        head: &StoredMark,
        walk: &mut Walk,
        erasures: &mut Erasures,
    ) -> Result<Option<Break>, StoreError> {
        let store = self.store;
        while walk.position().seq < head.mark.seq {
            // The last entry is read again, because another entry at its position would be a stray entry.
            let is_first = walk.counts().entries == 0;
            let after = walk.position().seq - i64::from(!is_first);
            let mut records = store.audit_records(self.lane, after, BATCH).await?;
            if let Some(same) = records.iter().position(|one| is_at(one, walk.position())) {
                records.remove(same);
            }
            if records.is_empty() && !has_anchor_moved(store, walk).await? {
                return Ok(Some(Break::CutOff {
                    first: walk.position().seq.saturating_add(1),
                    last: head.mark.seq,
                }));
            }
            for record in records {
                if record.seq > head.mark.seq {
                    break;
                }
                match walk.step(&record) {
                    Ok(()) => {}
                    // Retention may have deleted the next entries in the meantime.
                    Err(Break::Missing { .. }) if has_anchor_moved(store, walk).await? => break,
                    // No instance with the key wrote an entry there.
                    Err(Break::Missing { .. }) if !head.authentic && self.is_beyond(&record) => {
                        return Ok(Some(Break::Stray { id: record.id }));
                    }
                    Err(broken) => return Ok(Some(broken)),
                }
                if was_removed(store, &record, erasures).await? {
                    return Ok(Some(Break::PersonalRemoved {
                        seq: record.seq,
                        id: record.id,
                    }));
                }
                if let Some(broken) = self.compare_with_root(walk) {
                    return Ok(Some(broken));
                }
            }
        }
        let seq = head.mark.seq;
        let at_head = store.audit_records(self.lane, seq - 1, 2).await?;
        if let [_, second, ..] = at_head.as_slice()
            && second.seq == seq
        {
            let id = second.id.clone();
            return Ok(Some(Break::Stray { id }));
        }
        if !head.authentic
            || (walk.position().seq == seq && walk.position().digest != head.mark.digest)
        {
            return Ok(Some(Break::HeadForged { seq }));
        }
        Ok(None)
    }

    /// Returns whether the root is at least as new as the one that the writer of the head knew. Otherwise an attacker
    /// restored an older root.
    async fn is_root_current(&self, head: &StoredMark) -> Result<bool, StoreError> {
        // The root may have been replaced since it was read.
        Ok(!head.authentic
            || head.known_root <= self.root
            || head.known_root <= self.store.audit_root().await?.root.number)
    }

    /// Returns whether the entry is after the head in the root.
    fn is_beyond(&self, record: &Record) -> bool {
        self.known.is_none_or(|known| record.seq > known.seq)
    }

    fn compare_with_root(&self, walk: &Walk) -> Option<Break> {
        let known = self.known?;
        (known.seq == walk.position().seq && known.digest != walk.position().digest)
            .then_some(Break::HeadForged { seq: known.seq })
    }

    /// Returns the break if the lane ends before the head in the root.
    fn is_cut_off(&self, walk: &Walk) -> Option<Break> {
        let last = self.known?.seq;
        let first = walk.position().seq.saturating_add(1);
        (first <= last).then_some(Break::CutOff { first, last })
    }
}

/// Returns whether the entry is the one at this position.
fn is_at(record: &Record, place: &Mark) -> bool {
    record.seq == place.seq && Digest::from_text(&record.digest) == Some(place.digest)
}

/// Continues from the anchor if retention moved it beyond the walk. Returns whether it did.
async fn has_anchor_moved(store: &Store, walk: &mut Walk) -> Result<bool, StoreError> {
    let anchor = store.audit_anchor(walk.lane()).await?;
    Ok(anchor.authentic && walk.skip_to(anchor.mark))
}

/// The last erasure of each user in the log.
#[derive(Default)]
struct Erasures(HashMap<String, Option<Timestamp>>);

impl Erasures {
    /// Returns whether the log has an erasure of this user after an entry of this time. The clocks of the instances
    /// that wrote the two entries may differ.
    async fn is_erased(&mut self, store: &Store, user: &str, at: i64) -> Result<bool, StoreError> {
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
        Ok(last.is_some_and(|last| last + CLOCK_SKEW >= Timestamp::from_millis(at)))
    }
}

/// Returns whether data was removed from an entry without an erasure that explains it.
async fn was_removed(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    Ok(personal_data_was_removed(store, record, erasures).await?
        || origin_was_removed(store, record, erasures).await?)
}

/// Returns whether the actor's address and browser were removed, and no later entry records the erasure of the same
/// user.
async fn origin_was_removed(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    if !record.origin_is_erased() {
        return Ok(false);
    }
    match &record.actor {
        Some(actor) if record.is_by_user(actor) => {
            Ok(!erasures.is_erased(store, actor, record.at).await?)
        }
        _ => Ok(true),
    }
}

/// Returns whether the personal data of an entry was removed, and no later entry records the erasure of its user.
async fn personal_data_was_removed(
    store: &Store,
    record: &Record,
    erasures: &mut Erasures,
) -> Result<bool, StoreError> {
    if !record.is_erased() {
        return Ok(false);
    }
    match &record.user {
        Some(user) => Ok(!erasures.is_erased(store, user, record.at).await?),
        None => Ok(true),
    }
}

/// Verifies an export, or the file of a stream: each lane must be unbroken from its first entry to its last.
///
/// # Errors
/// [`ExportError`] if the export cannot be read.
pub fn verify_export(lines: impl BufRead) -> Result<Verdict, ExportError> {
    read_export(lines, |_| ())
}

/// Reads and verifies an export. `visit` receives each entry once, after its verification, and the entries of a lane in
/// their order.
pub(super) fn read_export(
    mut lines: impl BufRead,
    mut visit: impl FnMut(&Record),
) -> Result<Verdict, ExportError> {
    let mut lanes: HashMap<i64, ExportedLane> = HashMap::new();
    let mut text = Vec::new();
    let mut broken = None;
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
        let line = |reason: String| ExportError::Line {
            line: number,
            reason,
        };
        let record = std::str::from_utf8(&text).map_err(|error| line(error.to_string()))?;
        let record = if number == 1 {
            without_mark(record)
        } else {
            record
        };
        let record = jsonl::read(record).map_err(|error| line(error.to_string()))?;
        if lanes.len() >= MOST_LANES && !lanes.contains_key(&record.lane) {
            return Err(line(format!("more than {MOST_LANES} lanes")));
        }
        let lane = lanes
            .entry(record.lane)
            .or_insert_with(|| ExportedLane::before(&record));
        match lane.step(&record) {
            Ok(Step::Next) => visit(&record),
            Ok(Step::Repeated) => {}
            Err(what) => {
                let lane = Some(record.lane);
                broken = Some(LaneBreak { lane, what });
                break;
            }
        }
    }
    if lanes.is_empty() {
        return Err(ExportError::Empty);
    }
    let mut verdict = Verdict::default();
    for lane in lanes.values() {
        verdict.add(&lane.walk, None);
    }
    verdict.broken = broken;
    Ok(verdict)
}

/// The position of an entry in its lane of an export.
enum Step {
    /// The next entry of its lane.
    Next,
    /// A repeated entry.
    Repeated,
}

/// A lane in an export.
struct ExportedLane {
    walk: Walk,
    /// The last positions. A stream repeats entries after an interruption, so their entries may occur again.
    recent: VecDeque<Mark>,
}

impl ExportedLane {
    /// Returns a lane that begins with this record.
    fn before(first: &Record) -> Self {
        let previous = Digest::from_text(&first.previous).unwrap_or(Mark::START.digest);
        let seq = first.seq.saturating_sub(1);
        Self {
            walk: Walk::after(
                first.lane,
                Mark {
                    seq,
                    digest: previous,
                },
            ),
            recent: VecDeque::new(),
        }
    }

    fn step(&mut self, record: &Record) -> Result<Step, Break> {
        if self.recent.iter().any(|mark| is_at(record, mark)) && record.is_intact() {
            return Ok(Step::Repeated);
        }
        self.walk.step(record)?;
        if self.recent.len() == REPEATED {
            self.recent.pop_front();
        }
        self.recent.push_back(self.walk.position().clone());
        Ok(Step::Next)
    }
}
