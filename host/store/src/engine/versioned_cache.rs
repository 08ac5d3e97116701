//! A cache of rows by id and version. A request reads the version from the database and takes the content from the
//! cache. So it never sees older content than that of the database, no matter which instance made the change.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use assent_model::bounded_cache::BoundedCache;

/// Rows of one kind, each in the version that was read last.
pub(crate) struct VersionedCache<K, V, T>(Arc<Mutex<BoundedCache<K, (V, T)>>>);

impl<K: Eq + Hash, V: Copy + PartialEq, T: Clone> VersionedCache<K, V, T> {
    /// An empty cache for about this many rows.
    pub(crate) fn new(keeps: usize) -> Self {
        Self(Arc::new(Mutex::new(BoundedCache::new(keeps))))
    }

    /// The row in this version, if it is cached.
    pub(crate) fn get(&self, id: &K, version: V) -> Option<T> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .filter(|(found, _)| *found == version)
            .map(|(_, row)| row)
    }

    /// Removes all rows.
    pub(crate) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Stores the row in this version.
    pub(crate) fn insert(&self, id: K, version: V, row: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, (version, row));
    }
}

impl<K, V, T> Clone for VersionedCache<K, V, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, V, T> std::fmt::Debug for VersionedCache<K, V, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VersionedCache").finish_non_exhaustive()
    }
}
