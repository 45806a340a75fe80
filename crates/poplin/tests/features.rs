//! Behaviour of builds with a subset of the cargo features.

use poplin::cook::{CookOptions, cook};
use poplin::model::Mesh;
use poplin::{Backend, Error, Simulation};

/// Simulates a falling cloth on the CPU backend; true if it falls.
fn falls_on_the_cpu() -> Result<bool, Error> {
    let cooked = cook(&Mesh::grid(4, 4, 1.0, 1.0), &CookOptions::default()).expect("a sheet cooks");
    let mut simulation = Simulation::new(Backend::Cpu)?;
    let cloth = simulation.add(cooked.into_cloth())?;
    simulation.step(1.0 / 60.0)?;
    Ok(simulation.state()?.current(cloth)[0].position[1] < 0.0)
}

#[test]
fn cpu_backend_needs_its_cargo_feature() {
    let result = falls_on_the_cpu();
    if cfg!(feature = "cpu") {
        assert!(result.expect("the CPU backend runs"));
    } else {
        assert!(matches!(result, Err(Error::NotBuilt { backend: "CPU", feature: "cpu" })));
    }
}

#[test]
#[cfg(not(feature = "gpu"))]
fn gpu_backend_needs_its_cargo_feature() {
    let result = Simulation::new(Backend::Gpu);
    assert!(matches!(result, Err(Error::NotBuilt { backend: "GPU", feature: "gpu" })));
}

#[test]
#[cfg(feature = "serde")]
fn settings_implement_serde() {
    fn is_kept<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    is_kept::<poplin::model::Pose>();
    is_kept::<poplin::model::ClothContactSolver>();
}
