//! FNV-1a of 64 bits (Fowler, Noll and Vo): whether bits are the same, not who wrote them.

/// A hash in the making.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Fnv {
    /// The hash of nothing.
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Takes in bytes.
    pub(super) fn add(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// 16 digits.
    pub(super) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
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
