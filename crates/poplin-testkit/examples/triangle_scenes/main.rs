//! Triangle contact, scene by scene: crossings, depth, gaps, strain and time, and a remark specific
//! to each scene.
//!
//! `cargo run --release -p poplin-testkit --example triangle_scenes [-- NAME ...]` prints one table
//! row for each scene whose name begins with one of the arguments, in each variant: as defined
//! (`full`), with half the particles (`half`), and with steps twice as long (`steps`). Crossings
//! are edges through triangles of cloths, boxes and meshes, counted exactly after each frame;
//! depths are those of particles, and of triangles from 1 mm. Environment variables:
//!
//! | | |
//! |---|---|
//! | `KIND=half` | only this variant |
//! | `LIMIT=60` | largest run time of a scene \[s\] |
//! | `FRAMES=60` | largest number of frames of a scene |
//! | `PICTURE=folder` | draws each scene there, and all `full` ones in `triangles.png` |
//! | `VERBOSE=1` | prints each frame |
//! | `MESHES=folder` | has `bunny.obj` and `unisex_shirt.obj`, for the scene `shirt` |

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod driven;
mod drops;
mod friction;
mod run;
mod scene;

use std::env::var;
use std::error::Error;
use std::path::PathBuf;

use poplin_picture::{Image, MosaicTile};

use crate::run::{HEAD, Options, run};
use crate::scene::{Kind, Other, Scene};

/// Function that creates a scene.
type Make = Box<dyn Fn() -> Result<Scene, Box<dyn Error>>>;

/// Name of a scene, and the function that creates one of its variants.
type Named = (&'static str, fn(Kind) -> Scene);

/// All scenes of a variant by name.
fn scenes(kind: Kind) -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    let mut add = |name: String, make: Box<dyn Fn() -> Scene>| {
        all.push((name, Box::new(move || Ok(make()))));
    };
    for mm in [2, 5, 10] {
        for friction in [0.0, 0.07, 0.14, 0.2, 0.3, 0.35, 0.42, 0.5] {
            let make = move || drops::w4(kind, mm as f32 / 1000.0, friction);
            add(format!("w4-{mm}mm-{friction}"), Box::new(make));
        }
    }
    let others: [Named; 26] = [
        ("spike", drops::on_spike),
        ("needles", drops::on_needles),
        ("table", drops::on_table),
        ("pulled", driven::from_under),
        ("layers", drops::on_cylinder),
        ("pile", drops::pile),
        ("handkerchiefs", drops::handkerchiefs),
        ("ring", driven::ring),
        ("shot", driven::shot),
        ("edge-on", driven::edge_on),
        ("pinch", driven::pinch),
        ("towel", driven::towel),
        ("grip", driven::grip),
        ("ribbon-3", |kind| driven::ribbon(kind, 3.0)),
        ("ribbon-6", |kind| driven::ribbon(kind, 6.0)),
        ("stack-0.9", |kind| friction::stack(kind, 0.9)),
        ("stack-1.1", |kind| friction::stack(kind, 1.1)),
        ("capstan-0.95", |kind| friction::capstan(kind, 0.95)),
        ("capstan-1.05", |kind| friction::capstan(kind, 1.05)),
        ("xpbd-ball", |kind| drops::on_ball(kind, Other::Xpbd)),
        ("xpbd-fold", |kind| drops::on_itself(kind, Other::Xpbd)),
        ("implicit-ball", |kind| drops::on_ball(kind, Other::Implicit)),
        ("implicit-fold", |kind| drops::on_itself(kind, Other::Implicit)),
        // Named by their triangle counts.
        ("grow-968", |kind| drops::growing(kind, 23)),
        ("grow-10082", |kind| drops::growing(kind, 72)),
        ("grow-100352", |kind| drops::growing(kind, 225)),
    ];
    for (name, make) in others {
        add(name.into(), Box::new(move || make(kind)));
    }
    // The mesh of the shirt has a fixed resolution.
    if let Ok(folder) = var("MESHES")
        && kind.is_full()
    {
        all.push(("shirt".into(), Box::new(move || drops::shirt(kind, folder.as_ref()))));
    }
    all
}

/// Reads a setting from the environment.
fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = var("PICTURE").ok().map(PathBuf::from);
    if let Some(folder) = &folder {
        std::fs::create_dir_all(folder)?;
    }
    let options = Options {
        limit: setting("LIMIT", f64::INFINITY),
        frames: setting("FRAMES", u32::MAX),
        is_verbose: var("VERBOSE").is_ok(),
        has_picture: folder.is_some(),
    };
    let only = var("KIND").ok();
    println!("| {} |\n|{}", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for kind in Kind::ALL {
        if only.as_ref().is_some_and(|only| only != kind.name) {
            continue;
        }
        for (name, make) in scenes(kind) {
            if !wanted.is_empty() && !wanted.iter().any(|it| name.starts_with(it.as_str())) {
                continue;
            }
            let outcome = run(&name, make()?, options)?;
            println!("| {name} | {} | {} |", kind.name, outcome.row.join(" | "));
            if let (Some(folder), Some(picture)) = (&folder, outcome.picture) {
                picture.write_png(folder.join(format!("{name}-{}.png", kind.name)))?;
            }
        }
    }
    if let Some(folder) = &folder {
        let tiles = scenes(Kind::ALL[0]).into_iter().filter_map(|(name, _)| {
            let image = Image::read_png(folder.join(format!("{name}-full.png"))).ok()?;
            Some((image.width, MosaicTile { label: String::new(), image: Some(image) }))
        });
        let (sides, tiles): (Vec<_>, Vec<_>) = tiles.unzip();
        let side = sides.first().copied().unwrap_or(1);
        Image::mosaic(side, &tiles).write_png(folder.join("triangles.png"))?;
    }
    Ok(())
}
