//! All faults of a scene are found, each once, without faults that only follow from others.

use poplin_scene::Scene;

const GRID: &str = "grid = { columns = 3, rows = 3, width = 1.0, height = 1.0 }\n";

/// Lists the faults of a text, each as `line:column reason`.
fn faults(text: &str) -> Vec<String> {
    let check = Scene::check_text(text, "x.toml");
    let known = check.faults.iter().map(|fault| match fault.location() {
        Some(at) => format!("{}:{} {}", at.line, at.column, fault.reason()),
        None => fault.reason(),
    });
    known.collect()
}

/// Asserts that the faults of a text begin with `expected`, in order and without others.
#[track_caller]
fn finds(text: &str, expected: &[&str]) {
    let found = faults(text);
    let are_same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
    assert!(are_same, "{text}\n{found:#?}\nare not\n{expected:#?}");
}

fn cloth(lines: &str) -> String {
    format!("[[cloth]]\n{GRID}{lines}\n")
}

fn collider(lines: &str) -> String {
    format!("[[cloth]]\nname = 'a'\n{GRID}[[collider]]\n{lines}\n")
}

#[test]
fn a_sound_scene_has_no_faults() {
    finds(&cloth("density = 0.3"), &[]);
    let check = Scene::check_text(&collider("sphere = { radius = 1 }"), "x.toml");
    assert_eq!((check.sound_cloths, check.sound_colliders), (vec![0], vec![0]));
}

#[test]
fn pins_are_rules_or_indices() {
    let mesh = |pins: &str| {
        let scene = Scene::parse(&cloth(&format!("pins = {pins}")), "x.toml");
        scene.map(|scene| scene.cloths[0].pins.clone()).map_err(|error| error.to_string())
    };
    let rules = |texts: &[&str]| texts.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>();
    assert_eq!(mesh("[0, 'top:3%', 7]"), Ok(rules(&["indices:0", "top:3%", "indices:7"])));
    assert_eq!(mesh("4"), Ok(rules(&["indices:4"])));
    finds(&cloth("pins = [0, -1]"), &["3:12 cloth[0].pins[1]: cannot read the pin rule"]);
    finds(
        &cloth("pins = [0.5]"),
        &["3:9 cloth[0].pins[0]: invalid type: floating point `0.5`, expected a pin rule"],
    );
}

#[test]
fn all_unknown_keys_are_found() {
    finds(
        &format!(
            "framse = 3\n{}",
            cloth("densty = 1\nair = { darg = 1 }\nframe = { keys = [{ time = 0, rot = 1 }] }")
        ),
        &[
            "1:1 unknown key `framse` at the top of the file; did you mean `frames`?",
            "4:1 unknown key `densty` in [[cloth]]; did you mean `density`?",
            "5:9 unknown key `darg`",
            "6:31 unknown key `rot`",
        ],
    );
}

#[test]
fn all_wrong_types_are_found() {
    finds(
        &format!(
            "frames = 'x'\ncamera = 3\n{}",
            cloth("density = 'x'\ncount = 1.5\ndamping = [1, 'x', 'y']\npins = 3.5")
        ),
        &[
            "1:10 frames: invalid type: string \"x\", expected a whole number",
            "2:10 camera: invalid type: integer `3`, expected a table of keys",
            "5:11 cloth[0].density: invalid type: string \"x\", expected a number",
            "6:9 cloth[0].count: invalid type: floating point `1.5`, expected a whole number",
            "7:15 cloth[0].damping[1]: invalid type: string \"x\", expected a number",
            "7:20 cloth[0].damping[2]: invalid type: string \"y\", expected a number",
            "8:8 cloth[0].pins: invalid type: floating point `3.5`, expected a pin rule",
        ],
    );
}

#[test]
fn integers_beyond_their_type_are_found() {
    finds(
        &cloth("count = 4294967296"),
        &[
            "3:9 cloth[0].count: invalid value: integer `4294967296`, expected a whole number from 0 to 4294967295",
        ],
    );
}

#[test]
fn all_missing_keys_are_found() {
    finds(
        "[[cloth]]\ngrid = { columns = 3 }\n[[cloth.animated_pins]]\n",
        &[
            "2:8 cloth[0].grid needs the key `rows`",
            "2:8 cloth[0].grid needs the key `width`",
            "2:8 cloth[0].grid needs the key `height`",
            "3:1 cloth[0].animated_pins[0] needs the key `pins`",
        ],
    );
}

#[test]
fn all_ranges_are_checked() {
    finds(
        &format!(
            "frames = 0\nframe_rate = 1e9\n{}",
            cloth(
                "density = -1\ndamping = [2, 0.5, -1]\nair = { drag = 7, lift = -1 }\ncount = 0\nperturbation = 1"
            )
        ),
        &[
            "1:1 frames = 0 is outside 1..=1000000",
            "2:1 frame_rate",
            "5:1 cloth[0].density = -1 is outside",
            "6:1 cloth[0].damping = 2 is outside 0..=1",
            "6:1 cloth[0].damping = -1 is outside 0..=1",
            "7:9 cloth[0].air.drag = 7",
            "7:19 cloth[0].air.lift = -1",
            "8:1 cloth[0].count = 0",
            "9:1 cloth[0].perturbation = 1",
        ],
    );
}

#[test]
fn ranges_of_a_solver_are_all_checked() {
    finds(
        &cloth(
            "[cloth.solver.xpbd]\nsubsteps = 0\nbending_rigidity = -1\nphases.shearing.compliance = -2",
        ),
        &[
            "4:1 cloth[0].solver.xpbd.substeps = 0",
            "5:1 cloth[0].solver.xpbd.bending_rigidity = -1",
            "6:17 cloth[0].solver.xpbd.phases.shearing.compliance = -2",
        ],
    );
}

#[test]
fn faults_of_every_cloth_and_collider_are_found() {
    let text = format!(
        "{}{}[[collider]]\nsphere = {{ radius = -1 }}\n[[collider]]\nsphere = {{ radius = 1 }}\nfriction = -1\n",
        cloth("density = -1"),
        cloth("spacing = 3")
    );
    finds(
        &text,
        &[
            "3:1 cloth[0].density",
            "6:11 cloth[1].spacing: invalid type",
            "8:12 collider[0].sphere.radius",
            "11:1 collider[1].friction",
        ],
    );
    let check = Scene::check_text(&text, "x.toml");
    assert_eq!((check.sound_cloths.len(), check.sound_colliders.len()), (0, 0));
}

#[test]
fn sound_cloths_are_those_without_a_fault() {
    let text = format!(
        "{}{}{}",
        cloth("name = 'a'"),
        cloth("name = 'b'\ndensity = -1"),
        cloth("name = 'c'\ncount = 'x'")
    );
    assert_eq!(Scene::check_text(&text, "x.toml").sound_cloths, [0]);
}

#[test]
fn an_unreadable_shape_is_not_reported_as_missing() {
    finds("[[cloth]]\ngrid = 3\n", &["2:8 cloth[0].grid: invalid type: integer `3`"]);
    finds("[[cloth]]\nmesh = 3\n", &["2:8 cloth[0].mesh: invalid type: integer `3`"]);
    finds("[[cloth]]\ngird = { columns = 3 }\n", &["2:1 unknown key `gird`"]);
    finds("[[cloth]]\n", &["1:1 cloth[0] needs exactly one of"]);
}

#[test]
fn a_misspelt_key_is_not_also_reported_as_missing() {
    finds(
        "[[cloth]]\ngrid = { colums = 3, rows = 3, width = 1, height = 1 }\n",
        &["2:10 unknown key `colums`"],
    );
}

#[test]
fn unknown_choices_are_found_beside_other_faults() {
    finds(
        &cloth(
            "material = 'cottn'\nsolver.foo = 3\nfabric = { tethers = 'x', direction = 'y' }\ndensity = -1",
        ),
        &[
            "3:12 unknown value `cottn`",
            "4:8 unknown value `foo`",
            "5:22 unknown value `x`",
            "5:39 unknown value `y`",
            "6:1 cloth[0].density = -1",
        ],
    );
}

#[test]
fn a_solver_with_several_kinds_is_one_fault() {
    finds(
        &cloth("solver = { pbd = {}, xpbd = {} }\ndensity = -1"),
        &[
            "3:10 cloth[0].solver: expected one key in this table, found more",
            "4:1 cloth[0].density",
        ],
    );
}

#[test]
fn cloths_not_in_a_list_are_one_fault() {
    finds(
        "[cloth]\ndensity = 3\n",
        &["1:1 cloth: expected a list of tables, each under its name in `[[ ]]`"],
    );
    finds("cloth = 3\n", &["1:9 cloth: invalid type: integer `3`"]);
    finds("title = 'x'\n", &["1:1 cloth is empty"]);
}

#[test]
fn all_malformed_rules_are_found() {
    finds(
        &cloth("pins = ['tpo:3%', 'top:3%', 'box:1']"),
        &[
            "3:9 cloth[0].pins[0]: cannot read the pin rule `tpo:3%`",
            "3:29 cloth[0].pins[2]: cannot read",
        ],
    );
}

#[test]
fn keys_out_of_order_are_found_beside_wrong_ones() {
    finds(
        &cloth(
            "frame = { keys = [{ time = 1 }, { time = 0 }, { time = 3, rotation = 5 }, { time = 2 }] }",
        ),
        &[
            "3:33 cloth[0].frame.keys[1]: time 0 s is not after the previous key at 1 s",
            "3:70 cloth[0].frame.keys[2].rotation: invalid type",
            "3:75 cloth[0].frame.keys[3]: time 2 s",
        ],
    );
}

#[test]
fn unknown_cloths_of_colliders_are_found() {
    finds(
        &collider("sphere = { radius = 1 }\ncloths = ['a', 'b', 'c']"),
        &["6:16 unknown cloth `b`", "6:21 unknown cloth `c`"],
    );
    let text =
        collider("sphere = { radius = 1 }\ncloths = ['b']").replace("name = 'a'", "count = 'x'");
    finds(&text, &["2:9 cloth[0].count: invalid type", "6:11 unknown cloth `b`"]);
    // The unreadable name explains that there is no `a`.
    let text = format!(
        "[[cloth]]\nname = 3\n{GRID}[[collider]]\nsphere = {{ radius = 1 }}\ncloths = ['a']\n"
    );
    finds(&text, &["2:8 cloth[0].name: invalid type: integer `3`"]);
}

#[test]
fn bodies_are_checked() {
    finds(
        &collider(
            "plane = { normal = [0, 1, 0] }\nbody = { mass = -1, massa = 2, restitution = 3 }",
        ),
        &[
            "6:1 collider[0].body needs a shape with a volume",
            "6:10 collider[0].body.mass = -1",
            "6:21 unknown key `massa`",
            "6:32 collider[0].body.restitution = 3",
        ],
    );
    finds(
        &collider("sphere = { radius = 1 }\nkeys = [{ time = 0 }]\nbody = { mass = 1 }"),
        &["7:1 collider[0].body cannot have `keys` or `spin` beside it"],
    );
    finds(
        &collider("sphere = { radius = 1 }\nbody = {}"),
        &["6:8 collider[0].body needs the key `mass`"],
    );
}

#[test]
fn spheres_and_accelerations_are_checked() {
    finds(
        &cloth(
            "[[cloth.motion_spheres]]\nvertices = []\nradius = 1\nradii = [1, 2]\n[[cloth.separation_spheres]]\nvertices = 'all'\nradius = -1\nfrom = 'left'\n[[cloth.accelerations]]\nvertices = 'x'\n",
        ),
        &[
            "3:1 cloth[0].motion_spheres[0] needs exactly one of `radius` and `radii`; it has `radius`, `radii`",
            "4:1 cloth[0].motion_spheres[0].vertices is empty",
            "9:1 cloth[0].separation_spheres[0].radius = -1",
            "10:1 cloth[0].separation_spheres[0].from needs `radii`",
            "11:1 cloth[0].accelerations[0] needs exactly one of `acceleration` and `keys`; it has none",
            "12:1 cloth[0].accelerations[0].vertices[0]: cannot read",
        ],
    );
}

#[test]
fn every_line_of_invalid_toml_is_found() {
    let found = faults(&format!(
        "title = \nframes = 1 2\n{}{}",
        cloth("density = = 3"),
        cloth("density = -1")
    ));
    let lines: Vec<_> = found.iter().map(|fault| fault.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["1", "2", "5", "5", "8"], "{found:#?}");
    assert!(found[4].contains("density = -1"), "{found:#?}");
}

#[test]
fn duplicate_keys_are_found_beside_other_faults() {
    let found = faults(&format!("{}{}", cloth("density = 1\ndensity = 2"), cloth("densty = 3")));
    assert!(found.len() == 2 && found[0].starts_with("4:1 duplicate key"), "{found:#?}");
    assert!(found[1].starts_with("7:1 unknown key `densty`"), "{found:#?}");
}

#[test]
fn the_number_of_faults_is_limited() {
    let text = cloth("frame = { keys = [");
    let keys: String = (0..500).map(|k| format!("{{ time = 'x{k}' }}, ")).collect();
    let found = faults(&format!("{}{keys}] }}\n", text.trim_end()));
    assert!((100..=101).contains(&found.len()), "{}", found.len());
}

#[test]
fn check_and_parse_report_the_same_first_fault() {
    for text in [
        cloth("densty = 1\ncount = 0"),
        collider("sphere = { radius = -1 }\nbody = 3"),
        cloth("name = "),
    ] {
        let first = Scene::check_text(&text, "x.toml").faults[0].to_string();
        assert_eq!(Scene::parse(&text, "x.toml").unwrap_err().to_string(), first);
    }
}
