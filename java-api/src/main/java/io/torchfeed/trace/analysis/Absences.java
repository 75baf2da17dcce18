// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Quotes;
import io.torchfeed.trace.ring.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The calls that some ranks have entered and others have not, or in which they differ. */
final class Absences {
  /** A call that a rank has entered, and that has not returned there or has failed. */
  private record Entry(Attendance by, Dump.Call call, boolean isOpen) {}

  /**
   * A finding.
   *
   * @param missing the ranks that have not entered the call
   * @param lines the text, the first line for itself
   */
  record Finding(long number, List<Integer> missing, List<String> lines) {}

  private final Dumps dumps;
  private final Clocks clocks;

  Absences(Dumps dumps, Clocks clocks) {
    this.dumps = dumps;
    this.clocks = clocks;
  }

  /** Returns the findings, of each group at most one. */
  List<Finding> find() {
    List<Finding> findings = new ArrayList<>();
    for (GroupCalls group : dumps.groups().values()) {
      if (group.ranks() > 1) {
        find(group).ifPresent(findings::add);
      }
    }
    return findings;
  }

  private Optional<Finding> find(GroupCalls group) {
    SortedMap<Long, Map<Integer, Entry>> entered = new TreeMap<>();
    for (Attendance each : group.attendances()) {
      Dump dump = dumps.all().get(each.dump());
      dump.failed().forEach(call -> enter(entered, group, each, call, false));
      dump.open().forEach(call -> enter(entered, group, each, call, true));
    }
    for (Map.Entry<Long, Map<Integer, Entry>> call : entered.entrySet()) {
      Optional<Finding> finding = find(group, call.getKey(), call.getValue());
      if (finding.isPresent()) {
        return finding;
      }
    }
    return Optional.empty();
  }

  private void enter(
      SortedMap<Long, Map<Integer, Entry>> entered,
      GroupCalls group,
      Attendance by,
      Dump.Call call,
      boolean isOpen) {
    Dump dump = dumps.all().get(by.dump());
    if (call.kind() != Kind.MESSAGE && dump.groups().get(call.group()).key().equals(group.key())) {
      entered
          .computeIfAbsent(call.number(), number -> new TreeMap<>())
          .put(by.rank(), new Entry(by, call, isOpen));
    }
  }

  /**
   * The ranks of a group at a call.
   *
   * @param operations the ranks that have entered an operation, by its name
   * @param missing the ranks that have entered none
   * @param silent the ranks without a dump
   */
  private record Census(
      Map<String, List<Integer>> operations, List<Integer> missing, List<Integer> silent) {
    Census() {
      this(new LinkedHashMap<>(), new ArrayList<>(), new ArrayList<>());
    }

    void enter(String operation, int rank) {
      operations.computeIfAbsent(operation, name -> new ArrayList<>()).add(rank);
    }

    boolean isComplete() {
      return missing.isEmpty() && silent.isEmpty() && operations.size() < 2;
    }

    /** Returns the operation that the most ranks have entered. */
    String usual() {
      return operations.entrySet().stream()
          .max(Comparator.comparingInt(each -> each.getValue().size()))
          .orElseThrow()
          .getKey();
    }

    /** Returns the ranks that have not entered that operation. */
    List<Integer> absent() {
      List<Integer> absent = new ArrayList<>(missing);
      absent.addAll(silent);
      String usual = usual();
      operations.forEach(
          (name, ranks) -> {
            if (!name.equals(usual)) {
              absent.addAll(ranks);
            }
          });
      absent.sort(null);
      return absent;
    }
  }

  private Census census(GroupCalls group, long number, Map<Integer, Entry> entries) {
    Census census = new Census();
    for (int rank = 0; rank < group.ranks(); rank++) {
      Entry entry = entries.get(rank);
      Attendance attendance = attendance(group, rank).orElse(null);
      if (entry != null) {
        census.enter(entry.call.operation(), rank);
      } else if (attendance == null) {
        census.silent.add(rank);
      } else if (attendance.has(number)) {
        census.enter(name(attendance, number), rank);
      } else if (attendance.end() <= number) {
        census.missing.add(rank);
      }
    }
    return census;
  }

  private Optional<Finding> find(GroupCalls group, long number, Map<Integer, Entry> entries) {
    Census census = census(group, number, entries);
    if (census.isComplete()) {
      return Optional.empty();
    }
    List<Integer> absent = worldRanks(group, census.absent());
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s never entered %s, call %d of %s"
            .formatted(ranks(absent), census.usual(), number, ranksOf(group)));
    entries.forEach((rank, entry) -> lines.add(line(entry)));
    for (int rank : census.missing) {
      lines.add(missing(group, attendance(group, rank).orElseThrow(), entries));
    }
    for (int rank : census.silent) {
      lines.add("rank %d has left no dump".formatted(rank));
    }
    return Optional.of(new Finding(number, absent, lines));
  }

  private static Optional<Attendance> attendance(GroupCalls group, int rank) {
    return group.attendances().stream().filter(each -> each.rank() == rank).findFirst();
  }

  private static List<Integer> worldRanks(GroupCalls group, List<Integer> ranks) {
    return ranks.stream()
        .map(rank -> attendance(group, rank).map(Attendance::worldRank).orElse(rank))
        .toList();
  }

  private static String ranksOf(GroupCalls group) {
    return group.key().contains("reducer ")
        ? "the gradients of a model"
        : "a group of %d ranks".formatted(group.ranks());
  }

  private static String ranks(List<Integer> ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + Quotes.listed(", ", ranks);
  }

  private String name(Attendance attendance, long number) {
    return dumps.all().get(attendance.dump()).name(attendance.name(number));
  }

  private String line(Entry entry) {
    Dump dump = dumps.all().get(entry.by.dump());
    double seconds = (dump.nanos() - entry.call.start()) / 1e9;
    String site = entry.call.site().isEmpty() ? "" : " at " + entry.call.site();
    String what =
        entry.isOpen
            ? "is in %s%s, for %.3f s".formatted(entry.call.operation(), site, seconds)
            : "called %s%s, which failed: %s"
                .formatted(
                    entry.call.operation(), site, Quotes.shortened(entry.call.reason(), 300));
    return "rank %d (%s) %s".formatted(entry.by.worldRank(), dump.place(), what);
  }

  private String missing(GroupCalls group, Attendance rank, Map<Integer, Entry> entries) {
    Dump dump = dumps.all().get(rank.dump());
    String last =
        rank.end() > rank.first() || rank.end() > 0
            ? "its last call is %d%s"
                .formatted(
                    rank.end() - 1,
                    rank.has(rank.end() - 1) ? ", " + name(rank, rank.end() - 1) : "")
            : "it has entered none";
    long dumped = clocks.time(rank.dump(), dump.nanos());
    boolean isOlder =
        entries.values().stream()
            .allMatch(each -> clocks.time(each.by.dump(), each.call.start()) > dumped);
    String where = place(dump).map(site -> "; it is " + site).orElse("; " + dump.reason());
    return "rank %d (%s) has not entered it: %s%s%s"
        .formatted(
            rank.worldRank(),
            dump.place(),
            last,
            where,
            isOlder && group.ranks() > 1 ? " (its dump is older than the call)" : "");
  }

  /** Returns where the program was in the thread that calls groups. */
  private static Optional<String> place(Dump dump) {
    return dump.threads().stream()
        .filter(lane -> !lane.at().isEmpty())
        .findFirst()
        .map(
            lane ->
                lane.site().isEmpty() || lane.site().equals(lane.at())
                    ? "at " + lane.at()
                    : "at %s, in %s".formatted(lane.site(), lane.at()));
  }
}
