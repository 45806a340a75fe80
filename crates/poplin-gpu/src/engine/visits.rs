//! Set of cloths that the next frame visits: changed ones, and those that have not settled.

/// Set of cloths by index, or all cloths.
#[derive(Default)]
pub(super) struct Visits {
    list: Vec<usize>,
    is_listed: Vec<bool>,
    is_all: bool,
}

impl Visits {
    /// Adds a cloth to the next frame's visits.
    pub(super) fn add(&mut self, cloth: usize) {
        if cloth >= self.is_listed.len() {
            self.is_listed.resize(cloth + 1, false);
        }
        if !std::mem::replace(&mut self.is_listed[cloth], true) {
            self.list.push(cloth);
        }
    }

    /// Adds every cloth to the next frame's visits.
    pub(super) fn add_all(&mut self) {
        self.is_all = true;
    }

    /// Lists the cloths to visit, of `count`, in the order of adding. They stay in the set until
    /// [`Visits::restart`].
    pub(super) fn fill(&mut self, count: usize, visited: &mut Vec<usize>) {
        visited.clear();
        if self.is_all {
            visited.extend(0..count);
        } else {
            visited.extend_from_slice(&self.list);
            visited.sort_unstable();
        }
    }

    /// Empties the set.
    pub(super) fn restart(&mut self) {
        self.is_all = false;
        self.list.drain(..).for_each(|cloth| self.is_listed[cloth] = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cloth_is_visited_once_in_the_order_of_adding() {
        let (mut visits, mut visited) = (Visits::default(), Vec::new());
        [5, 2, 5, 9].into_iter().for_each(|cloth| visits.add(cloth));
        visits.fill(10, &mut visited);
        assert_eq!(visited, [2, 5, 9]);
        visits.restart();
        visits.fill(10, &mut visited);
        assert_eq!(visited, [0; 0]);
        visits.add(2);
        visits.add_all();
        visits.fill(4, &mut visited);
        assert_eq!(visited, [0, 1, 2, 3]);
    }
}
