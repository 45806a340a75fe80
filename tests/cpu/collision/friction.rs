//! Coulomb friction against shapes, and the mass scale of pushed particles.

use poplin_geometry::Rng;
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};
use poplin_model::{Collider, Pose, Shape};
use poplin_oracle::{coulomb, leave_convex, touch_shapes, weigh_pushed};

use super::{
    FACTOR, Judged, Vec3, after, after_stage, assert_near, capsules_of, cloud, distance, dot,
    length, minus, plus, random_particles, random_sphere, shape_scale, shifted, spheres_of, wide,
    with_spheres,
};

/// Shape that contains the origin and moves during the frame.
struct Sliding {
    what: &'static str,
    stage: Stage,
    /// Shape at the end of the frame.
    target: ShapeArrays,
    /// Displacement of the shape during the frame \[m\].
    shift: [f32; 3],
}

/// One shape of each kind that pushes the origin up by 0.05 m, and a tilted plane.
fn sliding_shapes() -> [Sliding; 5] {
    let block = cuboid(Pose { translation: [0.0, -0.45, 0.0], ..Default::default() }, [0.5; 3]);
    let floor = ShapeArrays {
        mesh_vertices: vec![[-5.0, 0.05, -5.0], [0.0, 0.05, 9.0], [9.0, 0.05, 0.0]],
        mesh_triangles: vec![[0, 1, 2]],
        ..Default::default()
    };
    let sphere = ShapeArrays { spheres: vec![[0.0, -0.25, 0.0, 0.3]], ..Default::default() };
    let capsule = ShapeArrays {
        spheres: vec![[-1.0, -0.25, 0.0, 0.3], [1.0, -0.25, 0.0, 0.3]],
        capsules: vec![[0, 1]],
        ..Default::default()
    };
    let convex = ShapeArrays {
        planes: vec![[0.6, 0.8, 0.0, 0.1]],
        convexes: vec![vec![0]],
        ..Default::default()
    };
    let shift = [0.01, 0.02, -0.015];
    [
        Sliding { what: "sphere", stage: Stage::CollideShape, target: sphere, shift },
        Sliding { what: "capsule", stage: Stage::CollideShape, target: capsule, shift },
        Sliding {
            what: "box",
            stage: Stage::CollideBox,
            target: ShapeArrays { boxes: vec![block], ..Default::default() },
            shift,
        },
        Sliding { what: "triangle", stage: Stage::CollideTriangle, target: floor, shift },
        // A plane has no position along itself: it moves only along its normal, which does not
        // slide.
        Sliding { what: "convex", stage: Stage::CollideConvex, target: convex, shift: [0.0; 3] },
    ]
}

#[test]
fn friction_is_coulombs_law_for_every_kind_of_moving_shape() {
    let mut rng = Rng::new(151);
    let (mut stuck, mut slid) = (0, 0);
    for Sliding { what, stage, target, shift } in sliding_shapes() {
        let shape_way = shift.map(f64::from);
        let start = shifted(&target, shift.map(|x| -x));
        for round in 0..60 {
            let friction = rng.range(0.0, 2.0);
            let pushed = if what == "convex" { rng.point(-0.3, -0.2) } else { [0.0; 3] };
            let particle =
                [pushed[0], pushed[1], pushed[2], if round % 5 == 0 { 0.0 } else { 2.0 }];
            let mut cloth = cloud(vec![particle; 2]);
            let displacement = rng.point(-0.2, 0.2);
            let before: [f32; 3] = std::array::from_fn(|k| particle[k] - displacement[k]);
            cloth.previous_positions = vec![before; 2];
            cloth.colliders = start.to_set().unwrap();
            cloth.config.contact.friction = friction;
            let factor = [0.0, 0.5, 1.0, 3.0][round % 4];
            let id = cloth.colliders.iter().next().unwrap().0;
            cloth.colliders.set_friction(id, factor).unwrap();
            let got = after(&cloth, StageMask::only(stage), 1, |host| {
                let set = host.colliders_mut();
                target.reach(set).unwrap();
                // Shapes of other kinds precede it in the list of friction factors.
                for shape in [
                    Shape::sphere(1.0),
                    Shape::capsule(1.0, [1.0; 2]),
                    Shape::cylinder(1.0, [1.0; 2], 3),
                    Shape::cuboid([1.0; 3]),
                ] {
                    let pose = Pose { translation: [100.0, 0.0, 0.0], ..Pose::default() };
                    set.add(Collider { pose, friction: 7.0, ..Collider::from(shape) }).unwrap();
                }
            });
            let friction = friction * factor;
            let push = if what == "convex" {
                let plane: [f64; 4] = target.planes[0].map(f64::from);
                leave_convex(wide(particle), &[plane]).unwrap().push
            } else {
                [0.0, 0.05, 0.0]
            };
            assert_near(what, got.current[0], plus(wide(particle), push), 2.0);
            let sliding = minus(wide(particle), before.map(f64::from));
            let slide = coulomb(sliding, shape_way, &[(push, 1.0)], friction.into());
            assert_near(
                &format!("{what} {round}, friction {friction}"),
                got.previous[0],
                plus(before.map(f64::from), slide),
                2.0,
            );
            assert_eq!(got.previous[0][3], particle[3], "the user's mass stays");
            // Without a limit friction stops all sliding: the particle stuck if it moved as far as
            // that.
            let full = coulomb(sliding, shape_way, &[(push, 1.0)], 1e9);
            if length(full) - length(slide) < 1e-9 { stuck += 1 } else { slid += 1 }
        }
    }
    eprintln!("friction: {stuck} stuck, {slid} slid");
    assert!(stuck > 20 && slid > 20, "both must be tried: {stuck} {slid}");
}

/// Smallest cosine between two exits, either of them reversed if it opposes the first: below 0 the
/// common axis depends on the order of the exits.
fn alignment(exits: &[(Vec3, f64)]) -> f64 {
    let aligned = exits.iter().map(|&(exit, _)| {
        let sign = dot(exit, exits[0].0).signum();
        exit.map(|x| sign * x / length(exit))
    });
    let aligned: Vec<_> = aligned.collect();
    let cosines = aligned.iter().flat_map(|&a| aligned.iter().map(move |&b| dot(a, b)));
    cosines.fold(1.0, f64::min)
}

#[test]
fn several_contacts_add_their_frictions() {
    let mut rng = Rng::new(157);
    let mut judged = Judged::default();
    for round in 0..200 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows: Vec<_> = (0..5).map(|_| random_sphere(&mut rng, 0.9)).collect();
        let target: Vec<[f32; 4]> = rows
            .iter()
            .map(|row| {
                let step = rng.point(-0.05, 0.05);
                [row[0] + step[0], row[1] + step[1], row[2] + step[2], row[3]]
            })
            .collect();
        let pairs = vec![[0, 1]];
        let (before, now, capsules) = (spheres_of(&rows), spheres_of(&target), capsules_of(&pairs));
        if distance(now[0].0, now[1].0) - (now[0].1 - now[1].1).abs() < 0.02 {
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.friction = rng.range(0.0, 1.0);
        // Order of the factors: three spheres, then the capsule between the first two rows.
        let factors = [0, 1, 2, 3].map(|_| [0.25, 0.5, 1.0, 1.5][rng.index(4)]);
        let ids: Vec<_> = cloth.colliders.iter().map(|(id, _)| id).collect();
        for (id, factor) in ids.into_iter().zip(factors) {
            cloth.colliders.set_friction(id, factor).unwrap();
        }
        let factor_of =
            |shape: usize| if (2..5).contains(&shape) { factors[shape - 2] } else { factors[3] };
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.3, 0.3)))
            .collect();
        let got = after(&cloth, StageMask::only(Stage::CollideShape), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        });
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let x = wide(particle);
            let found = touch_shapes(x, &now, &capsules);
            let count = found.touches.len();
            let moved = |sphere: usize| minus(now[sphere].0, before[sphere].0);
            // Mean displacement of the shapes in contact.
            let shape_way = found.touches.iter().fold([0.0; 3], |sum, &(shape, _, fraction)| {
                let displacement = if shape < now.len() {
                    moved(shape)
                } else {
                    // Between the displacements of both ends.
                    let [a, b] = [moved(0), moved(1)];
                    plus(a, minus(b, a).map(|x| x * fraction))
                };
                plus(sum, displacement.map(|x| x / count as f64))
            });
            let exits = found.touches.iter();
            let exits: Vec<_> =
                exits.map(|&(shape, exit, _)| (exit, f64::from(factor_of(shape)))).collect();
            let previous = cloth.previous_positions[i].map(f64::from);
            let slide = coulomb(
                minus(x, previous),
                shape_way,
                &exits,
                f64::from(cloth.config.contact.friction),
            );
            let longest = exits.iter().map(|exit| length(exit.0)).fold(0.0, f64::max);
            let is_clear = count == 0 || longest > 1e-3;
            let clearance = found.clearance.min(alignment(&exits));
            if judged.takes(if is_clear { clearance } else { 0.0 }) {
                let scale = shape_scale(x, &now, &capsules)
                    * if count > 0 { 1.0 + 1.0 / longest } else { 1.0 };
                assert_near(
                    &format!("round {round} particle {i}"),
                    got.previous[i],
                    plus(previous, slide),
                    scale,
                );
                judged.note_push(count > 0);
            }
        }
    }
    judged.assert_most("friction of several", 0.1);
}

#[test]
fn friction_slop_reduces_friction_of_light_contacts() {
    let mut cloth = cloud(vec![[0.0, -0.001, 0.0, 1.0]; 2]);
    let shapes = ShapeArrays {
        planes: vec![[0.0, 1.0, 0.0, 0.0]],
        convexes: vec![vec![0]],
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    cloth.previous_positions = vec![[-0.5, 0.0, 0.0]; 2];
    cloth.config.contact.friction = 0.5;
    let slide = |slop: f32| {
        let mut cloth = cloth.clone();
        cloth.config.contact.friction_slop = slop;
        f64::from(after(&cloth, StageMask::only(Stage::CollideConvex), 1, |_| ()).previous[0][0])
            + 0.5
    };
    let slides = [0.0, 1e-6, 1e-4, 1e-3, 1e-2].map(slide);
    eprintln!("slides by slop: {slides:?}");
    assert!((slides[0] - 0.0005).abs() < 1e-7 && (slides[1] - 0.0005).abs() < 1e-7, "{slides:?}");
    assert!(
        slides.windows(2).all(|pair| pair[1] <= pair[0] + 1e-7) && slides[4] < 0.2 * slides[0],
        "{slides:?}"
    );
}

#[test]
fn friction_holds_applies_the_same_slide_to_the_position() {
    let mut rng = Rng::new(77);
    for Sliding { what, stage, target, shift } in sliding_shapes() {
        let start = shifted(&target, shift.map(|x| -x));
        for _ in 0..30 {
            let particle =
                if what == "convex" { [-0.2, -0.2, -0.25, 2.0] } else { [0.0, 0.0, 0.0, 2.0] };
            let displacement = rng.point(-0.2, 0.2);
            let mut cloth = cloud(vec![particle; 2]);
            cloth.previous_positions =
                vec![std::array::from_fn(|k| particle[k] - displacement[k]); 2];
            cloth.colliders = start.to_set().unwrap();
            cloth.config.contact.friction = rng.range(0.1, 2.0);
            let run = |holds: bool| {
                let mut cloth = cloth.clone();
                cloth.config.contact.friction_holds = holds;
                after(&cloth, StageMask::only(stage), 1, |host| {
                    target.reach(host.colliders_mut()).unwrap()
                })
            };
            let (held, slowed) = (run(true), run(false));
            let before: [f64; 3] =
                std::array::from_fn(|k| f64::from(particle[k] - displacement[k]));
            let slide = minus(wide(slowed.previous[0]), before);
            assert_near(what, held.current[0], minus(wide(slowed.current[0]), slide), 2.0);
            assert_near("its previous position", held.previous[0], before, 2.0);
        }
    }
}

#[test]
fn pushed_particles_gain_mass_with_the_square_of_the_push() {
    let mut rng = Rng::new(163);
    let mut judged = Judged::default();
    for stage in [Stage::CollideShape, Stage::CollideContinuous] {
        for round in 0..100 {
            let mut cloth = cloud(random_particles(&mut rng, 16));
            let rows: Vec<_> = (0..4).map(|_| random_sphere(&mut rng, 0.9)).collect();
            let spheres = spheres_of(&rows);
            let shapes = ShapeArrays { spheres: rows, ..Default::default() };
            cloth.colliders = shapes.to_set().unwrap();
            cloth.config.contact.mass_scale = rng.range(0.0, 100.0);
            cloth.config.contact.continuous = stage == Stage::CollideContinuous;
            let got = after_stage(&cloth, stage);
            for (i, &particle) in cloth.particles.iter().enumerate() {
                let found = touch_shapes(wide(particle), &spheres, &[]);
                if judged.takes(found.clearance) {
                    let [w, scale] =
                        [particle.inverse_mass, cloth.config.contact.mass_scale].map(f64::from);
                    let expected = weigh_pushed(w, scale, found.sum());
                    let allowed = FACTOR
                        * f64::from(f32::EPSILON)
                        * w
                        * shape_scale(wide(particle), &spheres, &[])
                        * scale.max(1.0);
                    let error = (f64::from(got[i][3]) - expected).abs();
                    assert!(
                        error <= allowed,
                        "{} {round} particle {i}: {error:e} above {allowed:e}",
                        stage.name()
                    );
                    judged.note_push(!found.touches.is_empty());
                }
            }
        }
    }
    judged.assert_most("mass scale", 0.2);
}
