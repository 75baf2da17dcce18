// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.GradientReducer;
import io.torchfeed.internal.Checks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.javacpp.BytePointer;

/**
 * A snapshot of the reductions of a {@link DistributedDataParallel} so far, and of their times.
 *
 * @param reductions backward passes that ended with averaged gradients
 * @param waited time from the last gradient of each of them to its end: the cost of the reduction
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
   * Creates a value of its components.
   *
   * @param reductions backward passes that ended with averaged gradients
   * @param waited time from the last gradient of each of them to its end: the cost of the reduction
   * @param communicating time from the start of the first bucket's reduction of each to the end of
   *     the last bucket's; PyTorch's {@code backward_comm_time}. Zero in a group of one rank
   * @param overlapped the part of {@code communicating} in which gradients were still being
   *     computed; PyTorch's {@code backward_compute_comm_overlap_time}
   * @param buckets the buckets, in the order of their reduction; empty in a group of one rank
   */
  public ReductionStats {
    buckets = Checks.copyOf("buckets", buckets);
    requireNonNull(communicating, "communicating");
    requireNonNull(overlapped, "overlapped");
    requireNonNull(waited, "waited");
  }

  /**
   * A bucket of gradients that are reduced together.
   *
   * @param parameters the names of the parameters, in their order in the bucket
   * @param bytes bytes of the gradients in the latest reduction
   * @param sentBytes bytes that this rank sent in the latest reduction, as counted by the
   *     algorithm, without the headers of the network
   * @param reductions reductions since the bucket was formed
   * @param time the time of these reductions
   */
  public record Bucket(
      List<String> parameters, long bytes, long sentBytes, long reductions, Duration time) {
    /**
     * Creates a value of its components.
     *
     * @param parameters the names of the parameters, in their order in the bucket
     * @param bytes bytes of the gradients in the latest reduction
     * @param sentBytes bytes that this rank sent in the latest reduction, as counted by the
     *     algorithm, without the headers of the network
     * @param reductions reductions since the bucket was formed
     * @param time the time of these reductions
     */
    public Bucket {
      parameters = Checks.copyOf("parameters", parameters);
      requireNonNull(time, "time");
    }
  }

  /**
   * Returns the share of the communication that was hidden behind computation.
   *
   * @return in [0, 1]; 0 before the first reduction and in a group of one rank
   */
  public double overlapShare() {
    return communicating.isZero() ? 0 : (double) overlapped.toNanos() / communicating.toNanos();
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%d reductions of %d buckets, %d bytes; waited %.3f s, communicating %.3f s, %.0f %% of"
            + " it overlapped",
        reductions,
        buckets.size(),
        buckets.stream().mapToLong(Bucket::bytes).sum(),
        waited.toNanos() / 1e9,
        communicating.toNanos() / 1e9,
        100 * overlapShare());
  }

  static ReductionStats of(GradientReducer reducer) {
    List<Bucket> buckets = new ArrayList<>();
    for (long i = 0; i < reducer.bucket_count(); i++) {
      try (BytePointer names = reducer.bucket_parameters(i)) {
        buckets.add(
            new Bucket(
                names.getString().lines().toList(),
                reducer.bucket_bytes(i),
                reducer.bucket_sent_bytes(i),
                reducer.bucket_reductions(i),
                Duration.ofNanos(reducer.bucket_nanos(i))));
      }
    }
    return new ReductionStats(
        reducer.reductions(),
        Duration.ofNanos(reducer.reduction_nanos()),
        Duration.ofNanos(reducer.communication_nanos()),
        Duration.ofNanos(reducer.overlapped_nanos()),
        buckets);
  }
}
