//! Snapshots as bytes.

use std::collections::HashMap;
use std::sync::Arc;

use poplin_model::{ClothContactSolver, ColliderSet, Fabric, ModelError, StoredColliders};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::host::StoredCloth;
use crate::{ContactMultipliers, Snapshot};

/// Version of the bytes that [`Snapshot::to_bytes`] writes, the only one that [`Snapshot::from_bytes`] reads. It rises with every change
/// of what is written.
pub const SAVE_VERSION: u32 = 4;

/// What the bytes begin with.
const MAGIC: [u8; 6] = *b"POPLIN";

/// Bytes before the payload: `POPLIN`, then as `u32`, little-endian, the version and the CRC-32 (IEEE) of the payload, and as `u64`
/// its length.
const HEADER_LEN: usize = MAGIC.len() + 4 + 4 + 8;

/// Why bytes are no snapshot, or a snapshot could not be written.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The bytes do not begin as a snapshot does.
    #[error("these bytes are no snapshot of poplin: they do not begin with `POPLIN`")]
    Foreign,
    /// Another version of poplin wrote them.
    #[error("the snapshot has version {version}; this poplin reads version {SAVE_VERSION} alone")]
    Version {
        /// Its version.
        version: u32,
    },
    /// There are fewer or more bytes than were written.
    #[error("the snapshot has {len} bytes; {expected} were written")]
    Length {
        /// How many there are.
        len: u64,
        /// How many there should be.
        expected: u64,
    },
    /// Some bytes are not what was written.
    #[error("the snapshot is damaged: its checksum is {actual:#010x}, not {expected:#010x}")]
    Checksum {
        /// The checksum that was written.
        expected: u32,
        /// That of the bytes.
        actual: u32,
    },
    /// The bytes are not those of a snapshot, although the checksum fits.
    #[error("the snapshot cannot be read: {0}")]
    Malformed(#[from] postcard::Error),
    /// A cloth has a fabric that is not there.
    #[error("cloth {cloth} of the snapshot has fabric {fabric}, but there are only {count}")]
    NoSuchFabric {
        /// The cloth, in the order of adding.
        cloth: usize,
        /// Its fabric.
        fabric: u32,
        /// Count of fabrics.
        count: usize,
    },
    /// Something of a cloth is out of range.
    #[error("cloth {cloth} of the snapshot: {source}")]
    Cloth {
        /// The cloth, in the order of adding.
        cloth: usize,
        /// What is wrong.
        source: ModelError,
    },
    /// Something of the shared colliders or settings is out of range.
    #[error("shared colliders or settings of the snapshot: {0}")]
    Shared(#[source] ModelError),
    /// The multipliers of contact of triangles are no numbers, or out of order.
    #[error("multipliers of contact of triangles in the snapshot are no numbers or out of order")]
    Multipliers,
}

/// What is written.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    fabrics: Vec<Arc<Fabric>>,
    colliders: StoredColliders,
    cloth_contact_solver: ClothContactSolver,
    multipliers: ContactMultipliers,
    /// Each with the index of its fabric.
    cloths: Vec<(u32, StoredCloth)>,
}

impl Snapshot {
    /// The snapshot as bytes, which hold every fabric once.
    ///
    /// # Errors
    /// [`SaveError::Cloth`] if the colliders are such that the next frame would be refused ([`ModelError::MeshesOfBodies`]).
    pub fn to_bytes(&self) -> Result<Vec<u8>, SaveError> {
        let mut fabrics = Vec::new();
        let mut index_of = HashMap::new();
        let contact = &self.cloth_contact_solver;
        let cloths = self.cloths.iter().enumerate().map(|(index, cloth)| {
            let fabric = &cloth.host.cloth().fabric;
            let fabric = *index_of.entry(Arc::as_ptr(fabric)).or_insert_with(|| {
                fabrics.push(fabric.clone());
                fabrics.len() as u32 - 1
            });
            let of_cloth = |source| SaveError::Cloth { cloth: index, source };
            Ok((fabric, StoredCloth::new(cloth, &self.colliders, contact).map_err(of_cloth)?))
        });
        let cloths = cloths.collect::<Result<_, SaveError>>()?;
        let payload = Payload {
            fabrics,
            colliders: StoredColliders::from(&self.colliders),
            cloth_contact_solver: self.cloth_contact_solver,
            multipliers: self.multipliers.clone(),
            cloths,
        };
        let mut bytes = postcard::to_extend(&payload, vec![0; HEADER_LEN])?;
        let (header, payload) = bytes.split_at_mut(HEADER_LEN);
        let fields: [&[u8]; 4] = [
            &MAGIC,
            &SAVE_VERSION.to_le_bytes(),
            &crc32fast::hash(payload).to_le_bytes(),
            &(payload.len() as u64).to_le_bytes(),
        ];
        header.copy_from_slice(&fields.concat());
        Ok(bytes)
    }

    /// The snapshot that these bytes hold. It is checked as what a user sets, so that any bytes may be tried; no more memory is taken
    /// than some times their length.
    ///
    /// # Errors
    /// [`SaveError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SaveError> {
        let payload: Payload = postcard::from_bytes(payload_of(bytes)?)?;
        let Payload { fabrics, colliders, cloth_contact_solver, multipliers, cloths } = payload;
        if !multipliers.is_sane() {
            return Err(SaveError::Multipliers);
        }
        cloth_contact_solver.validate().map_err(SaveError::Shared)?;
        let colliders = ColliderSet::try_from(colliders).map_err(SaveError::Shared)?;
        let contact = &cloth_contact_solver;
        let cloths = cloths.into_iter().enumerate().map(|(cloth, (fabric, stored))| {
            let count = fabrics.len();
            let missing = SaveError::NoSuchFabric { cloth, fabric, count };
            let fabric = fabrics.get(fabric as usize).ok_or(missing)?.clone();
            stored
                .cloth(fabric, &colliders, contact)
                .map_err(|source| SaveError::Cloth { cloth, source })
        });
        let cloths = cloths.collect::<Result<_, _>>()?;
        Ok(Self { cloths, colliders, cloth_contact_solver, multipliers })
    }
}

/// The payload, if the header is right.
fn payload_of(bytes: &[u8]) -> Result<&[u8], SaveError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(SaveError::Foreign)?;
    let too_short = |expected| SaveError::Length { len: bytes.len() as u64, expected };
    let header_alone = || too_short(HEADER_LEN as u64);
    let (version, rest) = rest.split_first_chunk().ok_or_else(header_alone)?;
    let version = u32::from_le_bytes(*version);
    if version != SAVE_VERSION {
        return Err(SaveError::Version { version });
    }
    let (checksum, rest) = rest.split_first_chunk().ok_or_else(header_alone)?;
    let (len, payload) = rest.split_first_chunk().ok_or_else(header_alone)?;
    let (expected, len) = (u32::from_le_bytes(*checksum), u64::from_le_bytes(*len));
    if payload.len() as u64 != len {
        return Err(too_short(len.saturating_add(HEADER_LEN as u64)));
    }
    let actual = crc32fast::hash(payload);
    if actual == expected { Ok(payload) } else { Err(SaveError::Checksum { expected, actual }) }
}
