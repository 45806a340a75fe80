//! Tests of Coulomb's law: a stack on a slope, a strip over a cylinder.

use std::f32::consts::PI;

use poplin::model::{Capsule, ClothDesc, Plane, Shape, Sphere};

use crate::scene::{Kind, Scene, distance, each, set, sheet};

/// Friction of the stack.
const FRICTION: f32 = 0.5;
/// Gravity of a default cloth [m/s^2].
const GRAVITY: f32 = 9.81;
/// Number of sheets in the stack.
const LAYERS: usize = 3;

/// Three sheets on a slope of `factor` times the steepest one that friction holds. Reports how far
/// the last 10 s take them if it holds, else the acceleration of each sheet from 0.2 to 0.4 s,
/// before the upper ones hang over the edge of the lowest.
pub(crate) fn stack(kind: Kind, factor: f32) -> Scene {
    let (sin, cos) = (factor * FRICTION).atan().sin_cos();
    let layer = |layer: usize| {
        let mut cloth = sheet(kind, [16; 2], [0.3; 2]);
        set(&mut cloth, 0.005, FRICTION);
        let height = 0.0026 + 0.005 * layer as f32;
        each(cloth, |[x, _, z]| [cos * x + sin * height, cos * height - sin * x, z])
    };
    let cloths: Vec<ClothDesc> = (0..LAYERS).map(layer).collect();
    let slope = Shape::from(Plane { normal: [sin, cos, 0.0], offset: 0.0 }).into();
    let seconds = if factor < 1.0 { 11.0 } else { 1.0 };
    let scene = Scene::new(cloths, vec![slope], seconds).seen_from(20.0, 15.0);
    let mut before: Vec<[f32; 3]> = Vec::new();
    let holds = move |time: f32, now: &[[f32; 3]]| {
        if time < 1.001 {
            before = now.to_vec();
        }
        let farthest = now.iter().zip(&before).map(|(a, b)| distance(*a, *b)).fold(0.0, f32::max);
        Some(format!("creeps {:.4} mm in {:.0} s", 1e3 * farthest, time - 1.0))
    };
    let mut paths: Vec<[f32; LAYERS]> = Vec::new();
    let slides = move |_: f32, now: &[[f32; 3]]| {
        let each = now.len() / LAYERS;
        let down = |p: &[f32; 3]| p[0] * cos - p[1] * sin;
        let mean = |k: usize| now[k * each..][..each].iter().map(down).sum::<f32>() / each as f32;
        paths.push(std::array::from_fn(mean));
        let [a, b, c, d] = [11, 12, 23, 24].map(|frame| paths.get(frame - 1));
        let (a, b, c, d) = (a?, b?, c?, d?);
        let law = GRAVITY * (sin - FRICTION * cos);
        let ratios = [0, 1, 2].map(|k| {
            let speeds = [b[k] - a[k], d[k] - c[k]].map(|path| 60.0 * path);
            format!("{:.3}", (speeds[1] - speeds[0]) / 0.2 / law)
        });
        Some(format!("{} of the acceleration of the law", ratios.join(", ")))
    };
    match factor < 1.0 {
        true => Scene { watch: Some(Box::new(holds)), ..scene },
        false => Scene { watch: Some(Box::new(slides)), ..scene },
    }
}

/// Strip that hangs over a cylinder, with the longer end `factor` times the length at which it
/// begins to slide. Reports how far the short end rises in 2 s. Drawn before it slides off.
pub(crate) fn capstan(kind: Kind, factor: f32) -> Scene {
    let (radius, thickness, friction, short, width) = (0.1, 0.004, 0.3, 0.15, 0.04);
    let arm = radius + 0.5 * thickness;
    // Tension over weight per length, from the short end over the top: dT/da = arm cos a + friction
    // (T + arm sin a).
    let (steps, mut tension) = (10_000, short);
    for k in 0..steps {
        let angle = PI * (k as f32 + 0.5) / steps as f32;
        tension +=
            PI / steps as f32 * (arm * angle.cos() + friction * (tension + arm * angle.sin()));
    }
    let length = short + PI * arm + factor * tension;
    let mut cloth = sheet(kind, [6, (length / 0.008) as u32], [width, length]);
    set(&mut cloth, thickness, friction);
    let cloth = each(cloth, |[x, _, z]| {
        let s = z + 0.5 * length - short;
        let angle = (s / arm).clamp(0.0, PI);
        let down = (-s).max(s - PI * arm).max(0.0);
        [-arm * angle.cos(), arm * angle.sin() - down, x]
    });
    let ends = [-0.08, 0.08].map(|z| Sphere { center: [0.0, 0.0, z], radius });
    let (mut start, mut rise) = (None, 0.0f32);
    let watch = move |_: f32, now: &[[f32; 3]]| {
        let height = now[..4].iter().map(|p| p[1]).sum::<f32>() / 4.0;
        rise = rise.max(height - *start.get_or_insert(height));
        Some(format!("the short end rises by {:.2} mm", 1e3 * rise))
    };
    let scene = Scene::new(vec![cloth], vec![Shape::from(Capsule { ends }).into()], 2.0);
    Scene { watch: Some(Box::new(watch)), shown: 0.8, ..scene }.seen_from(50.0, 15.0)
}
