//! What was met lately, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// A map that forgets what was not written for longest. It keeps at least the last `keeps` keys and at most twice as
/// many, and forgets in bulk, so that no call takes long but now and then.
#[derive(Debug)]
pub struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    keeps: usize,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// An empty map.
    pub fn new(keeps: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), keeps }
    }

    /// What was last put under this key, unless it is forgotten.
    pub fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }

    /// Puts a value under this key.
    pub fn put(&mut self, key: K, value: V) {
        if self.young.len() >= self.keeps && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_newest_and_never_more_than_twice_as_many_as_it_shall() {
        let mut recent = Recent::new(10);
        for key in 0..10_000 {
            recent.put(key, key);
            assert!(recent.young.len() + recent.old.len() <= 20);
            assert!((0.max(key - 9)..=key).all(|newer| recent.get(&newer) == Some(newer)));
        }
        assert_eq!(recent.get(&9_000), None);
    }

    #[test]
    fn what_is_written_again_is_new_again() {
        let mut recent = Recent::new(2);
        for key in [1, 2, 3, 1, 4, 5] {
            recent.put(key, key * 10);
        }
        assert_eq!((recent.get(&1), recent.get(&2)), (Some(10), None));
        recent.put(1, 11);
        assert_eq!(recent.get(&1), Some(11));
    }
}
