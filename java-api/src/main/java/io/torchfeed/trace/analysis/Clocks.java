// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Event;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The clocks of the dumps in the time of rank 0's. A call in which all ranks meet is a round trip
 * through the group: no rank leaves it before the last one has entered it, which bounds the
 * difference of two clocks from both sides. The tightest bounds of all calls count; where clocks
 * drift, the tightest of each {@link #WINDOW}. Processes of one machine have one clock.
 */
final class Clocks {
  private static final long WINDOW = 10_000_000_000L;

  /** A clock as straight lines between points: its own time, and the difference to rank 0's. */
  private static final class Line {
    private final List<Bounds> points;
    private final long uncertainty;

    Line(List<Bounds> points) {
      this.points = points;
      uncertainty = points.stream().mapToLong(Bounds::uncertainty).max().orElse(0);
    }

    long offset(long time) {
      if (points.size() == 1) {
        return points.get(0).middle();
      }
      // the lines continue for a window before the first point and behind the last one
      long begin = points.get(0).at() - WINDOW;
      long end = points.get(points.size() - 1).at() + WINDOW;
      long within = Math.max(begin, Math.min(end, time));
      int after = 1;
      while (after < points.size() - 1 && points.get(after).at() <= within) {
        after++;
      }
      Bounds one = points.get(after - 1);
      Bounds other = points.get(after);
      double share = (within - one.at()) / (double) Math.max(1, other.at() - one.at());
      return one.middle() + Math.round((other.middle() - one.middle()) * share);
    }
  }

  /** The bounds of a difference in a time. */
  private static final class Bounds {
    private long first = Long.MAX_VALUE;
    private long last = Long.MIN_VALUE;
    private long least = Long.MIN_VALUE;
    private long most = Long.MAX_VALUE;

    /** Returns the middle of the time. */
    long at() {
      return first + (last - first) / 2;
    }

    void narrow(long time, long atLeast, long atMost) {
      first = Math.min(first, time);
      last = Math.max(last, time);
      least = Math.max(least, atLeast);
      most = Math.min(most, atMost);
    }

    boolean isPossible() {
      return least <= most;
    }

    long middle() {
      return least + (most - least) / 2;
    }

    long uncertainty() {
      return (Math.abs(most - least) + 1) / 2;
    }
  }

  private final List<Dump> dumps;
  private final Map<String, Line> lines = new HashMap<>();

  /** Aligns the clocks of dumps, as far as their ranks have met. */
  Clocks(Dumps all) {
    dumps = all.all();
    lines.put(dumps.get(0).clock(), new Line(List.of(exact())));
    boolean isNew = true;
    while (isNew) {
      isNew = false;
      for (Dump dump : dumps) {
        if (!lines.containsKey(dump.clock())) {
          @Nullable Line line = line(dump.clock(), all.groups().values());
          if (line != null) {
            lines.put(dump.clock(), line);
            isNew = true;
          }
        }
      }
    }
  }

  private static Bounds exact() {
    Bounds exact = new Bounds();
    exact.narrow(0, 0, 0);
    return exact;
  }

  /** Returns a clock by the meetings with those that are aligned; null if there is none. */
  private @Nullable Line line(String clock, Iterable<GroupCalls> groups) {
    TreeMap<Long, Bounds> windows = new TreeMap<>();
    Bounds whole = new Bounds();
    for (GroupCalls group : groups) {
      for (long number = group.first(); number < group.end(); number++) {
        if (group.isMeeting(number, Event.MEETS)) {
          narrow(clock, group, number, whole, windows);
        }
      }
    }
    if (windows.isEmpty()) {
      return null;
    }
    return new Line(whole.isPossible() ? List.of(whole) : List.copyOf(windows.values()));
  }

  private void narrow(
      String clock, GroupCalls group, long number, Bounds whole, Map<Long, Bounds> windows) {
    long lastArrival = Long.MIN_VALUE;
    long firstEnd = Long.MAX_VALUE;
    for (Attendance each : group.attendances()) {
      if (lines.containsKey(dumps.get(each.dump()).clock())) {
        lastArrival = Math.max(lastArrival, time(each.dump(), each.arrived(number)));
        firstEnd = Math.min(firstEnd, time(each.dump(), each.ended(number)));
      }
    }
    if (firstEnd == Long.MAX_VALUE) {
      return;
    }
    for (Attendance each : group.attendances()) {
      if (dumps.get(each.dump()).clock().equals(clock)) {
        long least = lastArrival - each.ended(number);
        long most = firstEnd - each.arrived(number);
        long time = each.ended(number);
        whole.narrow(time, least, most);
        windows
            .computeIfAbsent(Math.floorDiv(time, WINDOW), index -> new Bounds())
            .narrow(time, least, most);
      }
    }
  }

  /** Returns a time of a dump in the time of rank 0. */
  long time(int dump, long time) {
    @Nullable Line line = lines.get(dumps.get(dump).clock());
    return line == null ? time : time + line.offset(time);
  }

  /** Returns the most by which a time may be wrong, in nanoseconds. */
  long uncertainty() {
    return lines.values().stream().mapToLong(line -> line.uncertainty).max().orElse(0);
  }

  /** Returns the dumps that no meeting connects with rank 0. */
  List<Dump> unknown() {
    List<Dump> unknown = new ArrayList<>();
    for (Dump dump : dumps) {
      if (!lines.containsKey(dump.clock())) {
        unknown.add(dump);
      }
    }
    return unknown;
  }
}
