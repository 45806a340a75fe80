//! Writes the vertices of the first collider of a scene in every frame as a PC2 point cache.
//!
//! `cargo run --release -p poplin-scene --example play_collider -- SCENE.toml OUT.pc2`

use std::error::Error;

use poplin_io::PointCacheWriter;
use poplin_model::Shape;
use poplin_scene::Scene;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [scene, out] = arguments.as_slice() else {
        return Err("expected a scene and the file to write".into());
    };
    let scene = Scene::load(scene)?;
    let colliders = scene.build_colliders()?;
    let collider = colliders.first().ok_or("the scene has no collider")?;
    let mut writer = None;
    for frame in 0..=scene.frames {
        let time = f64::from(frame) / f64::from(scene.frame_rate);
        let Shape::TriangleMesh(mesh) = collider.shape_at(time)? else {
            return Err("the collider is not a mesh".into());
        };
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(PointCacheWriter::create(out, mesh.vertices.len(), 0.0, 1.0)?),
        };
        writer.push(&mesh.vertices)?;
    }
    writer.map_or(Ok(0), PointCacheWriter::finish)?;
    Ok(())
}
