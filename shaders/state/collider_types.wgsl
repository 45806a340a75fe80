// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Colliders of a cloth in one frame. Offsets of empty lists are undefined.
struct ColliderParameters {
    /// Spheres at the frame's start in `input_pool`.
    sphere_start: u32,
    /// Spheres at the frame's end.
    sphere_target: u32,
    /// Number of spheres.
    sphere_count: u32,
    /// Number of capsules.
    capsule_count: u32,
    /// Indices of the two spheres of each capsule in `input_pool`, one vec4 each.
    capsule_begin: u32,
    /// Number of planes.
    plane_count: u32,
    /// Planes at the frame's start in `input_pool`.
    plane_start: u32,
    /// Planes at the frame's end.
    plane_target: u32,
    /// Number of boxes.
    box_count: u32,
    /// Corner and edges of each box at the frame's start in `input_pool`, four vec4 each.
    box_start: u32,
    /// Boxes at the frame's end.
    box_target: u32,
    /// Vertices of the mesh at the frame's start in `input_pool`.
    vertex_start: u32,
    /// Vertices of the mesh at the frame's end.
    vertex_target: u32,
    /// Vertices of each triangle of the mesh in `input_pool`, one vec4 each.
    triangle_begin: u32,
    /// Number of triangles of the mesh.
    triangle_count: u32,
    /// Tree over the triangles in `input_pool`, two vec4 per node.
    triangle_tree_begin: u32,
    /// Number of nodes of the triangle tree.
    triangle_tree_count: u32,
    /// 1 if the mesh is closed, so that no point outside its bounds is behind it.
    is_mesh_closed: u32,
    /// Tree over the free spheres in `input_pool`.
    sphere_tree_begin: u32,
    /// Number of nodes of the sphere tree.
    sphere_tree_count: u32,
    /// Tree over the free capsules in `input_pool`.
    capsule_tree_begin: u32,
    /// Number of nodes of the capsule tree.
    capsule_tree_count: u32,
    /// Lists of indices in `input_pool`, four per vec4; the offsets of the lists below count
    /// indices.
    number_begin: u32,
    /// Spheres that belong to no body.
    free_sphere_begin: u32,
    /// Capsules that belong to no body.
    free_capsule_begin: u32,
    /// Convexes that belong to no body.
    free_convex_begin: u32,
    /// Number of convexes that belong to no body.
    free_convex_count: u32,
    /// Boxes that belong to no body.
    free_box_begin: u32,
    /// Number of boxes that belong to no body.
    free_box_count: u32,
    /// First capsule of each sphere, `[sphere_count + 1]`, then the capsules that end in it.
    sphere_capsule_begin: u32,
    /// First plane of each convex, `[convex_count + 1]`, then the planes.
    convex_plane_begin: u32,
    /// Number of convexes.
    convex_count: u32,
    /// Rigid bodies in `input_pool`, eight vec4 each.
    body_begin: u32,
    /// Number of bodies.
    body_count: u32,
    /// Prepared shapes of the current iteration in the cloth's scratch: spheres (2 vec4),
    /// capsules (6), planes (1), boxes (4).
    prepared_begin: u32,
    /// Nearest mesh triangle cached for each particle in the cloth's scratch, two vec4 each.
    nearest_begin: u32,
    /// Impulses on bodies in the cloth's scratch.
    impulse_begin: u32,
    /// Coefficient of friction.
    friction: f32,
    /// Factors on friction, one per sphere, capsule, convex, box and triangle, or `NO_OFFSET`
    /// if all are 1.
    friction_factor_begin: u32,
    /// Rotations of spheres, then capsules, then motions of convexes over the frame in
    /// `input_pool` (1, 1 and 3 vec4 each).
    twist_begin: u32,
    /// Push or slide below which friction is reduced [m].
    friction_slop: f32,
    /// 1 if friction moves particles back, 0 if it only slows them down.
    friction_holds: u32,
    /// Mass scaling by the squared push [1/m^2].
    mass_scale: f32,
    /// Factor on the radii beyond which a particle is not caught by continuous collision.
    continuous_reach: f32,
    /// Depth by which one iteration pushes a particle out of a shape that it was already inside
    /// [m].
    depenetration_step: f32,
    /// Longest path of a mesh vertex in one iteration, very large if the mesh has jumped [m].
    mesh_step: f32,
    /// Iteration step [s].
    step: f32,
    /// Fraction of the frame's motion in one iteration.
    iteration_fraction: f32,
}

/// Self collision of a cloth in one frame.
struct SelfCollisionParameters {
    /// Distance at which particles are kept apart [m], 0 = off.
    distance: f32,
    /// Fraction of an overlap removed per iteration.
    stiffness: f32,
    /// Fraction of the tangential motion of particles in contact that is lost per iteration.
    friction: f32,
    /// Largest displacement of a particle by its velocity in an iteration [m], 0 = unlimited.
    max_move: f32,
    /// Inverse edge length of a grid cell [1/m].
    inverse_cell: f32,
    /// Number of particles that take part.
    member_count: u32,
    /// Indices of these particles in `input_pool`, four per vec4, or `NO_OFFSET` for all.
    member_begin: u32,
    /// Positions at rest in `input_pool`.
    rest_begin: u32,
    /// Sorted particles in the cloth's scratch, three vec4 each.
    grid_begin: u32,
}
