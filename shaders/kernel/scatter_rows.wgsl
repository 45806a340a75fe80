#import state/types
#import state/constants

/// Number of rows.
@group(0) @binding(0) var<uniform> scatter_parameters: ScatterParameters;
/// Destination of each row: its buffer in the upper two bits, its row there in the others.
@group(0) @binding(1) var<storage, read> row_addresses: array<u32>;
/// Rows to write.
@group(0) @binding(2) var<storage, read> row_values: array<vec4<u32>>;
/// Parameters of cloths, as rows.
@group(0) @binding(3) var<storage, read_write> parameter_rows: array<vec4<u32>>;
/// Constants of the frame.
@group(0) @binding(4) var<storage, read_write> frame_rows: array<vec4<u32>>;
/// Per-particle inputs.
@group(0) @binding(5) var<storage, read_write> input_rows: array<vec4<u32>>;
/// Particles.
@group(0) @binding(6) var<storage, read_write> particle_rows: array<vec4<u32>>;

/// Writes the rows that changed since the last frame, one per lane; no two rows have the same
/// destination.
@compute @workgroup_size(SCATTER_LANES)
fn scatter_rows(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * SCATTER_LANES + lane;
    if (i < scatter_parameters.row_count) {
        let address = row_addresses[i];
        let row = address & ROW_MASK;
        switch (address & ~ROW_MASK) {
            case ROW_OF_PARAMETERS: {
                parameter_rows[row] = row_values[i];
            }
            case ROW_OF_FRAME: {
                frame_rows[row] = row_values[i];
            }
            case ROW_OF_INPUTS: {
                input_rows[row] = row_values[i];
            }
            default: {
                particle_rows[row] = row_values[i];
            }
        }
    }
}
