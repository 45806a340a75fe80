//! The embedded shader files.

macro_rules! embed {
    ($($path:literal),* $(,)?) => {
        /// Every shader file as `(folder/stem, text)`.
        pub const SOURCES: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../shaders/", $path, ".wgsl")))),*];
    };
}

embed![
    "lib/math",
    "lib/geometry",
    "lib/grid",
    "state/constants",
    "state/types",
    "state/bindings",
    "state/shared",
    "state/colliders",
    "state/solve",
    "stage/integrate",
    "stage/wind",
    "stage/motion",
    "stage/tether",
    "stage/implicit",
    "stage/gauss_seidel",
    "stage/semi_implicit",
    "stage/cyclic_reduction",
    "stage/bend",
    "stage/separation",
    "stage/self_collide",
    "stage/collide_convex",
    "stage/collide_box",
    "stage/collide_triangle",
    "stage/mass",
    "stage/collide_shape",
    "stage/collide_continuous",
    "stage/collide_body",
    "stage/virtual_particles",
    "stage/limit_speed",
    "stage/sleep",
    "contact/types",
    "contact/buffers",
    "contact/gather",
    "contact/sort",
    "contact/push",
    "render/types",
    "render/buffers",
    "render/vertices",
    "draw/debug_lines",
    "kernel/simulate_cloth",
    "kernel/contact_gather",
    "kernel/contact_meet",
    "kernel/contact_count",
    "kernel/contact_scan",
    "kernel/contact_sum",
    "kernel/contact_scatter",
    "kernel/contact_rank",
    "kernel/contact_touch",
    "kernel/contact_push",
    "kernel/render_normals",
    "kernel/render_place",
    "kernel/render_shade",
    "kernel/scatter_rows",
    "kernel/canary_loop",
    "kernel/canary_nan",
    "kernel/canary_barrier",
    "kernel/canary_subnormal",
];

/// The text of `folder/stem`.
pub fn source(path: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}
