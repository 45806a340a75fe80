//! Clothes of the character example: on the skin where they are painted so, within their max
//! distance elsewhere, and never inside the body.

#[path = "../../crates/poplin-examples/examples/character/body.rs"]
mod body;
#[path = "../../crates/poplin-examples/examples/character/clothes.rs"]
mod clothes;

use glam::Vec3;
use poplin::{Backend, Simulation};

use body::Body;
use clothes::{COLLIDER_MARGIN, cape, skirt};

/// Largest violations over all frames and particles \[m\].
#[derive(Debug, Default)]
struct Worst {
    /// Distance from the skin of particles with max distance 0.
    off_skin: f32,
    /// Distance beyond the max distance of all particles.
    excess: f32,
    /// Largest distance of any particle from the skin.
    moved: f32,
    /// Depth inside the separation sphere.
    breach: f32,
    /// Depth inside the capsule of a bone, collider margin included.
    depth: f32,
}

/// Returns the violations of cape and skirt over a walk, a wave and a whirl of 7.5 s.
fn worst_of_a_walk() -> [(&'static str, Worst); 2] {
    let body = Body::new();
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let garments = [cape(&body), skirt(&body)].map(|garment| {
        let garment = garment.unwrap();
        let count = garment.worn.spheres(&body.pose(0.0)).count();
        assert_eq!(garment.render_mesh.particle_count as usize, count);
        let id = simulation.add(garment.cloth).unwrap();
        garment.worn.follow(&body.pose(0.0), simulation.cloth_mut(id).unwrap()).unwrap();
        (id, garment.worn)
    });
    let mut worsts = [("cape", Worst::default()), ("skirt", Worst::default())];
    let dt = 1.0 / 60.0;
    for number in 1..=450 {
        let pose = body.pose(f64::from(number) * f64::from(dt));
        for (id, worn) in &garments {
            worn.follow(&pose, simulation.cloth_mut(*id).unwrap()).unwrap();
        }
        simulation.step(dt).unwrap();
        let state = simulation.state().unwrap();
        let rest_from_pose = pose.bones.map(|bone| bone.inverse());
        for ((id, worn), (_, worst)) in garments.iter().zip(&mut worsts) {
            for (position, (skin, backstop)) in state.positions(*id).zip(worn.spheres(&pose)) {
                let position = Vec3::from(position);
                let moved = position.distance(skin.center.into());
                if skin.radius == 0.0 {
                    worst.off_skin = worst.off_skin.max(moved);
                }
                worst.excess = worst.excess.max(moved - skin.radius);
                worst.moved = worst.moved.max(moved);
                let breach = backstop.radius - position.distance(backstop.center.into());
                worst.breach = worst.breach.max(breach);
                for (bone, rest_from_pose) in rest_from_pose.iter().enumerate() {
                    // Distances to bones are evaluated in the rest pose.
                    let rest = rest_from_pose.transform_point3(position);
                    let depth = COLLIDER_MARGIN - body.bone_distance(bone, rest);
                    worst.depth = worst.depth.max(depth);
                }
            }
        }
    }
    worsts
}

/// One test, since the walk takes seconds. The bound of the max distance leaves room for 8 mm, by
/// which the stages after the motion constraint move particles beyond it while the character
/// whirls. Cape and skirt push each other up to 2 mm into the capsules, which are 10 mm thicker
/// than the body.
#[test]
fn clothes_keep_their_distances_and_stay_outside_the_body() {
    for (name, worst) in worst_of_a_walk() {
        assert!(worst.off_skin < 1e-4, "{name}: off the skin: {worst:?}");
        assert!(worst.moved > 0.1, "{name}: nothing moves: {worst:?}");
        assert!(worst.excess < 0.012, "{name}: beyond the max distance: {worst:?}");
        assert!(worst.breach < 1e-3, "{name}: past a backstop: {worst:?}");
        assert!(worst.depth < 0.4 * COLLIDER_MARGIN, "{name}: inside the body: {worst:?}");
    }
}
