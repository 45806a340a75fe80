//! FNV-1a hash of 64 bits (Fowler, Noll and Vo), to compare data; not cryptographic.

/// Hash state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Fnv {
    /// Returns the hash of no bytes.
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns 16 hexadecimal digits.
    pub(super) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_published_hashes() {
        let hash = |text: &str| {
            let mut hash = Fnv::new();
            hash.add(text.bytes());
            hash.hex()
        };
        assert_eq!(
            [hash(""), hash("a"), hash("foobar")],
            ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]
        );
    }
}
