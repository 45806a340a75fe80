//! Collision between cloths on the host: participants of a frame, times of collision, and the poses
//! of local spaces at these times.

use bytemuck::Zeroable;
use glam::{DMat3, DQuat, DVec3, Vec3};
use poplin_geometry::wide;
use poplin_layout::{ClothPlacement, ContactCloth, ContactParameters, SCAN_BLOCK};
use poplin_model::{ClothContactSolver, ContactMode, Pose};

use crate::HostCloth;

/// Smallest side of a grid cell \[m\].
const MIN_CELL: f32 = 1e-6;

/// Participating cloth, before the frame.
#[derive(Debug, Clone, Copy)]
struct Member {
    index: usize,
    start: Pose,
    target: Pose,
    iteration_count: u32,
    row: ContactCloth,
}

/// Collisions between cloths in one frame. Empty if nothing collides: the frame is then simulated
/// in one piece.
#[derive(Debug, Clone, Default)]
pub struct ContactFrame {
    members: Vec<Member>,
    /// Rows of the cloths at the end of every slice, slice by slice; with triangle contact followed
    /// by those before the frame.
    pub cloths: Vec<ContactCloth>,
    /// Uniforms of every slice.
    pub parameters: Vec<ContactParameters>,
    largest_count: u32,
    every: u32,
}

/// Position of a particle in world space \[m\].
#[inline]
pub fn in_world(space: &ContactCloth, &[x, y, z, _]: &[f32; 4]) -> Vec3 {
    let xyz = |[x, y, z, _]: [f32; 4]| Vec3::new(x, y, z);
    xyz(space.axis_x) * x + xyz(space.axis_y) * y + xyz(space.axis_z) * z + xyz(space.origin)
}

/// True if these settings make cloths collide.
pub fn collides(settings: &ClothContactSolver) -> bool {
    settings.stiffness > 0.0 || settings.friction > 0.0
}

/// True if these settings make cloths collide by their triangles.
pub fn collides_by_triangles(settings: &ClothContactSolver) -> bool {
    settings.contact == ContactMode::Triangles && collides(settings)
}

/// True if a cloth takes part in contact outside its kernel.
pub fn takes_part(host: &HostCloth, mode: ContactMode) -> bool {
    match mode {
        ContactMode::Particles => host.cloth_collision_distance() > 0.0,
        ContactMode::Triangles => host.desc().config.thickness > 0.0,
    }
}

impl ContactFrame {
    /// Clears the last frame.
    pub fn clear(&mut self) {
        self.members.clear();
        self.cloths.clear();
        self.parameters.clear();
        (self.largest_count, self.every) = (0, 0);
    }

    /// Adds a participating cloth; call before the host packs the frame. `index` is its index among
    /// the engine's cloths, `placement` its location in the buffers.
    pub fn add(&mut self, index: usize, host: &HostCloth, dt: f32, placement: &ClothPlacement) {
        let config = &host.desc().config;
        let iteration_count = host.iteration_count(dt);
        let row_begin =
            // Rows of all participating cloths are consecutive.
            self.members.last().map_or(0, |last| last.row.row_begin + last.row.particle_count);
        let row = ContactCloth {
            particle_begin: placement.particle_begin,
            particle_count: placement.particle_count,
            row_begin,
            cloth: placement.cloth,
            group: config.cloth_collision.group,
            mask: config.cloth_collision.mask,
            radius: 0.5 * host.cloth_collision_distance(),
            wake_distance: config.sleep.threshold * dt / iteration_count.max(1) as f32,
            ..Zeroable::zeroed()
        };
        self.members.push(Member {
            index,
            start: host.live().pose(),
            target: host.live().target_pose(),
            iteration_count,
            row,
        });
    }

    /// Divides the frame into slices, each with a collision at its end.
    pub fn finish(&mut self, settings: &ClothContactSolver) {
        self.largest_count =
            self.members.iter().map(|member| member.iteration_count).max().unwrap_or(0);
        // With triangle contact a single cloth may still collide with itself and colliders.
        let is_single = self.members.len() < 2 && settings.contact == ContactMode::Particles;
        if self.members.is_empty() || is_single || self.largest_count == 0 || !collides(settings) {
            return self.clear();
        }
        // 0: one collision at the end of the frame.
        self.every = if settings.every == 0 { self.largest_count } else { settings.every };
        let last = self.members[self.members.len() - 1].row;
        let row_count = last.row_begin + last.particle_count;
        let radius = self.members.iter().map(|member| member.row.radius).fold(0.0, f32::max);
        for slice in 0..self.largest_count.div_ceil(self.every) {
            let parameters = ContactParameters {
                cloth_begin: self.cloths.len() as u32,
                cloth_count: self.members.len() as u32,
                row_count,
                // A power of two, at least twice the particles, so that hash collisions stay rare.
                bucket_count: row_count
                    .saturating_mul(2)
                    .clamp(SCAN_BLOCK, 1 << 30)
                    .next_power_of_two(),
                // 0.1 % more than the largest distance, so that rounding never puts touching
                // particles two cells apart.
                cell_scale: 1.0 / (2.0 * radius * 1.001).max(MIN_CELL),
                stiffness: settings.stiffness,
                friction: settings.friction,
                padding_0: 0,
            };
            self.parameters.push(parameters);
            for k in 0..self.members.len() {
                let end = self.slice_end(self.members[k].iteration_count, slice);
                self.cloths.push(self.members[k].at(end));
            }
        }
        if settings.contact == ContactMode::Triangles {
            self.cloths.extend(self.members.iter().map(Member::at_start));
        }
    }

    /// Rows of the cloths after the frame.
    pub fn ends(&self) -> &[ContactCloth] {
        let begin = self.parameters.last().map_or(0, |last| last.cloth_begin as usize);
        &self.cloths[begin..begin + self.members.len()]
    }

    /// Begin of the rows of the cloths before the frame, with triangle contact.
    pub fn start_begin(&self) -> usize {
        self.parameters.len() * self.members.len()
    }

    /// Number of slices; 0 if nothing collides in this frame.
    pub fn slice_count(&self) -> u32 {
        self.parameters.len() as u32
    }

    /// Number of iterations that a cloth with `iteration_count` iterations has done after a slice:
    /// the same fraction as for the cloth with the most iterations, rounded up.
    pub fn slice_end(&self, iteration_count: u32, slice: u32) -> u32 {
        let end = (u64::from(slice) + 1)
            .saturating_mul(u64::from(self.every))
            .min(u64::from(self.largest_count));
        // ceil(iteration_count * end / largest_count), in u64 against overflow.
        (u64::from(iteration_count) * end).div_ceil(u64::from(self.largest_count.max(1))) as u32
    }

    /// Fraction of the frame that is over after a slice.
    pub fn slice_fraction(&self, slice: u32) -> f32 {
        let end = self.slice_end(self.largest_count, slice);
        (f64::from(end) / f64::from(self.largest_count.max(1))) as f32
    }

    /// Fraction of the frame that a slice takes.
    pub fn slice_part(&self, slice: u32) -> f32 {
        let before = if slice == 0 { 0.0 } else { self.slice_fraction(slice - 1) };
        self.slice_fraction(slice) - before
    }

    /// Largest iteration count of the participating cloths.
    pub fn largest_count(&self) -> u32 {
        self.largest_count
    }

    /// Number of particles of all participating cloths.
    pub fn row_count(&self) -> u32 {
        self.parameters.first().map_or(0, |parameters| parameters.row_count)
    }

    /// Indices of the participating cloths among the engine's cloths.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.members.iter().map(|member| member.index)
    }

    /// Buffer lengths for one collision.
    pub fn lens(&self) -> ContactLens {
        let Some(parameters) = self.parameters.first() else { return ContactLens::default() };
        let (rows, cloths) = (u64::from(parameters.row_count), u64::from(parameters.cloth_count));
        let buckets = u64::from(parameters.bucket_count + SCAN_BLOCK);
        ContactLens {
            rows: 2 * rows,
            cells: buckets + buckets / u64::from(SCAN_BLOCK),
            entries: 5 * rows,
            bounds: 7 * cloths,
        }
    }
}

/// Lengths of the buffers of the contact kernels, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContactLens {
    /// Length of `contact_rows` (vec4): positions and inverse masses, then motions and radii.
    pub rows: u64,
    /// Length of `contact_cells` (u32): particles of each bucket, then of each block of buckets.
    pub cells: u64,
    /// Length of `contact_entries` (u32): five lists with an entry per row.
    pub entries: u64,
    /// Length of `contact_bounds` (u32): six per cloth, then a flag per cloth that it meets another
    /// cloth.
    pub bounds: u64,
}

impl Member {
    /// Row of the cloth before the frame.
    fn at_start(&self) -> ContactCloth {
        let (axes, origin) = pose_at(&self.start, &self.start, 0.0);
        let row = |v: DVec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
        ContactCloth {
            axis_x: row(axes.x_axis),
            axis_y: row(axes.y_axis),
            axis_z: row(axes.z_axis),
            origin: row(origin),
            ..self.row
        }
    }

    /// Row of the cloth after `end` of its iterations.
    fn at(&self, end: u32) -> ContactCloth {
        let fraction =
            |iterations: u32| f64::from(iterations) / f64::from(self.iteration_count.max(1));
        let (axes, origin) = pose_at(&self.start, &self.target, fraction(end));
        let (axes_before, origin_before) =
            pose_at(&self.start, &self.target, fraction(end.saturating_sub(1)));
        let row = |v: DVec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
        // Motion of the local space over the last iteration, for relative velocities.
        // x_world(t) - x_world(t - 1) = change * x_local + shift
        let change = axes - axes_before;
        ContactCloth {
            axis_x: row(axes.x_axis),
            axis_y: row(axes.y_axis),
            axis_z: row(axes.z_axis),
            origin: row(origin),
            turn_x: row(change.x_axis),
            turn_y: row(change.y_axis),
            turn_z: row(change.z_axis),
            shift: row(origin - origin_before),
            ..self.row
        }
    }
}

/// Axes and origin of a local space at a fraction of its path over the frame.
fn pose_at(start: &Pose, target: &Pose, fraction: f64) -> (DMat3, DVec3) {
    let rotation = |pose: &Pose| DQuat::from_array(pose.rotation.map(f64::from)).normalize();
    let origin = |pose: &Pose| wide(pose.translation);
    // Exact at the end, without the rounding of slerp.
    if start == target || fraction >= 1.0 {
        return (DMat3::from_quat(rotation(target)), origin(target));
    }
    let rotated = if start.rotation == target.rotation {
        rotation(start)
    } else {
        rotation(start).slerp(rotation(target), fraction)
    };
    (DMat3::from_quat(rotated), origin(start) + (origin(target) - origin(start)) * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_end_together_at_any_iteration_count() {
        let frame = ContactFrame { largest_count: 5, every: 2, ..ContactFrame::default() };
        let ends = |count| [0, 1, 2].map(|slice| frame.slice_end(count, slice));
        assert_eq!(ends(5), [2, 4, 5]);
        assert_eq!(ends(1), [1, 1, 1]);
        assert_eq!(ends(0), [0, 0, 0]);
        assert_eq!(ends(3), [2, 3, 3]);
        assert_eq!(ends(10), [4, 8, 10]);
    }

    #[test]
    fn a_rotating_space_is_on_the_arc_between_its_poses() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let target = Pose { translation: [2.0, 0.0, 0.0], rotation: [0.0, 0.0, half, half] };
        let (axes, origin) = pose_at(&Pose::default(), &target, 0.5);
        let diagonal = DVec3::new(1.0, 1.0, 0.0).normalize();
        assert!((axes.x_axis - diagonal).length() < 1e-7 && (origin - DVec3::X).length() < 1e-12);
        assert_eq!(
            pose_at(&Pose::default(), &Pose::default(), 0.3),
            (DMat3::IDENTITY, DVec3::ZERO)
        );
    }
}
