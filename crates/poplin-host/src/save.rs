//! Serialized snapshots.

use std::collections::HashMap;
use std::sync::Arc;

use poplin_model::{ClothContactSolver, ColliderSet, Fabric, ModelError, StoredColliders};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::host::StoredCloth;
use crate::{ContactMultipliers, Snapshot};

/// Format version that [`Snapshot::to_bytes`] writes, the only one that [`Snapshot::from_bytes`]
/// reads. It rises with every change of the format.
pub const SAVE_VERSION: u32 = 8;

/// First bytes of a snapshot.
const MAGIC: [u8; 6] = *b"POPLIN";

/// Length of the header: `POPLIN`, then as little-endian `u32` the version and the CRC-32 (IEEE) of
/// the payload, and as `u64` the length of the payload.
const HEADER_LEN: usize = MAGIC.len() + 4 + 4 + 8;

/// Error of reading or writing a snapshot.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// Data that does not begin like a snapshot.
    #[error("not a poplin snapshot: the data does not begin with `POPLIN`")]
    Foreign,
    /// Snapshot of a different version of poplin.
    #[error("the snapshot has version {version}; this poplin reads only version {SAVE_VERSION}")]
    Version {
        /// Version of the snapshot.
        version: u32,
    },
    /// Truncated data, or data with extra bytes.
    #[error(
        "the snapshot has {len} bytes instead of {expected}; it is truncated or has extra bytes"
    )]
    Length {
        /// Number of bytes present.
        len: u64,
        /// Number of bytes expected.
        expected: u64,
    },
    /// Data that differs from what was written.
    #[error("the snapshot is corrupted: its checksum is {actual:#010x}, not {expected:#010x}")]
    Checksum {
        /// Checksum in the header.
        expected: u32,
        /// Checksum of the data.
        actual: u32,
    },
    /// Data that cannot be decoded, although its checksum matches.
    #[error("the snapshot cannot be decoded: {0}")]
    Malformed(#[from] postcard::Error),
    /// Cloth with a fabric that the snapshot does not have.
    #[error("cloth {cloth} of the snapshot uses fabric {fabric}, but there are only {count}")]
    NoSuchFabric {
        /// The cloth, in the order of adding.
        cloth: usize,
        /// Index of its fabric.
        fabric: u32,
        /// Number of fabrics.
        count: usize,
    },
    /// Cloth with a value out of range.
    #[error("cloth {cloth} of the snapshot: {source}")]
    Cloth {
        /// The cloth, in the order of adding.
        cloth: usize,
        /// Description of the invalid value.
        source: ModelError,
    },
    /// Shared colliders or settings with a value out of range.
    #[error("shared colliders or settings of the snapshot: {0}")]
    Shared(#[source] ModelError),
    /// Multipliers of triangle contact that are out of range or out of order.
    #[error("triangle contact multipliers in the snapshot are out of range or out of order")]
    Multipliers,
}

/// Serialized content.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    fabrics: Vec<Arc<Fabric>>,
    colliders: StoredColliders,
    cloth_contact_solver: ClothContactSolver,
    multipliers: ContactMultipliers,
    /// Cloths, each with the index of its fabric.
    cloths: Vec<(u32, StoredCloth)>,
}

impl Snapshot {
    /// Serializes the snapshot; every fabric is written once.
    ///
    /// # Errors
    /// [`SaveError::Cloth`] if the next frame would reject the colliders
    /// ([`ModelError::MeshesOfBodies`]).
    pub fn to_bytes(&self) -> Result<Vec<u8>, SaveError> {
        let mut fabrics = Vec::new();
        let mut index_of = HashMap::new();
        let contact = &self.cloth_contact_solver;
        let cloths = self.cloths.iter().enumerate().map(|(index, cloth)| {
            let fabric = &cloth.host.desc().fabric;
            // Cloths that share a fabric refer to one copy of it.
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
        // The header is filled in afterwards: it contains the payload's checksum.
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

    /// Deserializes a snapshot. All values are validated like user input, so untrusted bytes are
    /// safe; memory use stays within a small multiple of their length.
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

/// Returns the payload if the header is valid.
fn payload_of(bytes: &[u8]) -> Result<&[u8], SaveError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(SaveError::Foreign)?;
    let too_short = |expected| SaveError::Length { len: bytes.len() as u64, expected };
    let only_header = || too_short(HEADER_LEN as u64);
    let (version, rest) = rest.split_first_chunk().ok_or_else(only_header)?;
    let version = u32::from_le_bytes(*version);
    // Before length and checksum, whose position may differ in another version.
    if version != SAVE_VERSION {
        return Err(SaveError::Version { version });
    }
    let (checksum, rest) = rest.split_first_chunk().ok_or_else(only_header)?;
    let (len, payload) = rest.split_first_chunk().ok_or_else(only_header)?;
    let (expected, len) = (u32::from_le_bytes(*checksum), u64::from_le_bytes(*len));
    if payload.len() as u64 != len {
        return Err(too_short(len.saturating_add(HEADER_LEN as u64)));
    }
    let actual = crc32fast::hash(payload);
    if actual == expected { Ok(payload) } else { Err(SaveError::Checksum { expected, actual }) }
}
