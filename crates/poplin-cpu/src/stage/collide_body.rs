//! Twin of `shaders/stage/collide_body.wgsl`.

use glam::Vec3;
use poplin_layout::{BODY_INPUT_ROWS, BODY_ROWS, CHUNK, CHUNK_ROWS, chunk_count};

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::math::{cross3, dot3, particle as pack, xyz};
use crate::shapes::Shape;
use crate::stage::collide_box::touch_box;
use crate::stage::collide_convex::{approach_convex, touch_convex};
use crate::stage::collide_shape::{touch_capsule, touch_sphere};
use crate::stage::collide_triangle::touch_mesh;

/// Rigid body in the current iteration.
struct Body {
    center: Vec3,
    inverse_mass: f32,
    velocity: Vec3,
    restitution: f32,
    angular_velocity: Vec3,
    contact_mass: f32,
    pin_count: f32,
    inverse_inertia: [Vec3; 3],
}

/// First row of the accumulated impulses of body b.
fn body_row(memory: &ClothMemory<'_>, b: u32) -> u32 {
    memory.cloth.colliders.impulse_begin + BODY_ROWS * b
}

/// First row of the sums of chunk c for body b.
fn chunk_row(memory: &ClothMemory<'_>, c: u32, b: u32) -> u32 {
    let bodies = memory.cloth.colliders.body_count;
    memory.cloth.colliders.impulse_begin + BODY_ROWS * bodies + CHUNK_ROWS * (c * bodies + b)
}

fn multiply(m: &[Vec3; 3], v: Vec3) -> Vec3 {
    m[0] * v.x + m[1] * v.y + m[2] * v.z
}

fn body_input(memory: &ClothMemory<'_>, b: u32, row: u32) -> [f32; 4] {
    memory.input_row(memory.cloth.colliders.body_begin + BODY_INPUT_ROWS * b + row)
}

fn body_lists(memory: &ClothMemory<'_>, b: u32, row: u32) -> [u32; 4] {
    memory.input_pool[(memory.cloth.colliders.body_begin + BODY_INPUT_ROWS * b + row) as usize]
}

/// Loads body b with the impulses that it has received in this frame.
fn load_body(memory: &ClothMemory<'_>, b: u32) -> Body {
    let row = body_row(memory, b);
    let [center, velocity, angular_velocity] = [0, 1, 2].map(|k| body_input(memory, b, k));
    let inverse_inertia = [3, 4, 5].map(|k| xyz(body_input(memory, b, k)));
    // Impulses of earlier frames are not cleared: in the first iteration they count as 0.
    let is_later = f32::from(u8::from(memory.iteration.bias[3] > 0.0));
    let linear = xyz(memory.load_scratch(row)) * is_later;
    let angular = xyz(memory.load_scratch(row + 1)) * is_later;
    let time = memory.iteration.velocity_scale[3] / memory.cloth.colliders.iteration_fraction
        * memory.cloth.colliders.step;
    Body {
        center: xyz(center) + xyz(velocity) * time,
        inverse_mass: center[3],
        velocity: xyz(velocity) + linear * center[3],
        restitution: velocity[3],
        angular_velocity: xyz(angular_velocity) + multiply(&inverse_inertia, angular),
        contact_mass: memory.load_scratch(row + 2)[0],
        pin_count: memory.load_scratch(row + 2)[1],
        inverse_inertia,
    }
}

/// Collects the contacts of particle i with all shapes of body b.
fn touch_body(memory: &mut ClothMemory<'_>, b: u32, i: u32, x: Vec3) -> Contacts<f32> {
    let round = body_lists(memory, b, 6);
    let flat = body_lists(memory, b, 7);
    let (mut contacts, at) = (Contacts::new(()), x.into());
    for k in flat[0]..flat[0] + flat[1] {
        let convex = Shape::of(&*memory, memory.load_index(k));
        if touch_convex((), &convex, at, &mut contacts) {
            approach_convex((), &convex, at, &mut contacts);
        }
    }
    for k in flat[2]..flat[2] + flat[3] {
        touch_box((), &Shape::of(&*memory, memory.load_index(k)), at, &mut contacts);
    }
    if body_input(memory, b, 2)[3] > 0.0 {
        touch_mesh(memory, i, x, &mut contacts);
    }
    for k in round[2]..round[2] + round[3] {
        touch_capsule((), &Shape::of(&*memory, memory.load_index(k)), at, &mut contacts);
    }
    for k in round[0]..round[0] + round[1] {
        touch_sphere((), &Shape::of(&*memory, memory.load_index(k)), at, &mut contacts);
    }
    contacts
}

/// Velocity of a particle at x relative to the body's surface [m/s].
fn approach(memory: &ClothMemory<'_>, body: &Body, x: Vec3, before: Vec3) -> Vec3 {
    (x - before) / memory.cloth.colliders.step
        - body.velocity
        - cross3(body.angular_velocity, x - body.center)
}

/// Returns the number by which the body's response is divided among its contacts (mass splitting).
fn body_split(body: &Body, w: f32) -> f32 {
    (body.contact_mass * w).max(f32::from(u8::from(body.contact_mass > 0.0))) + body.pin_count
}

/// Returns the inverse mass of the body at a contact along a direction, times the split.
fn body_response(body: &Body, arm: Vec3, direction: Vec3, split: f32) -> f32 {
    let torque = cross3(arm, direction);
    // w + (r x n) . I^-1 (r x n)
    (body.inverse_mass + dot3(torque, multiply(&body.inverse_inertia, torque))) * split
}

/// Contact of a particle with a body.
struct Meeting {
    i: u32,
    particle: [f32; 4],
    before: [f32; 4],
    contacts: Contacts<f32>,
    normal: Vec3,
    velocity: Vec3,
    speed: f32,
}

/// Finds the particles of chunk c that touch bodies: counts their masses in the first visit,
/// exchanges impulses in the second.
pub fn visit_chunk(memory: &mut ClothMemory<'_>, c: u32) {
    let is_counting = memory.registers.is_counting;
    let end = ((c + 1) * CHUNK).min(memory.cloth.particle_count);
    for b in 0..memory.cloth.colliders.body_count {
        let body = load_body(memory, b);
        let (mut linear, mut angular, mut count) = (Vec3::ZERO, Vec3::ZERO, 0.0);
        for i in c * CHUNK..end {
            let particle = memory.load_current(i);
            let before = memory.load_previous(i);
            let contacts = touch_body(memory, b, i, xyz(particle));
            let push_square = contacts.push.dot(contacts.push);
            if push_square > 0.0 {
                let normal = (contacts.push / push_square.sqrt()).into();
                let velocity = approach(memory, &body, xyz(particle), xyz(before));
                let speed = dot3(velocity, normal);
                if is_counting {
                    // First visit: contact masses in x, contacts of pinned particles in y.
                    if speed < 0.0 && before[3] > 0.0 {
                        linear.x += 1.0 / before[3];
                    } else if speed < 0.0 {
                        linear.y += 1.0;
                    }
                } else {
                    let meeting =
                        Meeting { i, particle, before, contacts, normal, velocity, speed };
                    let impulse = exchange(memory, &body, &meeting);
                    linear -= impulse;
                    angular -= cross3(xyz(particle) - body.center, impulse);
                    count += 1.0;
                }
            }
        }
        let row = chunk_row(memory, c, b);
        memory.store_scratch(row, pack(linear, count));
        memory.store_scratch(row + 1, pack(angular, 0.0));
    }
}

/// Exchanges an impulse with restitution and Coulomb friction between a particle and a body;
/// returns the impulse on the particle.
fn exchange(memory: &mut ClothMemory<'_>, body: &Body, meeting: &Meeting) -> Vec3 {
    let Meeting { i, particle, before, contacts, normal, velocity, speed } = *meeting;
    let arm = xyz(particle) - body.center;
    let split = body_split(body, before[3]);
    let response = before[3] + body_response(body, arm, normal, split);
    let (mut impulse, mut drag) = (Vec3::ZERO, Vec3::ZERO);
    if speed < 0.0 && response > 0.0 {
        // j = -(1 + e) v_n / (w + w_body)
        let strength = -(1.0 + body.restitution) * speed / response;
        impulse = normal * strength;
        let slide = velocity - normal * speed;
        let slide_square = dot3(slide, slide);
        if slide_square > 0.0 {
            let slide_speed = slide_square.sqrt();
            let tangent = slide / slide_speed;
            // Impulse that stops the sliding; Coulomb friction is at most this.
            let stop = slide_speed / (before[3] + body_response(body, arm, tangent, split));
            drag = tangent
                * (memory.cloth.colliders.friction * contacts.friction_factor() * strength)
                    .min(stop);
        }
    }
    if particle[3] > 0.0 {
        let mut push = Vec3::from(contacts.mean_push());
        let limit = memory.cloth.colliders.depenetration_step;
        if contacts.is_deep(limit) {
            let displacement = velocity * memory.cloth.colliders.step;
            push *= contacts.push_fractions((), displacement.into(), limit)[0];
        }
        // The impulse changes the velocity: the previous position moves against it. Friction that
        // holds moves the particle back instead, so that it does not creep.
        let reach = before[3] * memory.cloth.colliders.step;
        let mut position = xyz(particle) + push;
        let mut start = xyz(before) + push - impulse * reach;
        if memory.cloth.colliders.friction_holds != 0 {
            position -= drag * reach;
        } else {
            start += drag * reach;
        }
        memory.store_current(i, pack(position, particle[3]));
        memory.store_previous(i, pack(start, before[3]));
    }
    impulse - drag
}

/// Adds the sums of all chunks for body b.
pub fn sum_chunks(memory: &mut ClothMemory<'_>, b: u32) {
    let is_counting = memory.registers.is_counting;
    let row = body_row(memory, b);
    let mut linear = [0.0; 4];
    let mut angular = [0.0; 4];
    // The first iteration of a frame starts from 0.
    if !is_counting || memory.iteration.bias[3] > 0.0 {
        linear = memory.load_scratch(row);
        angular = memory.load_scratch(row + 1);
    }
    let mut weight = [0.0; 4];
    for c in 0..chunk_count(memory.cloth.particle_count) {
        let chunk = chunk_row(memory, c, b);
        let found = memory.load_scratch(chunk);
        if is_counting {
            weight = std::array::from_fn(|k| weight[k] + found[k]);
        } else {
            let angular_found = memory.load_scratch(chunk + 1);
            linear = std::array::from_fn(|k| linear[k] + found[k]);
            angular = std::array::from_fn(|k| angular[k] + angular_found[k]);
        }
    }
    memory.store_scratch(row, linear);
    memory.store_scratch(row + 1, angular);
    memory.store_scratch(row + 2, weight);
}
