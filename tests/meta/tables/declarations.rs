//! Tables that follow from declarations in code: tiers, materials, keys, formats, reference cases.

use poplin::Backend;
use poplin_host::TierLimits;
use poplin_io::FRAME_FORMATS;
use poplin_layout::MemoryTier;
use poplin_measure::case::Case;
use poplin_measure::conform::run_case;
use poplin_model::Material;
use poplin_scene::{scene_keys, scene_schema, sweep_schema};
use poplin_testkit::generated::{assert_file, markdown_table, root};

use super::{assert_guide, entries, escaped};

#[test]
fn table_of_tiers() {
    let rows = MemoryTier::ALL.map(|tier| {
        let held = match tier {
            MemoryTier::Resident => "current and previous",
            MemoryTier::HalfResident => "current",
            MemoryTier::Streamed => "nothing",
        };
        let mut row = vec![
            tier.name().to_owned(),
            format!("{held}: {} bytes a particle", tier.bytes_per_particle()),
        ];
        row.extend([16_384, 32_768, 49_152].map(|workgroup_bytes| {
            let limits = TierLimits { workgroup_bytes, ..TierLimits::DEFAULT };
            limits.particles_in(tier).map_or("any".to_owned(), |count| count.to_string())
        }));
        row
    });
    let head = ["tier", "in workgroup memory", "particles in 16 KiB", "32 KiB", "48 KiB"];
    assert_guide("architecture", "tiers", &markdown_table(&head, &rows));
}

#[test]
fn table_of_materials() {
    let rows = Material::ALL.map(|material| {
        let Material { name, about, density, stretch: [warp, weft], shear, bending, .. } = material;
        let Material { damping_time, friction, thickness, .. } = material;
        let short =
            |value: f32| if value < 1e-3 { format!("{value:e}") } else { value.to_string() };
        let values = [density, warp, weft, shear, bending, damping_time, friction, thickness];
        [format!("`{name}`"), about.into()].into_iter().chain(values.map(short)).collect()
    });
    let head = [
        "name",
        "which",
        "kg/m^2",
        "warp, N/m",
        "weft, N/m",
        "shear, N/m",
        "bending, N m",
        "damping, s",
        "friction",
        "thickness, m",
    ];
    assert_guide("solvers", "materials", &markdown_table(&head, &rows));
}

// ---- scene keys ----

#[test]
fn table_of_scene_keys() {
    let keys = scene_keys();
    let mut tables = Vec::new();
    for key in &keys {
        if !tables.contains(&key.table()) {
            tables.push(key.table());
        }
    }
    let tables = tables.into_iter().map(|table| {
        let rows = keys.iter().filter(|key| key.table() == table).map(|key| {
            let [kind, meaning] =
                [&key.kind, &key.meaning].map(|text| escaped(text).replace('|', "\\|"));
            vec![format!("`{}`", key.name()), kind, meaning]
        });
        let rows: Vec<_> = rows.collect();
        let table =
            if table.is_empty() { "At the top of the file".into() } else { format!("`{table}`") };
        format!("**{table}**\n\n{}", markdown_table(&["key", "value", "meaning"], &rows))
    });
    assert_guide("keys", "scene_keys", &tables.collect::<Vec<_>>().join("\n"));
}

/// Folder of the schemas for editors.
const SCHEMAS: &str = "crates/poplin-run/scenes";

#[test]
fn table_of_schemas() {
    for (name, schema) in [("scene", scene_schema()), ("sweep", sweep_schema())] {
        assert_file(&format!("{SCHEMAS}/{name}.schema.json"), &format!("{schema:#}\n"));
    }
}

#[test]
fn table_of_frame_formats() {
    let rows: Vec<_> = FRAME_FORMATS
        .iter()
        .map(|format| vec![format!("`{format}`"), escaped(format.doc)])
        .collect();
    assert_guide("formats", "frame_formats", &markdown_table(&["format", "what it is"], &rows));
}

#[test]
fn table_of_reference_cases() {
    let files = entries("tests/cases").into_iter().filter(|name| name.ends_with(".json"));
    let rows: Vec<_> = files
        .map(|name| {
            let case = Case::load(&root().join("tests/cases").join(&name)).unwrap();
            let verdict = run_case(&case, &Backend::Cpu.into()).unwrap();
            assert!(verdict.passes(), "{name} does not pass: {:?}", verdict.worst());
            let worst = verdict.worst().unwrap();
            vec![
                case.name.clone(),
                case.frames.len().to_string(),
                verdict.snapshots.len().to_string(),
                micrometers(worst.error),
                micrometers(worst.tolerance),
            ]
        })
        .collect();
    let head = ["case", "frames", "comparisons", "worst \\[µm\\]", "allowed \\[µm\\]"];
    assert_guide("validation", "cases", &markdown_table(&head, &rows));
}

/// Formats metres as micrometres with two decimals.
fn micrometers(metres: f32) -> String {
    format!("{:.2}", 1e6 * metres)
}
