//! Loops of large cloths split over threads, and the memory of small ones.

use std::sync::Mutex;

use poplin_cpu::CpuEngine;
use poplin_cpu::contact::ContactMemory;
use poplin_cpu::multilevel::LevelsMemory;
use poplin_cpu::{ClothMemory, LaneEngine, Parts, ReferenceEngine, Team, Work, Workers};
use poplin_host::Engine as _;
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::hanging_sheet;
use rayon::ThreadPoolBuilder;

use super::{SOME, THREADS};

/// Workers that record the number of parts which a cloth may be split into.
#[derive(Clone, Default)]
struct Noting(Team);

/// Parts of each cloth since the last check.
static PARTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Workers for Noting {
    type Kept = ();
    type Contacts = ContactMemory;

    fn in_parts<R: Send>(
        &mut self,
        parts: Parts<Self>,
        run: impl FnOnce(&mut Self) -> R + Send,
    ) -> R {
        PARTS.lock().unwrap().push(parts.count());
        run(self)
    }

    fn levels(&mut self) -> &mut LevelsMemory {
        self.0.levels()
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        self.0.work(work, memory);
    }

    fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        self.0.barrier(memory);
    }
}

#[test]
fn only_large_cloths_that_idle_threads_wait_for_are_split() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let parts_of = |sizes: &[u32]| {
        let mut engine = LaneEngine::<Noting>::new();
        for &size in sizes {
            engine.add(hanging_sheet(size, size)).unwrap();
        }
        pool.install(|| engine.step(SOME[0])).unwrap();
        let mut parts = std::mem::take(&mut *PARTS.lock().unwrap());
        parts.sort_unstable();
        parts
    };
    assert_eq!(parts_of(&[64]), [2], "a large cloth alone");
    assert_eq!(parts_of(&[16]), [1], "a small one alone");
    assert_eq!(parts_of(&[64; 8]), [1; 8], "large ones that keep all threads busy");
    assert_eq!(parts_of(&[64, 64, 64]), [2; 3], "three for two threads");
    assert_eq!(parts_of(&[64, 16, 16, 16, 16]), [1, 1, 1, 1, 2], "a large one among small ones");
}

#[test]
fn a_large_cloth_has_the_mirrors_bits_on_any_count_of_threads() {
    let mut mirror = ReferenceEngine::new();
    let mut sheet = hanging_sheet(72, 72);
    sheet.config.thickness = 0.02;
    let id = mirror.add(sheet.clone()).unwrap();
    SOME.into_iter().for_each(|dt| mirror.step(dt).unwrap());
    for threads in THREADS {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut wide = CpuEngine::new();
        let same = wide.add(sheet.clone()).unwrap();
        // The step is started from outside the pool's threads.
        SOME.into_iter().for_each(|dt| pool.install(|| wide.step(dt)).unwrap());
        let what = format!("{threads} threads");
        same_bits(&what, wide.current(same), mirror.current(id)).unwrap();
    }
}

#[test]
fn a_small_cloth_takes_little_memory() {
    const COPIES: u64 = 1000;
    for (name, distance) in [("default", None), ("self collision off", Some(0.0))] {
        let mut engine = CpuEngine::new();
        let mut cloth = hanging_sheet(16, 16);
        cloth.config.self_collision.distance = distance;
        let id = engine.add(cloth).unwrap();
        engine.clone_cloth(id, COPIES as usize - 1).unwrap();
        engine.step(SOME[0]).unwrap();
        // 256 particles with two rows of 16 bytes take 8 KiB.
        let bytes = engine.memory_bytes() / COPIES;
        assert!((8 * 1024..11 * 1024).contains(&bytes), "{name}: {bytes} bytes a cloth");
    }
}
