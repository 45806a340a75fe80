//! Parameters of cloths in a dispatch, and their feedback.

use crate::gpu_struct::gpu_struct;
use crate::{
    AirParameters, BendingParameters, FabricOffsets, ImplicitConstants, IterationConstants,
    MotionParameters, NO_OFFSET, PhaseConstants, SeparationParameters, SleepParameters,
    StructDescription, TetherParameters, YarnParameters,
};

/// Structs of the solver, in the order of `shaders/state/types.wgsl`.
pub const SOLVER_STRUCTS: &[StructDescription] = &[
    ClothParameters::DESCRIPTION,
    FabricOffsets::DESCRIPTION,
    TetherParameters::DESCRIPTION,
    AirParameters::DESCRIPTION,
    MotionParameters::DESCRIPTION,
    SeparationParameters::DESCRIPTION,
    SleepParameters::DESCRIPTION,
    BendingParameters::DESCRIPTION,
    YarnParameters::DESCRIPTION,
    ColliderParameters::DESCRIPTION,
    SelfCollisionParameters::DESCRIPTION,
    IterationConstants::DESCRIPTION,
    PhaseConstants::DESCRIPTION,
    ImplicitConstants::DESCRIPTION,
    DispatchParameters::DESCRIPTION,
    ScatterParameters::DESCRIPTION,
    Feedback::DESCRIPTION,
];

gpu_struct! {
    in rows
    /// One cloth in one frame: offsets of its data and constants of the whole frame.
    pub struct ClothParameters {
        /// Colliders that it collides with; their first row has the begins of the spheres, which
        /// change most often.
        pub colliders: ColliderParameters,
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
        /// First [`PhaseConstants`] in `frame_pool` \[vec4\]; with the implicit solver, which has
        /// no phases, its [`ImplicitConstants`].
        pub phase_begin: u32,
        /// Number of phases to solve.
        pub phase_count: u32,
        /// Matrices of a rotating local space in `frame_pool`, 15 columns, or [`NO_OFFSET`].
        pub rotation_begin: u32,
        /// First vec4 of this cloth in `scratch`.
        pub scratch_begin: u32,
        /// Remainders of displacements in the cloth's scratch, one row per particle, or
        /// [`NO_OFFSET`] in long steps and in a rotating local space. With a second-order
        /// correction of velocities as many rows follow with the last moves by constraints, then
        /// as many with predictions.
        pub remainder_begin: u32,
        /// Acceleration of each particle in `input_pool` [m/s^2], or [`NO_OFFSET`].
        pub acceleration_begin: u32,
        /// Squared iteration step, the factor on accelerations [s^2].
        pub acceleration_scale: f32,
        /// Largest distance that a particle may move in an iteration \[m\].
        pub max_move: f32,
        /// Exponent of the per-edge stiffness, `stiffness_frequency * h`.
        pub stiffness_exponent: f32,
        /// Share of the second-order correction of velocities.
        pub second_order: f32,
        /// Offsets of its fabric.
        pub fabric: FabricOffsets,
        /// Parameters of its tethers.
        pub tethers: TetherParameters,
        /// Parameters of the air around it.
        pub air: AirParameters,
        /// Spheres that its particles may not leave.
        pub motion: MotionParameters,
        /// Spheres that its particles may not enter.
        pub separation: SeparationParameters,
        /// Parameters of its test for rest.
        pub sleep: SleepParameters,
        /// Its resistance to bending.
        pub bending: BendingParameters,
        /// Its resistance to stretch and shear by yarns.
        pub yarns: YarnParameters,
        /// Parameters of its self collision.
        pub self_collision: SelfCollisionParameters,
    }
}

gpu_struct! {
    /// Colliders of a cloth in one frame. Offsets of empty lists are undefined.
    pub struct ColliderParameters {
        /// Spheres at the frame's start in `input_pool`.
        pub sphere_start: u32,
        /// Spheres at the frame's end.
        pub sphere_target: u32,
        /// Number of spheres.
        pub sphere_count: u32,
        /// Number of capsules.
        pub capsule_count: u32,
        /// Indices of the two spheres of each capsule in `input_pool`, one vec4 each.
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
        /// Tree over the triangles in `input_pool`, two vec4 per node.
        pub triangle_tree_begin: u32,
        /// Number of nodes of the triangle tree.
        pub triangle_tree_count: u32,
        /// 1 if the mesh is closed, so that no point outside its bounds is behind it.
        pub is_mesh_closed: u32,
        /// Tree over the free spheres in `input_pool`.
        pub sphere_tree_begin: u32,
        /// Number of nodes of the sphere tree.
        pub sphere_tree_count: u32,
        /// Tree over the free capsules in `input_pool`.
        pub capsule_tree_begin: u32,
        /// Number of nodes of the capsule tree.
        pub capsule_tree_count: u32,
        /// Lists of indices in `input_pool`, four per vec4; the offsets of the lists below count
        /// indices.
        pub number_begin: u32,
        /// Spheres that belong to no body.
        pub free_sphere_begin: u32,
        /// Capsules that belong to no body.
        pub free_capsule_begin: u32,
        /// Convexes that belong to no body.
        pub free_convex_begin: u32,
        /// Number of convexes that belong to no body.
        pub free_convex_count: u32,
        /// Boxes that belong to no body.
        pub free_box_begin: u32,
        /// Number of boxes that belong to no body.
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
        /// Prepared shapes of the current iteration in the cloth's scratch: spheres (2 vec4),
        /// capsules (6), planes (1), boxes (4).
        pub prepared_begin: u32,
        /// Nearest mesh triangle cached for each particle in the cloth's scratch, two vec4 each.
        pub nearest_begin: u32,
        /// Impulses on bodies in the cloth's scratch.
        pub impulse_begin: u32,
        /// Coefficient of friction.
        pub friction: f32,
        /// Factors on friction, one per sphere, capsule, convex, box and triangle, or [`NO_OFFSET`]
        /// if all are 1.
        pub friction_factor_begin: u32,
        /// Rotations of spheres, then capsules, then motions of convexes over the frame in
        /// `input_pool` (1, 1 and 3 vec4 each).
        pub twist_begin: u32,
        /// Push or slide below which friction is reduced \[m\].
        pub friction_slop: f32,
        /// 1 if friction moves particles back, 0 if it only slows them down.
        pub friction_holds: u32,
        /// Mass scaling by the squared push [1/m^2].
        pub mass_scale: f32,
        /// Factor on the radii beyond which a particle is not caught by continuous collision.
        pub continuous_reach: f32,
        /// Depth by which one iteration pushes a particle out of a shape that it was already inside
        /// \[m\].
        pub depenetration_step: f32,
        /// Longest path of a mesh vertex in one iteration, very large if the mesh has jumped \[m\].
        pub mesh_step: f32,
        /// Iteration step \[s\].
        pub step: f32,
        /// Fraction of the frame's motion in one iteration.
        pub iteration_fraction: f32,
    }
}

gpu_struct! {
    /// Self collision of a cloth in one frame.
    pub struct SelfCollisionParameters {
        /// Distance at which particles are kept apart \[m\], 0 = off.
        pub distance: f32,
        /// Fraction of an overlap removed per iteration.
        pub stiffness: f32,
        /// Fraction of the tangential motion of particles in contact that is lost per iteration.
        pub friction: f32,
        /// Largest displacement of a particle by its velocity in an iteration \[m\], 0 = unlimited.
        pub max_move: f32,
        /// Inverse edge length of a grid cell [1/m].
        pub inverse_cell: f32,
        /// Number of particles that take part.
        pub member_count: u32,
        /// Indices of these particles in `input_pool`, four per vec4, or [`NO_OFFSET`] for all.
        pub member_begin: u32,
        /// Positions at rest in `input_pool`.
        pub rest_begin: u32,
        /// Sorted particles in the cloth's scratch, three vec4 each.
        pub grid_begin: u32,
    }
}

gpu_struct! {
    /// Uniform of one dispatch: range of cloths, iterations and phases.
    pub struct DispatchParameters {
        /// Entries of `cloth_parameters` in `fabric_pool`, one per cloth.
        pub list_begin: u32,
        /// Number of cloths; workgroups beyond it are idle.
        pub cloth_count: u32,
        /// Number of workgroups in a row of the folded dispatch.
        pub row_width: u32,
        /// First iteration of each cloth.
        pub iteration_begin: u32,
        /// One past the last iteration (capped by each cloth's count).
        pub iteration_end: u32,
        /// First phase of each cloth.
        pub phase_begin: u32,
        /// One past the last phase (capped by each cloth's count).
        pub phase_end: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

gpu_struct! {
    /// Uniform of a dispatch that scatters rows.
    pub struct ScatterParameters {
        /// Number of rows.
        pub row_count: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Padding, see `padding_0`.
        pub padding_1: u32,
        /// Padding, see `padding_0`.
        pub padding_2: u32,
    }
}

gpu_struct! {
    /// Feedback of a cloth.
    pub struct Feedback {
        /// Number of particles that would have become NaN, infinite or farther than
        /// `MAX_COORDINATE`; above 0 the cloth is frozen.
        pub fault_count: u32,
        /// Lowest of these particles, [`NO_OFFSET`] if none.
        pub fault_particle: u32,
        /// Number of iterations since the cloth was added.
        pub iteration_total: u32,
        /// Value of `iteration_total` when the fault occurred.
        pub fault_iteration: u32,
        /// Time since the last test for rest \[ms\].
        pub sleep_time: u32,
        /// Consecutive passed tests for rest; the cloth sleeps from `sleep_after_count` on.
        pub sleep_pass_count: u32,
        /// Frames slept in the kernel since the cloth was added.
        pub sleep_frame_count: u32,
        /// Wake count for which the sleep counters are valid.
        pub wake_count: u32,
        /// 1 if the cloth slept through the last frame.
        pub is_asleep: u32,
        /// Number of implicit steps since the cloth was added.
        pub implicit_steps: u32,
        /// Iterations of all implicit steps.
        pub implicit_iterations: u32,
        /// Implicit steps accepted without being solved, after the largest number of iterations.
        pub implicit_unconverged: u32,
        /// Implicit steps that moved nothing, because no finite solution was found.
        pub implicit_held: u32,
        /// Implicit steps solved only to the rounding of f32, not to their tolerance.
        pub implicit_floored: u32,
        /// Implicit steps that were rejected and halved.
        pub implicit_rejections: u32,
        /// Current number of halvings.
        pub implicit_halvings: u32,
        /// Consecutive steps solved in few iterations, 0 or 1.
        pub implicit_quick: u32,
    }
}

impl Eq for Feedback {}

impl Default for Feedback {
    fn default() -> Self {
        Self { fault_particle: NO_OFFSET, ..bytemuck::Zeroable::zeroed() }
    }
}
