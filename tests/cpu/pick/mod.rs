//! Picking: ray casts against cloth, and grabbed particles.

mod grab;
mod ray;

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}
