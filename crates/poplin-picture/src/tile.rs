//! Rendering of one moment into a square of pixels.

use glam::Vec3;
use poplin_geometry::wide;

use super::background::Ground;
use super::color::to_srgb;
use super::curve::{for_each_piece, pieces};
use super::line::draw_line;
use super::raster::{Canvas, Corner};
use super::shading::{Lights, Material};
use super::studio::SOLID_DISTANCE;
use super::visibility::vertex_visibility;
use super::{Camera, Color, Line, Surface};

/// Samples per pixel on each axis.
const SAMPLES: usize = 2;

/// Draws surfaces, of which those from index `solid_begin` on are colliders, and lines; shape
/// `[size * size]`, rows from the top.
pub(super) fn draw_tile(
    surfaces: &[Surface],
    solid_begin: usize,
    lines: &[Line],
    camera: &Camera,
    ground: &Ground,
    size: usize,
) -> Vec<Color> {
    let mut canvas = Canvas::new(size * SAMPLES);
    let width = canvas.size;
    ground.paint(camera, surfaces, size, |column, row, light| {
        for sample in 0..SAMPLES {
            let begin = (row * SAMPLES + sample) * width + column * SAMPLES;
            canvas.light[begin..begin + SAMPLES].fill(light);
        }
    });
    let lights = Lights::new(camera);
    let normals: Vec<_> = surfaces.iter().map(Surface::normals).collect();
    let visibility = vertex_visibility(surfaces, &normals, camera);
    for (index, ((surface, normals), visibility)) in
        surfaces.iter().zip(&normals).zip(&visibility).enumerate()
    {
        let distance = if index < solid_begin { 1.0 } else { SOLID_DISTANCE };
        let corner = |vertex: usize| Corner {
            view: camera.to_view(wide(surface.positions[vertex])) * distance,
            normal: camera.to_axes(normals[vertex]).as_vec3(),
            visibility: visibility[vertex],
        };
        let material = Material::new(surface.color);
        // Colliders are not curved: a box has edges.
        let pieces = if index < solid_begin { pieces(surface, camera, size) } else { 1 };
        for triangle in surface.drawable_triangles() {
            for_each_piece(triangle.map(corner), pieces, |corners| {
                canvas.draw(corners, camera.near, |normal, visibility, is_front| {
                    lights.shade(&material, normal, visibility, is_front)
                });
            });
        }
    }
    lines.iter().for_each(|line| draw_line(&mut canvas, line, camera, SAMPLES));
    let resolve = |pixel: usize| {
        let begin = pixel / size * SAMPLES * width + pixel % size * SAMPLES;
        let rows = (0..SAMPLES).map(|row| &canvas.light[begin + row * width..][..SAMPLES]);
        to_srgb(rows.flatten().sum::<Vec3>() / (SAMPLES * SAMPLES) as f32)
    };
    (0..size * size).map(resolve).collect()
}
