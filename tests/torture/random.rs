//! Choices that a seed repeats: xorshift64* (S. Vigna, 2014).

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self((seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1);
        random.below(2);
        random
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    pub fn in_hundred(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
