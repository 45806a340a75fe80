//! Loops of one solve on several threads: each item is computed by itself, so that the number of
//! threads changes no bit.

use rayon::prelude::*;

/// Number of items that a thread takes at once: fewer, and threads wait longer than they work.
pub(super) const CHUNK: usize = 1024;

/// True if several threads share a loop over this number of items, `chunk` at once.
fn is_split(count: usize, chunk: usize) -> bool {
    count > chunk && rayon::current_num_threads() > 1
}

/// Writes each item, with its index.
#[inline(always)]
pub(super) fn each<T: Send>(items: &mut [T], write: impl Fn(usize, &mut T) + Copy + Send + Sync) {
    each_of_chunks(items, CHUNK, write);
}

/// Writes each item, with its index; a thread takes `chunk` items at once.
#[inline(always)]
pub(super) fn each_of_chunks<T: Send>(
    items: &mut [T],
    chunk: usize,
    write: impl Fn(usize, &mut T) + Copy + Send + Sync,
) {
    // One body for both, so that the loop and what it writes are one function; by its own copy of
    // what it reads, it keeps that in registers.
    let run = move |begin: usize, items: &mut [T]| {
        let write = write;
        for (index, item) in items.iter_mut().enumerate() {
            write(begin + index, item);
        }
    };
    if !is_split(items.len(), chunk) {
        return run(0, items);
    }
    let chunks = items.par_chunks_mut(chunk).enumerate();
    chunks.for_each(|(k, items)| run(k * chunk, items));
}

/// Writes each pair of items, with its index.
#[inline(always)]
pub(super) fn each_pair<T: Send, U: Send>(
    first: &mut [T],
    second: &mut [U],
    write: impl Fn(usize, &mut T, &mut U) + Copy + Send + Sync,
) {
    let run = move |begin: usize, first: &mut [T], second: &mut [U]| {
        let write = write;
        for (index, (first, second)) in first.iter_mut().zip(second).enumerate() {
            write(begin + index, first, second);
        }
    };
    if !is_split(first.len(), CHUNK) {
        return run(0, first, second);
    }
    let chunks = first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK)).enumerate();
    chunks.for_each(|(k, (first, second))| run(k * CHUNK, first, second));
}

/// Runs the loops of a solve of this number of items on a thread of the pool: from outside, each of
/// them would wait for one to wake up.
pub(super) fn in_pool(count: usize, run: impl FnOnce() + Send) {
    if is_split(count, CHUNK) { rayon::scope(|_| run()) } else { run() }
}
