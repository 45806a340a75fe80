//! Solvers, materials and cooking options of cloths.

use poplin_cook::{CookOptions, Direction, Tethers, VirtualParticles, Weld};
use poplin_model::{
    Chosen, ClothContactSolver, FiberSolver, Material, PbdPhase, PhaseKind, XpbdPhase,
};

use super::{message, parse, with};

#[test]
fn settings_are_chosen_where_no_frequency_is_stated() {
    let chosen = |lines: &str| parse(&with(lines)).unwrap().cloths[0].chosen;
    for all in ["", "damping = [0.1, 0.1, 0.1]", "solver.pbd.phases.bending.stiffness = 0.2"] {
        assert_eq!(chosen(all), Chosen::ALL, "{all}");
    }
    let stated = Chosen { stiffness_frequency: false, ..Chosen::ALL };
    assert_eq!(chosen("stiffness_frequency = 10"), stated);
    for none in ["solver = { pbd = { frequency = 300 } }", "[cloth.solver.pbd]\nfrequency = 300"] {
        assert_eq!(chosen(none), Chosen::NONE, "{none}");
    }
    // The choice is per cloth.
    let two = parse(&(with("solver.pbd.frequency = 300") + &with(""))).unwrap();
    assert_eq!([0, 1].map(|cloth| two.cloths[cloth].chosen), [Chosen::NONE, Chosen::ALL]);
}

#[test]
fn a_bending_rigidity_replaces_two_ring_edges() {
    let bending = |lines: &str| parse(&with(lines)).unwrap().cloths[0].fabric.bending;
    assert!(bending("solver.xpbd = { substeps = 20 }"));
    assert!(!bending("solver.xpbd = { bending_rigidity = 1e-5 }"));
    assert!(bending("solver.xpbd = { bending_rigidity = 1e-5 }\nfabric = { bending = true }"));
}

#[test]
fn disabling_bends_drops_the_bending_rigidity_of_a_material() {
    let cloth = |lines: &str| parse(&with(lines)).unwrap().cloths.remove(0);
    let silk = cloth("material = 'silk'\nfabric.bends = false");
    assert_eq!((silk.config.solver.bending_rigidity(), silk.without_bends), (0.0, true));
    assert!(!silk.fabric.bends && !silk.fabric.bending, "as with --no-bending");
    assert!(cloth("material = 'silk'").config.solver.bending_rigidity() > 0.0);
    let stated = "solver.xpbd = { bending_rigidity = 1e-5 }\nfabric = { bends = false }";
    let expected = "scene.toml:4:12: cloth[0].fabric.bends = false leaves out the bends that cloth[0].solver.xpbd.bending_rigidity acts \
                    on; state only one of them, or a rigidity of 0";
    assert_eq!(message(&with(stated)), expected);
    assert_eq!(message(&with(&format!("{stated}\nmaterial = 'silk'"))), expected);
    cloth("solver.xpbd = { bending_rigidity = 0 }\nfabric = { bends = false }");
}

#[test]
fn a_scene_has_every_cooking_option() {
    let lines = "density = 0.5\n[cloth.fabric]\nweld = { distance = 1e-3 }\ndirection = 'uv'\nmax_fiber_length = 8\n\
                 max_turn = 1\nbending = false\nquadify = false\ntethers = 'euclidean'\nmax_tethers_per_particle = 2\n\
                 vertex_stiffness = [0.5]\nvirtual_particles = { per_triangle = 3 }\nbends = true";
    let expected = CookOptions {
        weld: Weld::Distance(1e-3),
        density: 0.5,
        direction: Direction::Uv,
        max_fiber_length: Some(8),
        max_turn: 1.0,
        bending: false,
        quadify: false,
        tethers: Tethers::Euclidean,
        max_tethers_per_particle: 2,
        vertex_stiffness: vec![0.5],
        virtual_particles: VirtualParticles::PerTriangle(3),
        bends: true,
        ..CookOptions::default()
    };
    assert_eq!(parse(&with(lines)).unwrap().cloths[0].fabric, expected);
    let masses = with("fabric.masses = [1]");
    assert_eq!(parse(&masses).unwrap().cloths[0].fabric.masses, Some(vec![1.0]));
    let both = message(&with("density = 0.5\nfabric.masses = [1]"));
    assert!(both.ends_with("which state every mass"), "{both}");
    let weld =
        |text: &str| parse(&with(&format!("fabric.weld = {text}"))).unwrap().cloths[0].fabric.weld;
    assert_eq!([weld("'off'"), weld("{ relative = 0.1 }")], [Weld::Off, Weld::Relative(0.1)]);
}

#[test]
fn option_names_are_the_same_in_scenes_and_on_command_lines() {
    for tethers in Tethers::ALL {
        let scene = parse(&with(&format!("fabric.tethers = '{tethers}'"))).unwrap();
        assert_eq!(scene.cloths[0].fabric.tethers, tethers);
    }
    for direction in Direction::ALL {
        let scene = parse(&with(&format!("fabric.direction = '{direction}'"))).unwrap();
        assert_eq!(scene.cloths[0].fabric.direction, direction);
    }
    for solver in FiberSolver::ALL {
        let line = format!("solver.pbd.phases.bending.fiber_solver = '{solver}'");
        let scene = parse(&with(&line)).unwrap();
        let phases = &scene.cloths[0].config.solver.as_pbd().unwrap().phases;
        assert_eq!(phases.bending.fiber_solver, Some(solver));
    }
}

#[test]
fn a_scene_selects_a_solver_with_its_own_settings() {
    let xpbd = "[cloth.solver.xpbd]\nsubsteps = 12\nbending_rigidity = 1e-5\nbending_damping = 1e-7\n\
                phases.shearing = { compliance = 0.01, damping = 0.1 }";
    let cloth = &parse(&with(xpbd)).unwrap().cloths[0];
    let solver = cloth.config.solver.as_xpbd().unwrap();
    assert_eq!(
        (solver.substeps, solver.bending_rigidity, solver.bending_damping),
        (12, 1e-5, 1e-7)
    );
    let shearing = XpbdPhase { fiber_solver: None, compliance: 0.01, damping: 0.1 };
    assert_eq!(solver.phases.shearing, shearing);
    let pbd = "solver.pbd.phases.bending.stiffness = 0.5\nphase_order = ['vertical', 'bending']";
    let cloth = &parse(&with(pbd)).unwrap().cloths[0];
    let bending = PbdPhase { stiffness: 0.5, ..PbdPhase::default() };
    assert_eq!(cloth.config.solver.as_pbd().unwrap().phases.bending, bending);
    assert_eq!(cloth.phase_order, [PhaseKind::Vertical, PhaseKind::Bending]);
}

#[test]
fn solvers_reject_settings_of_other_solvers() {
    for (lines, expected) in [
        (
            "solver.xpbd = { substeps = 0 }",
            "scene.toml:3:17: cloth[0].solver.xpbd.substeps = 0 is outside 1..=20000",
        ),
        (
            "solver.pbd = { bending_rigidity = 1e-5 }",
            "scene.toml:3:16: `bending_rigidity` is not a key in [cloth.solver.pbd]; write `solver.xpbd.bending_rigidity` or `solver.implicit.bending_rigidity` or `solver.multilevel.bending_rigidity` in [[cloth]]",
        ),
        (
            "[cloth.solver.xpbd]\nphases.vertical.stiffness = 0.5",
            "scene.toml:4:17: unknown key `stiffness` in [cloth.solver.xpbd.phases.vertical]; expected one of `fiber_solver`, \
             `compliance`, `damping`",
        ),
        (
            "[cloth.solver.xpdb]",
            "scene.toml:3:15: unknown value `xpdb` in [cloth.solver]; did you mean `xpbd`?",
        ),
    ] {
        assert_eq!(message(&with(lines)), expected);
    }
}

#[test]
fn a_material_fills_settings_that_are_not_stated() {
    let cloth = &parse(&with("material = 'silk'")).unwrap().cloths[0];
    assert_eq!(cloth.material, Some(Material::SILK));
    assert_eq!(cloth.fabric.density, Material::SILK.density);
    assert_eq!(cloth.config.solver.bending_rigidity(), Material::SILK.bending);
    assert!(!cloth.fabric.bending, "two-ring edges beside bends");
    let stated =
        "material = 'silk'\ndensity = 0.3\ncontact.friction = 0.7\nsolver.pbd.frequency = 600";
    let cloth = &parse(&with(stated)).unwrap().cloths[0];
    assert_eq!((cloth.fabric.density, cloth.config.contact.friction), (0.3, 0.7));
    assert!(cloth.config.solver.as_pbd().is_some() && cloth.fabric.bending);
    // Values stated at their default count as stated.
    let stated =
        "material = 'silk'\nthickness = 0\ncontact.friction = 0\nsolver.pbd.frequency = 300";
    let config = &parse(&with(stated)).unwrap().cloths[0].config;
    assert_eq!((config.thickness, config.contact.friction), (0.0, 0.0));
    assert!(config.solver.as_pbd().is_some());
    let stated = "material = 'silk'\nsolver.xpbd = { bending_rigidity = 0 }";
    assert_eq!(parse(&with(stated)).unwrap().cloths[0].config.solver.bending_rigidity(), 0.0);
    assert_eq!(
        message(&with("material = 'coton'")),
        "scene.toml:3:12: unknown value `coton` in [[cloth]]; did you mean `cotton`?"
    );
}

#[test]
fn virtual_particles_are_set_by_count_or_by_spacing() {
    let of = |value: &str| {
        let scene = parse(&with(&format!("fabric = {{ virtual_particles = {value} }}"))).unwrap();
        scene.cloths[0].fabric.virtual_particles
    };
    assert_eq!(of("{ per_triangle = 4 }"), VirtualParticles::PerTriangle(4));
    assert_eq!(of("{ spacing = 0.01 }"), VirtualParticles::Spacing(0.01));
    assert_eq!(of("'none'"), VirtualParticles::None);
    let refused =
        |value: &str| message(&with(&format!("fabric = {{ virtual_particles = {value} }}")));
    assert_eq!(
        refused("{ per_triangle = 65 }"),
        "scene.toml:3:34: cloth[0].fabric.virtual_particles.per_triangle = 65 is outside 1..=64"
    );
    assert_eq!(
        refused("{ spacing = 0 }"),
        "scene.toml:3:34: cloth[0].fabric.virtual_particles.spacing = 0 is outside 1e-9..=1000000 m"
    );
    assert!(
        refused("{ spacin = 0.1 }").ends_with("did you mean `spacing`?"),
        "{}",
        refused("{ spacin = 0.1 }")
    );
    assert!(refused("{ spacing = 0.1, per_triangle = 1 }").starts_with("scene.toml:3:"));
}

#[test]
fn cloth_collision_has_a_scene_table_and_keys_per_cloth() {
    let cloth = with("cloth_collision = { distance = 0.02, group = 2, mask = 5 }");
    let scene =
        parse(&format!("[cloth_contact_solver]\nfriction = 0.3\nevery = 4\n{cloth}")).unwrap();
    let expected = ClothContactSolver { friction: 0.3, every: 4, ..ClothContactSolver::default() };
    assert_eq!(scene.cloth_contact_solver, expected);
    let config = &scene.cloths[0].config;
    assert_eq!(
        (
            config.cloth_collision.distance,
            config.cloth_collision.group,
            config.cloth_collision.mask
        ),
        (Some(0.02), 2, 5)
    );
    assert_eq!(parse(&with("")).unwrap().cloth_contact_solver, ClothContactSolver::default());

    let refused = message(&format!("[cloth_contact_solver]\niterations = 0\n{cloth}"));
    assert!(
        refused.contains("scene.toml:2") && refused.contains("cloth_contact_solver.iterations = 0"),
        "{refused}"
    );
    let unknown = message(&format!("[cloth_contact_solver]\nfricton = 0.3\n{cloth}"));
    assert!(unknown.contains("friction"), "{unknown}");
}

#[test]
fn integers_are_accepted_as_decimals() {
    let scene = parse(&with(
        "density = 1\ntransform = { translation = [1, 2, 3] }\nsolver.pbd.frequency = 600",
    ))
    .unwrap();
    assert_eq!(scene.cloths[0].config.solver.as_pbd().unwrap().frequency, 600.0);
}

#[test]
fn missing_keys_have_defaults() {
    let scene = parse(&with("")).unwrap();
    let cloth = &scene.cloths[0];
    assert_eq!((scene.title.as_str(), scene.frames, scene.frame_rate), ("scene", 120, 60.0));
    assert_eq!((cloth.name.as_str(), cloth.count), ("cloth 0", 1));
    assert_eq!(cloth.config.solver.as_pbd().unwrap().frequency, 300.0);
    assert_eq!(cloth.fabric, CookOptions::default());
}
