//! JSON Schemas of scenes and sweeps accept what the parser accepts, and reject what it rejects.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use poplin_scene::{Scene, scene_schema, sweep_schema};
use serde_json::Value;

/// Compiled schema.
struct Schema(Schemas, SchemaIndex);

impl Schema {
    fn new(schema: Value) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", schema).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        Self(schemas, index)
    }

    /// Returns the reason why a text is rejected, if it is.
    fn refusal(&self, text: &str) -> Option<String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        let value = serde_json::to_value(table).unwrap();
        self.0.validate(&value, self.1).err().map(|error| error.to_string())
    }
}

fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

#[test]
fn every_shipped_scene_is_valid() {
    let schema = Schema::new(scene_schema());
    let mut count = 0;
    for entry in beside("poplin-run/scenes").read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(schema.refusal(&text), None, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} scenes");
}

#[test]
fn the_examples_of_the_guide_are_valid() {
    let (scene, sweep) = (Schema::new(scene_schema()), Schema::new(sweep_schema()));
    let mut counts = [0, 0];
    for entry in beside("poplin/guide").read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks {
            let is_sweep = block.starts_with("scene = ");
            let is_scene = block.contains("[[cloth]]");
            let schema = if is_sweep { &sweep } else { &scene };
            if is_sweep || is_scene {
                assert_eq!(schema.refusal(block), None, "{}: {block}", path.display());
                counts[usize::from(is_sweep)] += 1;
            }
        }
    }
    assert!(counts[0] > 3 && counts[1] > 0, "{counts:?}");
}

#[test]
fn schemas_and_parser_reject_the_same_scenes() {
    let schema = Schema::new(scene_schema());
    let grid = "grid = { columns = 3, rows = 3, width = 1.0, height = 1.0 }";
    for lines in [
        "densty = 1",
        "density = 'x'",
        "damping = [1, 1]",
        "air = { darg = 1 }",
        "material = 'cottn'",
        "solver.foo = {}",
        "motion_spheres = [{ radius = 1 }]",
        "separation_spheres = [{ vertices = 'all', radius = 1, from = 'up' }]",
        "accelerations = [{ vertices = 'all', keys = [{ time = 0 }] }]",
        "animated_pins = [{ pins = 'all', keys = [{ rotation = [0, 0, 1] }] }]",
        "density = 1\n[[collider]]\nsphere = { radius = 1 }\nbody = { massa = 1 }",
    ] {
        let text = format!("[[cloth]]\n{grid}\n{lines}\n");
        assert!(schema.refusal(&text).is_some(), "{text}");
        assert!(Scene::parse(&text, "x.toml").is_err(), "{text}");
    }
    let sound = format!(
        "[[cloth]]\n{grid}\n[[cloth.motion_spheres]]\nvertices = 'all'\nradii = [0, 1]\nfrom = 'left'\n"
    );
    assert_eq!(schema.refusal(&sound), None);
    assert!(Schema::new(sweep_schema()).refusal("scene = 'flag'\nvery = 3\n").is_some());
}
