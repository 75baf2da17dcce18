// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.analysis.StepTimeline.Row;
import io.torchfeed.trace.analysis.StepTimeline.Span;
import io.torchfeed.trace.analysis.StepTimeline.Work;
import io.torchfeed.trace.ring.Event;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The timelines of the slowest steps of a run. Reads one dump at a time. */
final class Timelines {
  /** The longest time of a step on any rank, in the time of rank 0. */
  private record Window(long step, long start, long end) {
    long nanos() {
      return end - start;
    }

    /** Returns the part of a time in the window; null if it has none. */
    @Nullable Span part(Work work, long from, long to) {
      long first = Math.max(from, start);
      long last = Math.min(to, end);
      return first < last ? new Span(work, first - start, last - start) : null;
    }
  }

  private final Dumps dumps;
  private final Clocks clocks;

  Timelines(Dumps dumps, Clocks clocks) {
    this.dumps = dumps;
    this.clocks = clocks;
  }

  /** Returns the slowest steps, slowest first. */
  List<StepTimeline> slowest(int most) {
    List<Window> windows = windows(most);
    List<List<Row>> rows = new ArrayList<>();
    windows.forEach(window -> rows.add(new ArrayList<>()));
    List<List<List<Span>>> waits = new ArrayList<>();
    windows.forEach(window -> waits.add(waits(window)));
    for (int dump = 0; dump < dumps.all().size(); dump++) {
      Dump header = dumps.all().get(dump);
      Dump.Full full = DumpReader.read(header.file());
      for (int i = 0; i < windows.size(); i++) {
        List<Span> work = work(dump, full, windows.get(i));
        List<Span> waited = waits.get(i).get(dump);
        if (!work.isEmpty() || !waited.isEmpty()) {
          rows.get(i).add(Row.of(header.rank(), header.place(), work, waited));
        }
      }
    }
    List<StepTimeline> timelines = new ArrayList<>();
    for (int i = 0; i < windows.size(); i++) {
      Window window = windows.get(i);
      timelines.add(new StepTimeline(window.step(), window.nanos(), List.copyOf(rows.get(i))));
    }
    return timelines;
  }

  private List<Window> windows(int most) {
    Map<Long, Window> longest = new HashMap<>();
    for (int dump = 0; dump < dumps.all().size(); dump++) {
      for (Dumps.StepTime each : dumps.totals().get(dump).slowest()) {
        long start = clocks.time(dump, each.start());
        Window window = new Window(each.step(), start, start + each.end() - each.start());
        longest.merge(
            each.step(), window, (one, other) -> one.nanos() >= other.nanos() ? one : other);
      }
    }
    return longest.values().stream()
        .sorted(Comparator.comparingLong(Window::nanos).reversed().thenComparingLong(Window::step))
        .limit(most)
        .toList();
  }

  /** Returns the work of a rank in a window, apart from its waits for others. */
  private List<Span> work(int dump, Dump.Full full, Window window) {
    List<Span> spans = new ArrayList<>();
    for (int i = 0; i < full.size(); i++) {
      @Nullable Work work =
          switch (full.kind(i)) {
            case FORWARD -> Work.FORWARD;
            case BACKWARD -> Work.BACKWARD;
            case UPDATE -> Work.UPDATE;
            case BATCH_WAIT -> Work.DATA;
            case STEP,
                COLLECTIVE,
                MESSAGE,
                REDUCTION,
                EXCHANGE,
                GATHER,
                TRANSFER,
                SLAB_WAIT,
                SECTION ->
                null;
          };
      if (work != null) {
        long start = clocks.time(dump, full.get(i, Event.START));
        long end = clocks.time(dump, full.get(i, Event.END));
        @Nullable Span part = window.part(work, start, end);
        if (part != null) {
          spans.add(part);
        }
      }
    }
    return spans;
  }

  /** Returns the waits of each dump for the last rank of the calls in which all meet. */
  private List<List<Span>> waits(Window window) {
    List<List<Span>> all = new ArrayList<>();
    dumps.all().forEach(dump -> all.add(new ArrayList<>()));
    for (GroupCalls group : dumps.groups().values()) {
      for (long number = group.first(); group.ranks() > 1 && number < group.end(); number++) {
        if (group.isMeeting(number, Event.MEETS)) {
          add(group, number, window, all);
        }
      }
    }
    return all;
  }

  private void add(GroupCalls group, long number, Window window, List<List<Span>> all) {
    long latest = Long.MIN_VALUE;
    for (Attendance each : group.attendances()) {
      latest = Math.max(latest, clocks.time(each.dump(), each.arrived(number)));
    }
    if (latest <= window.start()) {
      return;
    }
    for (Attendance each : group.attendances()) {
      long arrived = clocks.time(each.dump(), each.arrived(number));
      @Nullable Span part = window.part(Work.RANKS, arrived, latest);
      if (part != null) {
        all.get(each.dump()).add(part);
      }
    }
  }
}
