//! Lights, ground and colours of the pictures, shared with other renderers of the same scenes.

use glam::{DVec3, Vec3};
use poplin_model::Shape;

pub use super::camera::TAN_HALF_FIELD;
pub use super::color::to_linear;
pub use super::visibility::sphere_direction;
use super::{Color, Surface, solid};

/// Linear light of the key light.
pub const KEY: Vec3 = Vec3::new(0.96, 0.93, 0.87);
/// Linear light of the fill light from the other side, cooler.
pub const FILL: Vec3 = Vec3::new(0.13, 0.16, 0.22);
/// Unit vector to the fill light in camera axes (right, up, ahead), once normalised.
pub const FILL_DIRECTION: Vec3 = Vec3::new(0.85, 0.05, -0.5);
/// Vector to the key light in camera axes (right, up, ahead): the upper left.
pub const KEY_DIRECTION: DVec3 = DVec3::new(-0.66, 0.62, -0.52);
/// Light from straight above.
pub const SKY: Vec3 = Vec3::new(0.38, 0.40, 0.44);
/// Light from straight below.
pub const FLOOR: Vec3 = Vec3::new(0.19, 0.18, 0.17);
/// Wrap of diffuse light past the terminator, as cloth scatters it.
pub const WRAP: f32 = 0.2;
/// Fraction of the key light that arrives in its shadow: cloth transmits light.
pub const TRANSMISSION: f32 = 0.2;
/// Fraction of the ambient light that reaches the deepest fold, from cloth to cloth.
pub const BOUNCE: f32 = 0.34;
/// Strength of the sheen at the silhouette.
pub const SHEEN: f32 = 0.10;

/// Lining colour, mixed into the back of a cloth, and its fraction.
const LINING: Color = [236, 224, 204];
const LINING_FRACTION: f32 = 0.5;

/// Background at the top.
pub const PAPER_TOP: Color = [246, 245, 242];
/// Background at the bottom.
pub const PAPER_BOTTOM: Color = [232, 229, 223];
/// Floor.
pub const GROUND: Color = [226, 222, 214];
/// Grid lines on the floor.
pub const GRID_LINE: Color = [186, 181, 171];
/// Floor in the darkest shadow.
pub const SHADOW: Color = [92, 88, 92];
/// Strength of the darkest shadow.
pub const SHADOW_FRACTION: f32 = 0.62;
/// Width of a grid line in pixels.
pub const LINE_WIDTH: f64 = 1.1;
/// Radius of the ground, in half diagonals of the framed box.
pub const GROUND_RADIUS: f64 = 2.2;
/// Maximum number of grid lines per radius of the ground.
pub const LINES_PER_RADIUS: f64 = 6.0;

/// Colliders: plaster, distinct from cloth and paper.
pub const SOLID: Color = [172, 170, 166];
/// Factor on the distance at which colliders are drawn: cloth that lies on them, with particles on
/// their surface and triangles that cut into it, then covers them.
pub const SOLID_DISTANCE: f64 = 1.003;

/// Returns the colours of front and back of a cloth, in linear light.
pub fn sides(color: Color) -> [Vec3; 2] {
    let front = to_linear(color);
    [front, front.lerp(to_linear(LINING), LINING_FRACTION)]
}

/// Rounds a length down to 1, 2 or 5 times a power of ten: a distance between grid lines.
pub fn round_length(length: f64) -> f64 {
    let power = 10_f64.powf(length.log10().floor());
    let step = [5.0, 2.0].into_iter().find(|step| step * power <= length).unwrap_or(1.0);
    step * power
}

/// Returns the visible surface of the colliders, and their points that should be framed: all except
/// shapes that leave the box `reach` \[m\], which are cut off there. Level planes that face up are
/// left out: they are the ground, see [`floors`].
pub fn collider_surface(shapes: &[Shape], reach: [[f64; 3]; 2]) -> (Surface, Vec<[f64; 3]>) {
    let (surface, framed) = solid::collider_surface(shapes, reach.map(DVec3::from));
    (surface, framed.into_iter().map(Into::into).collect())
}

/// Returns the heights of level planes that face up \[m\].
pub fn floors(shapes: &[Shape]) -> impl Iterator<Item = f64> {
    solid::floors(shapes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_stand_at_round_lengths() {
        for (length, expected) in
            [(0.9, 0.5), (1.0, 1.0), (2.4, 2.0), (73.0, 50.0), (0.0012, 0.001)]
        {
            assert!((round_length(length) / expected - 1.0).abs() < 1e-9, "{length}");
        }
    }
}
