// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.util.Locale;

/** The kinds of fault. */
enum Fault {
  KILLED(100, 3, 4, "a rank is killed at any moment"),
  STOPPED(30, 3, 4, "a rank is stopped; it wakes up when the others continue without it"),
  EXCEPTION(20, 3, 4, "a rank's own code throws in a step"),
  JOINED(20, 2, 3, "a process joins"),
  LEFT(10, 3, 4, "a rank leaves as planned"),
  KILLED_REFORMING(10, 4, 4, "a second rank is killed while the others re-form"),
  KILLED_TRANSFER(10, 2, 3, "a process is killed while it gets the state"),
  KILLED_LAST_STEP(10, 3, 4, "a rank is killed at the last step of an epoch"),
  KILLED_CHECKPOINT(10, 3, 4, "rank 0 is killed while it writes a checkpoint"),
  TOO_FEW(10, 2, 3, "fewer than the minimum are left; replacements come"),
  RANK_ZERO(10, 3, 4, "rank 0 is killed at any moment"),
  ALL_KILLED(10, 2, 4, "all ranks are killed; others start from the checkpoint"),
  STRANGERS(5, 2, 4, "strangers, a member of another job and a second coordinator at the port");

  /** The number in the whole campaign. */
  final int times;

  /** The least and most ranks before it. */
  final int least;

  final int most;
  final String text;

  Fault(int times, int least, int most, String text) {
    this.times = times;
    this.least = least;
    this.most = most;
    this.text = text;
  }

  /** Returns the number of all faults of the whole campaign. */
  static int total() {
    int sum = 0;
    for (Fault each : values()) {
      sum += each.times;
    }
    return sum;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
