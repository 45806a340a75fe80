//! Kernels and the CPU backend against the CPU twin, pass by pass and over frames.

use poplin_cpu::WideTeam;
use poplin_geometry::Rng;
use poplin_model::{ClothContactSolver, ClothDesc, Pose};
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;

use super::compare::{wrong, wrong_in_first_pass, wrong_in_frames};
use super::{STEP, Setup, cloud, on_mirror, on_workers, random_cloud, rotation, sheet, sleepers};

/// Clouds in random local spaces, and every degenerate kind of cloth.
fn clouds() -> Vec<Setup> {
    let mut setups = Vec::new();
    let friction =
        ClothContactSolver { friction: 0.4, iterations: 1, ..ClothContactSolver::default() };
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut cloths: Vec<_> = (0..6)
            .map(|k| random_cloud(&mut rng, 40 + 30 * k, 1.0, 0.08 + 0.02 * k as f32))
            .collect();
        for cloth in &mut cloths {
            cloth.pose = Pose { translation: rng.point(-0.3, 0.3), rotation: rotation(&mut rng) };
            cloth.config.cloth_collision.group = 1 << rng.index(3);
            cloth.config.cloth_collision.mask = rng.next_u64() as u32 | 1;
        }
        setups.push(Setup { name: "random", cloths, settings: friction, frames: vec![STEP] });
    }
    let mut rng = Rng::new(9);
    let settings =
        ClothContactSolver { friction: 1.0, stiffness: 0.7, iterations: 3, ..Default::default() };
    let mut add = |name, cloths: Vec<ClothDesc>| {
        setups.push(Setup { name, cloths, settings, frames: vec![STEP; 2] })
    };
    let position = [0.5, -0.25, 3.0, 2.0];
    add(
        "coincident",
        vec![
            cloud(vec![position; 40], 0.1),
            cloud(vec![position; 30], 0.3),
            cloud(vec![position], 0.1),
        ],
    );
    let pinned = |rng: &mut Rng| {
        let mut cloth = random_cloud(rng, 50, 0.5, 0.2);
        cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
        cloth
    };
    add(
        "all pinned",
        vec![pinned(&mut rng), pinned(&mut rng), random_cloud(&mut rng, 30, 0.5, 0.2)],
    );
    add(
        "one particle each",
        (0..50).map(|k| cloud(vec![[0.03 * k as f32, 0.0, 0.0, 1.0]], 0.1)).collect(),
    );
    let far = |x: f32| cloud((0..20).map(|k| [x, -x, 0.011 * k as f32, 1.0]).collect(), 0.1);
    add(
        "huge coordinates",
        vec![far(1e6), far(1e6), far(-1e14), far(-1e14), far(9e14), far(1e-30)],
    );
    let mut deaf = random_cloud(&mut rng, 60, 0.4, 0.1);
    deaf.config.cloth_collision.mask = 0;
    let mut nobody = random_cloud(&mut rng, 60, 0.4, 0.1);
    nobody.config.cloth_collision.group = 0;
    let free = random_cloud(&mut rng, 60, 0.4, 0.1);
    add("empty masks", vec![deaf, nobody, free.clone(), free.clone()]);
    add(
        "far apart",
        vec![
            free.clone(),
            ClothDesc { pose: Pose { translation: [50.0, 0.0, 0.0], ..Pose::default() }, ..free },
        ],
    );
    add(
        "tiny and huge masses",
        vec![
            cloud(vec![[0.0, 0.0, 0.0, 1e-9], [0.02, 0.0, 0.0, 1e15]], 0.1),
            cloud(vec![[0.01, 0.03, 0.0, 1e9], [0.01, 0.0, 0.04, 1e-15]], 0.1),
        ],
    );
    setups
}

/// Sheets that fall on each other, at different rates, in moving local spaces, with sleep.
fn sheets() -> Vec<Setup> {
    let mut setups = Vec::new();
    for (every, iterations) in [(1, 2), (0, 1), (2, 1)] {
        let mut cloths: Vec<_> = (0..3).map(|k| sheet(8, 0.4, 0.06 * k as f32, 0.06)).collect();
        cloths[0].particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
        cloths[1].config.solver.as_pbd_mut().unwrap().frequency = 120.0;
        cloths[2].pose.translation = [0.013, 0.005, 0.007];
        let settings = ClothContactSolver {
            friction: 0.3,
            iterations,
            every,
            ..ClothContactSolver::default()
        };
        setups.push(Setup { name: "sheets", cloths, settings, frames: vec![1.0 / 60.0; 12] });
    }
    setups
}

#[test]
fn every_pass_agrees_with_the_mirror() {
    assert_eq!(wrong(&clouds(), wrong_in_first_pass), Vec::<String>::new());
}

#[test]
fn whole_frames_agree_with_the_mirror() {
    let setups: Vec<_> = sheets().into_iter().chain([sleepers()]).collect();
    assert_eq!(wrong(&setups, wrong_in_frames), Vec::<String>::new());
}

#[test]
fn the_cpu_backend_has_the_mirrors_bits_at_every_width() {
    for setup in clouds().iter().chain(&sheets()).chain([&sleepers()]) {
        let expected = on_mirror(setup);
        for team in WideTeam::all() {
            let lanes = team.describe();
            let got = on_workers(setup, team);
            for index in 0..setup.cloths.len() {
                let (id, what) =
                    (nth_cloth(index), format!("{}: cloth {index}, {lanes}", setup.name));
                same_bits(&what, got.current(id), expected.current(id)).unwrap();
                same_bits(&what, got.previous(id), expected.previous(id)).unwrap();
                assert_eq!(got.feedback(id), expected.feedback(id), "{what}");
            }
        }
    }
}

#[test]
fn the_clouds_touch_where_they_should() {
    for mut setup in clouds() {
        (setup.settings.iterations, setup.frames) = (1, vec![STEP]);
        let contacts: u32 = on_mirror(&setup).contact_memory().counts.iter().sum();
        assert_eq!(contacts > 0, setup.name != "far apart", "{}: {contacts} contacts", setup.name);
    }
}
