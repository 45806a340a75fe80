//! Inputs on which stages are compared, on every backend.

use poplin_host::Cloth;
use poplin_layout::Stage;
use poplin_model::{ClothDesc, Particle, Placement, Pose, Rigid, Shape, Solver};

use crate::scenes::{
    degenerate_cloth, degenerate_implicit_cloth, degenerate_xpbd_cloth, equip, hanging_sheet,
    implicit_sheet, loose_particles, move_particles, random_cloth, random_implicit_cloth,
    random_ropes, random_xpbd_cloth, random_yarn_cloth,
};
use poplin_geometry::Rng;

/// Random and degenerate cloths with their names.
pub fn cloths() -> Vec<(String, ClothDesc)> {
    let mut cloths: Vec<_> = (0..12)
        .map(|seed| (format!("random {seed}"), random_cloth(seed, 20 + 3 * seed as u32)))
        .collect();
    cloths.push(("degenerate".to_owned(), degenerate_cloth()));
    cloths.push(("sheet".to_owned(), hanging_sheet(14, 13)));
    cloths.extend(
        (0..6).map(|seed| (format!("xpbd {seed}"), random_xpbd_cloth(seed, 22 + 4 * seed as u32))),
    );
    cloths.extend(
        (0..3).map(|seed| (format!("yarns {seed}"), random_yarn_cloth(seed, 30 + 4 * seed as u32))),
    );
    cloths.push(("degenerate xpbd".to_owned(), degenerate_xpbd_cloth()));
    cloths.extend(
        (0..4).map(|seed| (format!("ropes {seed}"), random_ropes(seed, 150 + 4 * seed as u32))),
    );
    cloths.extend((0..12).map(|seed| {
        (format!("implicit {seed}"), random_implicit_cloth(seed, 22 + 4 * seed as u32))
    }));
    cloths.extend(
        [0, 7].map(|seed| (format!("degenerate implicit {seed}"), degenerate_implicit_cloth(seed))),
    );
    cloths.push(("implicit sheet".to_owned(), implicit_sheet(14, 13)));
    cloths
}

/// Particles that move by up to 3.5 cm, where the speed limit allows 1 cm.
pub fn fast_particles() -> Vec<(String, ClothDesc)> {
    let mut rng = Rng::new(15);
    let particles = (0..66).map(|_| rng.point(-1.0, 1.0)).map(|[x, y, z]| [x, y, z, 1.0]).collect();
    let mut cloth = loose_particles(particles);
    move_particles(&mut cloth, &mut rng, 0.02);
    cloth.config.self_collision.distance = Some(0.02);
    cloth.config.self_collision.limit_velocity = true;
    vec![("fast".to_owned(), cloth)]
}

/// Particles that move by up to 0.9 m past thin plates: boxes, cylinders or meshes.
///
/// # Panics
/// Panics if the set rejects a shape, which would be a bug of this function.
pub fn particles_past_plates() -> Vec<(String, ClothDesc)> {
    let plate = |kind: &str, half: f32| match kind {
        "boxes" => Shape::cuboid([0.6, half, 0.5]),
        "cylinders" => Shape::cylinder(half, [0.6, 0.4], 12),
        _ => Shape::cuboid([0.6, half, 0.5]).mesh().unwrap_or_default().into_owned().into(),
    };
    let mut rng = Rng::new(23);
    let mut cloth = |kind: &str| {
        let particles = (0..66).map(|_| rng.point(-0.5, 0.5)).map(|[x, y, z]| [x, y, z, 1.0]);
        let mut cloth = loose_particles(particles.collect());
        cloth.config.contact.continuous = true;
        move_particles(&mut cloth, &mut rng, 0.5);
        for half in [0.0005, 0.005, 0.05] {
            let [x, y, z] = rng.point(-1.0, 1.0);
            let pose = Pose {
                translation: rng.point(-0.3, 0.3),
                rotation: [x, y, z, rng.range(0.2, 1.0)],
            };
            let placed = plate(kind, half).transformed(&Placement::new(1.0, Rigid::new(pose)));
            cloth.colliders.add(placed).expect("the plate is valid");
        }
        (format!("past {kind}"), cloth)
    };
    ["boxes", "cylinders", "meshes"].map(&mut cloth).into()
}

/// Inputs for the comparison of one stage; stages that change nothing on these inputs are not
/// compared (`tests/gpu/mirror` checks for them).
pub fn inputs_of(stage: Stage) -> Vec<(String, ClothDesc)> {
    match stage {
        Stage::LimitSpeed => {
            let limit = |(name, mut cloth): (String, ClothDesc)| {
                cloth.config.max_speed = Some(2.0);
                (name, cloth)
            };
            cloths().into_iter().map(limit).collect()
        }
        Stage::Displacement => {
            let shorten = |(name, mut cloth): (String, ClothDesc)| {
                match &mut cloth.config.solver {
                    Solver::Pbd(pbd) => pbd.frequency = 1200.0,
                    Solver::Xpbd(xpbd) => xpbd.substeps = 8,
                    Solver::Implicit(_) | Solver::Multilevel(_) => {}
                }
                (name, cloth)
            };
            cloths().into_iter().map(shorten).collect()
        }
        Stage::Sweep => cloths().into_iter().chain(particles_past_plates()).collect(),
        Stage::Integrate => cloths().into_iter().chain(fast_particles()).collect(),
        _ => cloths(),
    }
}

/// Cloths with the implicit solver for [`equip`] with colliders of all kinds; those of [`cloths`]
/// have none.
pub fn implicit_cloths_among_shapes() -> Vec<(String, ClothDesc)> {
    let cloth = |seed| random_implicit_cloth(seed, 24 + 4 * seed as u32);
    (0..12).map(|seed| (format!("implicit among shapes {seed}"), cloth(seed))).collect()
}

/// Sets every kind of input of a cloth. A few particles get less than their rest inverse mass, as
/// stages of the last frame may leave it.
///
/// # Panics
/// Panics if the cloth rejects an input, which would be a bug of this function.
pub fn equip_with_masses(host: &mut Cloth) {
    equip_with_masses_by_seed(host, host.desc().particle_count() as u64);
}

/// Variant of [`equip_with_masses`] with inputs from a seed; seeds that differ by a multiple of 15
/// have the same kinds of inputs.
///
/// # Panics
/// Panics like [`equip_with_masses`].
pub fn equip_with_masses_by_seed(host: &mut Cloth, seed: u64) {
    let particles = host.desc().particles.clone();
    equip(host, seed);
    let is_free = |i: &usize| particles[*i].inverse_mass > 0.0 && particles[*i].inverse_mass < 1e6;
    let indices: Vec<_> = (0..particles.len()).step_by(7).filter(is_free).collect();
    let lighter = |i: &usize| {
        let particle = particles[*i];
        Particle { inverse_mass: 0.5 * particle.inverse_mass, ..particle }
    };
    let values: Vec<_> = indices.iter().map(lighter).collect();
    let indices: Vec<_> = indices.into_iter().map(|i| i as u32).collect();
    host.write_particles(&indices, &values).expect("the particles are valid");
}
