//! Scenes in which cloth falls: on balls, spikes, needles, a table, a cylinder, a bunny, into a
//! box, on itself.

use std::error::Error;
use std::f32::consts::PI;
use std::path::Path;

use poplin::cook::CookOptions;
use poplin::model::{Capsule, ClothDesc, Collider, Mesh, Plane, Shape, Sphere, TriangleMesh};
use poplin_geometry::Rng;
use poplin_testkit::crossing_scene::{at, floor, spike};

use crate::scene::{
    Kind, Other, Scene, ball, cuboid, distance, each, moved, of_mesh, set, sheet, upright,
};

/// Benchmark scene `w4`: a square meter of 64 x 64 particles on a ball and the floor, with fibers
/// from border to border.
pub(crate) fn w4(kind: Kind, thickness: f32, friction: f32) -> Scene {
    let columns = kind.count(64);
    let mut mesh = Mesh::grid(columns, columns, 1.0, 1.0);
    mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, 0.5, *z - 0.5));
    let options = CookOptions { max_fiber_length: Some(1 << 16), ..CookOptions::default() };
    let mut cloth = of_mesh(kind, &mesh, 0.2 / (columns * columns) as f32, options);
    set(&mut cloth, thickness, friction);
    Scene::new(vec![cloth], vec![ball([0.0, 0.2, 0.0], 0.2), floor()], 3.0)
}

/// Square meter of 32 x 32 particles at a height \[m\].
fn square(kind: Kind, height: f32) -> ClothDesc {
    moved(sheet(kind, [32; 2], [1.0; 2]), [0.0, height, 0.0])
}

/// Drops a sheet onto a cone.
pub(crate) fn on_spike(kind: Kind) -> Scene {
    let colliders = vec![spike([0.0, 0.4, 0.0], 0.4, 0.1), floor()];
    Scene::new(vec![square(kind, 0.45)], colliders, 3.0)
}

/// Drops a sheet onto 49 needles.
pub(crate) fn on_needles(kind: Kind) -> Scene {
    let needles = (0..49).map(|k| {
        let (x, z) = ((k % 7) as f32 - 3.0, (k / 7) as f32 - 3.0);
        spike([0.12 * x, 0.3, 0.12 * z], 0.3, 0.01)
    });
    Scene::new(vec![square(kind, 0.4)], needles.chain([floor()]).collect(), 3.0)
}

/// Drops a sheet half onto a table, from which it slides. Drawn as it slides.
pub(crate) fn on_table(kind: Kind) -> Scene {
    let table = Collider { pose: at([0.2, 0.5, 0.0]), ..cuboid([0.3, 0.02, 0.3]) };
    let scene = Scene::new(vec![square(kind, 0.6)], vec![table, floor()], 3.0);
    Scene { shown: 1.0, ..scene }.seen_from(-40.0, 20.0)
}

/// Stacked sheets of 0.6 m with a gap of `gap` \[m\], the lowest at `height` \[m\].
fn layers(kind: Kind, count: usize, gap: f32, height: f32) -> Vec<ClothDesc> {
    let layer =
        |k: usize| moved(sheet(kind, [32; 2], [0.6; 2]), [0.0, height + gap * k as f32, 0.0]);
    (0..count).map(layer).collect()
}

/// Drops ten layers onto a cylinder, from which they slide: three quarters of them are on one side.
/// Drawn on the floor.
pub(crate) fn on_cylinder(kind: Kind) -> Scene {
    let ends = [-0.45, 0.45].map(|z| Sphere { center: [0.15, 0.3, z], radius: 0.1 });
    let cylinder = Shape::from(Capsule { ends }).into();
    let scene = Scene::new(layers(kind, 10, 0.01, 0.45), vec![cylinder, floor()], 4.0);
    Scene { shown: 1.0, ..scene }.seen_from(25.0, 12.0)
}

/// Pile of four sheets. Reports how fast it is after 5 s, and whether its energy grows, at the
/// impact and later.
pub(crate) fn pile(kind: Kind) -> Scene {
    let (mut before, mut fastest): (Vec<[f32; 3]>, _) = (Vec::new(), 0.0f32);
    let mut energies = [[f64::INFINITY, 0.0]; 2];
    let watch = move |time: f32, now: &[[f32; 3]]| {
        let pairs = || now.iter().zip(&before);
        // Energy over weight \[m\], half a frame ago: mean height plus squared velocity over 2 g.
        let energy = |(now, before): (&[f32; 3], &[f32; 3])| {
            let speed = f64::from(60.0 * distance(*now, *before));
            f64::from(0.5 * (now[1] + before[1])) + speed * speed / (2.0 * 9.81)
        };
        if !before.is_empty() {
            let energy = pairs().map(energy).sum::<f64>() / now.len() as f64;
            let [least, rise] = &mut energies[usize::from(time > 1.0)];
            *least = least.min(energy);
            *rise = rise.max(1e3 * (energy - *least));
        }
        if time > 5.0 {
            fastest = pairs().map(|(a, b)| 60.0 * distance(*a, *b)).fold(fastest, f32::max);
        }
        before = now.to_vec();
        let [[_, first], [_, later]] = energies;
        let mut remark = format!("energy rises by {first:.4} mm of height in the first second");
        if time > 1.0 {
            remark += &format!(", by {later:.4} mm later");
        }
        if time > 5.0 {
            remark += &format!(", at most {:.2} mm/s after 5 s", 1e3 * fastest);
        }
        Some(remark)
    };
    let scene = Scene::new(layers(kind, 4, 0.007, 0.01), vec![floor()], 10.0);
    Scene { watch: Some(Box::new(watch)), ..scene }.seen_from(32.0, 20.0)
}

/// Square meter of `columns` x `columns` particles on a ball, a third of an edge thick.
pub(crate) fn growing(kind: Kind, columns: u32) -> Scene {
    let mut cloth = moved(sheet(kind, [columns; 2], [1.0; 2]), [0.0, 0.42, 0.0]);
    cloth.config.thickness = 1.0 / (3 * columns) as f32;
    Scene::new(vec![cloth], vec![ball([0.0, 0.2, 0.0], 0.2), floor()], 1.0)
}

/// Drops a sheet with another solver onto a ball.
pub(crate) fn on_ball(kind: Kind, other: Other) -> Scene {
    let mut cloth = square(kind, 0.45);
    other.solve(kind, &mut cloth);
    Scene::new(vec![cloth], vec![ball([0.0, 0.2, 0.0], 0.2), floor()], 3.0)
}

/// Drops a sheet with another solver on edge onto the floor, so that it folds onto itself.
pub(crate) fn on_itself(kind: Kind, other: Other) -> Scene {
    let sheet = upright(sheet(kind, [24; 2], [0.5; 2]));
    // Slightly tilted, so that it folds to one side.
    let mut cloth = each(sheet, |[x, y, z]| [x, y + 0.3, z + 0.1 * y]);
    other.solve(kind, &mut cloth);
    Scene::new(vec![cloth], vec![floor()], 3.0).seen_from(60.0, 20.0)
}

/// Drops a shirt onto a bunny, from the meshes `unisex_shirt.obj` and `bunny.obj` in a folder.
pub(crate) fn shirt(kind: Kind, folder: &Path) -> Result<Scene, Box<dyn Error>> {
    let read = |name: &str| poplin_io::read_obj(folder.join(name));
    let (bunny, shirt) = (read("bunny.obj")?, read("unisex_shirt.obj")?);
    let mass = 0.2 / shirt.positions.len() as f32;
    let mut cloth = of_mesh(kind, &shirt, mass, CookOptions::default());
    set(&mut cloth, 0.003, 0.3);
    let cloth = each(cloth, |[x, y, z]| [x, 0.6 + z, y - 1.2]);
    let vertices: Vec<_> = bunny.positions.iter().map(|p| p.map(|x| 0.25 * x)).collect();
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: bunny.triangles.into() };
    let colliders = vec![Shape::TriangleMesh(mesh).into(), floor()];
    Ok(Scene::new(vec![cloth], colliders, 10.0))
}

/// Drops 512 handkerchiefs into a box.
pub(crate) fn handkerchiefs(kind: Kind) -> Scene {
    let mut rng = Rng::new(7);
    let mut mould = sheet(kind, [8; 2], [0.1; 2]);
    set(&mut mould, 0.003, 0.3);
    let one = |k: usize| {
        let (tilt, spin) = (rng.range(-0.3, 0.3), rng.range(-PI, PI));
        let at = [k % 8, k / 64, k / 8 % 8].map(|i| i as f32);
        each(mould.clone(), |[x, _, z]| {
            let (x, z) = (x * spin.cos() - z * spin.sin(), x * spin.sin() + z * spin.cos());
            let (x, y) = (x * tilt.cos(), x * tilt.sin());
            [x + 0.15 * (at[0] - 3.5), y + 0.06 + 0.05 * at[1], z + 0.15 * (at[2] - 3.5)]
        })
    };
    let wall = |normal| Shape::from(Plane { normal, offset: -0.61 }).into();
    let walls = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]].map(wall);
    let colliders = walls.into_iter().chain([floor()]).collect();
    Scene::new((0..512).map(one).collect(), colliders, 3.0).seen_from(32.0, 35.0)
}
