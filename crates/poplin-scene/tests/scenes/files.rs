//! Scene files and the mesh files that they name.

use poplin_scene::{Scene, Shape};

use super::message;

#[test]
fn a_missing_mesh_is_reported_relative_to_the_scene() {
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
fn invalid_toml_is_reported_with_line_and_column() {
    assert!(message("title = 'x'\nframes = = 3\n").starts_with("scene.toml:2:10: "));
    assert!(
        message("frames = 'many'\n").starts_with("scene.toml:1:10: frames: invalid type: string")
    );
    assert!(message("frames = -1\n").starts_with("scene.toml:1:10: frames: invalid value"));
}

#[test]
fn missing_and_binary_files_are_reported_by_path() {
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
