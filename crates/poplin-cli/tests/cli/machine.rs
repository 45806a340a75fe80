//! `poplin info`, `poplin cook` and the help pages.

use poplin_testkit::skip::is_gpu_off;

use crate::bench::{Bench, Ended, SHEET, SQUARE};

/// Runs a command with all Vulkan drivers hidden.
fn without_adapters(bench: &Bench, args: &[&str]) -> Ended {
    let nothing = bench.path("no-driver.json");
    Ended::of(
        bench
            .command(args)
            .env("VK_DRIVER_FILES", &nothing)
            .env("VK_ICD_FILENAMES", &nothing)
            // Without POPLIN_GPU=off, which skips the search for adapters.
            .env_remove("POPLIN_GPU")
            .output()
            .unwrap(),
    )
}

#[test]
fn info_lists_adapters_tiers_canaries_and_the_choice() {
    let bench = Bench::new("info");
    let ended = bench.poplin(&["info"]);
    ended.succeeds();
    assert!(ended.stdout.contains("--backend auto: "), "{}", ended.stdout);
    if is_gpu_off() {
        return;
    }
    for word in [
        "adapter 0: ",
        "workgroup",
        "resident",
        "half-resident",
        "streamed",
        "canaries",
        "tests for NaN",
        "barrier scan",
        "long loop",
    ] {
        assert!(ended.stdout.contains(word), "no `{word}` in: {}", ended.stdout);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn info_is_quiet_without_a_session() {
    let bench = Bench::new("no-session");
    let mut command = bench.command(&["info"]);
    let ended = Ended::of(command.env_remove("XDG_RUNTIME_DIR").output().unwrap());
    ended.succeeds();
    // Mesa's layer that orders devices would report the missing folder.
    assert!(!ended.stderr.contains("XDG_RUNTIME_DIR"), "{}", ended.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn info_without_adapters_suggests_a_driver() {
    let bench = Bench::new("no-adapter");
    let ended = without_adapters(&bench, &["info"]);
    ended.succeeds();
    for word in [
        "no GPU adapter found",
        "mesa-vulkan-drivers",
        "--backend auto: cpu backend",
        "no real GPU was found",
    ] {
        assert!(ended.stdout.contains(word), "no `{word}` in: {}", ended.stdout);
    }
    without_adapters(&bench, &["run", "flag", "--backend", "gpu"])
        .says(1, &["no GPU adapter found", "mesa-vulkan-drivers"]);
    without_adapters(&bench, &["run", "flag", "--adapter", "radeon"])
        .says(1, &["no GPU adapter found", "`radeon`", "mesa-vulkan-drivers"]);
    assert!(!bench.path("out").exists());
}

#[test]
fn doctor_without_a_gpu_has_nothing_to_check() {
    let bench = Bench::new("doctor");
    bench.poplin(&["doctor", "--adapter", "no such"]).says(2, &["nothing to check", "no such"]);
    bench
        .poplin(&["doctor", "--adapter", "no such", "--json", "nowhere/doctor.json"])
        .says(1, &["cannot write nowhere/doctor.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_without_adapters_suggests_a_driver() {
    let bench = Bench::new("doctor-no-adapter");
    without_adapters(&bench, &["doctor"])
        .says(2, &["nothing to check", "no GPU adapter found", "mesa-vulkan-drivers"]);
}

#[test]
fn cook_makes_bends_only_on_request() {
    let bench = Bench::new("cook-bends");
    let cook = |lines: &str, options: &[&str]| {
        bench.write("scene.toml", &format!("{SHEET}{lines}"));
        let ended = bench.poplin(&[&["cook", "scene.toml"], options].concat());
        ended.succeeds();
        ended
            .stdout
            .lines()
            .filter(|line| line.starts_with("bends ") || line.contains("  bending"))
            .count()
    };
    assert_eq!(cook("material = 'silk'\n", &[]), 1);
    assert_eq!(cook("material = 'silk'\n", &["--no-bending"]), 0);
    assert_eq!(cook("", &["--material", "silk", "--no-bending"]), 0);
    let without = "fabric = { bends = false }\n";
    assert_eq!(cook(&format!("{without}material = 'silk'\n"), &[]), 0);
    assert_eq!(cook(without, &["--material", "silk"]), 0);
}

#[test]
fn cook_reports_meshes_and_scenes() {
    let bench = Bench::new("cook");
    bench.write("square.obj", SQUARE);
    bench.write("scene.toml", SHEET);
    let ended = bench.poplin(&["cook", "square.obj", "--pin", "corner:top-left"]);
    ended.succeeds();
    assert!(ended.stdout.contains("particles              4  1 pinned"), "{}", ended.stdout);
    assert!(
        bench
            .poplin(&["cook", "scene.toml"])
            .succeeds()
            .stdout
            .contains("particles             20  1 pinned")
    );
    let json: serde_json::Value =
        serde_json::from_str(&bench.poplin(&["cook", "scene.toml", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json[0]["name"], &json[0]["particles"], &json[0]["islands"]),
        (&"sheet".into(), &20.into(), &1.into())
    );
}

#[test]
fn cook_reports_the_quality_of_fibers() {
    let bench = Bench::new("quality");
    bench.write("scene.toml", SHEET);
    let ended = bench.poplin(&["cook", "scene.toml"]);
    // Four rows of five particles, one corner pinned.
    assert!(
        ended
            .succeeds()
            .stdout
            .contains("stretch          100.0 %  of 31 edges in one fiber each\n"),
        "{}",
        ended.stdout
    );
    let json: serde_json::Value =
        serde_json::from_str(&bench.poplin(&["cook", "scene.toml", "--json"]).stdout).unwrap();
    let stretch = &json[0]["stretch"];
    assert_eq!((&stretch["edges"], &stretch["covered_edges"]), (&31.into(), &31.into()));
    let sum = |name: &str| {
        stretch["lengths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|bucket| bucket[name].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!((sum("edges"), sum("fibers")), (31, 9));
    assert!((3.4..3.7).contains(&stretch["fiber_length_95"].as_f64().unwrap()), "{stretch}");
    assert!(json[0]["phases"][3]["idle_fraction"].as_f64().unwrap() < 0.01);
}

#[test]
fn cook_draws_the_fibers() {
    let bench = Bench::new("fibers");
    bench.write("scene.toml", SHEET);
    let drawn = bench.poplin(&["cook", "scene.toml", "--picture", "fibers.png"]);
    assert!(drawn.succeeds().stdout.ends_with("picture     fibers.png\n"), "{}", drawn.stdout);
    let png = std::fs::read(bench.path("fibers.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 20_000, "{} bytes", png.len());
    let json = bench.poplin(&["cook", "scene.toml", "--picture", "again.png", "--json"]);
    assert!(
        serde_json::from_str::<serde_json::Value>(&json.succeeds().stdout).is_ok(),
        "{}",
        json.stdout
    );
    assert_eq!(
        std::fs::read(bench.path("again.png")).unwrap(),
        png,
        "the same fibers give the same picture"
    );
    let refused = bench.poplin(&["cook", "scene.toml", "--picture", "no/such/folder.png"]);
    refused.says(1, &["cannot write no/such/folder.png", "No such file"]);
}

#[test]
fn help_shows_examples_scenes_rules_and_exit_codes() {
    let bench = Bench::new("help");
    let help = |args: &[&str]| bench.poplin(args).succeeds().stdout.clone();
    for word in ["poplin run flag", "Exit codes", "130"] {
        assert!(help(&["--help"]).contains(word), "{word}");
    }
    for word in [
        "flag, curtain, cape, skirt, drape, ball, legs, layers",
        "corner:top-left",
        "contact-sheet.png",
        "Ctrl-C",
        "--no-cache",
    ] {
        assert!(help(&["run", "--help"]).contains(word), "{word}");
    }
    bench.poplin(&[]).says(2, &["Usage: poplin"]);
}

#[test]
fn an_unknown_table_gets_a_suggestion() {
    let bench = Bench::new("tables");
    let keys = |table: &str| bench.poplin(&["scenes", "--keys", table]);
    let said = "a scene has no table or key `contact`; did you mean `cloth_contact_solver.contact` or `cloth.contact`?";
    keys("contact").says(2, &[said]);
    keys("[cloth.contct]").says(2, &["`cloth.contct`; did you mean `cloth.contact`?"]);
    keys("hats").says(2, &["`hats`; tables are camera, cloth, "]);
    assert!(keys("cloth.contact").succeeds().stdout.contains("cloth.contact.friction (number)"));
}

#[test]
fn opens_no_driver_without_need() {
    let may_be_gpu = std::fs::read_dir("/dev").is_ok_and(|mut entries| {
        entries.any(|entry| {
            let name = entry.unwrap().file_name();
            ["dri", "nvidia"].iter().any(|it| name.to_string_lossy().starts_with(it))
        })
    });
    if may_be_gpu {
        return;
    }
    let bench = Bench::new("vain");
    bench.write("scene.toml", SHEET);
    let mut command = bench.command(&["run", "scene.toml"]);
    let ended =
        Ended::of(command.env_remove("XDG_RUNTIME_DIR").env_remove("POPLIN_GPU").output().unwrap());
    assert!(ended.succeeds().stdout.contains("no real GPU was found"), "{}", ended.stdout);
    // Vulkan's loader would report the missing folder.
    assert_eq!(ended.stderr, "");
}
