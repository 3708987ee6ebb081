//! What a key of a keyed lock begins with. For people: keys are told apart by their hashes.

use std::mem::size_of;
use turnlock_core::algorithm::claim::Extent;
use turnlock_core::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

const WORDS: usize = 6;
/// How many bytes of a key there is room for, beside their number.
const ROOM: usize = 8 * WORDS - 1;

/// The first bytes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBeginning([u8; 8 * WORDS]);

impl KeyBeginning {
    /// Of what is no key.
    pub const NONE: Self = Self([0; 8 * WORDS]);

    /// Of this key.
    pub fn of(key: &[u8]) -> Self {
        let mut bytes = [0; 8 * WORDS];
        // One more than there is room for: the key goes on.
        bytes[0] = key.len().min(ROOM + 1) as u8;
        let some = key.len().min(ROOM);
        bytes[1..=some].copy_from_slice(&key[..some]);
        Self(bytes)
    }

    /// Returns whether it is of what is no key, or of an empty one.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0[0] == 0
    }

    /// Returns its bytes, at most 47.
    pub fn bytes(&self) -> &[u8] {
        &self.0[1..=usize::from(self.0[0]).min(ROOM)]
    }

    /// Returns whether these are all the bytes of the key.
    pub fn is_whole(&self) -> bool {
        usize::from(self.0[0]) <= ROOM
    }

    /// Returns it as text, with an ellipsis if the key goes on. What is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        let bytes = self.bytes();
        if self.is_whole() {
            return String::from_utf8_lossy(bytes).into_owned();
        }
        // A character that is cut is left out.
        let whole = bytes.utf8_chunks().map(|chunk| chunk.valid().len() + chunk.invalid().len());
        let cut = bytes.utf8_chunks().last().map_or(0, |chunk| match std::str::from_utf8(chunk.invalid()) {
            Err(error) if error.error_len().is_none() => chunk.invalid().len(),
            _ => 0,
        });
        let shown = whole.sum::<usize>() - cut;
        format!("{}…", String::from_utf8_lossy(&bytes[..shown]))
    }
}

/// The key that a participant asked for last: its hash, and what it begins with.
#[repr(C)]
pub struct KeyRecord {
    /// The upper half of the hash. Both halves are 0 while the bytes are being written.
    first: AtomicU64,
    /// The lower half.
    last: AtomicU64,
    /// How many bytes follow; one more than there is room for if the key goes on. Then the bytes.
    bytes: [AtomicU64; WORDS],
}

impl KeyRecord {
    /// Writes a key down, by the slot's owner, before it claims it.
    pub fn set(&self, hash: Extent, key: &KeyBeginning) {
        if self.hash() == hash {
            return;
        }
        self.first.store(0, Relaxed);
        self.last.store(0, Relaxed);
        // Partner: the fence in `get`: an observer that reads a byte of the new key finds the old hash gone.
        fence(Release);
        let (words, _) = key.0.as_chunks::<8>();
        for (place, word) in self.bytes.iter().zip(words) {
            place.store(u64::from_ne_bytes(*word), Relaxed);
        }
        // Release. Partner: the acquire loads in `hash`: an observer that reads the new hash reads the new bytes.
        self.first.store(hash.first, Release);
        self.last.store(hash.last, Release);
    }

    /// Returns what the key with this hash begins with, if it is the one that was written down last.
    pub fn get(&self, hash: Extent) -> Option<KeyBeginning> {
        if self.hash() != hash {
            return None;
        }
        let mut key = KeyBeginning::NONE;
        let (words, _) = key.0.as_chunks_mut::<8>();
        for (word, place) in words.iter_mut().zip(&self.bytes) {
            *word = place.load(Relaxed).to_ne_bytes();
        }
        // Partner: the fence in `set`.
        fence(Acquire);
        (self.hash() == hash).then_some(key)
    }

    fn hash(&self) -> Extent {
        // Acquire. Partner: the release stores in `set`.
        Extent { first: self.first.load(Acquire), last: self.last.load(Acquire) }
    }
}

const _: () = assert!(size_of::<KeyRecord>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_shown_as_text() {
        let text = |key: &[u8]| KeyBeginning::of(key).text();
        assert_eq!(text(b""), "");
        assert_eq!(text(b"ada"), "ada");
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(text("x".repeat(47).as_bytes()), "x".repeat(47));
        assert_eq!(text("x".repeat(48).as_bytes()), "x".repeat(47) + "…");
        // Of the last character only a part is there.
        assert_eq!(text("é".repeat(40).as_bytes()), "é".repeat(23) + "…");
        assert_eq!(text(&[0xff; 100]), "\u{fffd}".repeat(47) + "…");
        // What something else than turnlock wrote.
        assert_eq!(KeyBeginning([255; 48]).text(), "\u{fffd}".repeat(47) + "…");
    }

    #[test]
    fn a_beginning_says_whether_it_is_whole() {
        for (length, is_whole) in [(0, true), (47, true), (48, false), (300, false)] {
            let beginning = KeyBeginning::of(&vec![b'x'; length]);
            assert_eq!((beginning.bytes().len(), beginning.is_whole()), (length.min(47), is_whole));
        }
        let foreign = KeyBeginning([255; 48]);
        assert_eq!((foreign.bytes(), foreign.is_whole()), (&[255; 47][..], false));
    }

    #[test]
    fn only_the_key_of_the_hash_is_given() {
        let record =
            KeyRecord { first: AtomicU64::new(0), last: AtomicU64::new(0), bytes: Default::default() };
        let (ada, grace) = (Extent { first: 1, last: 2 }, Extent { first: 3, last: 2 });
        record.set(ada, &KeyBeginning::of(b"ada"));
        assert_eq!(record.get(ada).map(|key| key.text()).as_deref(), Some("ada"));
        assert_eq!(record.get(grace), None);
        record.set(grace, &KeyBeginning::of(b"grace"));
        assert_eq!(record.get(ada), None);
        assert_eq!(record.get(grace).map(|key| key.text()).as_deref(), Some("grace"));
    }
}
