// Background paper, and dots for pins on top.

/// Shift of pins towards the eye, as a fraction of their distance.
const AHEAD: f32 = 0.002;

struct Paper {
    @builtin(position) clip: vec4<f32>,
    @location(0) down: f32,
}

@vertex
fn place_paper(@builtin(vertex_index) index: u32) -> Paper {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return Paper(vec4<f32>(corner, 1.0, 1.0), 0.5 - 0.5 * corner.y);
}

@fragment
fn shade_paper(paper: Paper) -> @location(0) vec4<f32> {
    return vec4<f32>(mix(view.paper_top, view.paper_bottom, paper.down), 1.0);
}

struct Mark {
    @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(flat) color: vec4<f32>,
    /// Offset from the center, in radii.
    @location(1) offset: vec2<f32>,
}

/// Dot with world position [m], radius [pixels] and linear colour.
struct Dot {
    @location(0) position: vec4<f32>,
    @location(1) color: vec4<f32>,
}

@vertex
fn place_dot(@builtin(vertex_index) index: u32, dot: Dot) -> Mark {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    let clip = view.clip_from_world * vec4<f32>(mix(dot.position.xyz, view.eye, AHEAD), 1.0);
    let offset = corner * dot.position.w * 2.0 / view.size * clip.w;
    return Mark(vec4<f32>(clip.xy + offset, clip.zw), dot.color, corner);
}

@fragment
fn shade_mark(mark: Mark) -> @location(0) vec4<f32> {
    if (dot(mark.offset, mark.offset) > 1.0) {
        discard;
    }
    return vec4<f32>(mark.color.xyz * mark.color.w, mark.color.w);
}
