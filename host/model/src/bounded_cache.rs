//! A cache with bounded memory. Unlike the crate `lru` it allocates nothing for unused capacity: there are about
//! fifteen rate limits with room for 50,000 keys each.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// A map that evicts the keys with the oldest last write. It keeps at least the last `min_entries` written keys, and at
/// most twice as many. It evicts a whole generation at a time, so a write takes constant time on average.
#[derive(Debug)]
pub struct BoundedCache<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    min_entries: usize,
}

impl<K: Eq + Hash, V: Clone> BoundedCache<K, V> {
    /// Returns an empty map.
    pub fn new(min_entries: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            min_entries,
        }
    }

    /// Returns the last written value of this key, unless it was evicted.
    pub fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// Writes the value of this key.
    pub fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.min_entries && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_stay_and_at_most_twice_the_capacity_is_stored() {
        let mut cache = BoundedCache::new(10);
        for key in 0..10_000 {
            cache.insert(key, key);
            assert!(cache.young.len() + cache.old.len() <= 20);
            assert!((0.max(key - 9)..=key).all(|newer| cache.get(&newer) == Some(newer)));
        }
        assert_eq!(cache.get(&9_000), None);
    }

    #[test]
    fn a_rewritten_entry_counts_as_new() {
        let mut cache = BoundedCache::new(2);
        for key in [1, 2, 3, 1, 4, 5] {
            cache.insert(key, key * 10);
        }
        assert_eq!((cache.get(&1), cache.get(&2)), (Some(10), None));
        cache.insert(1, 11);
        assert_eq!(cache.get(&1), Some(11));
    }
}
