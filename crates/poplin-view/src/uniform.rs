//! Uniforms of `view.wgsl` in Rust.

use bytemuck::{Pod, Zeroable};
use glam::camera::rh::proj::directx::orthographic;
use glam::camera::rh::view::look_to_mat4;
use glam::{DVec3, Mat4, Vec3};
use poplin_picture::studio;

use crate::Orbit;

/// Number of lights with a depth map: the key light first, then the sky lights.
pub(crate) const LIGHTS: usize = 17;

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LightUniform {
    map_from_world: Mat4,
    direction: Vec3,
    texel: f32,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ViewUniform {
    clip_from_world: Mat4,
    eye: Vec3,
    wrap: f32,
    fill_direction: Vec3,
    transmission: f32,
    key: Vec3,
    bounce: f32,
    fill: Vec3,
    sheen: f32,
    sky: Vec3,
    strain_limit: f32,
    floor: Vec3,
    solid_distance: f32,
    paper_top: Vec3,
    grid_spacing: f32,
    paper_bottom: Vec3,
    line_width: f32,
    ground: Vec3,
    ground_radius: f32,
    grid_line: Vec3,
    shadow_fraction: f32,
    shadow: Vec3,
    unused_0: f32,
    ground_center: Vec3,
    unused_1: f32,
    size: [f32; 2],
    unused_2: [f32; 2],
    lights: [LightUniform; LIGHTS],
}

/// Bounding sphere and ground of the scene, which position lights and ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surroundings {
    /// Center of the shadow casters \[m\].
    pub(crate) center: DVec3,
    /// Half diagonal of the shadow casters \[m\].
    pub(crate) radius: f64,
    /// Height of the ground \[m\].
    pub(crate) floor: f64,
    /// Unit vector to the key light.
    pub(crate) key: DVec3,
}

impl Surroundings {
    /// Returns the surroundings of a box \[m\] on the ground. The key light is positioned relative
    /// to `first_look` and does not follow the camera later.
    pub(crate) fn new([low, high]: [DVec3; 2], floor: f64, first_look: &Orbit) -> Self {
        let [right, up, ahead] = first_look.axes();
        let [x, y, z] = studio::KEY_DIRECTION.to_array();
        Self {
            center: (low + high) * 0.5,
            radius: ((high - low).length() * 0.5).max(1e-3),
            floor,
            key: (right * x + up * y + ahead * z).normalize(),
        }
    }

    /// Returns the center of the ground \[m\].
    pub(crate) fn ground(&self) -> DVec3 {
        DVec3::new(self.center.x, self.floor, self.center.z)
    }

    /// Returns the radius of the ground \[m\].
    pub(crate) fn ground_radius(&self) -> f64 {
        self.radius * studio::GROUND_RADIUS
    }

    /// Returns the light from a direction, with a depth map `texels` wide.
    fn light(&self, direction: DVec3, texels: u32) -> LightUniform {
        // Orthographic map around the bounding sphere, with 2 % margin.
        let (across, _) = direction.any_orthonormal_pair();
        let (center, reach) = (self.center.as_vec3(), self.radius as f32 * 1.02);
        let look = look_to_mat4(center, -direction.as_vec3(), across.as_vec3());
        let map = orthographic(-reach, reach, -reach, reach, -reach, reach);
        LightUniform {
            map_from_world: map * look,
            direction: direction.as_vec3(),
            texel: 2.0 * reach / texels as f32,
        }
    }
}

impl ViewUniform {
    pub(crate) fn new(
        orbit: &Orbit,
        surroundings: &Surroundings,
        size: [u32; 2],
        strain_limit: f32,
        [key_texels, sky_texels]: [u32; 2],
    ) -> Self {
        let [right, up, ahead] = orbit.axes().map(DVec3::as_vec3);
        let fill = studio::FILL_DIRECTION.normalize();
        let color = studio::to_linear;
        let sky = LIGHTS - 1;
        let spacing = studio::round_length(surroundings.ground_radius() / studio::LINES_PER_RADIUS);
        Self {
            clip_from_world: orbit.clip_from_world(size.map(f64::from)),
            eye: orbit.eye().as_vec3(),
            wrap: studio::WRAP,
            fill_direction: right * fill.x + up * fill.y + ahead * fill.z,
            transmission: studio::TRANSMISSION,
            key: studio::KEY,
            bounce: studio::BOUNCE,
            fill: studio::FILL,
            sheen: studio::SHEEN,
            sky: studio::SKY,
            strain_limit,
            floor: studio::FLOOR,
            solid_distance: studio::SOLID_DISTANCE as f32,
            paper_top: color(studio::PAPER_TOP),
            grid_spacing: spacing as f32,
            paper_bottom: color(studio::PAPER_BOTTOM),
            line_width: studio::LINE_WIDTH as f32,
            ground: color(studio::GROUND),
            ground_radius: surroundings.ground_radius() as f32,
            grid_line: color(studio::GRID_LINE),
            shadow_fraction: studio::SHADOW_FRACTION,
            shadow: color(studio::SHADOW),
            unused_0: 0.0,
            ground_center: surroundings.ground().as_vec3(),
            unused_1: 0.0,
            size: size.map(|side| side as f32),
            unused_2: [0.0; 2],
            lights: std::array::from_fn(|index| match index.checked_sub(1) {
                None => surroundings.light(surroundings.key, key_texels),
                Some(index) => surroundings.light(studio::sphere_direction(index, sky), sky_texels),
            }),
        }
    }
}
