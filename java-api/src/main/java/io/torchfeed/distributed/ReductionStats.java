// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * A snapshot of what a {@link DistributedDataParallel} has reduced so far, and how long it took.
 *
 * @param reductions backward passes that ended with averaged gradients
 * @param waited time from the last gradient of each of them to its end: what the reduction costs
 * @param communicating time from the start of the first bucket's reduction of each to the end of
 *     the last bucket's; PyTorch's {@code backward_comm_time}. Zero in a group of one rank
 * @param overlapped the part of {@code communicating} in which gradients were still being computed;
 *     PyTorch's {@code backward_compute_comm_overlap_time}
 * @param buckets the buckets, in the order of their reduction; empty in a group of one rank
 */
public record ReductionStats(
    long reductions,
    Duration waited,
    Duration communicating,
    Duration overlapped,
    List<Bucket> buckets) {

  /**
   * A bucket of gradients that are reduced together.
   *
   * @param parameters the names of the parameters, in their order in the bucket
   * @param bytes bytes of the gradients in the latest reduction
   * @param reductions reductions since the bucket was formed
   * @param time the time of these reductions
   */
  public record Bucket(List<String> parameters, long bytes, long reductions, Duration time) {
    /**
     * Copies the list.
     *
     * @param parameters the names of the parameters
     * @param bytes bytes of the gradients
     * @param reductions reductions since the bucket was formed
     * @param time the time of these reductions
     */
    public Bucket {
      parameters = List.copyOf(parameters);
    }
  }

  /**
   * Copies the list.
   *
   * @param reductions backward passes that ended with averaged gradients
   * @param waited time from the last gradient of each to its end
   * @param communicating time from the start of the first reduction of each to the last one's end
   * @param overlapped the part of it in which gradients were still being computed
   * @param buckets the buckets, in the order of their reduction
   */
  public ReductionStats {
    buckets = List.copyOf(buckets);
  }

  /**
   * Returns the share of the communication that was hidden behind computation.
   *
   * @return in [0, 1]; 0 before the first reduction
   */
  public double overlapShare() {
    return communicating.isZero() ? 0 : (double) overlapped.toNanos() / communicating.toNanos();
  }

  @Override
  public String toString() {
    long bytes = buckets.stream().mapToLong(Bucket::bytes).sum();
    return String.format(
        Locale.ROOT,
        "%d reductions of %d buckets, %d bytes; waited %.3f s, communicating %.3f s, %.0f %% of it"
            + " overlapped",
        reductions,
        buckets.size(),
        bytes,
        waited.toNanos() / 1e9,
        communicating.toNanos() / 1e9,
        100 * overlapShare());
  }
}
