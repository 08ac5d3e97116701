//! Admission under overload: the choice of the requests that an instance executes when it receives more than it can
//! serve.
//!
//! Each class of requests is admitted up to a part of the instance's capacity, so that the less urgent classes are
//! rejected first. Without overload this costs a few atomic operations per request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use assent_store::RequestsUnderWay;

/// The number of requests per processor that an instance executes at the same time. A request of average cost waits
/// about half a second then. More requests would only delay all of them.
const PER_PROCESSOR: usize = 1024;
/// The number of requests of a class that are always admitted. An operator needs the console during an overload.
const RESERVED: usize = 16;

/// A class of requests, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RequestClass {
    /// Applications: tokens, introspection, revocation, UserInfo.
    Application,
    /// Users: the pages of a sign-in with their server-sent events, the portal, the authenticator.
    User,
    /// Administration: the console, and the admin API with its exports.
    Administration,
}
assent_model::enum_texts!(RequestClass);

impl RequestClass {
    /// Returns the number of executing requests of all classes below which this class is admitted.
    const fn threshold(self, capacity: usize) -> usize {
        match self {
            Self::Application => capacity,
            Self::User => capacity / 4 * 3,
            Self::Administration => capacity / 2,
        }
    }
}

#[derive(Debug, Default)]
struct ClassCounts {
    executing: AtomicUsize,
    rejected: AtomicU64,
}

/// The number of requests that an instance executes, by class.
#[derive(Debug)]
pub struct Admission {
    capacity: usize,
    /// All of them. The writer of the database waits a moment for their writes.
    executing: Arc<RequestsUnderWay>,
    application: ClassCounts,
    user: ClassCounts,
    administration: ClassCounts,
}

impl Admission {
    /// Returns the admission with the capacity of this machine, which counts the requests that it executes.
    pub fn of_processors(executing: Arc<RequestsUnderWay>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_capacity(processors.saturating_mul(PER_PROCESSOR), executing)
    }

    fn with_capacity(capacity: usize, executing: Arc<RequestsUnderWay>) -> Self {
        Self {
            capacity,
            executing,
            application: ClassCounts::default(),
            user: ClassCounts::default(),
            administration: ClassCounts::default(),
        }
    }

    /// Returns the number of admitted requests of the most urgent class.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns whether one more request of this class is admitted. Counts a rejection. Concurrent requests may exceed
    /// the capacity slightly.
    pub fn admits(&self, class: RequestClass) -> bool {
        let counts = self.counts(class);
        let admitted = self.executing.under_way() < class.threshold(self.capacity)
            || counts.executing.load(Ordering::Relaxed) < RESERVED;
        if !admitted {
            counts.rejected.fetch_add(1, Ordering::Relaxed);
        }
        admitted
    }

    /// Returns an admitted request, which does not count until it begins.
    pub fn enter(self: &Arc<Self>, class: RequestClass) -> AdmittedRequest {
        AdmittedRequest {
            admission: Arc::clone(self),
            class,
            has_begun: AtomicBool::new(false),
        }
    }

    /// Returns the number of rejected requests of each class since the start.
    pub fn rejected_requests(&self) -> [(RequestClass, u64); 3] {
        RequestClass::ALL.map(|class| (class, self.counts(class).rejected.load(Ordering::Relaxed)))
    }

    /// Returns the number of executing requests of each class.
    pub fn executing_requests(&self) -> [(RequestClass, usize); 3] {
        RequestClass::ALL.map(|class| (class, self.counts(class).executing.load(Ordering::Relaxed)))
    }

    const fn counts(&self, class: RequestClass) -> &ClassCounts {
        match class {
            RequestClass::Application => &self.application,
            RequestClass::User => &self.user,
            RequestClass::Administration => &self.administration,
        }
    }
}

/// A request that waits for a change, and does not count meanwhile.
#[derive(Debug)]
pub struct PausedRequest<'a>(&'a AdmittedRequest);

impl Drop for PausedRequest<'_> {
    fn drop(&mut self) {
        self.0.begin();
    }
}

/// A request that was admitted. Dropping it ends its execution.
#[derive(Debug)]
pub struct AdmittedRequest {
    admission: Arc<Admission>,
    class: RequestClass,
    has_begun: AtomicBool,
}

impl AdmittedRequest {
    /// Counts the request, because it has arrived completely. A client that sends its body slowly therefore takes no
    /// capacity from others.
    pub fn begin(&self) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            let counts = self.admission.counts(self.class);
            counts.executing.fetch_add(1, Ordering::Relaxed);
            self.admission.executing.begin();
        }
    }

    /// Does not count the request while it waits for a change, because it costs no more than its connection. It counts
    /// again when the result is dropped.
    pub fn pause(&self) -> PausedRequest<'_> {
        self.end();
        PausedRequest(self)
    }

    fn end(&self) {
        if self.has_begun.swap(false, Ordering::Relaxed) {
            let counts = self.admission.counts(self.class);
            counts.executing.fetch_sub(1, Ordering::Relaxed);
            self.admission.executing.end();
        }
    }
}

impl Drop for AdmittedRequest {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::RequestClass::{Administration, Application, User};
    use super::*;

    fn begin(
        admission: &Arc<Admission>,
        class: RequestClass,
        count: usize,
    ) -> Vec<AdmittedRequest> {
        (0..count)
            .map(|_| {
                let request = admission.enter(class);
                request.begin();
                request
            })
            .collect()
    }

    fn admitted(admission: &Admission) -> [bool; 3] {
        [Application, User, Administration].map(|class| admission.admits(class))
    }

    #[test]
    fn the_less_urgent_classes_are_rejected_first() {
        let admission = Arc::new(Admission::with_capacity(400, Arc::default()));
        let mut requests = Vec::new();
        for class in [Application, User, Administration] {
            requests.push(begin(&admission, class, RESERVED));
        }
        requests.push(begin(&admission, Application, 200 - 3 * RESERVED - 1));
        assert_eq!(admitted(&admission), [true, true, true]);
        requests.push(begin(&admission, Application, 1));
        assert_eq!(admitted(&admission), [true, true, false]);
        requests.push(begin(&admission, User, 100));
        assert_eq!(admitted(&admission), [true, false, false]);
        requests.push(begin(&admission, Application, 100));
        assert_eq!(admitted(&admission), [false, false, false]);
        assert_eq!(
            admission.rejected_requests(),
            [(Application, 1), (User, 2), (Administration, 3)]
        );
        drop(requests);
        assert_eq!(admitted(&admission), [true, true, true]);
    }

    #[test]
    fn a_few_requests_of_each_class_are_always_admitted() {
        let admission = Arc::new(Admission::with_capacity(400, Arc::default()));
        let _flood = begin(&admission, Application, 1000);
        assert_eq!(admitted(&admission), [false, true, true]);
        let _pages = begin(&admission, User, RESERVED);
        assert_eq!(admitted(&admission), [false, false, true]);
    }

    #[test]
    fn a_request_counts_from_its_beginning_and_once() {
        let admission = Arc::new(Admission::with_capacity(1, Arc::default()));
        let _console = begin(&admission, Administration, RESERVED);
        let request = admission.enter(Administration);
        assert_eq!(admission.executing.under_way(), RESERVED);
        request.begin();
        request.begin();
        assert_eq!(admission.executing.under_way(), RESERVED + 1);
        let paused = request.pause();
        assert_eq!(admission.executing.under_way(), RESERVED);
        drop(paused);
        assert_eq!(admission.executing.under_way(), RESERVED + 1);
        drop(request);
        assert_eq!(admission.executing.under_way(), RESERVED);
    }
}
