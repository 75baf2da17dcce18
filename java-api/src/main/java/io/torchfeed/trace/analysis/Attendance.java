// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Event;
import java.util.Arrays;

/**
 * The matched calls of one rank of a group that have ended, by their number. The numbers follow
 * each other, but for those that the ring has forgotten.
 */
final class Attendance {
  private static final int FIELDS = 5;
  private static final int NUMBER = 0;
  private static final int ARRIVED = 1;
  private static final int ENDED = 2;
  private static final int STEP = 3;
  private static final int TAG = 4;

  private final int dump;
  private final int rank;
  private final int worldRank;
  private final long[] byNumber;
  private final long first;

  /**
   * Orders the calls by their numbers; those before a gap are left out.
   *
   * @param dump the index of its dump
   * @param rank in the group
   * @param worldRank in the group around it
   * @param calls five numbers for each call, in any order
   */
  Attendance(int dump, int rank, int worldRank, LongList calls) {
    this.dump = dump;
    this.rank = rank;
    this.worldRank = worldRank;
    int count = calls.size() / FIELDS;
    long last = count == 0 ? -1 : Long.MIN_VALUE;
    long least = count == 0 ? 0 : Long.MAX_VALUE;
    for (int i = 0; i < count; i++) {
      long number = calls.get(i * FIELDS + NUMBER);
      last = Math.max(last, number);
      least = Math.min(least, number);
    }
    first = Math.max(least, last - count + 1);
    byNumber = new long[Math.toIntExact(last - first + 1) * FIELDS];
    Arrays.fill(byNumber, -1);
    for (int i = 0; i < count; i++) {
      long number = calls.get(i * FIELDS + NUMBER);
      if (number >= first) {
        int at = (int) (number - first) * FIELDS;
        for (int field = 0; field < FIELDS; field++) {
          byNumber[at + field] = calls.get(i * FIELDS + field);
        }
      }
    }
  }

  int dump() {
    return dump;
  }

  /** Returns the rank in the group. */
  int rank() {
    return rank;
  }

  /** Returns the rank in the group around it, the one in reports. */
  int worldRank() {
    return worldRank;
  }

  /** Returns the number of the first call. */
  long first() {
    return first;
  }

  /** Returns the first number without a call behind them. */
  long end() {
    return first + byNumber.length / FIELDS;
  }

  boolean has(long number) {
    return number >= first && number < end() && get(number, NUMBER) == number;
  }

  /** Returns when the rank was ready for the others, by its own clock. */
  long arrived(long number) {
    return get(number, ARRIVED);
  }

  long ended(long number) {
    return get(number, ENDED);
  }

  long step(long number) {
    return get(number, STEP);
  }

  int name(long number) {
    return Event.name(get(number, TAG));
  }

  boolean has(long number, int flag) {
    return Event.has(get(number, TAG), flag);
  }

  private long get(long number, int field) {
    return byNumber[(int) (number - first) * FIELDS + field];
  }
}
