//! What one dispatch reads of a cloth, and what the cloth reports back.

use crate::gpu_struct::gpu_struct;
use crate::{
    AirParameters, BendingParameters, FabricOffsets, ImplicitConstants, IterationConstants,
    MotionParameters, NO_OFFSET, PhaseConstants, SeparationParameters, SleepParameters,
    StructDescription, TetherParameters,
};

/// The structs of the solver, in the order of `shaders/state/types.wgsl`.
pub const SOLVER_STRUCTS: &[StructDescription] = &[
    ClothParameters::DESCRIPTION,
    FabricOffsets::DESCRIPTION,
    TetherParameters::DESCRIPTION,
    AirParameters::DESCRIPTION,
    MotionParameters::DESCRIPTION,
    SeparationParameters::DESCRIPTION,
    SleepParameters::DESCRIPTION,
    BendingParameters::DESCRIPTION,
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
    /// One cloth in one frame: where its data is and the constants that hold for the whole frame.
    pub struct ClothParameters {
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
        /// First [`PhaseConstants`] in `frame_pool` \[vec4\]; with the implicit solver, which has none, its [`ImplicitConstants`].
        pub phase_begin: u32,
        /// Number of phases to solve.
        pub phase_count: u32,
        /// Matrices of a rotating local space in `frame_pool`, 15 columns, or [`NO_OFFSET`].
        pub rotation_begin: u32,
        /// First vec4 of this cloth in `scratch`.
        pub scratch_begin: u32,
        /// Acceleration of each particle in `input_pool` [m/s^2], or [`NO_OFFSET`].
        pub acceleration_begin: u32,
        /// Squared iteration step, the factor on accelerations [s^2].
        pub acceleration_scale: f32,
        /// Largest distance of a particle from where it was an iteration ago \[m\].
        pub max_move: f32,
        /// `stiffness_frequency * h`, the exponent of per-edge stiffness.
        pub stiffness_exponent: f32,
        /// Its fabric.
        pub fabric: FabricOffsets,
        /// How its tethers hold.
        pub tethers: TetherParameters,
        /// The air around it.
        pub air: AirParameters,
        /// Spheres that its particles may not leave.
        pub motion: MotionParameters,
        /// Spheres that its particles may not enter.
        pub separation: SeparationParameters,
        /// When it rests.
        pub sleep: SleepParameters,
        /// Its resistance to bending.
        pub bending: BendingParameters,
        /// How it collides with itself.
        pub self_collision: SelfCollisionParameters,
        /// What it collides with.
        pub colliders: ColliderParameters,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

gpu_struct! {
    /// What a cloth collides with in one frame. Offsets of lists without entries mean nothing.
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
        /// Lists of indices in `input_pool`, four to a vec4; the offsets of the lists below count indices.
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
        /// Factors on friction, one per sphere, capsule, convex, box and triangle, or [`NO_OFFSET`] if all are 1.
        pub friction_factor_begin: u32,
        /// Length below which pushes and slides count less in friction \[m\].
        pub friction_slop: f32,
        /// 1 if friction moves particles back, 0 if it only slows them down.
        pub friction_holds: u32,
        /// Gain of mass by the squared push [1/m^2].
        pub mass_scale: f32,
        /// Factor on the radii beyond which a particle that ends there is not caught.
        pub continuous_reach: f32,
        /// How far a particle comes out of a shape that it was in before, in one iteration \[m\].
        pub depenetration_step: f32,
        /// Longest path of a vertex of the mesh in one iteration, huge if the mesh has jumped \[m\].
        pub mesh_step: f32,
        /// Iteration step \[s\].
        pub step: f32,
        /// Fraction of a frame's motion that falls to one iteration.
        pub iteration_fraction: f32,
    }
}

gpu_struct! {
    /// How a cloth collides with itself in one frame.
    pub struct SelfCollisionParameters {
        /// Distance at which particles are kept apart \[m\], 0 = off.
        pub distance: f32,
        /// Fraction of an overlap removed per iteration.
        pub stiffness: f32,
        /// Fraction of the sideways motion of touching particles lost per iteration.
        pub friction: f32,
        /// Largest displacement of a particle by its velocity in an iteration \[m\], 0 = unlimited.
        pub max_move: f32,
        /// One over the edge of a grid cell [1/m].
        pub inverse_cell: f32,
        /// Particles that take part.
        pub member_count: u32,
        /// Indices of these particles in `input_pool`, four to a vec4, or [`NO_OFFSET`] for all.
        pub member_begin: u32,
        /// Positions at rest in `input_pool`.
        pub rest_begin: u32,
        /// The sorted particles in the cloth's scratch, three vec4 each.
        pub grid_begin: u32,
    }
}

gpu_struct! {
    /// The uniform of one dispatch: which cloths and which iterations.
    pub struct DispatchParameters {
        /// Entries of `cloth_parameters` in `fabric_pool`, one per cloth.
        pub list_begin: u32,
        /// Number of cloths; workgroups beyond it do nothing.
        pub cloth_count: u32,
        /// Workgroups in a row of the folded dispatch.
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
    /// The uniform of a dispatch that writes rows: how many.
    pub struct ScatterParameters {
        /// Number of rows.
        pub row_count: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// As `padding_0`.
        pub padding_1: u32,
        /// As `padding_0`.
        pub padding_2: u32,
    }
}

gpu_struct! {
    /// What a cloth reports back.
    pub struct Feedback {
        /// Particles that would have become NaN, infinite or farther than `MAX_COORDINATE`; above 0 the cloth is frozen.
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
        /// Implicit steps since the cloth was added.
        pub implicit_steps: u32,
        /// Iterations of all of them.
        pub implicit_iterations: u32,
        /// Those that were taken as they were after the most iterations.
        pub implicit_unconverged: u32,
        /// Those in which nothing moved, as nothing finite was found.
        pub implicit_held: u32,
        /// Those that were taken back and halved.
        pub implicit_rejections: u32,
        /// How often steps are halved.
        pub implicit_halvings: u32,
        /// Steps in a row that were solved in few iterations, 0 or 1.
        pub implicit_quick: u32,
    }
}

impl Eq for Feedback {}

impl Default for Feedback {
    fn default() -> Self {
        Self { fault_particle: NO_OFFSET, ..bytemuck::Zeroable::zeroed() }
    }
}
