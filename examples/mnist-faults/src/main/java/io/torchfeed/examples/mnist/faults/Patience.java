// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.util.concurrent.TimeUnit;

/**
 * The time that a job may stand still while something is waited for. It begins again with each step
 * that the ranks complete, so that a machine may be slow. Not thread-safe.
 */
final class Patience {
  private final Job job;
  private long step;
  private long since = System.nanoTime();

  Patience(Job job) {
    this.job = job;
    this.step = job.step();
  }

  /**
   * Continues.
   *
   * @param what is waited for
   * @throws Job.HungException if the ranks have completed no step for too long
   */
  void require(String what) {
    long now = job.step(); // less than before where a rank is lost
    if (now > step) {
      since = System.nanoTime();
    }
    step = now;
    if (System.nanoTime() - since > TimeUnit.SECONDS.toNanos(Job.LIMIT_SECONDS)) {
      throw new Job.HungException(what);
    }
  }
}
