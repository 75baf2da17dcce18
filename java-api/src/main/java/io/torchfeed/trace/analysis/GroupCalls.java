// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The matched calls of a group, of all its ranks that have left a dump.
 *
 * @param ranks the ranks of the group
 * @param attendances in the order of the ranks
 */
record GroupCalls(String key, int ranks, List<Attendance> attendances) {
  GroupCalls(String key, int ranks) {
    this(key, ranks, new ArrayList<>());
  }

  void complete() {
    attendances.sort(Comparator.comparingInt(Attendance::rank));
  }

  /** Returns the number of the first call that no rank has forgotten. */
  long first() {
    return attendances.stream().mapToLong(Attendance::first).max().orElse(0);
  }

  /** Returns the number behind the last call that a rank has completed. */
  long end() {
    return attendances.stream().mapToLong(Attendance::end).max().orElse(0);
  }

  /** Returns whether all ranks have a dump, and have completed a call. */
  boolean isComplete(long number) {
    if (attendances.size() < ranks) {
      return false;
    }
    for (Attendance each : attendances) {
      if (!each.has(number)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether all ranks wait for each other in a call that they have completed. */
  boolean isMeeting(long number, int flag) {
    return isComplete(number) && attendances.get(0).has(number, flag);
  }

  /** Returns the number of a flow, the same on all ranks of a call and on no other. */
  long flow(long number) {
    return key.hashCode() * 0x9E3779B97F4A7C15L ^ number;
  }
}
