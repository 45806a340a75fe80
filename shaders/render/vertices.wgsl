#import render/buffers

/// Computes the normal of a particle, the area-weighted sum of its triangles' normals.
fn find_normal(particle: u32) {
    let begins = render_instances[instance].surface_begin + particle;
    let following = render_instances[instance].surface_following_begin;
    let end = render_meshes[begins + 1u];
    let x = drawn_position(particle);
    var sum = vec3<f32>(0.0);
    for (var corner = render_meshes[begins]; corner < end; corner++) {
        let next = drawn_position(render_meshes[following + 2u * corner]);
        let last = drawn_position(render_meshes[following + 2u * corner + 1u]);
        sum = add_cross(sum, next - x, last - x);
    }
    render_normals_of[render_instances[instance].normal_begin + particle] = vec4<f32>(unit_normal(sum), 0.0);
}

/// Computes the position of a vertex: a point of its triangle of particles, offset along the
/// interpolated normal.
fn place_vertex(vertex: u32) {
    let binding = render_instances[instance].binding_begin + BINDING_WORDS * vertex;
    let a = render_meshes[binding];
    let b = render_meshes[binding + 1u];
    let c = render_meshes[binding + 2u];
    let weights = bitcast<vec3<f32>>(vec3<u32>(render_meshes[binding + 3u], render_meshes[binding + 4u], render_meshes[binding + 5u]));
    let offset = bitcast<f32>(render_meshes[binding + 6u]);
    var position = weigh(drawn_position(a), drawn_position(b), drawn_position(c), weights);
    let normals = render_instances[instance].normal_begin;
    if (normals != NO_OFFSET) {
        let of_a = render_normals_of[normals + a].xyz;
        let of_b = render_normals_of[normals + b].xyz;
        let of_c = render_normals_of[normals + c].xyz;
        let mixed = weigh(of_a, of_b, of_c, weights);
        let square = dot3(mixed, mixed);
        if (square > MIN_SHADED_SQUARE) {
            position += mixed * (offset / sqrt(square));
        }
    }
    render_vertices[2u * (render_instances[instance].vertex_begin + vertex)] = vec4<f32>(position, 1.0);
}

/// Texture coordinates of a vertex.
fn uv_of(vertex: u32) -> vec2<f32> {
    let row = render_instances[instance].uv_begin + 2u * vertex;
    return vec2<f32>(bitcast<f32>(render_meshes[row]), bitcast<f32>(render_meshes[row + 1u]));
}

/// Computes the normal of a vertex, the area-weighted sum of the normals of its triangles, and its
/// tangent: the direction of the first texture coordinate, summed over its own triangles and made
/// orthogonal to the normal (Lengyel, "Foundations of Game Engine Development, Volume 2:
/// Rendering", 2019, 7.5).
fn orient_vertex(vertex: u32) {
    let begins = render_instances[instance].corner_begin + vertex;
    let following = render_instances[instance].following_begin;
    let begin = render_meshes[begins];
    let end = render_meshes[begins + 1u];
    let own_end = begin + render_meshes[render_instances[instance].own_begin + vertex];
    let tangents = render_instances[instance].tangent_begin;
    let x = placed_position(vertex);
    var sum = vec3<f32>(0.0);
    var along_u = vec3<f32>(0.0);
    var along_v = vec3<f32>(0.0);
    for (var corner = begin; corner < end; corner++) {
        let next = render_meshes[following + 2u * corner];
        let last = render_meshes[following + 2u * corner + 1u];
        let p = placed_position(next) - x;
        let q = placed_position(last) - x;
        sum = add_cross(sum, p, q);
        if (tangents != NO_OFFSET && corner < own_end) {
            let uv = uv_of(vertex);
            let s = uv_of(next) - uv;
            let t = uv_of(last) - uv;
            // Mirrored texture coordinates reverse the sign of the determinant.
            let side = select(1.0, -1.0, s.x * t.y - t.x * s.y < 0.0);
            along_u += (p * t.y - q * s.y) * side;
            along_v += (q * s.x - p * t.x) * side;
        }
    }
    let normal = unit_normal(sum);
    let row = render_instances[instance].vertex_begin + vertex;
    render_vertices[2u * row + 1u] = vec4<f32>(normal, 0.0);
    if (tangents != NO_OFFSET) {
        // Gram-Schmidt: t - n (n . t)
        let flat = along_u - normal * dot3(normal, along_u);
        let square = dot3(flat, flat);
        let side = select(1.0, -1.0, dot3(cross3(normal, along_u), along_v) < 0.0);
        var tangent = any_tangent(normal);
        if (square > MIN_SHADED_SQUARE) {
            tangent = flat * (1.0 / sqrt(square));
        }
        render_tangents[tangents + vertex] = vec4<f32>(tangent, side);
    }
}

/// Arbitrary direction perpendicular to a normal, where the texture defines none.
fn any_tangent(normal: vec3<f32>) -> vec3<f32> {
    if (abs(normal.x) < 0.5) {
        return unit_normal(vec3<f32>(0.0, normal.z, -normal.y));
    }
    return unit_normal(vec3<f32>(-normal.y, normal.x, 0.0));
}
