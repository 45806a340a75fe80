//! Keeps the clothes of the example of a character right: on the skin where they are painted so, and nowhere inside it.

#[path = "../crates/poplin-examples/examples/character/body.rs"]
mod body;
#[path = "../crates/poplin-examples/examples/character/clothes.rs"]
mod clothes;

use std::sync::LazyLock;

use glam::Vec3;
use poplin::model::Frame;
use poplin::{Backend, Simulation};

use body::{BONES, Body};
use clothes::{Garment, cape, skirt};

/// The worst of a garment over all frames \[m\].
#[derive(Debug, Default)]
struct Worst {
    name: &'static str,
    /// From the skin, of particles with max distance 0.
    off_skin: f32,
    /// From the skin, beyond the max distance of the others.
    excess: f32,
    /// From the skin, of any particle.
    moved: f32,
    /// Inside a capsule of the body.
    depth: f32,
}

/// A walk, a wave and a whirl: seven and a half seconds.
static WORST: LazyLock<Vec<Worst>> = LazyLock::new(|| {
    let body = Body::new();
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let mut worn = Vec::new();
    let mut worst = Vec::new();
    for (name, garment) in [("cape", cape(&body)), ("skirt", skirt(&body))] {
        let Garment { cloth, worn: garment, .. } = garment.unwrap();
        let id = simulation.add(cloth).unwrap();
        garment.follow(&body.pose(0.0), simulation.cloth_mut(id).unwrap()).unwrap();
        worn.push((id, garment));
        worst.push(Worst { name, ..Worst::default() });
    }
    let frame = Frame::default();
    for number in 1..=450 {
        let pose = body.pose(f64::from(number) * f64::from(frame.dt));
        for (id, worn) in &worn {
            worn.follow(&pose, simulation.cloth_mut(*id).unwrap()).unwrap();
        }
        simulation.step(&frame).unwrap();
        let state = simulation.state().unwrap();
        let rests = pose.bones.map(|bone| bone.inverse());
        for ((id, worn), worst) in worn.iter().zip(&mut worst) {
            let points = worn.skin.iter().zip(worn.skinned(&pose));
            for (position, (point, (skin, _))) in state.positions(*id).zip(points) {
                let position = Vec3::from(position);
                let moved = position.distance(skin);
                if point.max_distance == 0.0 {
                    worst.off_skin = worst.off_skin.max(moved);
                }
                worst.excess = worst.excess.max(moved - point.max_distance);
                worst.moved = worst.moved.max(moved);
                for (bone, rest) in (0..BONES).zip(rests) {
                    let distance = body.bone_distance(bone, rest.transform_point3(position));
                    worst.depth = worst.depth.max(-distance);
                }
            }
        }
    }
    println!("{worst:#?}");
    worst
});

#[test]
fn particles_of_max_distance_0_stay_on_the_skin() {
    for worst in WORST.iter() {
        assert!(worst.off_skin < 1e-4, "{worst:?}");
    }
}

#[test]
fn the_others_move_no_farther_than_their_max_distance() {
    for worst in WORST.iter() {
        assert!(worst.moved > 0.1, "{worst:?}");
        assert!(worst.excess < 0.01, "{worst:?}");
    }
}

#[test]
fn no_particle_is_inside_the_body() {
    for worst in WORST.iter() {
        assert!(worst.depth < 0.005, "{worst:?}");
    }
}
