// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;

/**
 * The start of an exchange of weights in a group, some of whose ranks may have trained in another.
 *
 * @param trained how many of them have trained in another group
 * @param origin the lowest of these; rank 0 if there is none
 * @param steps the steps of the origin
 * @param exchanges the exchanges of the origin
 */
public record Meeting(int trained, int origin, long steps, long exchanges) {
  /**
   * Compares the trainings of all ranks; a collective operation.
   *
   * @param mine a line that must be equal on all ranks
   * @param progress of a rank that has trained, as {@link #progress} returns it; else empty
   * @throws IllegalArgumentException on every rank, if the ranks differ
   */
  public static Meeting of(ProcessGroup group, String mine, String progress) {
    String[] all = group.allGatherStrings(progress + '\n' + mine);
    String first = lineOf(all[0]);
    Meeting meeting = new Meeting(0, 0, 0, 0);
    for (int rank = 0; rank < all.length; rank++) {
      if (!lineOf(all[rank]).equals(first)) {
        throw new IllegalArgumentException(
            "all ranks must train in the same way: rank 0 "
                + first
                + "; rank "
                + rank
                + " "
                + lineOf(all[rank]));
      }
      meeting = meeting.with(rank, all[rank].substring(0, all[rank].indexOf('\n')));
    }
    return meeting;
  }

  private static String lineOf(String text) {
    return text.substring(text.indexOf('\n') + 1);
  }

  private Meeting with(int rank, String progress) {
    if (progress.isEmpty() || trained > 0) {
      return progress.isEmpty() ? this : new Meeting(trained + 1, origin, steps, exchanges);
    }
    int blank = progress.indexOf(' ');
    return new Meeting(
        1,
        rank,
        Long.parseLong(progress.substring(0, blank)),
        Long.parseLong(progress.substring(blank + 1)));
  }

  /** Returns the argument of {@link #of} for a rank that has trained. */
  public static String progress(long steps, long exchanges) {
    return steps + " " + exchanges;
  }

  /** Gives all ranks the mean of the weights of those that have trained, or else rank 0's. */
  public void share(ProcessGroup group, FlatTensors flat, boolean hasTrained) {
    flat.load();
    if (trained < 2) {
      group.unchecked().broadcast(flat.values(), origin);
    } else {
      try (PointerScope scope = new PointerScope()) {
        if (!hasTrained) {
          flat.values().zero_();
        }
        group.unchecked().allReduce(flat.values(), ReduceOp.SUM);
        flat.values().div_(new Scalar((float) trained));
      }
    }
    flat.store();
  }
}
