//! What a build with some of the features can do.

use poplin::cook::{CookOptions, cook};
use poplin::model::{Frame, Mesh};
use poplin::{Backend, Error, Simulation};

/// Whether the CPU backend is built in and lets a cloth fall.
fn falls_on_the_cpu() -> Result<bool, Error> {
    let cooked = cook(&Mesh::grid(4, 4, 1.0, 1.0), &CookOptions::default()).expect("a sheet cooks");
    let mut simulation = Simulation::new(Backend::Cpu)?;
    let cloth = simulation.add(cooked.into_cloth())?;
    simulation.step(&Frame::default())?;
    Ok(simulation.state()?.current(cloth)[0].position[1] < 0.0)
}

#[test]
fn the_cpu_backend_is_there_with_its_feature_and_refused_by_name_without() {
    let result = falls_on_the_cpu();
    if cfg!(feature = "cpu") {
        assert!(result.expect("the CPU backend runs"));
    } else {
        assert!(matches!(result, Err(Error::NotBuilt { backend: "CPU", feature: "cpu" })));
    }
}

#[test]
#[cfg(not(feature = "gpu"))]
fn without_its_feature_the_gpu_backend_is_refused_by_name() {
    let result = Simulation::new(Backend::Gpu);
    assert!(matches!(result, Err(Error::NotBuilt { backend: "GPU", feature: "gpu" })));
}

#[test]
#[cfg(feature = "serde")]
fn what_users_write_can_be_kept_by_serde() {
    fn is_kept<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    is_kept::<poplin::model::Pose>();
    is_kept::<poplin::model::ClothContactSolver>();
}
