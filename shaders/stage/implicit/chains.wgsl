#import stage/implicit/models
#import stage/implicit/rates
#import stage/implicit/chain_blocks

/// Factors the part of I + h^2 M^-1/2 H M^-1/2 along a chain into L D L^T, block by block (block
/// Thomas algorithm).
///
/// H is the Hessian of stretch, shear and contact at the start of the solve, plus the upper bound
/// of bending in all directions. Couplings to particles outside the chain count only in the
/// diagonal blocks. With A_k the diagonal and C_k the coupling block of link k:
///   L_k = C_k D_k-1^-1,   D_k = A_k - L_k C_k^T.
fn factor_chain(chain: u32) {
    let step_square = load_implicit().step_square;
    let corners = cloth.fabric.corner_begin + cloth.particle_count + 1u;
    let end = chain_begin(chain + 1u);
    var previous = NO_OFFSET;
    var root_before = 0.0;
    // Inverse of the last D: its diagonal, and xy, xz, yz.
    var diagonal = vec3<f32>(0.0);
    var beside = vec3<f32>(0.0);
    for (var k = chain_begin(chain); k < end; k++) {
        let i = link_particle(k);
        let inverse_mass = load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w;
        let root = sqrt(max(inverse_mass, 0.0));
        var pivot = Block(vec3<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0));
        var coupling = pivot;
        if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
            if (stretches_springs()) {
                // The diagonal block sums all springs; only the one to the previous link couples.
                let list = spring_list(false);
                let spring_end_of_i = fabric_pool[list + i + 1u];
                for (var s = fabric_pool[list + i]; s < spring_end_of_i; s++) {
                    let spring = spring_words(list) + 2u * s;
                    let block = spring_block(spring, i);
                    pivot = Block(pivot.x + block.x, pivot.y + block.y, pivot.z + block.z);
                    if (spring_end(spring, i) == previous) {
                        coupling = Block(coupling.x - block.x, coupling.y - block.y, coupling.z - block.z);
                    }
                }
            }
        }
        if ((STAGES & IMPLICIT_TRIANGLES) != 0u) {
            let corner_end = select(fabric_pool[cloth.fabric.corner_begin + i + 1u], 0u, stretches_springs());
            for (var c = fabric_pool[cloth.fabric.corner_begin + i]; c < corner_end; c++) {
                let entry = fabric_pool[corners + c];
                let t = entry / 3u;
                // The same for triangles: diagonal block of the corner, coupling to the previous
                // link.
                let own = corner_weights(t, entry % 3u);
                let block = corner_block(t, own, own);
                pivot = Block(pivot.x + block.x, pivot.y + block.y, pivot.z + block.z);
                for (var other = 0u; other < 3u; other++) {
                    if (fabric_pool[cloth.fabric.triangle_begin + 3u * t + other] == previous) {
                        let beyond = corner_block(t, own, corner_weights(t, other));
                        coupling = Block(coupling.x + beyond.x, coupling.y + beyond.y, coupling.z + beyond.z);
                    }
                }
            }
        }
        let plane = load_scratch(solve_row(SOLVE_PLANES, i)).xyz;
        let held = plane * load_implicit().contact_stiffness;
        let bend = bend_rate(i);
        let scale = step_square * inverse_mass;
        // Contact adds kc n n^T, bending its rate on the diagonal.
        let own_diagonal = vec3<f32>(pivot.x.x, pivot.y.y, pivot.z.z) + held * plane + bend;
        let own_beside = vec3<f32>(pivot.y.x, pivot.z.x, pivot.z.y) + held.xxy * plane.yzz;
        // Off-diagonal blocks scale with h^2 sqrt(w_k w_k-1).
        let between = step_square * (root * root_before);
        let c0 = coupling.x * between;
        let c1 = coupling.y * between;
        let c2 = coupling.z * between;
        // L = C D^-1 of the previous link, column by column.
        let l0 = c0 * diagonal.x + c1 * beside.x + c2 * beside.y;
        let l1 = c0 * beside.x + c1 * diagonal.y + c2 * beside.z;
        let l2 = c0 * beside.y + c1 * beside.z + c2 * diagonal.z;
        // D = I + h^2 w H - L C^T, symmetric: diagonal d, and o with xy, xz, yz.
        let d = 1.0 + own_diagonal * scale - (l0 * c0 + l1 * c1 + l2 * c2);
        let o = own_beside * scale - (l0.xxy * c0.yzz + l1.xxy * c1.yzz + l2.xxy * c2.yzz);
        // Inverse of D by cofactors; rounding may spoil a nearly singular one: then only the
        // diagonal is kept.
        let cofactors = vec3<f32>(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
        let minors = vec3<f32>(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
        let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
        if (determinant >= MIN_DETERMINANT) {
            diagonal = cofactors / determinant;
            beside = minors / determinant;
        } else {
            diagonal = 1.0 / (1.0 + own_diagonal * scale);
            beside = vec3<f32>(0.0);
        }
        let row = link_row(k);
        store_scratch(row, vec4<f32>(l0, diagonal.x));
        store_scratch(row + 1u, vec4<f32>(l1, diagonal.y));
        store_scratch(row + 2u, vec4<f32>(l2, diagonal.z));
        store_scratch(row + 3u, vec4<f32>(beside, root));
        previous = i;
        root_before = root;
    }
}

/// Solves a chain for the residuals of its particles divided by the roots of their inverse masses.
///
///   forward:  y_k = b_k - L_k y_k-1,   back:  x_k = D_k^-1 y_k - L_k+1^T x_k+1.
fn solve_chain(chain: u32) {
    let begin = chain_begin(chain);
    let end = chain_begin(chain + 1u);
    // Chains of the second family follow those of the first, which cover all particles.
    let values = select(0u, cloth.particle_count, begin >= cloth.particle_count);
    var last = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        let i = link_particle(k);
        let row = link_row(k);
        let root = load_scratch(row + 3u).w;
        var value = vec3<f32>(0.0);
        if (root > 0.0) {
            value = load_scratch(solve_row(SOLVE_TRIALS, i)).xyz / root;
        }
        value -= load_scratch(row).xyz * last.x + load_scratch(row + 1u).xyz * last.y + load_scratch(row + 2u).xyz * last.z;
        store_scratch(chain_value_row(values + i), vec4<f32>(value, 0.0));
        last = value;
    }
    var carried = vec3<f32>(0.0);
    for (var k = end; k > begin; k--) {
        let i = link_particle(k - 1u);
        let row = link_row(k - 1u);
        let l0 = load_scratch(row);
        let l1 = load_scratch(row + 1u);
        let l2 = load_scratch(row + 2u);
        let beside = load_scratch(row + 3u);
        let entry = chain_value_row(values + i);
        let value = load_scratch(entry).xyz;
        let solved = vec3<f32>(
            l0.w * value.x + beside.x * value.y + beside.y * value.z,
            beside.x * value.x + l1.w * value.y + beside.z * value.z,
            beside.y * value.x + beside.z * value.y + l2.w * value.z,
        ) - carried;
        store_scratch(entry, vec4<f32>(solved, 0.0));
        carried = vec3<f32>(dot3(l0.xyz, solved), dot3(l1.xyz, solved), dot3(l2.xyz, solved));
    }
}
