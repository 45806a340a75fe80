//! Damaged files for tests: readers must reject them or read a valid mesh, and never panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use poplin_geometry::Rng;

/// Time limit of one file.
const LONGEST: Duration = Duration::from_secs(10);

/// Damages a file in one to six places: changed bytes and words, removed or repeated pieces, a
/// truncated end.
fn mutate(bytes: &mut Vec<u8>, random: &mut Rng) {
    const ALPHABET: &[u8] = b"0123456789-+./ \n\r\t\"{}[],:#\\\0\xff\x80\x7fvfetnaixsoldulp=";
    const NUMBERS: &[&[u8]] = &[
        b"0",
        b"-1",
        b"4294967295",
        b"4294967296",
        b"18446744073709551615",
        b"-9223372036854775808",
        b"2147483648",
        b"1e30",
        b"1e400",
        b"nan",
        b"inf",
        b"16777217",
        b"65536",
        b"255",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x80",
        b"\0\0\xc0\x7f",
        b"\0\0\0\0",
        b"\x01\0\0\0",
    ];
    for _ in 0..1 + random.index(6) {
        if bytes.is_empty() {
            return;
        }
        let at = random.index(bytes.len());
        let until = at + random.index(bytes.len() - at + 1).min(64);
        match random.index(8) {
            0 => bytes[at] = ALPHABET[random.index(ALPHABET.len())],
            1 => bytes[at] ^= 1 << random.index(8),
            2 => bytes.insert(at, ALPHABET[random.index(ALPHABET.len())]),
            3 => drop(bytes.remove(at)),
            4 => drop(bytes.drain(at..until)),
            5 => {
                let piece = bytes[at..until].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => {
                let number = NUMBERS[random.index(NUMBERS.len())];
                // Replaces the next number of a text, or as many bytes.
                let is_digit = |byte: &u8| byte.is_ascii_digit() || b"-.+eE".contains(byte);
                let next = bytes[at..].iter().position(u8::is_ascii_digit).unwrap_or(0);
                let at = at + if random.index(2) == 0 { next } else { 0 };
                let digits = bytes[at..].iter().take_while(|byte| is_digit(byte)).count();
                let length = if digits > 0 { digits } else { number.len().min(bytes.len() - at) };
                bytes.splice(at..at + length, number.iter().copied());
            }
            _ if random.index(8) == 0 => bytes.truncate(at),
            _ => {}
        }
    }
}

/// Runs a reader on damaged copies of valid files. `read` returns true if it accepted the file, and
/// panics if the result is not valid. The variable `POPLIN_FUZZ` sets another number of files and a
/// seed other than 1, as `1000000` or `1000000,7`.
///
/// # Panics
/// If a valid file is rejected, `read` panics or takes longer than 10 s, or the damaged files are
/// all rejected or all accepted.
pub fn run(samples: &[Vec<u8>], count: usize, read: impl Fn(&[u8]) -> bool) {
    let stated = std::env::var("POPLIN_FUZZ").unwrap_or_default();
    let (stated_count, seed) = stated.split_once(',').unwrap_or((&stated, "1"));
    // The nightly run damages ten times as many files.
    let factor = if std::env::var_os("POPLIN_NIGHTLY").is_some() { 10 } else { 1 };
    let count = stated_count.parse().unwrap_or(factor * count);
    let mut random = Rng::new(seed.parse().unwrap_or(1));
    samples.iter().enumerate().for_each(|(k, bytes)| assert!(read(bytes), "sample {k} is refused"));
    let mut taken = 0;
    for k in 0..count {
        let mut bytes = samples[k % samples.len()].clone();
        mutate(&mut bytes, &mut random);
        let begin = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        assert!(begin.elapsed() < LONGEST, "file {k} takes {:?}: {bytes:?}", begin.elapsed());
        match ended {
            Ok(is_taken) => taken += usize::from(is_taken),
            Err(_) => panic!("file {k} panics: {:?}\n{bytes:?}", String::from_utf8_lossy(&bytes)),
        }
    }
    assert!((1..count).contains(&taken), "{taken} of {count} were taken: the damage tests nothing");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "panics:")]
    fn a_reader_with_an_unchecked_index_is_caught() {
        let careless = |bytes: &[u8]| bytes[usize::from(bytes[0] - b'0')] == b'x';
        run(&[b"1x".to_vec()], 4000, careless);
    }
}
