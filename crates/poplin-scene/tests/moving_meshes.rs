//! Colliders with meshes that move vertex by vertex: animations and point caches, from the scene
//! file to the shape at a time.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use poplin_io::{FRAME_FORMATS, FrameSource, PointCacheWriter, write_obj};
use poplin_model::{Mesh, Shape};
use poplin_scene::{BuiltCollider, Scene};
use poplin_testkit::Scratch;

/// Folder of a scene with one collider.
trait SceneFolder {
    fn scene(&self, collider: &str) -> String;
    fn build(&self, collider: &str) -> Result<BuiltCollider, String>;
    fn fault(&self, collider: &str) -> String;
}

impl SceneFolder for Scratch {
    fn scene(&self, collider: &str) -> String {
        let text = format!(
            "frame_rate = 20\n[[cloth]]\ngrid = {{ columns = 3, rows = 3, width = 1, height = 1 }}\n[[collider]]\n{collider}\n"
        );
        std::fs::write(self.path("scene.toml"), &text).unwrap();
        text
    }

    fn build(&self, collider: &str) -> Result<BuiltCollider, String> {
        self.scene(collider);
        let scene = Scene::load(self.path("scene.toml")).map_err(|error| error.to_string())?;
        let built = scene.build_colliders().map_err(|error| error.to_string())?;
        Ok(built.into_iter().next().unwrap())
    }

    /// Returns the error message without the folder.
    fn fault(&self, collider: &str) -> String {
        let folder = self.path("").display().to_string();
        self.build(collider).unwrap_err().replace(&folder, "")
    }
}

/// Frustum with a large base, its front outside and its small top missing: a hole to fill.
fn frustum() -> Mesh {
    let ring = |radius: f32, y: f32| {
        (0..8).map(move |k| {
            let angle = std::f32::consts::TAU * k as f32 / 8.0;
            [radius * angle.cos(), y, -radius * angle.sin()]
        })
    };
    let positions = ring(1.0, 0.0).chain(ring(0.1, 1.0)).chain([[0.0, 0.0, 0.0]]).collect();
    let mut triangles = Vec::new();
    for k in 0..8 {
        let next = (k + 1) % 8;
        triangles.extend([[k, next, 8 + next], [k, 8 + next, 8 + k], [next, k, 16]]);
    }
    Mesh { positions, triangles, ..Mesh::default() }
}

/// Frame `k`: scaled by 1 + k across, and moved by `k` to the right.
fn frame(k: u32) -> Vec<[f32; 3]> {
    let wide = 1.0 + k as f32;
    let moved = |p: &[f32; 3]| [wide * p[0] + k as f32, p[1], wide * p[2]];
    frustum().positions.iter().map(moved).collect()
}

fn write_frames(path: &Path, format: &str) {
    let format = FRAME_FORMATS.iter().find(|it| it.name == format).unwrap();
    let mesh = frustum();
    let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 10.0, frame_count: 4 };
    let mut sink = (format.create)(path, &source).unwrap();
    (0..4).for_each(|k| sink.push(&frame(k)).unwrap());
    sink.finish().unwrap();
}

fn vertices(shape: Shape) -> Vec<[f32; 3]> {
    let Shape::TriangleMesh(mesh) = shape else { panic!("{shape:?}") };
    mesh.vertices.to_vec()
}

fn assert_near(a: [f32; 3], b: [f32; 3]) {
    assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-5), "{a:?} is not {b:?}");
}

#[test]
fn a_mesh_and_its_filled_holes_follow_an_animation_or_cache() {
    let folder = Scratch::new("follows");
    write_obj(folder.path("body.obj"), &frustum(), &frustum().positions).unwrap();
    write_frames(&folder.path("body.glb"), "glb");
    write_frames(&folder.path("body.mdd"), "mdd");
    // Samples at frames 1, 2, 3, 4.
    let mut writer = PointCacheWriter::create(folder.path("body.pc2"), 17, 1.0, 1.0).unwrap();
    (0..4).for_each(|k| writer.push(&frame(k)).unwrap());
    writer.finish().unwrap();
    let moved = "transform = { translation = [0, 5, 0], scale = 2 }\n";
    for (source, delay) in [
        ("mesh = 'body.glb'\nanimation = 'simulation'", 0.0),
        ("mesh = 'body.glb'\nanimation = 0", 0.0),
        ("mesh = 'body.obj'\ncache = 'body.mdd'", 0.0),
        ("mesh = 'body.obj'\ncache = 'body.pc2'\ncache_rate = 10", 0.1),
        ("mesh = 'body.obj'\ncache = 'body.pc2'", 0.05),
        ("mesh = 'body.obj'\ncache = 'body.pc2'\nstart = 2\ncache_rate = 20\nspeed = 0.5", 2.0),
    ] {
        let built = folder.build(&format!("{source}\n{moved}")).unwrap();
        assert_eq!(built.repairs.filled_holes, 1);
        // The scene's frame rate is the default of a cache.
        let is_fast = source.ends_with("pc2'");
        let rate = if is_fast { 20.0 } else { 10.0 };
        for (time, k) in [(-1.0, 0.0), (0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.5, 2.5), (9.0, 3.0)] {
            let all = vertices(built.shape_at(delay + time / rate).unwrap());
            let k: f32 = k;
            assert_eq!(all.len(), 18, "{source}");
            assert_near(all[0], [2.0 * (1.0 + k + k), 5.0, 0.0]);
            assert_near(all[17], [2.0 * k, 7.0, 0.0]);
        }
        let [start, end] = [delay, delay + 3.0 / rate];
        assert!(built.rests(start - 0.1, start) && built.rests(end + 1e-6, end + 1.0), "{source}");
        assert!(!built.rests(start, start + 0.01));
        let [Shape::TriangleMesh(a), Shape::TriangleMesh(b)] =
            [start, end].map(|time| built.shape_at(time).unwrap())
        else {
            panic!()
        };
        assert_eq!(a.triangles, b.triangles);
        assert_eq!(Shape::from(a), built.shape, "{source}");
    }
}

#[test]
fn keys_move_a_moving_mesh_and_loops_repeat() {
    let folder = Scratch::new("loops");
    write_frames(&folder.path("body.glb"), "glb");
    let keys = "keys = [{ time = 0 }, { time = 1, translation = [0, 0, 8] }]";
    let built =
        folder.build(&format!("mesh = 'body.glb'\nanimation = 0\nloop = true\n{keys}")).unwrap();
    let corner = |time: f64| vertices(built.shape_at(time).unwrap())[0];
    assert_near(corner(0.2), [5.0, 0.0, 1.6]);
    assert_near(corner(0.5), [5.0, 0.0, 4.0]);
    assert_near(corner(0.35), [2.0, 0.0, 2.8]);
}

#[test]
fn errors_have_the_location_of_their_key() {
    let folder = Scratch::new("faults");
    write_obj(folder.path("body.obj"), &frustum(), &frustum().positions).unwrap();
    write_frames(&folder.path("body.glb"), "glb");
    write_frames(&folder.path("body.mdd"), "mdd");
    let mut writer = PointCacheWriter::create(folder.path("few.pc2"), 3, 0.0, 1.0).unwrap();
    writer.push(&[[0.0; 3]; 3]).unwrap();
    writer.finish().unwrap();
    for (collider, expected) in [
        (
            "mesh = 'body.glb'\nanimation = 'Walk'",
            "6:1: collider[0].animation: body.glb, animations: no animation \"Walk\"; expected one of its 1: 0 \"simulation\"",
        ),
        (
            "mesh = 'body.glb'\nanimation = 1",
            "6:1: collider[0].animation: body.glb, animations: no animation 1; expected one of its 1: 0 \"simulation\"",
        ),
        (
            "mesh = 'body.obj'\ncache = 'few.pc2'",
            "6:1: collider[0].cache: few.pc2: the point cache has 3 vertices; body.obj has 17",
        ),
        (
            "mesh = 'body.obj'\nanimation = 'Walk'",
            "6:1: collider[0].animation needs a `mesh` in glTF or GLB",
        ),
        ("mesh = 'body.obj'\ncache = 'no.pc2'", "6:1: collider[0].cache: there is no file no.pc2"),
        (
            "mesh = 'body.obj'\ncache = 'body.obj'",
            "6:1: collider[0].cache needs a file named *.pc2 or *.mdd",
        ),
        (
            "mesh = 'body.obj'\ncache = 'body.mdd'\ncache_rate = 24",
            "7:1: collider[0].cache_rate needs a PC2 cache; MDD stores times in seconds",
        ),
        (
            "mesh = 'body.glb'\nanimation = 0\ncache = 'body.mdd'",
            "7:1: collider[0].cache needs a collider without `animation`",
        ),
        ("sphere = { radius = 1 }\nanimation = 0", "6:1: collider[0].animation needs `mesh`"),
        ("mesh = 'body.obj'\nloop = true", "6:1: collider[0].loop needs `animation` or `cache`"),
        ("mesh = 'body.obj'\ncache_rate = 24", "6:1: collider[0].cache_rate needs `cache`"),
        (
            "mesh = 'body.glb'\nanimation = 0\nspeed = 0",
            "7:1: collider[0].speed = 0 is outside 0.001..=1000",
        ),
        (
            "mesh = 'body.glb'\nanimation = 0\nstart = inf",
            "7:1: collider[0].start = inf is outside -1000000..=1000000 s",
        ),
        (
            "mesh = 'body.obj'\ncache = 'few.pc2'\ncache_rate = 0",
            "7:1: collider[0].cache_rate = 0 is outside 0.1..=10000 1/s",
        ),
    ] {
        assert_eq!(folder.fault(collider), format!("scene.toml:{expected}"), "{collider}");
    }
    let message = folder.fault("mesh = 'body.glb'\nanimation = -1");
    assert!(
        message.contains("`-1`, expected the name of an animation, or its index from 0"),
        "{message}"
    );
}

#[test]
fn a_cache_truncated_during_playback_is_an_error_when_read() {
    let folder = Scratch::new("cut");
    write_obj(folder.path("body.obj"), &frustum(), &frustum().positions).unwrap();
    write_frames(&folder.path("body.mdd"), "mdd");
    let built = folder.build("mesh = 'body.obj'\ncache = 'body.mdd'").unwrap();
    let length = std::fs::metadata(folder.path("body.mdd")).unwrap().len();
    let file = std::fs::File::options().write(true).open(folder.path("body.mdd")).unwrap();
    file.set_len(length - 1).unwrap();
    assert!(built.shape_at(0.05).is_ok());
    let message = built.shape_at(0.25).unwrap_err().to_string();
    assert!(message.starts_with("cannot read ") && message.contains("body.mdd: "), "{message}");
}
