//! Cooking of a mesh from memory, for other programs.

use poplin_model::{ClothDesc, ContactMode, InteractionGroups, Mesh};
use poplin_scene::{BuiltCloth, PinRule, SceneCloth};
use serde_json::Value;

use crate::cook_cache::CookCache;
use crate::cook_summary::CookSummary;
use crate::failure::{Failure, OrFail};
use crate::job_cloth::JobCloth;
use crate::run::warning::Warning;

/// Mesh cooked as a cloth.
#[derive(Debug, Clone)]
pub struct CookedCloth {
    /// Cloth with its settings.
    pub cloth: ClothDesc,
    /// Particle of every mesh vertex, shape `[vertex_count]`; `None` where no face is left.
    pub vertex_to_particle: Vec<Option<u32>>,
    /// Cooking report in the format of `poplin cook --json`.
    pub report: Value,
    /// Reasons to doubt its behavior, known before it is simulated.
    pub warnings: Vec<Warning>,
}

/// Cooks a mesh with the settings of a scene's cloth, whose own shape and motion are ignored.
/// `pinned` are pinned vertices in addition to those of its pin rules.
///
/// # Errors
/// [`Failure::BadInput`] if mesh, pins or settings are not valid.
pub fn cook_cloth(
    scene: &SceneCloth,
    mesh: Mesh,
    mut pinned: Vec<u32>,
) -> Result<CookedCloth, Failure> {
    mesh.validate().or_bad_input()?;
    for rule in &scene.pins {
        pinned.extend(PinRule::select_in(rule, &mesh).or_bad_input()?);
    }
    pinned.sort_unstable();
    pinned.dedup();
    let built = BuiltCloth { mesh, pinned, ..BuiltCloth::default() };
    let job_cloth = JobCloth::cook(scene, built, &[], &CookCache::default())?;
    let report = serde_json::to_value(CookSummary::new(&job_cloth)).or_failed()?;
    // Without a motion, frames do not matter.
    let warnings = Warning::before_run(&job_cloth, ContactMode::Particles, 0, 60.0).collect();
    let JobCloth { mut cloth, vertex_to_particle, .. } = job_cloth;
    // Colliders that are added later act on the cloth too.
    cloth.collider_groups = InteractionGroups::default();
    Ok(CookedCloth { cloth, vertex_to_particle, report, warnings })
}
