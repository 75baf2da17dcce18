// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * A policy for batches with a sample that cannot be produced.
 *
 * @param retries the number of times that the sample is retried first, at least 0
 * @param skip whether the sample is then left out of its batch; otherwise the batch is lost, and
 *     {@link io.torchfeed.data.loader.Batches#next} throws the {@link SampleException}
 */
public record FailurePolicy(int retries, boolean skip) {
  /**
   * Creates a policy.
   *
   * @param retries the number of times that the sample is retried first, at least 0
   * @param skip whether the sample is then left out of its batch
   * @throws IllegalArgumentException if {@code retries} is negative
   */
  public FailurePolicy {
    if (retries < 0) {
      throw new IllegalArgumentException("retries must be at least 0, got " + retries);
    }
  }

  /**
   * Returns the policy that throws the exception in place of the batch; the consumer may continue
   * with the next batch.
   *
   * @return the policy
   */
  public static FailurePolicy report() {
    return new FailurePolicy(0, false);
  }

  /**
   * Returns the policy that leaves the sample out; a batch with no samples left is empty. {@link
   * io.torchfeed.data.loader.LoaderStats#skippedSamples} lists samples that were left out.
   *
   * @return the policy
   */
  public static FailurePolicy skipSample() {
    return new FailurePolicy(0, true);
  }

  /**
   * Returns this policy, applied only after the given number of retries, which follow immediately
   * on the same worker.
   *
   * @param times the number of retries, at least 0
   * @return the new policy
   * @throws IllegalArgumentException if {@code times} is negative
   */
  public FailurePolicy afterRetries(int times) {
    return new FailurePolicy(times, skip);
  }
}
