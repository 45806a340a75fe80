//! Allowed dependencies between the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Allowed direct dependencies per crate, among workspace crates and watched libraries.
const ALLOWED: &[(&str, &[&str])] = &[
    ("poplin-model", &[]),
    ("poplin-geometry", &[]),
    ("poplin-cook", &["poplin-geometry", "poplin-model"]),
    ("poplin-layout", &["poplin-model"]),
    ("poplin-shaders", &["poplin-layout", "naga"]),
    ("poplin-host", &["poplin-model", "poplin-layout", "poplin-geometry"]),
    ("poplin-cpu", &["poplin-geometry", "poplin-host", "poplin-layout", "poplin-model"]),
    ("poplin-oracle", &[]),
    ("poplin-gpu", &["poplin-model", "poplin-layout", "poplin-host", "poplin-shaders", "wgpu"]),
    ("poplin", &["poplin-model", "poplin-cook", "poplin-host", "poplin-gpu", "poplin-cpu"]),
    ("poplin-io", &["poplin-geometry", "poplin-model"]),
    ("poplin-picture", &["poplin-geometry", "poplin-model"]),
    ("poplin-scene", &["poplin-cook", "poplin-geometry", "poplin-io", "poplin-model"]),
    (
        "poplin-measure",
        &["poplin", "poplin-geometry", "poplin-host", "poplin-layout", "poplin-model"],
    ),
    (
        "poplin-testkit",
        &[
            "poplin",
            "poplin-geometry",
            "poplin-model",
            "poplin-cook",
            "poplin-layout",
            "poplin-host",
            "poplin-shaders",
            "poplin-cpu",
            "poplin-oracle",
            "poplin-gpu",
            "poplin-io",
            "poplin-measure",
            "naga",
        ],
    ),
    ("poplin-view", &["poplin", "poplin-picture", "poplin-scene", "poplin-measure", "wgpu"]),
    (
        "poplin-run",
        &[
            "poplin",
            "poplin-model",
            "poplin-cook",
            "poplin-geometry",
            "poplin-io",
            "poplin-measure",
            "poplin-picture",
            "poplin-scene",
        ],
    ),
    (
        "poplin-cli",
        &[
            "poplin",
            "poplin-model",
            "poplin-cook",
            "poplin-io",
            "poplin-measure",
            "poplin-picture",
            "poplin-run",
            "poplin-scene",
            "poplin-view",
        ],
    ),
    ("poplin-python", &["poplin", "poplin-cli", "poplin-io", "poplin-run", "poplin-scene"]),
    ("poplin-gpu-stats", &["poplin-host", "poplin-layout", "poplin-shaders", "naga"]),
    ("poplin-web", &["poplin", "poplin-picture", "poplin-scene", "poplin-shaders"]),
    ("poplin-examples", &[]),
    ("xtask", &["poplin-layout"]),
];

/// Forbidden dependencies per crate, indirect ones included.
const NEVER: &[(&str, &[&str])] = &[
    ("poplin-cpu", &["poplin-shaders", "poplin-gpu", "wgpu", "naga"]),
    ("poplin-gpu", &["poplin-cpu", "poplin-oracle"]),
    ("poplin-model", &["wgpu", "naga"]),
    ("poplin-geometry", &["poplin-model", "wgpu", "naga"]),
    ("poplin-cook", &["wgpu", "naga"]),
    ("poplin-layout", &["wgpu", "naga", "poplin-host"]),
    ("poplin-host", &["wgpu", "naga"]),
    ("poplin-io", &["poplin-gpu", "poplin-cpu"]),
    ("poplin-picture", &["poplin-gpu", "poplin-cpu"]),
    ("poplin-scene", &["poplin-gpu", "poplin-cpu"]),
    ("poplin-measure", &["poplin-testkit"]),
    ("poplin-view", &["poplin-testkit"]),
    ("poplin-cli", &["poplin-testkit"]),
    ("poplin-run", &["poplin-testkit", "poplin-cli"]),
];

/// Tests for a workspace crate or a library whose use is restricted.
fn is_watched(name: &str) -> bool {
    name == "xtask"
        || name == "poplin"
        || name.starts_with("poplin-")
        || name == "wgpu"
        || name == "naga"
}

/// Returns the direct dependencies of every package in the resolved graph, without those for builds
/// and tests only.
fn dependency_graph() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(crate::run::cargo_program())
        .args(["metadata", "--format-version", "1"])
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let normal = dependencies.iter().filter(|d| d["kind"].is_null());
            let names = normal.map(|d| d["name"].as_str().expect("name").to_owned()).collect();
            (package["name"].as_str().expect("name").to_owned(), names)
        })
        .collect()
}

#[test]
fn every_crate_has_only_allowed_dependencies() {
    let graph = dependency_graph();
    let members: BTreeSet<_> = graph
        .keys()
        .filter(|n| is_watched(n) && *n != "wgpu" && *n != "naga" && *n != "poplin-suite")
        .collect();
    let listed: BTreeMap<_, _> =
        ALLOWED.iter().map(|(name, allowed)| ((*name).to_owned(), *allowed)).collect();
    for member in members {
        let allowed = listed
            .get(member)
            .unwrap_or_else(|| panic!("{member} is not in the table of allowed dependencies"));
        for dependency in graph[member].iter().filter(|d| is_watched(d)) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{member} -> {dependency} is not an allowed dependency"
            );
        }
    }
}

#[test]
fn forbidden_crates_are_not_reachable() {
    let graph = dependency_graph();
    for (member, forbidden) in NEVER {
        let mut reached = BTreeSet::new();
        let mut pending = vec![(*member).to_owned()];
        while let Some(name) = pending.pop() {
            for dependency in graph.get(&name).into_iter().flatten() {
                if reached.insert(dependency.clone()) {
                    pending.push(dependency.clone());
                }
            }
        }
        // Guards against an empty graph, in which nothing is reachable.
        assert!(
            reached.contains("bytemuck") || *member == "poplin-cook" || reached.contains("glam"),
            "{member}: the graph looks empty"
        );
        for name in *forbidden {
            assert!(!reached.contains(*name), "{member} reaches {name}");
        }
    }
}
