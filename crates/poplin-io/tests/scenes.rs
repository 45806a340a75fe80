//! Scene files from outside: the shipped ones, and what is refused.

use std::path::{Path, PathBuf};

use poplin_cook::{CookOptions, Direction, Tethers, VirtualParticles, Weld};
use poplin_io::picture::View;
use poplin_io::scene::{
    BoxShape, CapsuleShape, ColliderShape, CylinderShape, MAX_SCENE_PARTICLES, PlaneShape, Scene,
    SceneError, Shape, SphereShape,
};
use poplin_model::{
    Chosen, ClothContactSolver, FiberSolver, Material, PbdPhase, PhaseKind, XpbdPhase,
};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../poplin-cli/scenes")
}

fn parse(text: &str) -> Result<Scene, SceneError> {
    Scene::parse(text, "scene.toml")
}

/// A scene of one small cloth with more lines for it.
fn with(lines: &str) -> String {
    format!("[[cloth]]\ngrid = {{ columns = 3, rows = 4, width = 1.0, height = 2.0 }}\n{lines}\n")
}

fn message(text: &str) -> String {
    match parse(text) {
        Ok(scene) => scene.build_cloth(0).expect_err("the scene was accepted").to_string(),
        Err(error) => error.to_string(),
    }
}

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
    // Each cloth by itself.
    let two = parse(&(with("solver.pbd.frequency = 300") + &with(""))).unwrap();
    assert_eq!([0, 1].map(|cloth| two.cloths[cloth].chosen), [Chosen::NONE, Chosen::ALL]);
}

#[test]
fn every_shipped_scene_builds() {
    let mut count = 0;
    for entry in std::fs::read_dir(shipped()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let scene = Scene::load(&path).unwrap();
            let colliders = scene.build_colliders().unwrap();
            for index in 0..scene.cloths.len() {
                let built = scene.build_cloth(index).unwrap();
                assert!(
                    !built.pinned.is_empty() || !colliders.is_empty(),
                    "{}: nothing holds it",
                    path.display()
                );
            }
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn the_curtain_hangs_on_nine_hooks_that_all_move() {
    let built = Scene::load(shipped().join("curtain.toml")).unwrap().build_cloth(0).unwrap();
    assert_eq!(built.moving.len(), 9);
    assert!(built.moving.iter().all(|hook| hook.vertices.len() > 3), "a spike at each");
    assert_eq!(built.moving[8].motion(10.0).apply([0.0; 3]), [-1.2, 0.0, -0.08]);
}

#[test]
fn vertices_that_no_face_uses_do_not_count_for_pins() {
    let mut mesh = poplin_model::Mesh::grid(3, 3, 1.0, 1.0);
    mesh.positions.push([0.0, 0.0, -90.0]);
    let picked =
        |rule: &str| rule.parse::<poplin_io::scene::PinRule>().unwrap().select_in(&mesh).unwrap();
    assert_eq!(picked("back:1%"), [0, 1, 2]);
    assert_eq!(picked("indices:9"), [9]);
}

#[test]
fn a_bending_rigidity_takes_the_place_of_two_ring_edges() {
    let bending = |lines: &str| parse(&with(lines)).unwrap().cloths[0].fabric.bending;
    assert!(bending("solver.xpbd = { substeps = 20 }"));
    assert!(!bending("solver.xpbd = { bending_rigidity = 1e-5 }"));
    assert!(bending("solver.xpbd = { bending_rigidity = 1e-5 }\nfabric = { bending = true }"));
}

#[test]
fn bends_that_are_left_out_take_the_rigidity_of_a_material_and_no_other() {
    let cloth = |lines: &str| parse(&with(lines)).unwrap().cloths.remove(0);
    let silk = cloth("material = 'silk'\nfabric.bends = false");
    assert_eq!((silk.config.solver.bending_rigidity(), silk.without_bends), (0.0, true));
    assert!(!silk.fabric.bends && !silk.fabric.bending, "as with --no-bending");
    assert!(cloth("material = 'silk'").config.solver.bending_rigidity() > 0.0);
    let stated = "solver.xpbd = { bending_rigidity = 1e-5 }\nfabric = { bends = false }";
    let expected = "scene.toml:4:12: cloth[0].fabric.bends = false leaves out what cloth[0].solver.xpbd.bending_rigidity acts on; state \
                    only one, or a rigidity of 0";
    assert_eq!(message(&with(stated)), expected);
    assert_eq!(message(&with(&format!("{stated}\nmaterial = 'silk'"))), expected);
    cloth("solver.xpbd = { bending_rigidity = 0 }\nfabric = { bends = false }");
}

#[test]
fn each_cloth_has_a_name_of_its_own() {
    let named = |name: &str| with(&format!("name = '{name}'"));
    assert_eq!(
        message(&(named("a") + &named("b") + &named("a"))),
        "scene.toml:9:1: cloth[2].name: `a` is the name of cloth[0], too; colliders and files go by the name, so that each cloth \
         needs its own"
    );
    // One that it has not stated, too.
    assert!(message(&(named("cloth 1") + &with(""))).contains("4:1: cloth[1].name: `cloth 1`"));
    assert_eq!(parse(&(named("a") + &named("A") + &with(""))).unwrap().cloths.len(), 3);
}

#[test]
fn a_scene_says_from_where_it_is_seen() {
    let lines = |camera: &str| format!("[camera]\n{camera}\n{}", with(""));
    let view = parse(&lines("azimuth = 90")).unwrap().view.unwrap();
    assert_eq!((view.azimuth, view.elevation), (90.0, 16.0));
    assert_eq!(
        message(&lines("elevation = 90")),
        "scene.toml:2:1: camera.elevation = 90 is outside -89..=89 degrees"
    );
    for (text, expected) in [("top", View::TOP), ("90,0", View::SIDE)] {
        assert_eq!(text.parse(), Ok(expected));
    }
    assert!(
        "above"
            .parse::<View>()
            .unwrap_err()
            .to_string()
            .starts_with("`above` is no camera: expected front")
    );
    assert!("nan,0".parse::<View>().is_err());
}

#[test]
fn defaults_fill_what_is_left_out() {
    let scene = parse(&with("")).unwrap();
    let cloth = &scene.cloths[0];
    assert_eq!((scene.title.as_str(), scene.frames, scene.frame_rate), ("scene", 120, 60.0));
    assert_eq!((cloth.name.as_str(), cloth.count), ("cloth 0", 1));
    assert_eq!(cloth.config.solver.as_pbd().unwrap().frequency, 300.0);
    assert_eq!(cloth.fabric, CookOptions::default());
}

#[test]
fn a_scene_has_every_option_of_cooking() {
    let lines = "density = 0.5\n[cloth.fabric]\nweld = { distance = 1e-3 }\ndirection = 'uv'\nmax_fiber_length = 8\n\
                 max_turn = 1\nbending = false\nquadify = false\ntethers = 'euclidean'\nmax_tethers_per_particle = 2\n\
                 vertex_stiffness = [0.5]\nmasses = [1]\nvirtual_particles = { per_triangle = 3 }\nbends = true";
    let expected = CookOptions {
        weld: Weld::Distance(1e-3),
        density: 0.5,
        masses: Some(vec![1.0]),
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
    let weld =
        |text: &str| parse(&with(&format!("fabric.weld = {text}"))).unwrap().cloths[0].fabric.weld;
    assert_eq!([weld("'off'"), weld("{ relative = 0.1 }")], [Weld::Off, Weld::Relative(0.1)]);
}

#[test]
fn names_that_scenes_and_command_lines_write_are_those_of_the_options() {
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
fn keys_of_other_tables_are_refused_with_their_path() {
    for (lines, expected) in [
        (
            "friction = 0.4",
            "scene.toml:3:1: `friction` is no key in [[cloth]]; write `contact.friction` or `self_collision.friction` in \
             [[cloth]]",
        ),
        ("copies = 3", "scene.toml:3:1: unknown key `copies` in [[cloth]]; did you mean `count`?"),
        ("mass = 3", "scene.toml:3:1: unknown key `mass` in [[cloth]]; did you mean `density`?"),
        (
            "translation = [0, 1, 0]",
            "scene.toml:3:1: `translation` is no key in [[cloth]]; write `transform.translation` or \
             `animated_pins.keys.translation` or `frame.keys.translation` in [[cloth]]",
        ),
        (
            "\nsolver_frequency = 600",
            "scene.toml:4:1: `solver_frequency` is no key in [[cloth]]; write `solver.pbd.frequency` in [[cloth]]",
        ),
        (
            "fabric = { density = 0.3 }",
            "scene.toml:3:12: `density` is no key in [cloth.fabric]; write `density` in [[cloth]]",
        ),
        (
            "fabric.gravity = [1, 0, 0]",
            "scene.toml:3:8: `gravity` is no key in [cloth.fabric]; write `gravity` in [[cloth]]",
        ),
        (
            "[cloth.fabric]\npins = [3]",
            "scene.toml:4:1: `pins` is no key in [cloth.fabric]; write `pins` in [[cloth]]",
        ),
    ] {
        assert_eq!(message(&with(lines)), expected);
    }
}

#[test]
fn whole_numbers_stand_for_decimals() {
    let scene = parse(&with(
        "density = 1\ntransform = { translation = [1, 2, 3] }\nsolver.pbd.frequency = 600",
    ))
    .unwrap();
    assert_eq!(scene.cloths[0].config.solver.as_pbd().unwrap().frequency, 600.0);
}

#[test]
fn a_scene_chooses_a_solver_and_says_what_only_that_reads() {
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
fn what_a_solver_does_not_read_is_no_key_of_it() {
    for (lines, expected) in [
        (
            "solver.xpbd = { substeps = 0 }",
            "scene.toml:3:17: cloth[0].solver.xpbd.substeps = 0 is outside 1..=20000",
        ),
        (
            "solver.pbd = { bending_rigidity = 1e-5 }",
            "scene.toml:3:16: `bending_rigidity` is no key in [[cloth]]; write `solver.xpbd.bending_rigidity` or `solver.implicit.bending_rigidity` in [[cloth]]",
        ),
        (
            "[cloth.solver.xpbd]\nphases.vertical.stiffness = 0.5",
            "scene.toml:4:17: unknown key `stiffness` in [cloth.solver.xpbd]; expected one of `fiber_solver`, \
             `compliance`, `damping`",
        ),
        (
            "[cloth.solver.xpdb]",
            "scene.toml:3:15: unknown value `xpdb` in [[cloth]]; did you mean `xpbd`?",
        ),
    ] {
        assert_eq!(message(&with(lines)), expected);
    }
}

#[test]
fn copies_stand_apart_by_the_spacing() {
    let scene = parse(&with("count = 3\nspacing = [1.5, 0.0, -1.0]")).unwrap();
    assert_eq!(scene.cloths[0].copy_offset(2), [3.0, 0.0, -2.0]);
}

#[test]
fn pins_are_picked_before_the_cloth_is_moved() {
    let built = parse(&with(
        "pins = \"top:0%\"\ntransform = { rotation = [0, 0, 180], translation = [5, 0, 0] }",
    ))
    .unwrap()
    .build_cloth(0)
    .unwrap();
    assert_eq!(built.pinned, [0, 1, 2]);
    assert!((built.mesh.positions[2][0] - 4.0).abs() < 1e-6);
}

#[test]
fn a_material_is_what_the_cloth_has_where_it_states_nothing_else() {
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
    // What is stated at its default is stated too.
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
fn unknown_names_come_with_a_suggestion() {
    assert_eq!(
        message(&with("denisty = 0.2")),
        "scene.toml:3:1: unknown key `denisty` in [[cloth]]; did you mean `density`?"
    );
    assert_eq!(
        message(&with("fabric = { tethers = \"geodesik\" }")),
        "scene.toml:3:22: unknown value `geodesik` in [[cloth]]; did you mean `geodesic`?"
    );
    assert_eq!(
        message(&with("solver.pbd = { freqency = 300 }")),
        "scene.toml:3:16: unknown key `freqency` in [[cloth]]; did you mean `frequency`?"
    );
    assert_eq!(
        message("hats = 3\n"),
        "scene.toml:1:1: unknown key `hats` at the top of the file; expected one of `title`, `frames`, `frame_rate`, `formats`, `wind`, `camera`, `cloth_contact_solver`, `cloth`, `collider`"
    );
    assert_eq!(
        message(&with("[cloth.wind]\ngusts = 1")),
        "scene.toml:4:1: unknown key `gusts` in [cloth.wind]; did you mean `gust`?"
    );
    assert_eq!(
        message("[wind]\ngust = { strenght = 1 }"),
        "scene.toml:2:10: unknown key `strenght` in [wind]; did you mean `strength`?"
    );
    assert_eq!(
        message(&with("frame = { keys = [{ time = 0, rotaton = [0, 0, 0] }] }")),
        "scene.toml:3:31: unknown key `rotaton` in [[cloth]]; did you mean `rotation`?"
    );
    assert!(
        message(&with("[cloth.solver.pbd.phases.bending]\nstifness = 1"))
            .contains("in [cloth.solver.pbd.phases.bending]; did you mean `stiffness`?")
    );
}

#[test]
fn numbers_out_of_range_name_line_field_value_and_limit() {
    let cases = [
        (
            "density = -1",
            "scene.toml:3:1: cloth[0].density = -1 is outside 1e-9..=1000000000 kg/m^2",
        ),
        (
            "density = nan",
            "scene.toml:3:1: cloth[0].density = NaN is outside 1e-9..=1000000000 kg/m^2",
        ),
        ("count = 0", "scene.toml:3:1: cloth[0].count = 0 is outside 1..=268435456"),
        (
            "\nspacing = [0, inf, 0]",
            "scene.toml:4:1: cloth[0].spacing = inf is outside -1000000..=1000000 m",
        ),
        ("damping = [0, 2, 0]", "scene.toml:3:1: cloth[0].damping = 2 is outside 0..=1"),
        (
            "solver.pbd = { frequency = 0.1 }",
            "scene.toml:3:16: cloth[0].solver.pbd.frequency = 0.1 is outside 1..=10000",
        ),
        ("gravity = [0, nan, 0]", "scene.toml:3:1: cloth[0].gravity = NaN is outside -1e15..=1e15"),
        (
            "fabric = { max_fiber_length = 0 }",
            "scene.toml:3:12: cloth[0].fabric.max_fiber_length = 0 is outside 1..=16777216",
        ),
        (
            "fabric.weld = { relative = 1.5 }",
            "scene.toml:3:17: cloth[0].fabric.weld.relative = 1.5 is outside 0..=1",
        ),
        (
            "fabric.masses = [1, -0.1]",
            "scene.toml:3:21: cloth[0].fabric.masses[1] = -0.1 is outside 0..=1e15",
        ),
        (
            "[cloth.solver.pbd.phases.shearing]\nstretch_limit = 0.5",
            "scene.toml:4:1: cloth[0].solver.pbd.phases.shearing.stretch_limit = 0.5 is outside 1..=1000",
        ),
        ("air = { drag = 2 }", "scene.toml:3:9: cloth[0].air.drag = 2 is outside 0..=1"),
        ("air = { lift = nan }", "scene.toml:3:9: cloth[0].air.lift = NaN is outside 0..=1"),
        (
            "air = { density = -1 }",
            "scene.toml:3:9: cloth[0].air.density = -1 is outside 0..=1000000",
        ),
        (
            "inertia = { angular = [0, 0, 2] }",
            "scene.toml:3:13: cloth[0].inertia.angular = 2 is outside 0..=1",
        ),
        (
            "[cloth.sleep]\ntest_interval = 0",
            "scene.toml:4:1: cloth[0].sleep.test_interval = 0 is outside 1..=60000",
        ),
        (
            "[cloth.wind]\nvelocity = [0, nan, 0]",
            "scene.toml:4:1: cloth[0].wind.velocity = NaN is outside -1000..=1000 m/s",
        ),
        (
            "[cloth.wind]\ngust = { strength = -1 }",
            "scene.toml:4:10: cloth[0].wind.gust.strength = -1 is outside 0..=1000 m/s",
        ),
        (
            "[cloth.wind]\ngust = { strength = 1, period = -0.5 }",
            "scene.toml:4:24: cloth[0].wind.gust.period = -0.5 is outside 0.01..=1000000 s",
        ),
        (
            "[cloth.wind.gust]\ndirection_spread = 1.5",
            "scene.toml:4:1: cloth[0].wind.gust.direction_spread = 1.5 is outside 0..=1",
        ),
        (
            "[cloth.frame]\nkeys = [{ time = 0, rotation = [0, inf, 0] }]",
            "scene.toml:4:21: cloth[0].frame.keys[0].rotation = inf is outside -36000..=36000 degrees",
        ),
        (
            "[cloth.frame]\nkeys = [{ time = nan }]",
            "scene.toml:4:11: cloth[0].frame.keys[0].time = NaN is outside 0..=1000000 s",
        ),
        (
            "transform = { scale = 0 }",
            "scene.toml:3:15: cloth[0].transform.scale = 0 is outside 1e-6..=1000000",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(message(&with(lines)), expected);
    }
    assert_eq!(message("frames = 0\n"), "scene.toml:1:1: frames = 0 is outside 1..=1000000");
    assert_eq!(
        message(&format!("[wind]\nvelocity = [0, 1e4, 0]\n{}", with(""))),
        "scene.toml:2:1: wind.velocity = 10000 is outside -1000..=1000 m/s"
    );
    assert!(
        message(&with("[cloth.wind]\ngust = { seed = -1 }"))
            .starts_with("scene.toml:4:17: invalid value")
    );
    assert_eq!(
        message("frame_rate = 0\n"),
        "scene.toml:1:1: frame_rate = 0 is outside 0.1..=10000 1/s"
    );
}

#[test]
fn grids_out_of_range_are_refused_before_they_are_made() {
    let grid = |columns: u32, rows: u32| {
        message(&format!(
            "[[cloth]]\ngrid = {{ columns = {columns}, rows = {rows}, width = 1, height = 1 }}"
        ))
    };
    assert_eq!(grid(0, 5), "scene.toml:2:10: cloth[0].grid.columns = 0 is outside 2..=4294967295");
    assert_eq!(
        grid(100_000, 10_000),
        "scene.toml:2:1: cloth[0].grid asks for 1000000000 particles; the limit is 16777216 per cloth"
    );
    assert!(grid(u32::MAX, u32::MAX).contains("asks for 18446744065119617025 particles"));
}

#[test]
fn all_copies_together_are_limited() {
    assert_eq!(
        message(&with("count = 100000000")),
        "scene.toml:3:1: cloth[0].count asks for 1200000000 particles; the limit is 268435456 per scene"
    );
    assert_eq!(MAX_SCENE_PARTICLES, 268_435_456);
}

#[test]
fn a_cloth_has_exactly_one_shape() {
    assert_eq!(
        message("[[cloth]]\nname = 'x'\n"),
        "scene.toml:1:1: cloth[0] needs exactly one of `grid`, `tube` and `mesh`; it has none"
    );
    assert_eq!(
        message(&with("mesh = 'shirt.obj'")),
        "scene.toml:1:1: cloth[0] needs exactly one of `grid`, `tube` and `mesh`; it has `grid`, `mesh`"
    );
}

#[test]
fn a_scene_needs_a_cloth() {
    assert_eq!(
        message("title = 'empty'\n"),
        "scene.toml:1:1: cloth is empty; it needs at least one [[cloth]]"
    );
}

#[test]
fn a_missing_mesh_is_looked_for_beside_the_scene() {
    let error = Scene::parse("[[cloth]]\nmesh = 'no.obj'\n", "some/folder/scene.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "some/folder/scene.toml:2:1: cloth[0].mesh: there is no file some/folder/no.obj"
    );
}

#[test]
fn a_mesh_beside_the_scene_is_read() {
    let folder = std::env::temp_dir().join(format!("poplin-io-scene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("one.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    std::fs::write(
        folder.join("scene.toml"),
        "[[cloth]]\nmesh = 'one.obj'\npins = ['corner:top-left']\n",
    )
    .unwrap();
    let scene = Scene::load(folder.join("scene.toml")).unwrap();
    assert_eq!(scene.cloths[0].shape, Shape::Mesh(folder.join("one.obj")));
    assert_eq!(scene.build_cloth(0).unwrap().pinned, [2]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_far_mesh_that_is_moved_back_keeps_its_shape() {
    let folder = std::env::temp_dir().join(format!("poplin-io-back-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let square = "v 1000000 0 0\nv 1000000.0078125 0 0\nv 1000000.0078125 0.0078125 0\nf 1 2 3\n";
    std::fs::write(folder.join("far.obj"), square).unwrap();
    let pins = "pins = 'box:1000000.001,0,0,1000001,1,1'";
    let text =
        format!("[[cloth]]\nmesh = 'far.obj'\n{pins}\ntransform.translation = [-1e6, 0, 0]\n");
    let built = Scene::parse(&text, folder.join("x.toml")).unwrap().build_cloth(0).unwrap();
    let edge = 0.0078125;
    assert_eq!(built.mesh.positions, [[0.0; 3], [edge, 0.0, 0.0], [edge, edge, 0.0]]);
    assert_eq!(built.pinned, [1, 2]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn faulty_pins_are_found_in_their_line() {
    assert!(
        message(&with("pins = ['top:1%',\n  'topp:1%']"))
            .starts_with("scene.toml:4:3: cloth[0].pins[1]: cannot read the pin rule `topp:1%`: no such rule; accepted are ")
    );
    assert!(message(&with("pins = 'indices:12'")).starts_with(
        "scene.toml:3:1: cloth[0].pins[0]: the pin rule `indices:12` names vertex 12"
    ));
    assert!(message(&with("pins = 'box:9,9,9,9,9,9'")).contains("selects none of the 12 vertices"));
    assert!(
        message(&with("pins = 3"))
            .contains("expected a pin rule like \"top:3%\", or a list of them")
    );
}

#[test]
fn keyframes_must_rise_in_time() {
    let keys = |keys: &str| {
        message(&with(&format!("animated_pins = [{{ pins = 'all', keys = [{keys}] }}]")))
    };
    let key = |time: f32| format!("{{ time = {time}, translation = [0, 0, 0] }}");
    assert_eq!(
        keys(&format!("{}, {}", key(1.0), key(1.0))),
        "scene.toml:3:81: cloth[0].animated_pins[0].keys[1]: time 1 s does not come after 1 s"
    );
    assert!(
        keys("")
            .contains("cloth[0].animated_pins[0].keys is empty; it needs at least one keyframe")
    );
    assert!(keys(&key(-1.0)).contains("keys[0].time = -1 is outside 0..=1000000 s"));
}

#[test]
fn keyframes_of_a_frame_must_be_there_and_rise_in_time() {
    assert_eq!(
        message(&with("frame = { keys = [] }")),
        "scene.toml:3:11: cloth[0].frame.keys is empty; it needs at least one keyframe"
    );
    assert_eq!(
        message(&with("frame = { keys = [\n{ time = 1 },\n{ time = 0.5 }] }")),
        "scene.toml:5:1: cloth[0].frame.keys[1]: time 0.5 s does not come after 1 s"
    );
}

#[test]
fn a_cloth_has_one_wind() {
    let expected =
        "cloth[0].air.wind_velocity is set beside a `wind` of the cloth or the scene; set only one";
    let settings = "air = { drag = 0.1, wind_velocity = [1, 0, 0] }";
    assert_eq!(
        message(&with(&format!("{settings}\nwind = {{}}"))),
        format!("scene.toml:3:21: {expected}")
    );
    assert_eq!(
        message(&format!("wind = {{}}\n{}", with(settings))),
        format!("scene.toml:4:21: {expected}")
    );
    assert_eq!(parse(&with(settings)).unwrap().cloths[0].wind, None);
}

#[test]
fn a_cloth_without_a_wind_of_its_own_has_that_of_the_scene() {
    let text = format!("wind = {{ velocity = [3, 0, 0] }}\n{}{}", with(""), with("wind = {}"));
    let winds =
        parse(&text).unwrap().cloths.into_iter().map(|cloth| cloth.wind.unwrap().velocity_at(0.5));
    assert_eq!(winds.collect::<Vec<_>>(), [[3.0, 0.0, 0.0], [0.0; 3]]);
}

#[test]
fn two_animations_may_not_move_one_vertex() {
    let animated = "{ pins = 'top:0%', keys = [{ time = 0, translation = [0, 0, 0] }] }";
    let text = with(&format!("animated_pins = [\n{animated},\n{animated}]"));
    assert_eq!(
        message(&text),
        "scene.toml:5:1: cloth[0].animated_pins[1] moves vertex 0, which an earlier animation of the cloth moves"
    );
}

#[test]
fn texts_that_are_no_toml_name_line_and_column() {
    assert!(message("title = 'x'\nframes = = 3\n").starts_with("scene.toml:2:10: "));
    assert!(message("frames = 'many'\n").starts_with("scene.toml:1:10: invalid type: string"));
    assert!(message("frames = -1\n").starts_with("scene.toml:1:10: invalid value"));
}

#[test]
fn files_that_are_missing_or_no_text_are_named() {
    assert!(
        Scene::load("no/such.toml")
            .unwrap_err()
            .to_string()
            .starts_with("cannot open no/such.toml: ")
    );
    let path = std::env::temp_dir().join(format!("poplin-io-binary-{}.toml", std::process::id()));
    std::fs::write(&path, b"title = 'x'\n\xff\xfe").unwrap();
    assert!(Scene::load(&path).unwrap_err().to_string().ends_with(":2:1: this is not UTF-8 text"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn mutated_scenes_never_panic() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |bound: usize| {
        // xorshift64 (Marsaglia, "Xorshift RNGs", 2003)
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound as u64) as usize
    };
    let alphabet = b"0123456789-.e[]{}=\"', \n#axn";
    let good = ["cape.toml", "legs.toml", "drape.toml"]
        .map(|name| std::fs::read(shipped().join(name)).unwrap());
    for round in 0..4000 {
        let mut bytes = good[round % good.len()].clone();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = alphabet[next(alphabet.len())],
                1 => bytes.insert(at, alphabet[next(alphabet.len())]),
                _ => drop(bytes.drain(at..(at + next(40)).min(bytes.len()))),
            }
        }
        if let Ok(scene) = Scene::parse(&String::from_utf8_lossy(&bytes), "mutant.toml") {
            let is_small = |scene: &Scene| matches!(&scene.cloths[0].shape, Shape::Tube(tube) if tube.particle_count() < 100_000);
            if let Ok(built) = scene.build_colliders() {
                built.iter().for_each(|it| it.shape_at(0.7).unwrap().validate().unwrap());
            }
            if is_small(&scene) {
                let _ = scene.build_cloth(0);
            }
        }
    }
}

#[test]
fn a_shape_changed_after_the_check_is_checked_again() {
    let mut scene = parse(&with("")).unwrap();
    if let Shape::Grid(grid) = &mut scene.cloths[0].shape {
        grid.rows = 0;
    }
    assert!(scene.build_cloth(0).is_err());
}

/// A scene of one small cloth, from line 1, and a collider, from line 4.
fn with_collider(lines: &str) -> String {
    format!("{}[[collider]]\n{lines}\n", with("name = 'sheet'"))
}

#[test]
fn colliders_of_every_shape_are_read() {
    let shapes = [
        (
            "sphere = { radius = 0.3 }",
            ColliderShape::Sphere(SphereShape { radius: 0.3, center: [0.0; 3] }),
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radius = 0.1 }",
            ColliderShape::Capsule(CapsuleShape {
                from: [0.0; 3],
                to: [0.0, 1.0, 0.0],
                radii: [0.1; 2],
            }),
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radii = [0.1, 0.05] }",
            ColliderShape::Capsule(CapsuleShape {
                from: [0.0; 3],
                to: [0.0, 1.0, 0.0],
                radii: [0.1, 0.05],
            }),
        ),
        (
            "plane = { normal = [0, 2, 0], offset = -1 }",
            ColliderShape::Plane(PlaneShape { normal: [0.0, 2.0, 0.0], offset: -1.0 }),
        ),
        (
            "[collider.box]\nsize = [1, 2, 3]\ncenter = [0, 1, 0]",
            ColliderShape::Box(BoxShape { size: [1.0, 2.0, 3.0], center: [0.0, 1.0, 0.0] }),
        ),
        (
            "cylinder = { height = 2, radius = 1, top_radius = 0, center = [0, 1, 0], sides = 3 }",
            ColliderShape::Cylinder(CylinderShape {
                height: 2.0,
                radius: 1.0,
                top_radius: Some(0.0),
                center: [0.0, 1.0, 0.0],
                sides: 3,
            }),
        ),
        (
            "convex = { planes = [{ normal = [1, 0, 0] }] }",
            ColliderShape::Convex(vec![PlaneShape { normal: [1.0, 0.0, 0.0], offset: 0.0 }]),
        ),
    ];
    for (lines, shape) in shapes {
        let scene = parse(&with_collider(lines)).unwrap();
        let collider = &scene.colliders[0];
        assert_eq!(
            (collider.name.as_str(), &collider.shape, &collider.cloths),
            ("collider 0", &shape, &None)
        );
        scene.build_colliders().unwrap()[0].shape.validate().unwrap();
    }
}

#[test]
fn the_points_behind_a_plane_are_those_below_its_offset() {
    let scene = parse(&with_collider("plane = { normal = [0, 2, 0], offset = -1 }")).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    assert_eq!(*shape, poplin_model::Plane { normal: [0.0, 1.0, 0.0], offset: -1.0 }.into());
}

#[test]
fn a_cylinder_stands_around_its_center() {
    let lines =
        "cylinder = { height = 2, radius = 0.5, center = [3, 1, 0] }\ntransform = { scale = 2 }";
    let scene = parse(&with_collider(lines)).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    let poplin_model::Shape::Convex(planes) = shape else { panic!("{shape:?}") };
    assert_eq!(planes.len(), 2 + 32);
    // Its ends are at y = 0 and 4, and x = 7 is on its side.
    let on = |normal: [f32; 3], x: [f32; 3]| {
        let plane = planes.iter().find(|plane| plane.normal == normal).unwrap();
        (0..3).map(|k| normal[k] * x[k]).sum::<f32>() - plane.offset
    };
    assert_eq!(on([0.0, -1.0, 0.0], [6.0, 0.0, 0.0]), 0.0);
    assert_eq!(on([0.0, 1.0, 0.0], [6.0, 4.0, 0.0]), 0.0);
    assert_eq!(on([1.0, 0.0, 0.0], [7.0, 1.0, 0.0]), 0.0);
}

#[test]
fn colliders_follow_their_keys_and_act_on_the_cloths_they_name() {
    let keys = "keys = [{ time = 0 }, { time = 2, translation = [4, 0, 0] }]";
    let lines = format!(
        "friction = 0.5\nsphere = {{ radius = 1 }}\ntransform = {{ translation = [0, 1, 0] }}\n{keys}\ncloths = ['sheet']"
    );
    let built = parse(&with_collider(&lines)).unwrap().build_colliders().unwrap();
    assert_eq!(built[0].rigid_at(1.0).translation.to_array(), [2.0, 0.0, 0.0]);
    let ball = |center| poplin_model::Shape::from(poplin_model::Sphere { center, radius: 1.0 });
    assert_eq!(built[0].shape_at(1.0).unwrap(), ball([2.0, 1.0, 0.0]));
    assert_eq!(built[0].collider_at(1.0).unwrap().friction, 0.5);
    assert!(built[0].acts_on("sheet") && !built[0].acts_on("shirt"));
}

#[test]
fn a_mesh_collider_is_read_beside_the_scene() {
    let folder = std::env::temp_dir().join(format!("poplin-io-collider-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("quad.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
        .unwrap();
    let text = with_collider("mesh = 'quad.obj'\nopen = true\ntransform = { scale = 3 }");
    std::fs::write(folder.join("scene.toml"), text).unwrap();
    let scene = Scene::load(folder.join("scene.toml")).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    let poplin_model::Shape::TriangleMesh(mesh) = shape else { panic!("{shape:?}") };
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 2));
    assert_eq!(mesh.vertices[2], [3.0, 3.0, 0.0]);
    std::fs::write(folder.join("quad.obj"), "v 0 0 0\nf 1 2 3\n").unwrap();
    assert!(scene.build_colliders().unwrap_err().to_string().contains("quad.obj:2: "));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_collider_has_exactly_one_shape() {
    let needs = "scene.toml:4:1: collider[0] needs exactly one of `sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` and `mesh`; it has";
    assert_eq!(message(&with_collider("name = 'x'")), format!("{needs} none"));
    assert_eq!(
        message(&with_collider("sphere = { radius = 1 }\nbox = { size = [1, 1, 1] }")),
        format!("{needs} `sphere`, `box`")
    );
    let capsule = |radii: &str| {
        message(&with_collider(&format!("capsule = {{ from = [0, 0, 0], to = [0, 1, 0]{radii} }}")))
    };
    let needs =
        "scene.toml:5:1: collider[0].capsule needs exactly one of `radius` and `radii`; it has";
    assert_eq!(capsule(""), format!("{needs} none"));
    assert_eq!(capsule(", radius = 1, radii = [1, 1]"), format!("{needs} `radius`, `radii`"));
}

#[test]
fn faulty_colliders_are_found_in_their_line() {
    let sphere = "sphere = { radius = 1 }";
    let cases = [
        (
            "sphere = { radius = -1 }",
            "5:12: collider[0].sphere.radius = -1 is outside 1e-6..=1000000 m",
        ),
        (
            "sphere = { radius = 1, center = [0, nan, 0] }",
            "5:24: collider[0].sphere.center = NaN is outside -1000000..=1000000 m",
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radii = [1, 0] }",
            "5:47: collider[0].capsule.radii = 0 is outside 1e-6..=1000000 m",
        ),
        (
            "capsule = { from = [0, 0, inf], to = [0, 1, 0], radius = 1 }",
            "5:13: collider[0].capsule.from = inf is outside -1000000..=1000000 m",
        ),
        (
            "plane = { normal = [0, 0, 0] }",
            "5:11: collider[0].plane.normal has no direction: [0.0, 0.0, 0.0]",
        ),
        (
            "plane = { normal = [0, 1, 0], offset = nan }",
            "5:31: collider[0].plane.offset = NaN is outside -1000000..=1000000 m",
        ),
        ("box = { size = [1, 0, 1] }", "5:9: collider[0].box.size = 0 is outside 1e-6..=1000000 m"),
        (
            "cylinder = { height = 1, radius = 1, sides = 2 }",
            "5:38: collider[0].cylinder.sides = 2 is outside 3..=1024",
        ),
        (
            "cylinder = { height = 1, radius = 1, top_radius = -1 }",
            "5:38: collider[0].cylinder.top_radius = -1 is outside 0..=1000000 m",
        ),
        (
            "convex = { planes = [] }",
            "5:12: collider[0].convex.planes is empty; it needs at least one plane",
        ),
        (
            "[[collider.convex.planes]]\nnormal = [0, 1, 0]\n[[collider.convex.planes]]\nnormal = [0, 0, 0]",
            "8:1: collider[0].convex.planes[1].normal has no direction: [0.0, 0.0, 0.0]",
        ),
        (
            "sphere = { radius = 1 }\nfriction = -1",
            "6:1: collider[0].friction = -1 is outside 0..=100",
        ),
        ("mesh = 'no.obj'", "5:1: collider[0].mesh: there is no file no.obj"),
        (
            "sphere = { radius = 1, centre = [0, 0, 0] }",
            "5:24: unknown key `centre` in [[collider]]; did you mean `center`?",
        ),
        (
            "spere = { radius = 1 }",
            "5:1: unknown key `spere` in [[collider]]; did you mean `sphere`?",
        ),
        (
            "plane = { normals = [0, 1, 0] }",
            "5:11: unknown key `normals` in [[collider]]; did you mean `normal`?",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(message(&with_collider(lines)), format!("scene.toml:{expected}"));
    }
    let cases = [
        (
            "transform = { scale = 0 }",
            "6:15: collider[0].transform.scale = 0 is outside 1e-6..=1000000",
        ),
        (
            "keys = [{ time = 1 }, { time = 1 }]",
            "6:23: collider[0].keys[1]: time 1 s does not come after 1 s",
        ),
        (
            "keys = [{ time = 0, rotation = [nan, 0, 0] }]",
            "6:21: collider[0].keys[0].rotation = NaN is outside -36000..=36000 degrees",
        ),
        ("keys = [{ tim = 0 }]", "6:11: unknown key `tim` in [[collider]]; did you mean `time`?"),
        ("cloths = []", "6:1: collider[0].cloths is empty; it needs at least one cloth"),
        ("cloths = ['shet']", "6:11: unknown cloth `shet` in [[collider]]; did you mean `sheet`?"),
        (
            "cloths = ['sheet', 'x']",
            "6:20: unknown cloth `x` in [[collider]]; expected one of `sheet`",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(
            message(&with_collider(&format!("{sphere}\n{lines}"))),
            format!("scene.toml:{expected}")
        );
    }
}

#[test]
fn planes_that_exclude_each_other_are_refused() {
    let convex = |planes: &[([f32; 3], f32)]| {
        let rows = planes
            .iter()
            .map(|(normal, offset)| format!("{{ normal = {normal:?}, offset = {offset} }}, "));
        with_collider(&format!("convex.planes = [{}]", rows.collect::<String>()))
    };
    let [left, right] = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    // A slab inside out; a wedge in front of which a third plane is; a box with one offset of the wrong sign.
    let wedge = [([1.0, 1.0, 0.0], 0.0), ([-1.0, 1.0, 0.0], 0.0)];
    let cube = |offset| {
        let axes = [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], left];
        let mut planes: Vec<_> = axes.map(|normal| (normal, 0.2)).into();
        planes.push((right, offset));
        planes
    };
    let below = ([0.0, -1.0, 0.0], -1.0);
    for planes in [&[(left, -0.5), (right, 0.4)][..], &[wedge[0], wedge[1], below], &cube(-0.3)] {
        let expected = format!(
            "scene.toml:5:8: collider[0].convex.planes is empty: no point is behind all of its {} planes; normals face outwards",
            planes.len()
        );
        let error = parse(&convex(planes)).unwrap_err().to_string();
        assert!(error.starts_with(&expected), "{error}");
    }
    for planes in [
        &[(left, 0.5), (right, 0.4)][..],
        &[(left, -1000.0), (right, 1000.001)],
        &[wedge[0], wedge[1], ([0.0, -1.0, 0.0], 1.0)],
        &[wedge[0], wedge[0]],
        &cube(-0.1),
        &cube(0.2),
    ] {
        parse(&convex(planes)).unwrap();
    }
}

#[test]
fn virtual_particles_are_none_so_many_per_triangle_or_so_far_apart() {
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
fn the_scenes_of_the_documentation_are_valid() {
    let source = include_str!("../src/scene/mod.rs");
    let mut blocks = 0;
    for block in source.split("//! ```toml\n").skip(1) {
        let lines = block
            .lines()
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!").trim_start());
        let text: Vec<_> = lines.collect();
        let scene = parse(&text.join("\n")).unwrap();
        scene.build_cloth(0).unwrap();
        scene.build_colliders().unwrap();
        blocks += 1;
    }
    assert_eq!(blocks, 5);
}

#[test]
fn collision_between_cloths_has_a_table_of_its_own_and_keys_in_each_cloth() {
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
