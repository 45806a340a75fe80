//! Shapes in the array form of reference cases, converted to typed colliders.

use poplin_model::{
    BodyId, Capsule, Collider, ColliderId, ColliderSet, ModelError, Parallelepiped, Placement,
    Plane, Pose, Rigid, RigidBody, Shape, Sphere, TriangleMesh,
};

/// Arrays of spheres and planes, with index lists for capsules and convexes: the input form of the
/// program that measured the reference cases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShapeArrays {
    /// Center and radius of each sphere \[m\].
    pub spheres: Vec<[f32; 4]>,
    /// Indices of the two end spheres of each capsule.
    pub capsules: Vec<[u32; 2]>,
    /// Unit normal `n` and offset `d` of each plane \[m\]: a point `x` with `n . x + d < 0` is
    /// behind it. Planes that belong to no convex have no effect.
    pub planes: Vec<[f32; 4]>,
    /// Plane indices of each convex.
    pub convexes: Vec<Vec<u32>>,
    /// Boxes.
    pub boxes: Vec<Parallelepiped>,
    /// Vertices of the triangle mesh \[m\].
    pub mesh_vertices: Vec<[f32; 3]>,
    /// Triangles of the mesh.
    pub mesh_triangles: Vec<[u32; 3]>,
    /// Rigid bodies and their shapes.
    pub bodies: Vec<ArrayBody>,
}

/// Rigid body and the indices of its shapes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArrayBody {
    /// Sphere indices; end spheres of its capsules need not be listed.
    pub spheres: Vec<u32>,
    /// Capsule indices.
    pub capsules: Vec<u32>,
    /// Convex indices.
    pub convexes: Vec<u32>,
    /// Box indices.
    pub boxes: Vec<u32>,
    /// True if the mesh belongs to the body.
    pub has_mesh: bool,
    /// Parameters and motion of the body.
    pub body: RigidBody,
}

fn plane([x, y, z, d]: [f32; 4]) -> Plane {
    Plane { normal: [x, y, z], offset: -d }
}

fn look_up<T: Copy>(
    what: &'static str,
    array: &[T],
    position: usize,
    index: u32,
) -> Result<T, ModelError> {
    let count = array.len();
    let missing = ModelError::IndexOutOfRange { what, position, index, count };
    array.get(index as usize).copied().ok_or(missing)
}

impl ShapeArrays {
    /// Creates a collider set from these shapes.
    ///
    /// # Errors
    /// [`ModelError`] if a value or index is out of range.
    pub fn to_set(&self) -> Result<ColliderSet, ModelError> {
        let mut set = ColliderSet::new();
        self.reach(&mut set)?;
        Ok(set)
    }

    /// Moves a set that was created from such arrays to these shapes over the next frame. If the
    /// number of shapes of a kind has changed, they take effect at once.
    ///
    /// # Errors
    /// [`ModelError`] if a value or index is out of range; the set may then contain some of the new
    /// shapes.
    pub fn reach(&self, set: &mut ColliderSet) -> Result<(), ModelError> {
        let shapes = self.shapes()?;
        let old: Vec<(ColliderId, Shape)> =
            set.iter().map(|(id, collider)| (id, collider.shape.clone())).collect();
        let is_same = |(old, new): (&(ColliderId, Shape), &(Shape, Option<usize>))| {
            std::mem::discriminant(&old.1) == std::mem::discriminant(&new.0)
        };
        if old.len() != shapes.len() || !old.iter().zip(&shapes).all(is_same) {
            return self.replace(set, shapes);
        }
        let bodies = self.put_bodies(set)?;
        for ((id, _), (shape, body)) in old.iter().zip(shapes) {
            set.set_shape(*id, shape)?;
            set.attach(*id, body.map(|body| bodies[body]))?;
        }
        Ok(())
    }

    /// Sets a collider set to these shapes at once, without motion over the frame.
    ///
    /// # Errors
    /// Same errors as [`ShapeArrays::reach`].
    pub fn put(&self, set: &mut ColliderSet) -> Result<(), ModelError> {
        self.reach(set)?;
        let ids: Vec<ColliderId> = set.iter().map(|(id, _)| id).collect();
        for (id, (shape, _)) in ids.into_iter().zip(self.shapes()?) {
            set.replace_shape(id, shape)?;
        }
        Ok(())
    }

    /// Rebuilds the set. Kinds with the same number of shapes as before start from their previous
    /// shapes.
    fn replace(
        &self,
        set: &mut ColliderSet,
        shapes: Vec<(Shape, Option<usize>)>,
    ) -> Result<(), ModelError> {
        let starts: Vec<Shape> = set.motions().map(|motion| motion.start_shape.clone()).collect();
        set.clear();
        let bodies = self.put_bodies(set)?;
        let count = |shapes: &mut dyn Iterator<Item = &Shape>, kind: &Shape| {
            let kind = std::mem::discriminant(kind);
            shapes.filter(|shape| std::mem::discriminant(*shape) == kind).count()
        };
        for (position, (shape, body)) in shapes.iter().enumerate() {
            let body = body.map(|body| bodies[body]);
            let of_kind = |shape: &&Shape| {
                std::mem::discriminant(*shape) == std::mem::discriminant(&shapes[position].0)
            };
            let is_kept = count(&mut starts.iter(), shape)
                == count(&mut shapes.iter().map(|(shape, _)| shape), shape);
            let ordinal = count(&mut shapes[..position].iter().map(|(shape, _)| shape), shape);
            let start = starts.iter().filter(of_kind).nth(ordinal).filter(|_| is_kept);
            let first = start.unwrap_or(shape).clone();
            let id = set.add(Collider { body, ..Collider::from(first) })?;
            set.set_shape(id, shape.clone())?;
        }
        Ok(())
    }

    /// Updates the bodies of the set and returns their handles.
    fn put_bodies(&self, set: &mut ColliderSet) -> Result<Vec<BodyId>, ModelError> {
        let ids: Vec<BodyId> = set.bodies().map(|(id, _)| id).collect();
        if ids.len() == self.bodies.len() {
            for (id, own) in ids.iter().zip(&self.bodies) {
                set.set_body(*id, own.body)?;
            }
            return Ok(ids);
        }
        ids.into_iter().try_for_each(|id| set.remove_body(id).map(drop))?;
        self.bodies.iter().map(|own| set.add_body(own.body)).collect()
    }

    /// Every shape with its body, in this order: spheres that end no capsule, capsules, convexes,
    /// boxes, the mesh.
    fn shapes(&self) -> Result<Vec<(Shape, Option<usize>)>, ModelError> {
        let body = |of: &dyn Fn(&ArrayBody) -> bool| self.bodies.iter().position(of);
        let mut shapes = Vec::new();
        let mut is_end = vec![false; self.spheres.len()];
        let mut capsules = Vec::with_capacity(self.capsules.len());
        for (position, &[a, b]) in self.capsules.iter().enumerate() {
            let end = |index| look_up("capsules", &self.spheres, position, index).map(Sphere::from);
            let ends = [end(a)?, end(b)?];
            (is_end[a as usize], is_end[b as usize]) = (true, true);
            let owner = body(&|it| it.capsules.contains(&(position as u32)));
            capsules.push((Shape::from(Capsule { ends }), owner));
        }
        for (position, &row) in self.spheres.iter().enumerate().filter(|(k, _)| !is_end[*k]) {
            let owner = body(&|it| it.spheres.contains(&(position as u32)));
            shapes.push((Sphere::from(row).into(), owner));
        }
        shapes.append(&mut capsules);
        for (position, convex) in self.convexes.iter().enumerate() {
            let side = |(k, &index): (usize, &u32)| {
                look_up("planes of a convex", &self.planes, k, index).map(plane)
            };
            let planes = convex.iter().enumerate().map(side).collect::<Result<Vec<_>, _>>()?;
            let owner = body(&|it| it.convexes.contains(&(position as u32)));
            shapes.push((Shape::Convex(planes.into()), owner));
        }
        for (position, &shape) in self.boxes.iter().enumerate() {
            let owner = body(&|it| it.boxes.contains(&(position as u32)));
            shapes.push((shape.into(), owner));
        }
        if !self.mesh_triangles.is_empty() {
            let (vertices, triangles) =
                (self.mesh_vertices.clone().into(), self.mesh_triangles.clone().into());
            shapes.push((TriangleMesh { vertices, triangles }.into(), body(&|it| it.has_mesh)));
        }
        Ok(shapes)
    }
}

/// Box centered at `pose` that extends `half_extents` \[m\] along its axes.
pub fn cuboid(pose: Pose, half_extents: [f32; 3]) -> Parallelepiped {
    let at = Placement::new(1.0, Rigid::new(pose));
    let Parallelepiped { corner, edges } = Parallelepiped::cuboid(half_extents);
    Parallelepiped { corner: at.point(corner), edges: edges.map(|edge| at.edge(edge)) }
}
