//! Verifying the audit log: the one in the database, each lane from its anchor to its head, and one that was exported.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Read};

use assent_model::audit::chain::{
    Break, Heads, LaneBreak, Mark, Record, StoredMark, VerificationCounts, Walk,
};
use assent_model::audit::jsonl;
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_store::{CLOCK_SKEW, Store, StoreError};

/// How many entries are read at a time.
const BATCH: u32 = 500;
/// Of how many users it is remembered when they were erased.
const ERASED: usize = 10_000;
/// How long a line of an export may be, in bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// How many lines of each lane of a stream may come again: it tells each entry at least once.
const REPEATED: usize = 2_000;
/// How many lanes an export may have.
const MOST_LANES: usize = 10_000;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What was verified, up to the break.
    pub checked: VerificationCounts,
    /// The last place of each lane that was verified.
    pub heads: Heads,
    /// The first break, where there is one.
    pub broken: Option<LaneBreak>,
}

impl Verdict {
    fn add(&mut self, walk: &Walk, broken: Option<Break>) {
        self.checked.add(walk.checked());
        self.heads.advance(walk.lane(), walk.at().clone());
        self.broken = self.broken.take().or(broken.map(|what| LaneBreak {
            lane: Some(walk.lane()),
            what,
        }));
    }
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
    let mut verdict = Verdict::default();
    // What is read after it has all that it stands for.
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

/// Compares the log with heads of an earlier time: each entry must still be there as it was, unless retention deleted
/// it.
///
/// # Errors
/// If the database fails.
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
            Some(record.covered())
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
    /// The head of the lane in the root, and the number of the root.
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
            // Its own digest is believed: whether it follows is not asked.
            let digest = before.covered();
            let seq = before.seq;
            walk = Walk::after(lane, Mark { seq, digest });
        }
        let broken = match head {
            Some(head) if !self.is_root_current(&head).await? => Some(Break::RootForged),
            Some(head) => self.to_the_head(&head, &mut walk, erasures).await?,
            None => {
                // Retention may have deleted the last entries meanwhile.
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
        while walk.at().seq < head.mark.seq {
            // The last one once more: another entry at its position would follow it.
            let is_first = walk.checked().entries == 0;
            let after = walk.at().seq - i64::from(!is_first);
            let mut records = store.audit_records(self.lane, after, BATCH).await?;
            if let Some(same) = records.iter().position(|one| is_at(one, walk.at())) {
                records.remove(same);
            }
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
                    // Nobody with the key wrote an entry there.
                    Err(Break::Missing { .. }) if !head.authentic && self.is_beyond(&record) => {
                        return Ok(Some(Break::Stray { id: record.id }));
                    }
                    Err(broken) => return Ok(Some(broken)),
                }
                if was_taken(store, &record, erasures).await? {
                    return Ok(Some(Break::PersonalTaken {
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
        if !head.authentic || (walk.at().seq == seq && walk.at().digest != head.mark.digest) {
            return Ok(Some(Break::HeadForged { seq }));
        }
        Ok(None)
    }

    /// Whether the root is at least the one that the writer of the head knew. An older one was put back.
    async fn is_root_current(&self, head: &StoredMark) -> Result<bool, StoreError> {
        // The root may have been replaced since it was read.
        Ok(!head.authentic
            || head.known_root <= self.root
            || head.known_root <= self.store.audit_root().await?.root.number)
    }

    /// Whether the entry stands after the head that the root has.
    fn is_beyond(&self, record: &Record) -> bool {
        self.known.is_none_or(|known| record.seq > known.seq)
    }

    fn compare_with_root(&self, walk: &Walk) -> Option<Break> {
        let known = self.known?;
        (known.seq == walk.at().seq && known.digest != walk.at().digest)
            .then_some(Break::HeadForged { seq: known.seq })
    }

    /// Whether the lane ends before the head that the root has.
    fn is_cut_off(&self, walk: &Walk) -> Option<Break> {
        let last = self.known?.seq;
        let first = walk.at().seq.saturating_add(1);
        (first <= last).then_some(Break::CutOff { first, last })
    }
}

/// Whether it is the entry at this place.
fn is_at(record: &Record, place: &Mark) -> bool {
    record.seq == place.seq && Digest::from_text(&record.digest) == Some(place.digest)
}

/// Goes on from the anchor, where retention has moved that past the walk.
async fn has_anchor_moved(store: &Store, walk: &mut Walk) -> Result<bool, StoreError> {
    let anchor = store.audit_anchor(walk.lane()).await?;
    Ok(anchor.authentic && walk.skip_to(anchor.mark))
}

/// The last erasure of each user, as the log has it.
#[derive(Default)]
struct Erasures(HashMap<String, Option<Timestamp>>);

impl Erasures {
    /// Whether the log has an erasure of this user after an entry of this time. The clocks of the instances that wrote
    /// the two may differ.
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
            Ok(!erasures.is_erased(store, actor, record.at).await?)
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
        Some(user) => Ok(!erasures.is_erased(store, user, record.at).await?),
        None => Ok(true),
    }
}

/// Verifies an export, or the file of a stream: that each lane holds together from its first entry to its last.
///
/// # Errors
/// [`ExportError`] if the export cannot be read.
pub fn verify_export(lines: impl BufRead) -> Result<Verdict, ExportError> {
    read_export(lines, |_| ())
}

/// The same. `visit` receives each entry once, after it was verified: those of a lane in their order.
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

/// An entry of an export.
enum Step {
    /// The next one of its lane.
    Next,
    /// One that came before.
    Repeated,
}

/// A lane in an export.
struct ExportedLane {
    walk: Walk,
    /// The last places. They may come again, as a stream repeats entries after an interruption.
    recent: VecDeque<Mark>,
}

impl ExportedLane {
    /// Begins where the first record of the lane does.
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
        if self.recent.iter().any(|mark| is_at(record, mark)) && record.is_whole() {
            return Ok(Step::Repeated);
        }
        self.walk.step(record)?;
        if self.recent.len() == REPEATED {
            self.recent.pop_front();
        }
        self.recent.push_back(self.walk.at().clone());
        Ok(Step::Next)
    }
}
