//! Snapshots as bytes: size, version, and damaged input.

use std::sync::Arc;

use poplin::{Backend, ClothId, Error, SAVE_VERSION, SaveError, Simulation, Snapshot};
use poplin_geometry::Rng;
use poplin_model::ModelError;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};

use super::{Scene, restore_bytes, saved, sleeper, tetrahedron};

/// Length of the header \[bytes\].
const HEADER_LEN: usize = 22;

#[test]
fn a_shared_fabric_is_written_once() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(hanging_sheet(16, 16)).unwrap();
    let one = simulation.save().unwrap().to_bytes().unwrap().len();
    simulation.clone_cloth(id, 1).unwrap();
    let two = simulation.save().unwrap().to_bytes().unwrap().len();
    // 256 particles: initial state, current and previous.
    assert!((256 * 36..256 * 56).contains(&(two - one)), "{one} bytes, then {two}");
    assert!(one > 2 * (two - one), "{one} bytes, then {two}");
    let mut other = Simulation::new(Backend::Cpu).unwrap();
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    let ids = restore_bytes(&mut other, &bytes).unwrap();
    let fabric = |id: ClothId| other.cloth(id).unwrap().desc().fabric.clone();
    assert!(Arc::ptr_eq(&fabric(ids[0]), &fabric(ids[1])));
}

/// Replaces the header by one that matches the payload.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let payload = &bytes[HEADER_LEN..];
    let (checksum, len) = (crc32fast::hash(payload), payload.len() as u64);
    bytes[10..14].copy_from_slice(&checksum.to_le_bytes());
    bytes[14..22].copy_from_slice(&len.to_le_bytes());
    bytes
}

#[test]
fn bytes_that_are_no_snapshot_are_refused_by_name() {
    let good = saved(Backend::Cpu).bytes;
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(hanging_sheet(4, 4)).unwrap();
    let before = simulation.save().unwrap().to_bytes().unwrap();
    let with = |index: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[index] = byte;
        bytes
    };
    let len = good.len() as u64;
    let newer = SAVE_VERSION + 1;
    let wrong_length = |len, expected| SaveError::Length { len, expected }.to_string();
    assert_eq!(
        wrong_length(9, 22),
        "the snapshot has 9 bytes instead of 22; it is truncated or has extra bytes"
    );
    for (bytes, expected) in [
        (Vec::new(), "not a poplin snapshot: the data does not begin with `POPLIN`".into()),
        (b"PK\x03\x04 and more".to_vec(), SaveError::Foreign.to_string()),
        (good[..9].to_vec(), wrong_length(9, 22)),
        (
            with(6, newer as u8),
            format!(
                "the snapshot has version {newer}; this poplin reads only version {SAVE_VERSION}"
            ),
        ),
        (good[..good.len() - 1].to_vec(), wrong_length(len - 1, len)),
        ([&good[..], &[0]].concat(), wrong_length(len + 1, len)),
    ] {
        let error = restore_bytes(&mut simulation, &bytes).unwrap_err();
        assert!(matches!(error, Error::Save(_)), "{error:?}");
        assert_eq!(error.to_string(), expected);
    }
    let error = restore_bytes(&mut simulation, &with(100, good[100] ^ 1)).unwrap_err().to_string();
    assert!(error.starts_with("the snapshot is corrupted: its checksum is 0x"), "{error}");
    let error = restore_bytes(&mut simulation, &sealed(good[..200].to_vec())).unwrap_err();
    assert!(error.to_string().starts_with("the snapshot cannot be decoded: "), "{error}");
    // The failed restores have changed nothing.
    assert_eq!(simulation.ids(), [id]);
    assert!(simulation.save().unwrap().to_bytes().unwrap() == before);
}

#[test]
fn damaged_bytes_neither_panic_nor_take_much_memory() {
    let good = saved(Backend::Cpu).bytes;
    let mut rng = Rng::new(17);
    let (mut refused, mut restored) = (0, 0);
    for round in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..1 + rng.index(3) {
            let index = HEADER_LEN + rng.index(bytes.len() - HEADER_LEN);
            match rng.index(6) {
                0 => bytes[index] = 0xff,
                1 => bytes[index] = 0,
                // A huge length or index.
                2 => bytes.splice(index..index + 1, [0xff, 0xff, 0xff, 0xff, 0x0f]).for_each(drop),
                3 => bytes.truncate(index + 1),
                4 => drop(bytes.remove(index)),
                _ => bytes[index] ^= 1 << rng.index(8),
            }
        }
        let bytes = sealed(bytes);
        match Snapshot::from_bytes(&bytes) {
            Err(_) => refused += 1,
            Ok(snapshot) => {
                restored += 1;
                if round % 8 == 0 {
                    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
                    simulation.restore(&snapshot).unwrap();
                    // Some frames are refused because of frequencies that are too high.
                    for _ in 0..2 {
                        let _ = simulation.step(1.0 / 240.0);
                    }
                    simulation.state().unwrap();
                    let _ = simulation.save().unwrap().to_bytes();
                }
            }
        }
    }
    assert!(refused > 500 && restored > 500, "{refused} refused, {restored} restored");
}

#[test]
fn a_pinned_particle_stays_pinned_whatever_the_bytes_say() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(loose_particles(vec![[1.0, 2.0, 3.0, 0.0]])).unwrap();
    let good = simulation.save().unwrap().to_bytes().unwrap();
    let row = [1.0f32, 2.0, 3.0, 0.0].map(f32::to_le_bytes).concat();
    // Initial state, then the current one.
    let positions: Vec<_> = (0..good.len() - 15).filter(|&k| good[k..k + 16] == row[..]).collect();
    assert_eq!(positions.len(), 2);
    let mut bytes = good;
    bytes[positions[1] + 12..][..4].copy_from_slice(&1.0f32.to_le_bytes());
    let error = Snapshot::from_bytes(&sealed(bytes)).unwrap_err();
    let source = ModelError::PinnedParticle { particle: 0, inverse_mass: 1.0 };
    assert_eq!(error, SaveError::Cloth { cloth: 0, source });
}

#[test]
fn the_bytes_of_a_version_are_always_the_same() {
    let bytes = |simulation: &mut Simulation| simulation.save().unwrap().to_bytes().unwrap();
    let mut full = Simulation::new(Backend::Cpu).unwrap();
    Scene::build(&mut full);
    // The scene uses no sine or square root, which machines may round differently.
    let mut plain = Simulation::new(Backend::Cpu).unwrap();
    plain.add(sleeper()).unwrap();
    plain.colliders_mut().add(tetrahedron()).unwrap();
    let checksum = crc32fast::hash(&bytes(&mut plain));
    // If these bytes change, the format has changed: raise SAVE_VERSION.
    assert_eq!((SAVE_VERSION, bytes(&mut full).len(), checksum), (8, 34_195, 1_195_009_143));
}
