// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Event;
import io.torchfeed.trace.ring.Kind;
import java.nio.file.Path;
import java.util.List;

/**
 * The header of a dump.
 *
 * @param reason why it was written
 * @param job the id of the job; empty if it has none
 * @param clock a name of the clock, which processes of one machine share
 * @param nanos the time of the dump by that clock
 * @param forgotten the events that the ring has lost since they were too many
 * @param names the names of operations
 * @param groups the groups of the process, in the order of their first call
 * @param open the operations that have not returned
 * @param failed the last operations that have thrown
 */
record Dump(
    Path file,
    String reason,
    String job,
    String host,
    long pid,
    String clock,
    long nanos,
    long forgotten,
    List<String> names,
    List<Group> groups,
    List<Lane> threads,
    List<Call> open,
    List<Call> failed) {
  /**
   * A group.
   *
   * @param key the same on all its ranks
   * @param isPart whether it is a part of another group, or the exchange of a model
   */
  record Group(String key, int rank, int ranks, boolean isPart) {}

  /**
   * A thread.
   *
   * @param site where it was in the program when the dump was written; empty if unknown
   * @param at its innermost frame; empty if unknown
   */
  record Lane(String name, String site, String at) {}

  /**
   * An operation that has not returned, or has thrown.
   *
   * @param group the index of its group
   * @param site the place of the call in the program; empty if unknown
   * @param reason the failure; empty if it has none
   */
  record Call(
      int group,
      String operation,
      Kind kind,
      long number,
      long step,
      long start,
      int thread,
      String site,
      String reason) {}

  /** A dump with its events. */
  static final class Full {
    private final Dump header;
    private final long[] events;

    /**
     * Creates a dump.
     *
     * @param events their numbers, as {@link Event} names them
     */
    Full(Dump header, long[] events) {
      this.header = header;
      this.events = events;
    }

    Dump header() {
      return header;
    }

    int size() {
      return events.length / Event.FIELDS;
    }

    long get(int event, int field) {
      return events[event * Event.FIELDS + field];
    }

    Kind kind(int event) {
      return KINDS.get(Event.kind(get(event, Event.TAG)));
    }
  }

  private static final List<Kind> KINDS = List.of(Kind.values());

  /** Returns the last group that is no part of another one; its rank is the process's. */
  int mainGroup() {
    int main = -1;
    for (int i = 0; i < groups.size(); i++) {
      if (!groups.get(i).isPart()) {
        main = i;
      }
    }
    return main;
  }

  /** Returns the rank of the process in the last of its groups; 0 if it has none. */
  int rank() {
    return mainGroup() < 0 ? 0 : groups.get(mainGroup()).rank();
  }

  /** Returns the rank of the process in the group around one of its groups. */
  int rankOf(int group) {
    Group own = groups.get(group);
    if (!own.isPart()) {
      return own.rank();
    }
    return groups.stream()
        .filter(each -> !each.isPart() && own.key().startsWith(each.key()))
        .mapToInt(Group::rank)
        .findFirst()
        .orElse(rank());
  }

  String name(int index) {
    return index < names.size() ? names.get(index) : "";
  }

  /** Returns the host and the process. */
  String place() {
    return host + "/" + pid;
  }
}
