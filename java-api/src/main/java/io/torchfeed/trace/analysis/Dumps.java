// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Failures;
import io.torchfeed.trace.ring.DumpFormat;
import io.torchfeed.trace.ring.Event;
import io.torchfeed.trace.ring.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The dumps of a run: their headers, and the calls that ranks have in common. The other events are
 * read again when they are needed, of one dump at a time.
 *
 * @param all the headers, by rank
 * @param totals the sums of each of them
 * @param groups by their key
 */
record Dumps(List<Dump> all, List<Totals> totals, Map<String, GroupCalls> groups) {
  private static final String ONE_RUN =
      "use a folder for each run, or remove the dumps of other runs";

  /** The time of a step by the clock of its dump. */
  record StepTime(long step, long start, long end) {
    long nanos() {
      return end - start;
    }
  }

  /** Sums over the events of a dump, and its slowest steps. */
  static final class Totals {
    private static final int SLOWEST = 16;

    private final PriorityQueue<StepTime> slowest =
        new PriorityQueue<>(Comparator.comparingLong(StepTime::nanos));
    private final long[] nanos = new long[Kind.values().length];
    private final long[] counts = new long[Kind.values().length];
    private long first = Long.MAX_VALUE;

    private void add(Kind kind, long start, long end) {
      nanos[kind.code()] += end - start;
      counts[kind.code()]++;
      first = Math.min(first, start);
    }

    private void addStep(StepTime step) {
      slowest.add(step);
      if (slowest.size() > SLOWEST) {
        slowest.remove();
      }
    }

    /** Returns the slowest steps, in any order. */
    List<StepTime> slowest() {
      return List.copyOf(slowest);
    }

    /** Returns the beginning of the first event; the time of the dump if there is none. */
    long first(Dump dump) {
      return Math.min(first, dump.nanos());
    }

    long nanos(Kind kind) {
      return nanos[kind.code()];
    }

    long count(Kind kind) {
      return counts[kind.code()];
    }
  }

  /**
   * Reads the dumps of a folder.
   *
   * @throws DumpException if one cannot be used, there is none, or they are of several runs
   */
  static Dumps open(Path folder) {
    List<Dump> headers = new ArrayList<>();
    Map<Path, Totals> totals = new LinkedHashMap<>();
    List<Reading> readings = new ArrayList<>();
    for (Path file : files(folder)) {
      Dump.Full full = DumpReader.read(file);
      Reading reading = new Reading(full);
      readings.add(reading);
      headers.add(full.header());
    }
    requireOneRun(headers);
    readings.sort(
        Comparator.comparingInt((Reading each) -> each.header.rank())
            .thenComparing(each -> each.header.file()));
    Map<String, GroupCalls> groups = new LinkedHashMap<>();
    for (int i = 0; i < readings.size(); i++) {
      readings.get(i).join(i, groups);
      totals.put(readings.get(i).header.file(), readings.get(i).totals);
    }
    groups.values().forEach(GroupCalls::complete);
    return new Dumps(
        readings.stream().map(each -> each.header).toList(), List.copyOf(totals.values()), groups);
  }

  /** Returns whether a file has the name of a dump. */
  static boolean isDump(Path file) {
    return file.toString().endsWith(DumpFormat.EXTENSION);
  }

  private static List<Path> files(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      List<Path> dumps = files.filter(Dumps::isDump).sorted().toList();
      if (dumps.isEmpty()) {
        throw DumpException.of(
            folder,
            "has no dump (*%s)".formatted(DumpFormat.EXTENSION),
            "name the folder of TORCHFEED_TRACE or TraceOptions.to");
      }
      return dumps;
    } catch (IOException e) {
      throw DumpException.of(
          folder, "cannot be read: " + Failures.reason(e), "name the folder of dumps", e);
    }
  }

  /** Throws if two dumps are of the same rank of a group, or have no group and no job in common. */
  private static void requireOneRun(List<Dump> dumps) {
    Map<String, Dump> owners = new LinkedHashMap<>();
    Components components = new Components(dumps.size());
    Map<String, Integer> firstOf = new LinkedHashMap<>();
    for (int i = 0; i < dumps.size(); i++) {
      Dump dump = dumps.get(i);
      for (Dump.Group group : dump.groups()) {
        if (group.ranks() > 1) {
          @Nullable Dump other = owners.putIfAbsent(group.key() + " " + group.rank(), dump);
          if (other != null && !other.file().equals(dump.file())) {
            throw DumpException.of(
                dump.file(),
                "is of rank %d, as %s is".formatted(group.rank(), other.file().getFileName()),
                "remove the copy");
          }
          components.join(i, firstOf.computeIfAbsent(group.key(), key -> dumps.indexOf(dump)));
        }
      }
      if (!dump.job().isEmpty()) {
        components.join(i, firstOf.computeIfAbsent("job " + dump.job(), k -> dumps.indexOf(dump)));
      }
    }
    for (int i = 1; i < dumps.size(); i++) {
      if (components.of(i) != components.of(0)) {
        String first = String.valueOf(dumps.get(0).file().getFileName());
        throw DumpException.of(
            dumps.get(i).file(), "is of another run than %s".formatted(first), ONE_RUN);
      }
    }
  }

  /** Sets of numbers that are joined. */
  private static final class Components {
    private final int[] of;

    Components(int count) {
      of = new int[count];
      for (int i = 0; i < count; i++) {
        of[i] = i;
      }
    }

    int of(int number) {
      return of[number];
    }

    void join(int one, int other) {
      int from = of[one];
      int to = of[other];
      for (int i = 0; i < of.length; i++) {
        if (of[i] == from) {
          of[i] = to;
        }
      }
    }
  }

  /** The content of a dump that is kept. */
  private static final class Reading {
    private final Dump header;
    private final Totals totals = new Totals();
    private final Map<Integer, LongList> calls = new LinkedHashMap<>();

    Reading(Dump.Full full) {
      header = full.header();
      for (int i = 0; i < full.size(); i++) {
        Kind kind = full.kind(i);
        long start = full.get(i, Event.START);
        long end = full.get(i, Event.END);
        totals.add(kind, start, end);
        if (kind == Kind.STEP) {
          totals.addStep(new StepTime(full.get(i, Event.STEP), start, end));
        }
        long tag = full.get(i, Event.TAG);
        boolean isDone = kind.isMatched() && !Event.has(tag, Event.FAILED);
        if (isDone && full.get(i, Event.NUMBER) >= 0 && Event.group(tag) != Event.NONE) {
          keep(full, i, kind);
        }
      }
    }

    private void keep(Dump.Full full, int i, Kind kind) {
      long tag = full.get(i, Event.TAG);
      LongList list = calls.computeIfAbsent(Event.group(tag), group -> new LongList());
      long end = full.get(i, Event.END);
      list.add(full.get(i, Event.NUMBER));
      list.add(kind == Kind.REDUCTION ? end - full.get(i, Event.EXTRA) : full.get(i, Event.START));
      list.add(end);
      list.add(full.get(i, Event.STEP));
      list.add(tag);
    }

    /** Adds the calls to the groups. */
    void join(int dump, Map<String, GroupCalls> groups) {
      for (int index = 0; index < header.groups().size(); index++) {
        Dump.Group group = header.groups().get(index);
        GroupCalls all =
            groups.computeIfAbsent(group.key(), key -> new GroupCalls(key, group.ranks()));
        all.attendances()
            .add(
                new Attendance(
                    dump,
                    group.rank(),
                    header.rankOf(index),
                    calls.getOrDefault(index, new LongList())));
      }
    }
  }
}
