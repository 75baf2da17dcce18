// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Event;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Divides the events of a thread among tracks, in each of which they nest. */
final class Nesting {
  /** Receives the end of an event. */
  @FunctionalInterface
  interface Ends {
    void end(long time, int track) throws IOException;
  }

  private final Ends ends;
  private final List<List<Long>> tracks = new ArrayList<>();

  Nesting(Ends ends) {
    this.ends = ends;
  }

  /** Returns events in the order of their starts; of equal ones the longest is first. */
  static int[] ordered(Dump.Full full, LongList events) {
    return IntStream.range(0, events.size())
        .mapToObj(i -> (int) events.get(i))
        .sorted(
            Comparator.comparingLong((Integer event) -> full.get(event, Event.START))
                .thenComparingLong(event -> -full.get(event, Event.END)))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Closes the events before it, and returns the track of an event that begins. */
  int begin(long start, long end) throws IOException {
    endUntil(start);
    int track = 0;
    while (track < tracks.size() && !fits(tracks.get(track), end)) {
      track++;
    }
    if (track == tracks.size()) {
      tracks.add(new ArrayList<>());
    }
    tracks.get(track).add(end);
    return track;
  }

  private static boolean fits(List<Long> open, long end) {
    return open.isEmpty() || open.get(open.size() - 1) >= end;
  }

  private void endUntil(long time) throws IOException {
    for (int track = 0; track < tracks.size(); track++) {
      List<Long> open = tracks.get(track);
      while (!open.isEmpty() && open.get(open.size() - 1) <= time) {
        ends.end(open.remove(open.size() - 1), track);
      }
    }
  }

  /** Ends all events. */
  void end() throws IOException {
    endUntil(Long.MAX_VALUE);
  }
}
