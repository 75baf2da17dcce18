// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A group in traces: its key, which is the same on all ranks and no other group's, and the numbers
 * of its calls. They are counted whether a trace is on or not, so that all ranks agree.
 * Thread-safe.
 */
public final class GroupLog {
  private record Registered(Recorder recorder, int index) {}

  private final String key;
  private final int rank;
  private final int ranks;
  private final boolean isPart;
  private final AtomicLong calls = new AtomicLong();
  private final AtomicLong messages = new AtomicLong();
  private final AtomicInteger reducers = new AtomicInteger();
  private volatile @Nullable Registered registered;

  /**
   * Creates the log of a group.
   *
   * @param key the same on all ranks, and no other group's
   * @param isPart whether it is a part of another group
   */
  public GroupLog(String key, int rank, int ranks, boolean isPart) {
    this.key = key;
    this.rank = rank;
    this.ranks = ranks;
    this.isPart = isPart;
  }

  String key() {
    return key;
  }

  int rank() {
    return rank;
  }

  int ranks() {
    return ranks;
  }

  boolean isPart() {
    return isPart;
  }

  /** Returns the number of the operation that begins. */
  long begin(Kind kind) {
    return switch (kind) {
      case COLLECTIVE -> calls.getAndIncrement();
      case MESSAGE -> messages.getAndIncrement();
      default -> throw new IllegalArgumentException(kind + " has a number of its own");
    };
  }

  /** Creates the log of a reducer: all ranks wrap their models in the same order. */
  public GroupLog ofReducer() {
    String own = "%sreducer %d/".formatted(key, reducers.getAndIncrement());
    return new GroupLog(own, rank, ranks, true);
  }

  /** Returns the index of the group in a recorder. */
  int index(Recorder recorder) {
    Registered known = registered;
    if (known == null || known.recorder != recorder) {
      known = new Registered(recorder, recorder.register(this));
      registered = known;
    }
    return known.index;
  }
}
