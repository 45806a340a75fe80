//! Weights of bends over irregular triangles, fitted to a plate without a grain.

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use super::descent::{Descent, Normal};
use super::net::{Net, Owner, Place, Stencil};
use crate::surface::Surface;

/// Largest error of the energy of a patch by itself; beyond it, its area goes to its neighbours.
const MAX_ERROR: f64 = 0.3;

/// Iterations over one patch.
const PATCH_ITERATIONS: usize = 60;

/// Iterations over all patches, and the slope that favours few bends: small weights are dropped in
/// between.
const ITERATIONS: [(usize, f64); 4] = [(60, 0.1), (50, 0.1), (50, 0.1), (80, 0.0)];

/// Smallest weight over the usual one.
const MIN_WEIGHT: f64 = 0.02;

/// Weight of the size of the weights: of several solutions the smallest is taken.
const RIDGE: f64 = 1e-4;

/// Weight of the mean energy around a vertex, and of its own, squared.
const MOMENTS: [f64; 2] = [25.0, 0.0025];

/// A bend: particles and weight.
pub(super) type Fitted = ([u32; 4], f64);

/// Finds weighted dihedral bends over triangles of any shape whose energy is that of a plate of
/// rigidity 1 and Poisson's ratio 0.
///
/// The angle of four particles is linear in their small displacements. Bends across the edges
/// alone, three per vertex, cannot have the six components of an energy; and where they have them
/// on the average, a curved sheet relaxes between its vertices. Here each vertex considers all
/// pairs of triangles over an edge to it whose corners are its neighbours. Their weights, none
/// negative, minimise
///
/// - the forces on particles where the curvature is constant: inside for all three components, at a
///   border for those that need no moment there, at a clamp for the one across it (the patch test);
/// - the error of the mean energy around each vertex, as a quadratic form of the curvature.
///
/// Vertices whose neighbours cannot measure all components leave their area to those around them.
pub(super) fn fit(surface: &Surface, inverse_masses: &[f32]) -> Vec<Fitted> {
    let net = Net::new(surface, inverse_masses);
    let mut plate =
        Plate { owners: net.owners(measures_all), particle_count: surface.positions.len() };
    net.share_area(&mut plate.owners);
    net.connect(&mut plate.owners);
    plate.scale();
    let mut weights = vec![0.0; plate.owners.iter().map(|owner| owner.stencils.len()).sum()];
    for (iterations, bias) in ITERATIONS {
        let mut descent = Descent::new(&plate, plate.aim(), weights, RIDGE);
        descent.run(iterations, bias);
        weights = descent.weights;
        plate.drop_small(&mut weights);
    }
    let rigidity = plate.rigidity(&weights);
    let mut bends: BTreeMap<[u32; 4], f64> = BTreeMap::new();
    let mut weights = weights.iter();
    for owner in &plate.owners {
        for (stencil, weight) in owner.stencils.iter().zip(&mut weights) {
            let [a, b, c, d] = stencil.slots.map(|slot| owner.particles[usize::from(slot)]);
            *bends.entry([a.min(b), a.max(b), c.min(d), c.max(d)]).or_default() +=
                weight * f64::from(stencil.scale) * owner.area / rigidity;
        }
    }
    bends.into_iter().filter(|&(_, weight)| weight > 0.0).collect()
}

/// Tests whether weights that are not negative give the patch its energy.
fn measures_all(owner: &Owner) -> bool {
    let patch = Single {
        importance: owner.importance,
        directions: owner.stencils.iter().map(|it| it.measured().normalize_or_zero()).collect(),
    };
    let aim = times(&owner.importance, &DMat3::IDENTITY);
    let aim: Vec<f64> = patch.directions.iter().map(|&it| it.dot(aim * it)).collect();
    let mut descent = Descent::new(&patch, aim, vec![0.0; patch.directions.len()], 1e-3);
    descent.run(PATCH_ITERATIONS, 0.0);
    let error = patch.moment(&descent.weights) - DMat3::IDENTITY;
    let is_small =
        |i: usize, j: usize| owner.importance.col(i)[j] < 0.25 || error.col(i)[j].abs() < MAX_ERROR;
    (0..9).all(|k| is_small(k / 3, k % 3))
}

/// Product of a vector with itself.
fn outer(vector: DVec3) -> DMat3 {
    DMat3::from_cols(vector * vector.x, vector * vector.y, vector * vector.z)
}

/// Product of each component.
fn times(a: &DMat3, b: &DMat3) -> DMat3 {
    DMat3::from_cols(a.x_axis * b.x_axis, a.y_axis * b.y_axis, a.z_axis * b.z_axis)
}

/// The energy of one patch alone.
struct Single {
    importance: DMat3,
    /// Tensors of length 1.
    directions: Vec<DVec3>,
}

impl Single {
    fn moment(&self, weights: &[f64]) -> DMat3 {
        let terms = self.directions.iter().zip(weights);
        terms.fold(DMat3::ZERO, |sum, (&it, &weight)| sum + outer(it) * weight)
    }
}

impl Normal for Single {
    fn multiply(&self, weights: &[f64], products: &mut [f64]) {
        let moment = times(&self.importance, &self.moment(weights));
        for (product, &it) in products.iter_mut().zip(&self.directions) {
            *product = it.dot(moment * it);
        }
    }
}

/// All patches: energies around each and forces on all particles.
struct Plate {
    owners: Vec<Owner>,
    particle_count: usize,
}

impl Plate {
    /// Scales each stencil so that a unit of weight does as much as that of another.
    fn scale(&mut self) {
        for owner in &mut self.owners {
            for stencil in &mut owner.stencils {
                let m = stencil.measured();
                let energy = times(&owner.importance, &outer(m));
                let mut square = m.dot(energy * m);
                for (slot, factor) in stencil.slots.into_iter().zip(stencil.factors) {
                    let force = owner.balances[usize::from(slot)] * stencil.tensor();
                    square += force.length_squared() * f64::from(factor * factor);
                }
                stencil.scale(1.0 / square.max(f64::MIN_POSITIVE).sqrt().sqrt());
            }
        }
    }

    /// Drops the stencils of small weights.
    fn drop_small(&mut self, weights: &mut Vec<f64>) {
        let mut each = weights.iter();
        for owner in &mut self.owners {
            owner.stencils.retain(|_| each.next().is_some_and(|&it| it >= MIN_WEIGHT));
        }
        weights.retain(|&it| it >= MIN_WEIGHT);
    }

    /// Mean rigidity inside, which favouring few bends makes too small by a per cent; 1 without an
    /// inside.
    fn rigidity(&self, weights: &[f64]) -> f64 {
        let mut weights = weights.iter();
        let [mut energy, mut area] = [0.0; 2];
        for owner in &self.owners {
            let weights = weights.by_ref().take(owner.stencils.len());
            let squares = owner.stencils.iter().map(|it| it.measured().length_squared());
            let trace: f64 = squares.zip(weights).map(|(square, weight)| square * weight).sum();
            if owner.place == Place::Inside {
                energy += trace / 3.0 * owner.area;
                area += owner.area;
            }
        }
        if energy > 0.0 { energy / area } else { 1.0 }
    }

    /// Right side of the normal equations: the energy of a plate around each vertex.
    fn aim(&self) -> Vec<f64> {
        let slopes = self.slopes(&vec![DMat3::IDENTITY; self.owners.len()]);
        let of_owner = |(owner, slope): (&Owner, &DMat3)| -> Vec<f64> {
            let energy = |it: &Stencil| it.measured().dot(*slope * it.measured());
            owner.stencils.iter().map(energy).collect()
        };
        self.owners.iter().zip(&slopes).flat_map(of_owner).collect()
    }

    /// Derivatives of the errors of energies with respect to the energy of each patch.
    fn slopes(&self, moments: &[DMat3]) -> Vec<DMat3> {
        let mut slopes = vec![DMat3::ZERO; self.owners.len()];
        for (owner, moment) in self.owners.iter().zip(moments) {
            let mut mean = DMat3::ZERO;
            for &(other, share, ref turn) in &owner.around {
                mean += share * (*turn * moments[other] * turn.transpose());
            }
            let error = MOMENTS[0] * times(&owner.importance, &mean);
            for &(other, share, ref turn) in &owner.around {
                slopes[other] += share * (turn.transpose() * error * *turn);
            }
            // The first of them is the owner itself.
            if let Some(&(own, ..)) = owner.around.first() {
                slopes[own] += MOMENTS[1] * times(&owner.importance, moment);
            }
        }
        slopes
    }
}

impl Normal for Plate {
    fn multiply(&self, weights: &[f64], products: &mut [f64]) {
        let mut moments = Vec::with_capacity(self.owners.len());
        let mut forces = vec![DVec3::ZERO; self.particle_count];
        let mut sums = Vec::new();
        let mut begin = 0;
        for owner in &self.owners {
            let mut moment = DMat3::ZERO;
            sums.clear();
            sums.resize(owner.balances.len(), DVec3::ZERO);
            for (stencil, weight) in owner.stencils.iter().zip(&weights[begin..]) {
                if *weight == 0.0 {
                    continue;
                }
                moment += outer(stencil.measured()) * *weight;
                let tensor = *weight * stencil.tensor();
                for (slot, factor) in stencil.slots.into_iter().zip(stencil.factors) {
                    sums[usize::from(slot)] += f64::from(factor) * tensor;
                }
            }
            for ((balance, sum), &particle) in
                owner.balances.iter().zip(&sums).zip(&owner.particles)
            {
                forces[particle as usize] += *balance * *sum;
            }
            moments.push(moment);
            begin += owner.stencils.len();
        }
        let slopes = self.slopes(&moments);
        let mut products = products.iter_mut();
        for (owner, slope) in self.owners.iter().zip(&slopes) {
            sums.clear();
            let back = |(balance, &particle): (&DMat3, &u32)| {
                balance.transpose() * forces[particle as usize]
            };
            sums.extend(owner.balances.iter().zip(&owner.particles).map(back));
            for (stencil, product) in owner.stencils.iter().zip(&mut products) {
                let mut sum = DVec3::ZERO;
                for (slot, factor) in stencil.slots.into_iter().zip(stencil.factors) {
                    sum += f64::from(factor) * sums[usize::from(slot)];
                }
                let measured = stencil.measured();
                *product = measured.dot(*slope * measured) + stencil.tensor().dot(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bends;
    use crate::Weld;
    use crate::quadify::QuadPairs;
    use crate::surface::Surface;
    use crate::test_meshes::irregular;
    use glam::DVec3;
    use poplin_model::Mesh;

    fn surface(mesh: &Mesh) -> Surface {
        Surface::new(mesh, Weld::Off).expect("a surface")
    }

    fn fitted(mesh: &Mesh) -> Bends {
        Bends::fit(&surface(mesh), &vec![1.0; mesh.positions.len()])
    }

    /// Energy of bends of rigidity 1 N m with the vertices of the mesh elsewhere \[J\].
    fn energy(bends: &Bends, mesh: &Mesh, place: impl Fn(f64, f64) -> DVec3) -> f64 {
        let at = |particle: u32| {
            let [x, _, z] = mesh.positions[particle as usize].map(f64::from);
            place(x, z)
        };
        let of_bend = |bend: &poplin_model::Bend| {
            let [a, b, c, d] = bend.particles.map(at);
            let (m, n) = ((b - a).cross(c - a), (d - a).cross(b - a));
            0.5 * f64::from(bend.weight) * m.angle_between(n).powi(2)
        };
        bends.bends.iter().map(of_bend).sum()
    }

    /// Smallest and largest energy over that of a plate, for cylinders in eight directions, saddles
    /// and a sphere.
    fn extremes(bends: &Bends, mesh: &Mesh) -> [f64; 2] {
        let cylinders = (0..8).map(|k| {
            let (sin, cos) = (f64::from(k) * std::f64::consts::PI / 8.0).sin_cos();
            [cos * cos, sin * sin, sin * cos]
        });
        let others = [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]];
        let mut extremes = [f64::INFINITY, 0.0f64];
        for [ss, tt, st] in cylinders.chain(others) {
            let place = |x: f64, z: f64| {
                DVec3::new(x, 1e-3 * (0.5 * (ss * x * x + tt * z * z) + st * x * z), z)
            };
            let expected = 0.5e-6 * (ss * ss + tt * tt + 2.0 * st * st);
            let ratio = energy(bends, mesh, place) / expected;
            extremes = [extremes[0].min(ratio), extremes[1].max(ratio)];
        }
        extremes
    }

    #[test]
    fn irregular_triangles_bend_alike_in_all_directions() {
        for (rows, allowed) in [(12, 0.09), (24, 0.045)] {
            let mesh = irregular(rows, rows);
            let [low, high] = extremes(&fitted(&mesh), &mesh);
            // The border, a band of half an edge, has no energy across it.
            assert!(low > 1.0 - allowed && high < 1.01, "{rows} rows: {low} to {high}");
            let pairs = QuadPairs::none(&surface(&mesh));
            let usual = Bends::find(&surface(&mesh), &pairs, &vec![1.0; mesh.positions.len()]);
            let [low, high] = extremes(&usual, &mesh);
            assert!(high / low > 1.3, "hinges have a grain: {low} to {high}");
        }
    }

    #[test]
    fn forces_vanish_inside_a_sheet_of_constant_curvature() {
        let rows = 16;
        let mesh = irregular(rows, rows);
        let place = |x: f64, z: f64| DVec3::new(x, 0.5e-3 * (x + 0.6 * z).powi(2), z);
        let force = |bends: &Bends| {
            let pull = |vertex: usize| {
                let side = [-1e-5, 1e-5].map(|dy| {
                    let at = mesh.positions[vertex].map(f64::from);
                    energy(bends, &mesh, |x, z| {
                        let dy = if [x, z] == [at[0], at[2]] { dy } else { 0.0 };
                        place(x, z) + DVec3::Y * dy
                    })
                });
                (side[1] - side[0]) / 2e-5
            };
            let inner = |k: &usize| {
                let [x, _, z] = mesh.positions[*k];
                x.abs().max(z.abs()) < 0.4
            };
            let forces = (0..mesh.positions.len()).filter(inner).map(pull);
            let (sum, count) = forces.fold((0.0, 0), |(sum, count), it| (sum + it * it, count + 1));
            (sum / f64::from(count)).sqrt()
        };
        let pairs = QuadPairs::none(&surface(&mesh));
        let usual = Bends::find(&surface(&mesh), &pairs, &vec![1.0; mesh.positions.len()]);
        let [ours, theirs] = [force(&fitted(&mesh)), force(&usual)];
        assert!(ours < 0.3 * theirs, "{ours}, hinges {theirs}");
    }

    #[test]
    fn half_cylinder_has_the_energy_of_its_curvature() {
        let mesh = irregular(24, 24);
        let radius = std::f64::consts::FRAC_1_PI;
        let roll = |x: f64, z: f64| {
            let (sin, cos) = (x / radius).sin_cos();
            DVec3::new(radius * sin, radius * cos, z)
        };
        let found = energy(&fitted(&mesh), &mesh, roll);
        let expected = 0.5 / (radius * radius);
        // Bands of half an edge at both ends have no curvature across them.
        assert!((found / expected - 23.0 / 24.0).abs() < 0.02, "{found}, {expected}");
    }

    #[test]
    fn cloth_at_rest_on_a_tube_has_no_energy_but_holds_particles() {
        let radius = std::f32::consts::FRAC_1_PI;
        let mut mesh = irregular(12, 12);
        for place in &mut mesh.positions {
            let (sin, cos) = (place[0] / radius).sin_cos();
            *place = [radius * sin, radius * cos, place[2]];
        }
        let bends = fitted(&mesh).bends;
        for bend in &bends {
            let [a, b, c, d] =
                bend.particles.map(|it| DVec3::from(mesh.positions[it as usize].map(f64::from)));
            let (m, n) = ((b - a).cross(c - a), (d - a).cross(b - a));
            assert!((m.angle_between(n) - f64::from(bend.rest_angle).abs()).abs() < 1e-4);
        }
        for particle in 0..mesh.positions.len() as u32 {
            assert!(bends.iter().any(|bend| bend.particles.contains(&particle)), "{particle}");
        }
    }

    #[test]
    fn few_triangles_have_their_usual_bends() {
        // Two triangles, a fan around a vertex of four, and triangles that meet in one vertex.
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];
        let two = Mesh {
            positions: square.to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..Mesh::default()
        };
        assert_eq!(fitted(&two).bends.len(), 1);
        let mut fan = Mesh { positions: square.to_vec(), ..Mesh::default() };
        fan.positions.push([0.5, 0.0, 0.5]);
        fan.triangles = vec![[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
        assert!(fitted(&fan).bends.len() >= 4);
        let mut bow = two.clone();
        bow.positions.extend([[2.0, 0.0, 1.0], [2.0, 0.0, 2.0]]);
        bow.triangles.push([2, 4, 5]);
        assert_eq!(fitted(&bow).bends.len(), 1);
    }
}
