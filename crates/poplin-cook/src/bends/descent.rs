//! Least squares with weights that are not negative, by accelerated projected gradients.

/// Iterations of the power method for the largest eigenvalue.
const POWER_ITERATIONS: usize = 12;

/// Margin on that eigenvalue.
const MARGIN: f64 = 1.2;

/// A problem: minimise `w.H w / 2 - b.w + ridge |w|^2 / 2`.
pub(super) trait Normal {
    /// Computes `H w`.
    fn multiply(&self, weights: &[f64], products: &mut [f64]);
}

/// State of the search (Beck and Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm",
/// 2009, restarted where it overshoots, as O'Donoghue and Candes, 2015).
pub(super) struct Descent<'a, P> {
    problem: &'a P,
    aim: Vec<f64>,
    ridge: f64,
    /// Weights found.
    pub(super) weights: Vec<f64>,
}

impl<'a, P: Normal> Descent<'a, P> {
    /// Starts from given weights.
    pub(super) fn new(problem: &'a P, aim: Vec<f64>, weights: Vec<f64>, ridge: f64) -> Self {
        Self { problem, aim, ridge, weights }
    }

    /// Iterates; `bias` favours few weights.
    pub(super) fn run(&mut self, iterations: usize, bias: f64) {
        let count = self.weights.len();
        let mut gradient = vec![0.0; count];
        let length = self.largest_eigenvalue(&mut gradient) * MARGIN;
        let (mut ahead, mut momentum) = (self.weights.clone(), 1.0f64);
        for _ in 0..iterations {
            self.problem.multiply(&ahead, &mut gradient);
            let mut overshoot = 0.0;
            let mut next = vec![0.0; count];
            for k in 0..count {
                let slope = gradient[k] + self.ridge * ahead[k] - self.aim[k] + bias;
                next[k] = (ahead[k] - slope / length).max(0.0);
                overshoot += (ahead[k] - next[k]) * (next[k] - self.weights[k]);
            }
            let last = std::mem::replace(&mut self.weights, next);
            if overshoot > 0.0 {
                momentum = 1.0;
                ahead.copy_from_slice(&self.weights);
                continue;
            }
            let grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let share = (momentum - 1.0) / grown;
            for k in 0..count {
                ahead[k] = self.weights[k] + share * (self.weights[k] - last[k]);
            }
            momentum = grown;
        }
    }

    /// Largest eigenvalue of `H` plus the ridge, nearly.
    fn largest_eigenvalue(&self, products: &mut [f64]) -> f64 {
        let mut vector = vec![1.0; self.weights.len()];
        let mut value = 1.0;
        for _ in 0..POWER_ITERATIONS {
            self.problem.multiply(&vector, products);
            let mut square = 0.0;
            for k in 0..vector.len() {
                vector[k] = products[k] + self.ridge * vector[k];
                square += vector[k] * vector[k];
            }
            value = square.sqrt().max(f64::MIN_POSITIVE);
            vector.iter_mut().for_each(|it| *it /= value);
        }
        value
    }
}
