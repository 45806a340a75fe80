//! Area and mass of each particle.

use glam::DVec3;
use poplin_geometry::triangle_area;
use poplin_model::MAX_COORDINATE;

use crate::surface::{Face, Surface};
use crate::{CookError, CookOptions};

/// Area and mass of each particle.
#[derive(Debug, Clone)]
pub(crate) struct Masses {
    /// Area of each particle [m^2].
    pub(crate) areas: Vec<f64>,
    /// Mass of each particle, including pinned ones \[kg\].
    pub(crate) masses: Vec<f64>,
    /// Inverse mass of each particle [1/kg], 0 = pinned.
    pub(crate) inverse_masses: Vec<f32>,
}

impl Masses {
    /// Computes masses from the options and applies pins.
    pub(crate) fn new(surface: &Surface, options: &CookOptions) -> Result<Self, CookError> {
        let areas = particle_areas(surface);
        let masses = match &options.masses {
            None => areas.iter().map(|area| area * f64::from(options.density)).collect(),
            Some(masses_of_vertices) => {
                let mut sums = vec![0.0; areas.len()];
                for (&particle, &mass) in surface.vertex_to_particle.iter().zip(masses_of_vertices)
                {
                    if let Some(particle) = particle {
                        sums[particle as usize] += f64::from(mass);
                    }
                }
                sums
            }
        };
        let mut inverse_masses: Vec<f32> = masses.iter().map(|mass| (1.0 / mass) as f32).collect();
        for particle in
            options.pins.iter().filter_map(|&pin| surface.vertex_to_particle[pin as usize])
        {
            inverse_masses[particle as usize] = 0.0;
        }
        // The inverse mass of a free particle must not be 0 (pinned) nor exceed the limit of a
        // cloth.
        let (min, max) = (1.0 / f64::from(MAX_COORDINATE), 1.0 / f64::from(f32::MIN_POSITIVE));
        let pinned = |particle: usize| inverse_masses[particle] == 0.0 && masses[particle] < max;
        let bad = (0..masses.len()).find(|&p| !pinned(p) && !(min..=max).contains(&masses[p]));
        match bad {
            Some(p) => Err(CookError::MassOutOfRange {
                vertex: surface.particle_to_vertex[p],
                mass: masses[p],
                min,
                max,
            }),
            None => Ok(Self { areas, masses, inverse_masses }),
        }
    }
}

/// Computes particle areas: a third of each incident triangle. A quad counts as the mean of its two
/// triangulations, so that masses do not depend on its first corner.
fn particle_areas(surface: &Surface) -> Vec<f64> {
    let mut areas = vec![0.0; surface.positions.len()];
    let mut add = |corners: [u32; 3], part: f64| {
        // Lumped mass: each corner receives a third.
        let third = part / 3.0 * triangle_area(corners.map(|it| surface.positions[it as usize]));
        corners.iter().for_each(|&corner| areas[corner as usize] += third);
    };
    for face in &surface.faces {
        match *face.corners() {
            [a, b, c, d] => {
                [[a, b, c], [c, d, a], [b, c, d], [d, a, b]].iter().for_each(|&t| add(t, 0.5))
            }
            _ => face.triangles().for_each(|t| add(t, 1.0)),
        }
    }
    areas
}

/// Stiffness of each particle as `log2(1 - stiffness)`: the smallest of the mesh vertices welded
/// into it.
///
/// Stiffness 1 is stored as -128, as everywhere in the solver.
pub(crate) fn particle_stiffness_log2(surface: &Surface, vertex_stiffness: &[f32]) -> Vec<f32> {
    let mut smallest = vec![1.0f32; surface.positions.len()];
    for (&particle, &stiffness) in surface.vertex_to_particle.iter().zip(vertex_stiffness) {
        if let Some(particle) = particle {
            let entry = &mut smallest[particle as usize];
            *entry = entry.min(stiffness);
        }
    }
    smallest
        .iter()
        .map(|&stiffness| if stiffness < 1.0 { (1.0 - stiffness).log2() } else { -128.0 })
        .collect()
}

/// Area vector of a triangle or quad (area times unit normal): half the cross product of its
/// diagonals (Newell).
pub(crate) fn area_vector(face: &Face, positions: &[DVec3]) -> DVec3 {
    let at = |k: usize| positions[face.corners()[k] as usize];
    let twice = if face.is_quad() {
        (at(2) - at(0)).cross(at(3) - at(1))
    } else {
        (at(1) - at(0)).cross(at(2) - at(0))
    };
    0.5 * twice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use poplin_model::Mesh;

    fn masses(mesh: &Mesh, options: &CookOptions) -> Result<Masses, CookError> {
        Masses::new(&Surface::new(mesh, Weld::Relative(1e-6)).unwrap(), options)
    }

    #[test]
    fn grid_mass_is_area_times_density() {
        let masses = masses(&Mesh::grid(3, 3, 2.0, 2.0), &CookOptions::default()).unwrap();
        assert!((masses.masses.iter().sum::<f64>() - 0.8).abs() < 1e-7);
        let parts: Vec<f64> =
            masses.areas.iter().map(|area| (area * 4.0 * 1e6).round() / 1e6).collect();
        // A corner has 1/4 of a quad, a side 2/4, the middle 4/4; thirds of the triangles of both
        // diagonals add up to a quarter each.
        assert_eq!(parts, [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn masses_of_welded_vertices_are_added() {
        let mut mesh = Mesh::grid(2, 2, 1.0, 1.0);
        mesh.positions.push(mesh.positions[3]);
        mesh.quads[0][2] = 4;
        mesh.uvs.clear();
        let options =
            CookOptions { masses: Some(vec![1.0, 1.0, 1.0, 1.0, 3.0]), ..CookOptions::default() };
        assert_eq!(masses(&mesh, &options).unwrap().inverse_masses, [1.0, 1.0, 1.0, 0.25]);
    }

    #[test]
    fn rejects_free_vertices_without_mass_but_not_pinned_ones() {
        let mut options =
            CookOptions { masses: Some(vec![0.0, 1.0, 1.0, 1.0]), ..CookOptions::default() };
        let mesh = Mesh::grid(2, 2, 1.0, 1.0);
        let error = masses(&mesh, &options).unwrap_err();
        assert!(matches!(error, CookError::MassOutOfRange { vertex: 0, .. }), "{error}");
        options.pins = vec![0];
        assert_eq!(masses(&mesh, &options).unwrap().inverse_masses, [0.0, 1.0, 1.0, 1.0]);
    }
}
