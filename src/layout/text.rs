//! Short text that others may be overwriting while it is read.

use turnlock_core::sync::{AtomicU64, Ordering::Relaxed};

/// Up to `8 * WORDS - 1` bytes of text, padded with NUL. Written word by word, so a reader may see a mixture of two
/// texts but never anything undefined; it is for people to read, never to decide.
#[repr(transparent)]
pub struct Text<const WORDS: usize> {
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Text<WORDS> {
    /// The longest text that fits, in bytes.
    pub const MAX_BYTES: usize = WORDS * 8 - 1;

    /// Stores `text`, cut at a character boundary where it does not fit.
    pub fn set(&self, text: &str) {
        let cut = text.floor_char_boundary(Self::MAX_BYTES.min(text.len()));
        let mut bytes = text.as_bytes()[..cut].iter().copied();
        for word in &self.words {
            let eight: [u8; 8] = std::array::from_fn(|_| bytes.next().unwrap_or(0));
            word.store(u64::from_ne_bytes(eight), Relaxed);
        }
    }

    /// Returns the text as it stands; what is not UTF-8 is shown as U+FFFD.
    pub fn get(&self) -> String {
        let bytes: Vec<u8> = self.bytes().collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(Self::MAX_BYTES).min(Self::MAX_BYTES);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// Returns its bytes as they stand, NULs at the end included. Allocates nothing.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes())
    }

    /// Returns whether it is `text`. Allocates nothing.
    pub fn is(&self, text: &str) -> bool {
        let mut bytes = text.as_bytes().iter().copied();
        let same = |word: &AtomicU64| {
            let eight: [u8; 8] = std::array::from_fn(|_| bytes.next().unwrap_or(0));
            word.load(Relaxed) == u64::from_ne_bytes(eight)
        };
        text.len() <= Self::MAX_BYTES && self.words.iter().all(same)
    }

    /// Takes over another text, word by word.
    pub fn copy_from(&self, other: &Self) {
        for (to, from) in self.words.iter().zip(&other.words) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Text<8> {
        Text { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    #[test]
    fn keeps_what_fits_and_cuts_between_characters() {
        let text = empty();
        for sample in ["", "a", "boulangerie", &"x".repeat(63)] {
            text.set(sample);
            assert_eq!(text.get(), sample);
            assert!(text.is(sample) && !text.is("another") && !text.is(&(sample.to_owned() + "x")));
        }
        text.set(&("x".repeat(62) + "é"));
        assert_eq!(text.get(), "x".repeat(62));
    }

    #[test]
    fn reads_any_bytes() {
        let text = empty();
        text.words[0].store(u64::MAX, Relaxed);
        assert!(text.get().starts_with('\u{FFFD}'));
        for word in &text.words {
            word.store(0x6161_6161_6161_6161, Relaxed);
        }
        assert_eq!(text.get().len(), 63);
    }
}
