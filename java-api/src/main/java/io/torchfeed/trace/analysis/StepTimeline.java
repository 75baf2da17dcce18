// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The work and the waits of each rank in a step.
 *
 * @param step its number
 * @param nanos from its beginning on the rank that took longest to its end there
 * @param rows in the order of the ranks, of those that did anything meanwhile
 */
public record StepTimeline(long step, long nanos, List<Row> rows) {
  /** A kind of work, or of a wait. */
  public enum Work {
    /** It computed an output. */
    FORWARD("forward"),

    /** It computed gradients, or exchanged them. */
    BACKWARD("backward"),

    /** It changed its parameters. */
    UPDATE("update"),

    /** It had no batch. */
    DATA("waiting for data"),

    /** It was in a call that another rank had not entered. */
    RANKS("waiting for other ranks");

    private final String label;

    Work(String label) {
      this.label = label;
    }

    /** Returns a name for readers. */
    public String label() {
      return label;
    }
  }

  /**
   * A part of the time of a rank.
   *
   * @param start nanoseconds since the beginning of the step
   * @param end at most its length
   */
  public record Span(Work work, long start, long end) {
    private List<Span> without(Span other) {
      if (other.end <= start || other.start >= end) {
        return List.of(this);
      }
      List<Span> left = new ArrayList<>();
      if (other.start > start) {
        left.add(new Span(work, start, other.start));
      }
      if (other.end < end) {
        left.add(new Span(work, other.end, end));
      }
      return left;
    }
  }

  /**
   * A rank.
   *
   * @param place its host and process
   * @param spans in the order of time; they do not overlap
   */
  public record Row(int rank, String place, List<Span> spans) {
    /**
     * Divides a time.
     *
     * @param work its work, without an overlap
     * @param waits the waits for other ranks within that, which may overlap
     */
    static Row of(int rank, String place, List<Span> work, List<Span> waits) {
      List<Span> all = joined(waits);
      List<Span> left = new ArrayList<>(work);
      for (Span wait : all) {
        left = left.stream().flatMap(span -> span.without(wait).stream()).toList();
      }
      all.addAll(left);
      all.sort(Comparator.comparingLong(Span::start));
      return new Row(rank, place, List.copyOf(all));
    }

    private static List<Span> joined(List<Span> waits) {
      List<Span> sorted = new ArrayList<>(waits);
      sorted.sort(Comparator.comparingLong(Span::start));
      List<Span> joined = new ArrayList<>();
      for (Span each : sorted) {
        int last = joined.size() - 1;
        if (last >= 0 && each.start <= joined.get(last).end) {
          Span before = joined.get(last);
          joined.set(last, new Span(each.work, before.start, Math.max(before.end, each.end)));
        } else {
          joined.add(each);
        }
      }
      return joined;
    }

    /** Returns the time of a kind of work, in nanoseconds. */
    public long nanos(Work work) {
      return spans.stream()
          .filter(span -> span.work == work)
          .mapToLong(span -> span.end - span.start)
          .sum();
    }
  }
}
