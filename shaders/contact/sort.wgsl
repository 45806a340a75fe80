#import contact/buffers

/// Counts row i in its bucket and stores its index there.
fn count_row(i: u32) {
    if (is_met(i)) {
        let bucket = bucket_of(cell_of(contact_rows[i].xyz));
        contact_entries[contact.row_count + i] = atomicAdd(&contact_cells[bucket], 1u);
    }
}

/// Sum of up to 16 counts from `begin` to `end`.
fn sum_counts(begin: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var k = begin; k < min(begin + 16u, end); k++) {
        sum += atomicLoad(&contact_cells[k]);
    }
    return sum;
}

/// Replaces up to 16 counts from `begin` to `end` by their exclusive prefix sums, offset by
/// `before`.
fn spread_counts(begin: u32, end: u32, before: u32) {
    var sum = before;
    for (var k = begin; k < min(begin + 16u, end); k++) {
        let count = atomicLoad(&contact_cells[k]);
        atomicStore(&contact_cells[k], sum);
        sum += count;
    }
}

/// Writes row i into its bucket, in order of arrival.
fn scatter_row(i: u32) {
    if (is_met(i)) {
        let bucket = bucket_of(cell_of(contact_rows[i].xyz));
        let slot = bucket_begin(bucket) + contact_entries[contact.row_count + i];
        contact_entries[2u * contact.row_count + slot] = i;
    }
}

/// Writes row i to its rank in its bucket, the number of rows with a lower index, which does not
/// depend on lane order.
fn rank_row(i: u32) {
    if (is_met(i)) {
        let bucket = bucket_of(cell_of(contact_rows[i].xyz));
        let begin = bucket_begin(bucket);
        let end = bucket_begin(bucket + 1u);
        var rank = 0u;
        for (var k = begin; k < end; k++) {
            rank += u32(contact_entries[2u * contact.row_count + k] < i);
        }
        contact_entries[3u * contact.row_count + begin + rank] = i;
    }
}
