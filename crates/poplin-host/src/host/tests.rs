use super::*;
use poplin_layout::{ClothPlacement, FrameArrays, pack_fabric};
use poplin_model::{Fabric, Shape, TriangleMesh};
use std::sync::Arc;

/// Largest displacement of a mesh vertex in an iteration of the next frame \[m\], as the kernel
/// reads it.
fn next_mesh_step(host: &mut HostCloth, scratch_begin: u32) -> f32 {
    let placement = ClothPlacement {
        cloth: 0,
        particle_begin: 0,
        particle_count: 1,
        scratch_begin,
        input_begin: 0,
        fabric: pack_fabric(&host.desc().fabric, &mut Vec::new()),
    };
    let mut arrays = FrameArrays::default();
    host.plan(&ColliderSet::new(), &ClothContactSolver::default(), 0.1).unwrap();
    host.pack_frame(0.1, &placement, &mut arrays);
    arrays.cloth_parameters[0].colliders.mesh_step
}

#[test]
fn the_mesh_is_searched_again_where_scratch_is_new() {
    let fabric = Fabric {
        particle_count: 1,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Fabric::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), [[0.0, 0.0, 0.0, 1.0]]);
    let (vertices, triangles) = ([[0.0; 3]; 3].into(), [[0, 1, 2]].into());
    cloth.colliders.add(TriangleMesh { vertices, triangles }).unwrap();
    let mut host = HostCloth::new(cloth).unwrap();
    let settles = |host: &mut HostCloth, begin: u32, what: &str| {
        let steps = [next_mesh_step(host, begin), next_mesh_step(host, begin)];
        assert!(steps[0] > 1e9 && steps[1] == 0.0, "{what}: {steps:?}");
    };
    settles(&mut host, 0, "at first");
    settles(&mut host.copy(), 0, "a copy");
    settles(&mut host, 64, "scratch that moved");
    // Its prepared rows come before those of the mesh.
    let sphere = host.live_mut().colliders_mut().add(Shape::sphere(1.0)).unwrap();
    settles(&mut host, 64, "a sphere more");
    host.live_mut().colliders_mut().remove(sphere).unwrap();
    settles(&mut host, 64, "a sphere less");
}
