// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.World;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * The log of one process: a line per event, which has left the process before the event counts.
 * Times are of {@link System#nanoTime}, which on Linux is one clock for all processes of a machine.
 *
 * @param name of the process
 * @param events in their order
 */
record RankLog(String name, List<Event> events) {
  RankLog {
    events = List.copyOf(events);
  }

  /** A line. */
  sealed interface Event {
    long nanos();
  }

  /** The process has loaded its data and classes, and waits to be told to join. */
  record Ready(long nanos) implements Event {}

  /** The process has wrapped its module for its first group, and is to get the state. */
  record Wrapped(long nanos) implements Event {}

  /**
   * The process holds the state with which a generation starts.
   *
   * @param step the steps completed before
   * @param origin where the state came from
   * @param digest of the state
   */
  record Entered(
      long nanos, int generation, long step, int rank, int size, World.Origin origin, long digest)
      implements Event {}

  /**
   * A step begins.
   *
   * @param seed of libtorch's generator
   * @param indices of the samples, without padding
   * @param padding the number of samples that are padding
   */
  record Begun(
      long nanos, int generation, long step, long epoch, long seed, List<Long> indices, int padding)
      implements Event {
    Begun {
      indices = List.copyOf(indices);
    }
  }

  /**
   * The optimizer has changed the parameters.
   *
   * @param digest of the state after the step
   */
  record Done(long nanos, int generation, long step, long digest) implements Event {}

  /** The process ends of its own accord. */
  record Ended(long nanos, End end, String text) implements Event {}

  /** The end of a process. */
  enum End {
    COMPLETED,
    NOT_NEEDED,
    LEFT,
    EXPELLED,
    /** By the exception that a command asks for. */
    THREW,
    /** It was never told to join. */
    UNUSED,
    FAILED
  }

  static String format(Event event) {
    if (event instanceof Ready e) {
      return "ready " + e.nanos;
    } else if (event instanceof Wrapped e) {
      return "wrapped " + e.nanos;
    } else if (event instanceof Entered e) {
      return String.format(
          Locale.ROOT,
          "entered %d %d %d %d %d %s %x",
          e.nanos,
          e.generation,
          e.step,
          e.rank,
          e.size,
          e.origin,
          e.digest);
    } else if (event instanceof Begun e) {
      String indices = e.indices.stream().map(String::valueOf).collect(Collectors.joining(","));
      return "begun %d %d %d %d %x %d %s"
          .formatted(e.nanos, e.generation, e.step, e.epoch, e.seed, e.padding, indices);
    } else if (event instanceof Done e) {
      return "done %d %d %d %x".formatted(e.nanos, e.generation, e.step, e.digest);
    } else if (event instanceof Ended e) {
      return "ended " + e.nanos + " " + e.end + " " + e.text.replace('\n', ' ');
    }
    throw new AssertionError(event);
  }

  /**
   * Reads a line.
   *
   * @throws IllegalArgumentException if it is none of a log
   */
  static Event parse(String line) {
    String[] words = line.split(" ", -1);
    try {
      long nanos = Long.parseLong(words[1]);
      return switch (words[0]) {
        case "ready" -> new Ready(nanos);
        case "wrapped" -> new Wrapped(nanos);
        case "entered" ->
            new Entered(
                nanos,
                Integer.parseInt(words[2]),
                Long.parseLong(words[3]),
                Integer.parseInt(words[4]),
                Integer.parseInt(words[5]),
                World.Origin.valueOf(words[6]),
                Long.parseUnsignedLong(words[7], 16));
        case "begun" ->
            new Begun(
                nanos,
                Integer.parseInt(words[2]),
                Long.parseLong(words[3]),
                Long.parseLong(words[4]),
                Long.parseUnsignedLong(words[5], 16),
                indices(words[7]),
                Integer.parseInt(words[6]));
        case "done" ->
            new Done(
                nanos,
                Integer.parseInt(words[2]),
                Long.parseLong(words[3]),
                Long.parseUnsignedLong(words[4], 16));
        case "ended" ->
            new Ended(
                nanos,
                End.valueOf(words[2]),
                String.join(" ", Arrays.asList(words).subList(3, words.length)));
        default -> throw new IllegalArgumentException("no such event");
      };
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("not a line of a rank's log: " + line, e);
    }
  }

  private static List<Long> indices(String text) {
    return text.isEmpty() ? List.of() : Arrays.stream(text.split(",")).map(Long::valueOf).toList();
  }

  /** Returns the events of a kind, in their order. */
  <E extends Event> List<E> all(Class<E> kind) {
    List<E> found = new ArrayList<>();
    for (Event each : events) {
      if (kind.isInstance(each)) {
        found.add(kind.cast(each));
      }
    }
    return found;
  }
}
