//! Connected parts of a cloth.

use poplin_geometry::Sets;

use super::JobCloth;

impl JobCloth {
    /// Returns the connected parts of the cloth, as sets of particles, and the particles of its
    /// triangles in rising order.
    pub(crate) fn parts(&self) -> (Sets, Vec<u32>) {
        let triangles = &self.cloth.fabric.triangles;
        let mut sets = Sets::new(self.cloth.particle_count());
        for &[a, b, c] in triangles.iter() {
            sets.join(a, b);
            sets.join(a, c);
        }
        let mut corners: Vec<u32> = triangles.iter().flatten().copied().collect();
        corners.sort_unstable();
        corners.dedup();
        (sets, corners)
    }
}
