// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.ProtoMessage;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;

/**
 * The packets of a timeline, by the numbers of the fields in Perfetto's {@code trace_packet.proto}
 * and the files that it names.
 */
final class PerfettoPackets {
  private static final int PACKET = 1;
  private static final int TIMESTAMP = 8;
  private static final int SEQUENCE = 10;
  private static final int TRACK_EVENT = 11;
  private static final int INTERNED = 12;
  private static final int SEQUENCE_FLAGS = 13;
  private static final int TRACK = 60;
  private static final long CLEARED = 1;
  private static final long NEEDS_STATE = 2;

  private static final int EVENT_CATEGORIES = 3;
  private static final int EVENT_ANNOTATION = 4;
  private static final int EVENT_TYPE = 9;
  private static final int EVENT_NAME_ID = 10;
  private static final int EVENT_TRACK = 11;
  private static final int EVENT_NAME = 23;
  private static final int EVENT_COUNTER = 30;
  private static final int EVENT_FLOW = 47;
  private static final long BEGIN = 1;
  private static final long END = 2;
  private static final long COUNTER = 4;

  private static final int CATEGORIES = 1;
  private static final int NAMES = 2;
  private static final int ANNOTATIONS = 3;

  private static final int PROCESS_BITS = 32;
  private static final long COUNTER_TRACK = (1L << PROCESS_BITS) - 1;

  private final OutputStream out;
  private final ProtoMessage packet = new ProtoMessage();
  private final ProtoMessage event = new ProtoMessage();
  private final ProtoMessage inner = new ProtoMessage();
  private final ProtoMessage frame = new ProtoMessage();
  private final ProtoMessage interned = new ProtoMessage();
  private final Map<String, Integer> categories = new HashMap<>();
  private final Map<String, Integer> names = new HashMap<>();
  private final Map<String, Integer> annotations = new HashMap<>();
  private boolean hasInterned;
  private boolean isBegun;

  PerfettoPackets(OutputStream out) {
    this.out = out;
  }

  /** Returns the number of a thread's track. */
  static long track(int pid, int thread) {
    return (long) pid << PROCESS_BITS | thread;
  }

  void process(int pid, String name) throws IOException {
    ProtoMessage process = new ProtoMessage().integer(1, pid).integer(3, pid).text(6, name);
    descriptor(new ProtoMessage().integer(1, track(pid, 0)).text(2, name).message(3, process));
  }

  void thread(int pid, int thread, String name) throws IOException {
    ProtoMessage own =
        new ProtoMessage().integer(1, pid).integer(2, thread).integer(3, thread).text(5, name);
    descriptor(
        new ProtoMessage()
            .integer(1, track(pid, thread))
            .text(2, name)
            .message(4, own)
            .integer(5, track(pid, 0)));
  }

  /** Describes the counter of a process. */
  void counter(int pid, String name) throws IOException {
    descriptor(
        new ProtoMessage()
            .integer(1, (long) pid << PROCESS_BITS | COUNTER_TRACK)
            .text(2, name)
            .integer(5, track(pid, 0))
            .message(8, new ProtoMessage()));
  }

  private void descriptor(ProtoMessage track) throws IOException {
    packet.clear();
    begin();
    packet.message(TRACK, track);
    flush();
  }

  private void begin() {
    packet.integer(SEQUENCE, 1).integer(SEQUENCE_FLAGS, isBegun ? NEEDS_STATE : CLEARED);
    isBegun = true;
  }

  private void flush() throws IOException {
    frame.clear().message(PACKET, packet).writeTo(out);
  }

  private void timed(long time) throws IOException {
    packet.clear().always(TIMESTAMP, time);
    begin();
    if (hasInterned) {
      packet.message(INTERNED, interned);
      interned.clear();
      hasInterned = false;
    }
    packet.message(TRACK_EVENT, event);
    flush();
  }

  /** Ends the innermost slice of a track. */
  void end(long time, long track) throws IOException {
    event.clear().integer(EVENT_TYPE, END).integer(EVENT_TRACK, track);
    timed(time);
  }

  /** Sets the counter of a process. */
  void count(long time, int pid, long value) throws IOException {
    event
        .clear()
        .integer(EVENT_TYPE, COUNTER)
        .integer(EVENT_TRACK, (long) pid << PROCESS_BITS | COUNTER_TRACK)
        .always(EVENT_COUNTER, value);
    timed(time);
  }

  /** Begins a slice, which {@link Slice#write} adds. */
  Slice slice(long time, long track, String category) {
    event
        .clear()
        .integer(EVENT_TYPE, BEGIN)
        .integer(EVENT_TRACK, track)
        .integer(EVENT_CATEGORIES, id(CATEGORIES, categories, category));
    return new Slice(time);
  }

  /** The slice that begins; one at a time. */
  final class Slice {
    private final long time;

    private Slice(long time) {
      this.time = time;
    }

    /** Sets a name that few slices have. */
    Slice named(String name) {
      event.text(EVENT_NAME, name);
      return this;
    }

    /** Sets a name that many slices have. */
    Slice interned(String name) {
      event.integer(EVENT_NAME_ID, id(NAMES, names, name));
      return this;
    }

    /** Adds a number. */
    void annotated(String name, long value) {
      inner.clear().integer(1, id(ANNOTATIONS, annotations, name)).always(4, value);
      event.message(EVENT_ANNOTATION, inner);
    }

    /** Connects the slice with others of the same number. */
    void flow(long number) {
      event.fixed(EVENT_FLOW, number);
    }

    void write() throws IOException {
      timed(time);
    }
  }

  private int id(int list, Map<String, Integer> known, String name) {
    Integer id = known.get(name);
    if (id == null) {
      id = known.size() + 1;
      known.put(name, id);
      interned.message(list, new ProtoMessage().integer(1, id).text(2, name));
      hasInterned = true;
    }
    return id;
  }
}
