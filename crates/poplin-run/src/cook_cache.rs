//! Cache of cooked meshes: jobs of a sweep mostly differ in settings that cooking does not read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use poplin_cook::{CookError, CookOptions, CookReport, cook};
use poplin_model::{ClothDesc, Mesh};

/// Most cached mesh vertices, summed over meshes.
const MAX_VERTICES: usize = 1 << 18;

/// Most cached meshes, because a look-up compares them one by one.
const MAX_MESHES: usize = 16;

/// Recently cooked meshes, newest first.
#[derive(Debug, Default)]
pub(crate) struct CookCache(Mutex<VecDeque<Arc<CookedCloth>>>);

/// Cooked mesh with its input.
#[derive(Debug)]
pub(crate) struct CookedCloth {
    mesh: Mesh,
    options: CookOptions,
    /// Cloth at rest, with default settings.
    pub(crate) cloth: ClothDesc,
    /// Particle of every mesh vertex, shape `[vertex_count]`; `None` where no face is left.
    pub(crate) vertex_to_particle: Vec<Option<u32>>,
    /// Cooking report.
    pub(crate) report: CookReport,
}

impl CookCache {
    /// Cooks a mesh, or returns the cached result of the same mesh and options; both share a
    /// fabric.
    pub(crate) fn cook(
        &self,
        mesh: &Mesh,
        options: &CookOptions,
    ) -> Result<Arc<CookedCloth>, CookError> {
        let is_asked = |kept: &&Arc<CookedCloth>| kept.options == *options && kept.mesh == *mesh;
        // Entries are pushed atomically, so a poisoned lock is safe.
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().iter().find(is_asked) {
            return Ok(known.clone());
        }
        let cooked = cook(mesh, options)?;
        let (report, vertex_to_particle) =
            (cooked.report.clone(), cooked.vertex_to_particle.clone());
        let (mesh, options, cloth) = (mesh.clone(), options.clone(), cooked.into_cloth());
        let made = Arc::new(CookedCloth { mesh, options, cloth, vertex_to_particle, report });
        if made.mesh.positions.len() > MAX_VERTICES {
            return Ok(made);
        }
        let mut kept = kept();
        // Another thread may have cooked the same mesh meanwhile.
        if let Some(known) =
            kept.iter().find(|it| it.options == made.options && it.mesh == made.mesh)
        {
            return Ok(known.clone());
        }
        kept.push_front(made.clone());
        // Drops the oldest entries beyond the limits.
        // Drops the oldest entries beyond the limits.
        let mut vertices = 0;
        let is_within = |kept: &&Arc<CookedCloth>| {
            vertices += kept.mesh.positions.len();
            vertices <= MAX_VERTICES
        };
        let count = kept.iter().take_while(is_within).count();
        kept.truncate(count.min(MAX_MESHES));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cooks_each_mesh_and_options_once() {
        let (cache, mesh, options) =
            (CookCache::default(), Mesh::grid(3, 3, 1.0, 1.0), CookOptions::default());
        let first = cache.cook(&mesh, &options).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.cook(&mesh.clone(), &options).unwrap()));
        let heavier = CookOptions { density: 0.4, ..options.clone() };
        let second = cache.cook(&mesh, &heavier).unwrap();
        assert_eq!(second.cloth, cook(&mesh, &heavier).unwrap().into_cloth());
        let mut moved = mesh.clone();
        moved.positions[0][1] += 0.1;
        assert_ne!(cache.cook(&moved, &options).unwrap().cloth, first.cloth);
        assert!(Arc::ptr_eq(&first, &cache.cook(&mesh, &options).unwrap()));
    }

    #[test]
    fn drops_the_oldest_meshes() {
        let (cache, mesh) = (CookCache::default(), Mesh::grid(2, 2, 1.0, 1.0));
        for index in 1..=MAX_MESHES + 3 {
            let options = CookOptions { density: index as f32, ..CookOptions::default() };
            cache.cook(&mesh, &options).unwrap();
        }
        let kept = cache.0.lock().unwrap();
        assert_eq!(kept.len(), MAX_MESHES);
        assert_eq!(kept[0].options.density, (MAX_MESHES + 3) as f32);
    }

    #[test]
    fn does_not_cache_large_meshes() {
        let cache = CookCache::default();
        let mesh = Mesh::grid(513, 513, 1.0, 1.0);
        let options = CookOptions::default();
        cache.cook(&mesh, &options).unwrap();
        assert!(cache.0.lock().unwrap().is_empty());
    }
}
