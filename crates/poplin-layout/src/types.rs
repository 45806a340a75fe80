//! Pod twins of the structs in `shaders/state/types.wgsl`, field for field.

use bytemuck::{Pod, Zeroable};

/// Marks an offset that points nowhere (the array is not there).
pub const NO_OFFSET: u32 = u32::MAX;

/// One cloth in one frame: where its data is and the constants that hold for the whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ClothFrame {
    /// Slot in `feedback`.
    pub cloth: u32,
    /// First particle in `current` and `previous`.
    pub particle_begin: u32,
    /// Number of particles.
    pub particle_count: u32,
    /// Iterations of this frame; 0 = the cloth is not simulated.
    pub iteration_count: u32,
    /// First [`IterationConstants`] in `frame_pool` \[vec4\].
    pub iteration_begin: u32,
    /// First [`PhaseConstants`] in `frame_pool` \[vec4\].
    pub phase_begin: u32,
    /// Number of phases to solve.
    pub phase_count: u32,
    /// Matrices of a turning frame in `frame_pool`, 15 columns, or [`NO_OFFSET`].
    pub turn_begin: u32,
    /// First fiber of each set in `fabric_pool`, `[set_count + 1]`.
    pub set_begin: u32,
    /// First edge of each fiber in `fabric_pool`, `[fiber_count + 1]`.
    pub fiber_begin: u32,
    /// Vertices of the fibers in `fabric_pool`, `[edge_count + fiber_count]`.
    pub vertex_begin: u32,
    /// Rest lengths in `fabric_pool` (bit-cast f32 \[m\]), `[edge_count]`.
    pub edge_begin: u32,
    /// Per-edge `log2(1 - stiffness)` in `fabric_pool` (bit-cast f32), or [`NO_OFFSET`].
    pub edge_stiffness_begin: u32,
    /// Anchor slot of each tether in `fabric_pool`, `[tethers_per_particle * particle_count]`, then their lengths.
    pub tether_begin: u32,
    /// Tethers of every particle.
    pub tethers_per_particle: u32,
    /// Particle of each anchor slot in `fabric_pool`, `[anchor_count]`.
    pub anchor_begin: u32,
    /// Number of anchors.
    pub anchor_count: u32,
    /// Corners of the triangles in `fabric_pool`, `[3 * triangle_count]`.
    pub triangle_begin: u32,
    /// Number of triangles.
    pub triangle_count: u32,
    /// First triangle of each particle, `[particle_count + 1]`, then the triangles, in `fabric_pool`.
    pub corner_begin: u32,
    /// First bundle of virtual particles of each set in `fabric_pool`, `[virtual_set_count + 1]`.
    pub virtual_set_begin: u32,
    /// Number of sets of virtual particles.
    pub virtual_set_count: u32,
    /// Each bundle in `fabric_pool`: its three corners, its first virtual particle, one past its last.
    pub virtual_bundle_begin: u32,
    /// Weights of the virtual particles in `fabric_pool` (bit-cast f32), three each.
    pub virtual_weight_begin: u32,
    /// First vec4 of this cloth in `scratch`.
    pub scratch_begin: u32,
    /// Acceleration of each particle in `input_pool` [m/s^2], or [`NO_OFFSET`].
    pub acceleration_begin: u32,
    /// Motion spheres at the frame's start in `input_pool`, or [`NO_OFFSET`].
    pub motion_start: u32,
    /// Motion spheres at the frame's end.
    pub motion_target: u32,
    /// Separation spheres at the frame's start in `input_pool`, or [`NO_OFFSET`].
    pub separation_start: u32,
    /// Separation spheres at the frame's end.
    pub separation_target: u32,
    /// How often an input has changed; a new count starts the sleep counters anew.
    pub wake_count: u32,
    /// Squared iteration step, the factor on accelerations [s^2].
    pub acceleration_scale: f32,
    /// Stiffness of one tether in this frame's iterations, already divided by the tethers per particle.
    pub tether_stiffness: f32,
    /// Factor on tether lengths.
    pub tether_scale: f32,
    /// `stiffness_frequency * h`, the exponent of per-edge stiffness.
    pub stiffness_exponent: f32,
    /// Drag coefficient of this step.
    pub drag: f32,
    /// Lift coefficient of this step.
    pub lift: f32,
    /// Half the fluid density over the step [kg/m^3/s].
    pub wind_scale: f32,
    /// Factor on the radii of the motion spheres.
    pub motion_scale: f32,
    /// Added to the scaled radii \[m\].
    pub motion_bias: f32,
    /// Pull of the motion spheres per iteration.
    pub motion_stiffness: f32,
    /// Move per iteration below which a particle rests \[m\].
    pub sleep_distance: f32,
    /// Iteration step \[ms\], at least 1.
    pub sleep_step: u32,
    /// Time between tests for rest \[ms\].
    pub sleep_interval: u32,
    /// Passed tests after which the cloth sleeps.
    pub sleep_after_count: u32,
    /// What the cloth collides with.
    pub colliders: ColliderFrame,
    /// How it collides with itself.
    pub self_collision: SelfCollisionFrame,
    /// Most edges of a set of fibers: rows of `scratch` that compliant fibers take.
    pub fiber_row_count: u32,
    /// First bend of each set in `fabric_pool`, `[bend_set_count + 1]`.
    pub bend_set_begin: u32,
    /// Number of sets of bends.
    pub bend_set_count: u32,
    /// Each bend in `fabric_pool`: its four particles, its rest angle \[rad\] and its weight (bit-cast f32).
    pub bend_begin: u32,
    /// Bending rigidity times the squared iteration step [N m s^2].
    pub bending_rigidity: f32,
    /// Damping of bending over its rigidity and the iteration step.
    pub bending_damping: f32,
}

/// What a cloth collides with in one frame. Offsets of lists without entries mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct ColliderFrame {
    /// Number of spheres.
    pub sphere_count: u32,
    /// Spheres at the frame's start in `input_pool`.
    pub sphere_start: u32,
    /// Spheres at the frame's end.
    pub sphere_target: u32,
    /// Number of capsules.
    pub capsule_count: u32,
    /// Numbers of the two spheres of each capsule in `input_pool`, one vec4 each.
    pub capsule_begin: u32,
    /// Number of planes.
    pub plane_count: u32,
    /// Planes at the frame's start in `input_pool`.
    pub plane_start: u32,
    /// Planes at the frame's end.
    pub plane_target: u32,
    /// Number of boxes.
    pub box_count: u32,
    /// Corner and edges of each box at the frame's start in `input_pool`, four vec4 each.
    pub box_start: u32,
    /// Boxes at the frame's end.
    pub box_target: u32,
    /// Vertices of the mesh at the frame's start in `input_pool`.
    pub vertex_start: u32,
    /// Vertices of the mesh at the frame's end.
    pub vertex_target: u32,
    /// Vertices of each triangle of the mesh in `input_pool`, one vec4 each.
    pub triangle_begin: u32,
    /// Number of triangles of the mesh.
    pub triangle_count: u32,
    /// Tree over the triangles in `input_pool`, two vec4 a node.
    pub triangle_tree_begin: u32,
    /// Nodes of that tree.
    pub triangle_tree_count: u32,
    /// 1 if the mesh is closed: then nothing outside of its bounds is behind it.
    pub is_mesh_closed: u32,
    /// Tree over the free spheres in `input_pool`.
    pub sphere_tree_begin: u32,
    /// Nodes of that tree.
    pub sphere_tree_count: u32,
    /// Tree over the free capsules in `input_pool`.
    pub capsule_tree_begin: u32,
    /// Nodes of that tree.
    pub capsule_tree_count: u32,
    /// Lists of numbers in `input_pool`, four to a vec4; the places of the lists below count numbers.
    pub number_begin: u32,
    /// Spheres that belong to no body.
    pub free_sphere_begin: u32,
    /// Capsules that belong to no body.
    pub free_capsule_begin: u32,
    /// Convexes that belong to no body.
    pub free_convex_begin: u32,
    /// How many.
    pub free_convex_count: u32,
    /// Boxes that belong to no body.
    pub free_box_begin: u32,
    /// How many.
    pub free_box_count: u32,
    /// First capsule of each sphere, `[sphere_count + 1]`, then the capsules that end in it.
    pub sphere_capsule_begin: u32,
    /// First plane of each convex, `[convex_count + 1]`, then the planes.
    pub convex_plane_begin: u32,
    /// Number of convexes.
    pub convex_count: u32,
    /// Rigid bodies in `input_pool`, eight vec4 each.
    pub body_begin: u32,
    /// Number of bodies.
    pub body_count: u32,
    /// The running iteration's shapes in the cloth's scratch: spheres (2 vec4), capsules (6), planes (1), boxes (4).
    pub prepared_begin: u32,
    /// What each particle remembers of the mesh in the cloth's scratch, two vec4 each.
    pub nearest_begin: u32,
    /// Impulses on bodies in the cloth's scratch.
    pub impulse_begin: u32,
    /// Coefficient of friction.
    pub friction: f32,
    /// Length below which pushes and ways count less in friction \[m\].
    pub friction_slop: f32,
    /// 1 if friction moves particles back, 0 if it only slows them down.
    pub friction_holds: u32,
    /// Gain of inverse mass by the squared push [1/m^2].
    pub mass_scale: f32,
    /// Factor on the radii beyond which a particle that ends there is not caught.
    pub continuous_reach: f32,
    /// Farthest way of a vertex of the mesh in one iteration, huge if the mesh has jumped \[m\].
    pub mesh_step: f32,
    /// Iteration step \[s\].
    pub step: f32,
    /// Share of a frame's move that falls to one iteration.
    pub move_share: f32,
}

/// How a cloth collides with itself in one frame.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct SelfCollisionFrame {
    /// Distance at which particles are kept apart \[m\], 0 = off.
    pub distance: f32,
    /// Share of an overlap removed per iteration.
    pub stiffness: f32,
    /// Share of the sideways motion of touching particles lost per iteration.
    pub friction: f32,
    /// Largest move of a particle by its velocity in an iteration \[m\], 0 = unlimited.
    pub max_move: f32,
    /// One over the edge of a grid cell [1/m].
    pub inverse_cell: f32,
    /// Particles that take part.
    pub member_count: u32,
    /// Numbers of these particles in `input_pool`, four to a vec4, or [`NO_OFFSET`] for all.
    pub member_begin: u32,
    /// Positions at rest in `input_pool`.
    pub rest_begin: u32,
    /// The sorted particles in the cloth's scratch, three vec4 each.
    pub grid_begin: u32,
}

/// Constants of one iteration, four vec4 in `frame_pool`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct IterationConstants {
    /// Share of the last move that is kept, per axis; w: share of the frame that is over, 1 in the last iteration.
    pub velocity_scale: [f32; 4],
    /// Added to the current position \[m\]; w: share of the frame that was over in the last iteration, 0 in the first.
    pub bias: [f32; 4],
    /// Added to the position that becomes previous \[m\]; w unused.
    pub previous_bias: [f32; 4],
    /// Move of the frame against the wind \[m\]; w: corners of a triangle, 3, a divisor that no compiler may see.
    pub wind: [f32; 4],
}

/// Vec4 of [`PhaseConstants`] in `frame_pool`.
pub const PHASE_ROWS: u32 = 3;

/// Constants of one configured phase in one frame, three vec4 in `frame_pool`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct PhaseConstants {
    /// Share of an edge's error removed per iteration.
    pub stiffness: f32,
    /// Share of the error between the limits that is left alone, `1 - multiplier^exponent`.
    pub multiplier: f32,
    /// `1 - 1/compression_limit`, at most 0.
    pub compression: f32,
    /// `1 - 1/stretch_limit`, at least 0.
    pub stretch: f32,
    /// First set.
    pub set_begin: u32,
    /// One past the last set.
    pub set_end: u32,
    /// Compliance over the squared iteration step [1/kg].
    pub compliance: f32,
    /// Compliance times damping over the iteration step.
    pub damping: f32,
    /// How fibers are solved: a [`poplin_model::FiberSolver`] as a number.
    pub fiber_solver: u32,
    /// What an edge in its soft range gives way in a semi-implicit fiber, over the sum of its inverse masses.
    pub softness: f32,
    /// Rounds of cyclic reduction.
    pub round_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    pub padding: u32,
}

/// The uniform of one dispatch: which cloths and which iterations.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct DispatchParameters {
    /// First entry of `cloth_frames`.
    pub cloth_begin: u32,
    /// Number of cloths; workgroups beyond it do nothing.
    pub cloth_count: u32,
    /// Workgroups in a row of the folded dispatch.
    pub row_width: u32,
    /// First iteration of each cloth.
    pub iteration_begin: u32,
    /// One past the last iteration (capped by each cloth's count).
    pub iteration_end: u32,
    /// Fills the struct to a multiple of 16 bytes.
    pub padding: [u32; 3],
}

/// What a cloth reports back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Feedback {
    /// Particles that would have become NaN, infinite or farther than [`poplin_model::MAX_COORDINATE`]; above 0 the cloth is frozen.
    pub fault_count: u32,
    /// The lowest such particle, [`NO_OFFSET`] if none.
    pub fault_particle: u32,
    /// Iterations run since the cloth was added.
    pub iteration_total: u32,
    /// Iterations run when the fault came.
    pub fault_iteration: u32,
    /// Time since the last test for rest \[ms\].
    pub sleep_time: u32,
    /// Passed tests for rest in a row; from `sleep_after_count` on the cloth sleeps.
    pub sleep_pass_count: u32,
    /// Frames slept in the kernel since the cloth was added.
    pub sleep_frame_count: u32,
    /// The wake count that the sleep counters belong to.
    pub wake_count: u32,
    /// 1 if the cloth slept through the last frame.
    pub is_asleep: u32,
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            fault_count: 0,
            fault_particle: NO_OFFSET,
            iteration_total: 0,
            fault_iteration: 0,
            sleep_time: 0,
            sleep_pass_count: 0,
            sleep_frame_count: 0,
            wake_count: 0,
            is_asleep: 0,
        }
    }
}
