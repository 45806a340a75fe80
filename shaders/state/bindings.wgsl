#import state/types

/// Cloths and iterations that this dispatch simulates.
@group(0) @binding(0) var<uniform> dispatch_parameters: DispatchParameters;
/// Parameters of cloths, each in its slot of `feedback`.
@group(0) @binding(1) var<storage, read> cloth_parameters: array<ClothParameters>;
/// Iteration and phase constants of the frame. Pools that hold both floats and indices hold bits:
/// an index passed as a float would be subnormal, and an adapter may flush it.
@group(0) @binding(2) var<storage, read> frame_pool: array<vec4<u32>>;
/// Sets, fibers, vertices, rest lengths and tethers of all fabrics.
@group(0) @binding(3) var<storage, read> fabric_pool: array<u32>;
/// Per-particle inputs that change rarely.
@group(0) @binding(4) var<storage, read> input_pool: array<vec4<u32>>;
/// Position [m] and working inverse mass [1/kg].
@group(0) @binding(5) var<storage, read_write> current: array<vec4<f32>>;
/// Position one iteration ago [m] and the user's inverse mass [1/kg].
@group(0) @binding(6) var<storage, read_write> previous: array<vec4<f32>>;
/// Working memory of the stages.
@group(0) @binding(7) var<storage, read_write> scratch: array<vec4<u32>>;
/// Faults and counters, one entry per cloth.
@group(0) @binding(8) var<storage, read_write> feedback: array<Feedback>;
