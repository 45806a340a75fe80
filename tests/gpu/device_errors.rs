//! Errors of the device: a refused kernel and a lost device are errors of the call that meets them,
//! not panics of an application without error handlers, and what is still there goes on.

use std::sync::Arc;

use poplin::{Backend, Error, Simulation};
use poplin_gpu::{Compilation, EngineOptions};
use poplin_model::{ClothContactSolver, ContactMode};
use poplin_shaders::Kernel;
use poplin_testkit::adapter::headless;
use poplin_testkit::scenes::hanging_sheet;

/// Length of a frame \[s\].
const FRAME: f32 = 1.0 / 60.0;

/// Returns engine options with a text of `kernel` that does not compile.
fn refusing(kernel: Kernel, compilation: Compilation) -> EngineOptions {
    let shader_texts = [(kernel, "fn no_kernel( {".to_owned())].into();
    EngineOptions { shader_texts, compilation, ..EngineOptions::default() }
}

/// Adds two sheets that collide by `contact`.
fn add_sheets(simulation: &mut Simulation, contact: ContactMode) -> Result<(), Error> {
    let settings = ClothContactSolver { contact, ..ClothContactSolver::default() };
    simulation.set_cloth_contact_solver(settings)?;
    for _ in 0..2 {
        let mut cloth = hanging_sheet(4, 4);
        cloth.config.thickness = 0.01;
        simulation.add(cloth)?;
    }
    Ok(())
}

#[test]
fn a_refused_kernel_is_an_error_of_the_frame_that_needs_it() {
    let Some(probe) = headless(EngineOptions::default()) else { return };
    let (device, queue) = (probe.device(), probe.queue());
    // Like an application without a handler.
    device.on_uncaptured_error(Arc::new(|error| panic!("uncaptured: {error}")));
    let with = |options| Simulation::with_device(device, queue, options);
    let refused = |error: Error, kernel: &str| match error {
        Error::NotCompiled { kernel: named, .. } => assert_eq!(named, kernel),
        error => panic!("{kernel}: {error}"),
    };
    for compilation in [Compilation::WhenNeeded, Compilation::WhenAdded, Compilation::Background] {
        refused(with(refusing(Kernel::ScatterRows, compilation)).err().unwrap(), "scatter_rows");
        for (kernel, contact) in [
            (Kernel::SimulateCloth, ContactMode::Particles),
            (Kernel::ContactPushParticles, ContactMode::Particles),
            (Kernel::TriangleMoveRows, ContactMode::Triangles),
        ] {
            let mut simulation = with(refusing(kernel, compilation)).unwrap();
            add_sheets(&mut simulation, contact).unwrap();
            simulation.gpu_mut().unwrap().engine_mut().finish_compiling();
            for _ in 0..2 {
                refused(simulation.step(FRAME).unwrap_err(), kernel.name());
            }
            // Nothing that does not need the kernel is harmed.
            let contact = match contact {
                ContactMode::Particles => ContactMode::Triangles,
                ContactMode::Triangles => ContactMode::Particles,
            };
            let settings = ClothContactSolver { contact, ..ClothContactSolver::default() };
            simulation.set_cloth_contact_solver(settings).unwrap();
            // A frame requests the pipelines of changed cloths.
            _ = simulation.step(FRAME);
            simulation.gpu_mut().unwrap().engine_mut().finish_compiling();
            let needs_it = kernel == Kernel::SimulateCloth;
            assert_eq!(simulation.step(FRAME).is_ok(), !needs_it, "{kernel:?}");
            simulation.state().unwrap();
        }
    }
}

#[test]
fn a_lost_device_is_an_error_and_its_snapshot_goes_on_elsewhere() {
    if headless(EngineOptions::default()).is_none() {
        return;
    }
    let mut simulation = Simulation::new(Backend::Gpu).unwrap();
    add_sheets(&mut simulation, ContactMode::Particles).unwrap();
    for _ in 0..3 {
        simulation.step(FRAME).unwrap();
    }
    let snapshot = simulation.save().unwrap();
    let id = simulation.ids()[0];
    simulation.gpu().unwrap().device().destroy();
    let is_lost = |error: Error| matches!(error, Error::DeviceLost { .. });
    let error = simulation.step(FRAME).unwrap_err();
    assert!(is_lost(error.clone()), "{error}");
    assert!(is_lost(simulation.wait().unwrap_err()));
    assert!(is_lost(simulation.read(id).unwrap_err()));
    assert!(is_lost(simulation.save().err().unwrap()));
    assert!(is_lost(simulation.add(hanging_sheet(4, 4)).unwrap_err()));
    // The frame of an added cloth uploads particles and fabrics.
    assert!(is_lost(simulation.step(FRAME).unwrap_err()));

    let mut other = Simulation::new(Backend::Cpu).unwrap();
    let ids = other.restore(&snapshot).unwrap();
    other.step(FRAME).unwrap();
    let mut whole = Simulation::new(Backend::Cpu).unwrap();
    add_sheets(&mut whole, ContactMode::Particles).unwrap();
    for _ in 0..4 {
        whole.step(FRAME).unwrap();
    }
    let (found, expected) = (other.state().unwrap(), whole.state().unwrap());
    assert_eq!(found.iteration_total(ids[0]), expected.iteration_total(whole.ids()[0]));
    for (found, expected) in found.current(ids[0]).iter().zip(expected.current(whole.ids()[0])) {
        for (found, expected) in found.position.iter().zip(expected.position) {
            assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
        }
    }
}

#[test]
fn a_solver_of_the_cpu_alone_is_refused() {
    let Some(probe) = headless(EngineOptions::default()) else { return };
    let mut simulation =
        Simulation::with_device(probe.device(), probe.queue(), EngineOptions::default()).unwrap();
    let id = simulation.add(hanging_sheet(4, 4)).unwrap();
    let mesh = poplin_model::Mesh::grid(4, 4, 1.0, 1.0);
    let options = poplin_cook::CookOptions { levels: true, ..Default::default() };
    let mut cloth = poplin_cook::cook(&mesh, &options).unwrap().into_cloth();
    cloth.config.solver = poplin_model::Multilevel::default().into();
    let error = simulation.add(cloth).unwrap_err();
    let says =
        "solver.multilevel runs on the CPU only: choose the backend `cpu`, or another solver";
    assert_eq!(error.to_string(), says);
    // The others go on.
    simulation.step(FRAME).unwrap();
    assert!(simulation.state().unwrap().iteration_total(id) > 0);
}
