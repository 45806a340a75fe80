//! Every composed kernel: valid, documented, linted, laid out like its Rust twins, within the default limits.

use std::mem::{offset_of, size_of};

use poplin_host::TierLimits;
use poplin_layout::{
    CELL_STRIDES, CONTACT_LANES, ClothFrame, ColliderFrame, ContactCloth, ContactParameters,
    DispatchParameters, Feedback, IterationConstants, MemoryTier, PhaseConstants, SCAN_BLOCK,
    SelfCollisionFrame, Stage, StageMask,
};
use poplin_shaders::{
    Kernel, OverrideValues, compose, compose_with, lint, parse, source, struct_layouts,
    undocumented, validate, workgroup_bytes,
};

#[test]
fn every_kernel_is_valid_documented_and_clean() {
    for kernel in Kernel::ALL {
        let composed = compose(&kernel.path()).unwrap();
        let module = parse(&composed).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        validate(&composed, &module).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        assert_eq!(undocumented(&module), Vec::<String>::new(), "{}", kernel.name());
        assert_eq!(lint(&module), [], "{}", kernel.name());
        assert_eq!(module.entry_points.len(), 1);
        assert_eq!(module.entry_points[0].name, kernel.name());
    }
}

/// Runs `tint` over a WGSL text; `None` where it is not on the machine.
fn tint(name: &str, text: &str) -> Option<Result<(), String>> {
    let path = std::env::temp_dir().join(format!("poplin-{}-{name}.wgsl", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let run = std::process::Command::new("tint").arg("--format").arg("wgsl").arg(&path).output();
    let _ = std::fs::remove_file(&path);
    let output = run.ok()?;
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

#[test]
fn every_kernel_passes_tint_where_it_is_installed() {
    for kernel in Kernel::ALL {
        match tint(kernel.name(), &compose(&kernel.path()).unwrap().text) {
            Some(verdict) => assert_eq!(verdict, Ok(()), "{}", kernel.name()),
            None => {
                return eprintln!(
                    "NOT CHECKED: `tint` is not on this machine, so browsers' uniformity rules went unchecked"
                );
            }
        }
    }
    // See it fail: a barrier under a lane condition, which naga accepts.
    let divergent = "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) lane: u32) { if (lane == 0u) { workgroupBarrier(); } }";
    assert!(tint("divergent", divergent).is_some_and(|verdict| verdict.is_err()));
}

#[test]
fn structs_lie_in_memory_as_their_rust_twins() {
    let composed = compose("kernel/simulate_cloth").unwrap();
    let layouts = struct_layouts(&parse(&composed).unwrap());
    macro_rules! twin {
        ($ty:ident { $($member:ident),* $(,)? }) => {{
            let layout = layouts.iter().find(|l| l.name == stringify!($ty)).expect(stringify!($ty));
            let members: Vec<_> = layout.members.iter().filter(|(name, _)| !name.starts_with("padding")).cloned().collect();
            let expected = vec![$((stringify!($member).to_owned(), offset_of!($ty, $member) as u32)),*];
            assert_eq!(members, expected, "{}", stringify!($ty));
            assert_eq!(layout.size as usize, size_of::<$ty>(), "{}", stringify!($ty));
        }};
    }
    twin!(ClothFrame {
        cloth,
        particle_begin,
        particle_count,
        iteration_count,
        iteration_begin,
        phase_begin,
        phase_count,
        turn_begin,
        set_begin,
        fiber_begin,
        vertex_begin,
        edge_begin,
        edge_stiffness_begin,
        tether_begin,
        tethers_per_particle,
        anchor_begin,
        anchor_count,
        triangle_begin,
        triangle_count,
        corner_begin,
        virtual_set_begin,
        virtual_set_count,
        virtual_bundle_begin,
        virtual_weight_begin,
        scratch_begin,
        acceleration_begin,
        motion_start,
        motion_target,
        separation_start,
        separation_target,
        wake_count,
        acceleration_scale,
        tether_stiffness,
        tether_scale,
        stiffness_exponent,
        drag,
        lift,
        wind_scale,
        motion_scale,
        motion_bias,
        motion_stiffness,
        sleep_distance,
        sleep_step,
        sleep_interval,
        sleep_after_count,
        colliders,
        self_collision,
        fiber_row_count,
        bend_set_begin,
        bend_set_count,
        bend_begin,
        bending_rigidity,
        bending_damping,
    });
    twin!(SelfCollisionFrame {
        distance,
        stiffness,
        friction,
        max_move,
        inverse_cell,
        member_count,
        member_begin,
        rest_begin,
        grid_begin,
    });
    twin!(ColliderFrame {
        sphere_count,
        sphere_start,
        sphere_target,
        capsule_count,
        capsule_begin,
        plane_count,
        plane_start,
        plane_target,
        box_count,
        box_start,
        box_target,
        vertex_start,
        vertex_target,
        triangle_begin,
        triangle_count,
        triangle_tree_begin,
        triangle_tree_count,
        is_mesh_closed,
        sphere_tree_begin,
        sphere_tree_count,
        capsule_tree_begin,
        capsule_tree_count,
        number_begin,
        free_sphere_begin,
        free_capsule_begin,
        free_convex_begin,
        free_convex_count,
        free_box_begin,
        free_box_count,
        sphere_capsule_begin,
        convex_plane_begin,
        convex_count,
        body_begin,
        body_count,
        prepared_begin,
        nearest_begin,
        impulse_begin,
        friction,
        friction_slop,
        friction_holds,
        mass_scale,
        continuous_reach,
        mesh_step,
        step,
        move_share,
    });
    twin!(IterationConstants { velocity_scale, bias, previous_bias, wind });
    twin!(PhaseConstants {
        stiffness,
        multiplier,
        compression,
        stretch,
        set_begin,
        set_end,
        compliance,
        damping,
        fiber_solver,
        softness,
        round_count
    });
    twin!(DispatchParameters {
        cloth_begin,
        cloth_count,
        row_width,
        iteration_begin,
        iteration_end
    });
    twin!(Feedback {
        fault_count,
        fault_particle,
        iteration_total,
        fault_iteration,
        sleep_time,
        sleep_pass_count,
        sleep_frame_count,
        wake_count,
        is_asleep
    });
}

#[test]
fn structs_and_constants_of_collision_between_cloths_are_their_rust_twins() {
    let module = parse(&compose("contact/buffers").unwrap()).unwrap();
    let layouts = struct_layouts(&module);
    macro_rules! twin {
        ($ty:ident { $($member:ident),* $(,)? }) => {{
            let layout = layouts.iter().find(|l| l.name == stringify!($ty)).expect(stringify!($ty));
            let expected = vec![$((stringify!($member).to_owned(), offset_of!($ty, $member) as u32)),*];
            assert_eq!(layout.members, expected, "{}", stringify!($ty));
            assert_eq!(layout.size as usize, size_of::<$ty>(), "{}", stringify!($ty));
        }};
    }
    twin!(ContactCloth {
        axis_x,
        axis_y,
        axis_z,
        origin,
        turn_x,
        turn_y,
        turn_z,
        shift,
        particle_begin,
        particle_count,
        row_begin,
        cloth,
        group,
        mask,
        radius,
        wake_distance,
    });
    twin!(ContactParameters {
        cloth_begin,
        cloth_count,
        row_count,
        bucket_count,
        cell_scale,
        stiffness,
        friction,
        padding
    });
    let value = |name: &str| {
        let (_, constant) =
            module.constants.iter().find(|(_, c)| c.name.as_deref() == Some(name)).expect(name);
        match module.global_expressions[constant.init] {
            naga::Expression::Literal(naga::Literal::U32(bits)) => bits as usize,
            ref other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(value("CONTACT_LANES"), CONTACT_LANES as usize);
    assert_eq!(value("SCAN_BLOCK"), SCAN_BLOCK as usize);
    assert_eq!(
        [1, value("CELL_STRIDE_Y"), value("CELL_STRIDE_Z")],
        CELL_STRIDES.map(|stride| stride as usize)
    );
    assert_eq!(4 * value("REPORT_WORDS"), size_of::<Feedback>());
    assert_eq!(4 * value("REPORT_FAULT_COUNT"), offset_of!(Feedback, fault_count));
    assert_eq!(4 * value("REPORT_SLEEP_PASS_COUNT"), offset_of!(Feedback, sleep_pass_count));
    assert_eq!(4 * value("REPORT_IS_ASLEEP"), offset_of!(Feedback, is_asleep));
}

#[test]
fn constants_and_stage_bits_agree_with_rust() {
    let composed = compose("kernel/simulate_cloth").unwrap();
    let module = parse(&composed).unwrap();
    let value = |name: &str| {
        let (_, constant) =
            module.constants.iter().find(|(_, c)| c.name.as_deref() == Some(name)).expect(name);
        match module.global_expressions[constant.init] {
            naga::Expression::Literal(naga::Literal::U32(bits)) => f64::from(bits),
            naga::Expression::Literal(naga::Literal::F32(number)) => f64::from(number),
            ref other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(value("EPSILON"), f64::from(f32::EPSILON));
    assert_eq!(value("MAX_COORDINATE"), f64::from(poplin_model::MAX_COORDINATE));
    assert_eq!(value("NO_OFFSET"), f64::from(poplin_layout::NO_OFFSET));
    assert_eq!(value("GRID_PARTS"), f64::from(poplin_layout::GRID_PARTS));
    assert_eq!(
        value("SELF_COLLISION_REST_SHARE"),
        f64::from(poplin_model::SELF_COLLISION_REST_SHARE)
    );
    for stage in Stage::ALL {
        let name = format!("STAGE_{}", stage.name().to_uppercase());
        assert_eq!(value(&name), f64::from(StageMask::only(stage).0), "{name}");
    }
}

#[test]
fn eight_storage_buffers_suffice() {
    for kernel in Kernel::ALL {
        let module = parse(&compose(&kernel.path()).unwrap()).unwrap();
        let is_storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
        let storage = module
            .global_variables
            .iter()
            .filter(|(_, variable)| is_storage(variable.space))
            .count();
        assert!(storage <= 8, "{}: {storage} storage buffers", kernel.name());
    }
}

#[test]
fn workgroup_memory_stays_within_the_tier_budget() {
    let composed = compose("kernel/simulate_cloth").unwrap();
    let module = parse(&composed).unwrap();
    let info = validate(&composed, &module).unwrap();
    for tier in MemoryTier::ALL {
        let limits = TierLimits::DEFAULT;
        let capacity = limits.particles_in(tier).unwrap_or(1);
        let overrides = OverrideValues {
            lane_count: 256,
            tier,
            capacity,
            stages: StageMask::ALL,
            grid_cells: 1,
        };
        let bytes = workgroup_bytes(&module, &info, &overrides).unwrap();
        assert!(bytes <= limits.workgroup_bytes, "{}: {bytes} bytes", tier.name());
        assert!(
            bytes + 2 * TierLimits::FIXED_BYTES >= tier.bytes_per_particle() * capacity,
            "{}: {bytes} bytes",
            tier.name()
        );
    }
}

#[test]
fn a_broken_stage_is_reported_with_its_own_file_and_line() {
    let damaged = |name: &str| {
        let text = source(name)?.to_owned();
        Some(if name == "stage/tether" {
            text.replace("let particle = load_current(i);", "let particle = load_curent(i);")
        } else {
            text
        })
    };
    let error =
        parse(&compose_with("kernel/simulate_cloth", damaged).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("stage/tether.wgsl:1") && error.contains("load_curent"), "{error}");
}

#[test]
fn every_shader_file_is_embedded() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    for folder in ["lib", "state", "stage", "contact", "kernel"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap());
            assert!(source(&name).is_some(), "{name} is not in SOURCES");
        }
    }
}
