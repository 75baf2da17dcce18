// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/**
 * What becomes of a batch of which a sample cannot be made.
 *
 * @param retries how often the sample is tried again first, at least 0
 * @param skip whether the sample is left out of its batch then; else the batch is lost, and {@link
 *     Batches#next} throws the {@link SampleException}
 */
public record FailurePolicy(int retries, boolean skip) {
  /**
   * A policy.
   *
   * @param retries how often the sample is tried again first, at least 0
   * @param skip whether the sample is left out of its batch then
   * @throws IllegalArgumentException if {@code retries} is negative
   */
  public FailurePolicy {
    if (retries < 0) {
      throw new IllegalArgumentException("retries must be at least 0, got " + retries);
    }
  }

  /**
   * The consumer gets the exception at the batch, and may go on with the next one.
   *
   * @return the policy
   */
  public static FailurePolicy stop() {
    return new FailurePolicy(0, false);
  }

  /**
   * The sample is left out; a batch that has none left is empty.
   *
   * @return the policy
   */
  public static FailurePolicy skipSample() {
    return new FailurePolicy(0, true);
  }

  /**
   * This policy after so many more attempts, at once and on the same worker.
   *
   * @param times how often, at least 0
   * @return the new policy
   * @throws IllegalArgumentException if {@code times} is negative
   */
  public FailurePolicy afterRetries(int times) {
    return new FailurePolicy(times, skip);
  }
}
