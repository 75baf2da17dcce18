// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Failures;
import io.torchfeed.trace.ring.Event;
import io.torchfeed.trace.ring.Kind;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The timeline of all ranks in Perfetto's format: a process for each rank, a track for each of its
 * threads, arrows between the ranks of a call, and the batches that were ready. Reads one dump at a
 * time.
 */
final class PerfettoFile {
  private static final int BUFFER = 1 << 20;

  private final PerfettoPackets packets;
  private final Dumps dumps;
  private final Clocks clocks;
  private final long base;

  private PerfettoFile(OutputStream out, Dumps dumps, Clocks clocks) {
    packets = new PerfettoPackets(out);
    this.dumps = dumps;
    this.clocks = clocks;
    long first = Long.MAX_VALUE;
    for (int i = 0; i < dumps.all().size(); i++) {
      first = Math.min(first, clocks.time(i, dumps.totals().get(i).first(dumps.all().get(i))));
    }
    base = first - 1; // a timestamp of 0 would be none
  }

  /**
   * Writes a timeline.
   *
   * @throws DumpException if the file cannot be written
   */
  static void write(Path file, Dumps dumps, Clocks clocks) {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), BUFFER)) {
      PerfettoFile timeline = new PerfettoFile(out, dumps, clocks);
      for (int i = 0; i < dumps.all().size(); i++) {
        timeline.write(i);
      }
    } catch (IOException e) {
      throw DumpException.of(
          file, "cannot be written: " + Failures.reason(e), "name another file", e);
    }
  }

  private void write(int index) throws IOException {
    Dump dump = dumps.all().get(index);
    Dump.Full full = DumpReader.read(dump.file());
    if (!full.header().equals(dump)) {
      throw DumpException.of(
          dump.file(), "has been written again meanwhile", "merge when the run has ended");
    }
    int pid = index + 1;
    packets.process(pid, "rank %d (%s)".formatted(dump.rank(), dump.place()));
    packets.counter(pid, "batches ready");
    Map<Integer, LongList> lanes = new TreeMap<>();
    for (int i = 0; i < full.size(); i++) {
      lanes.computeIfAbsent(lane(full, i), lane -> new LongList()).add(i);
    }
    for (Map.Entry<Integer, LongList> lane : lanes.entrySet()) {
      int number = lane.getKey();
      String name =
          number < dump.threads().size() ? dump.threads().get(number).name() : "other threads";
      writeLane(index, full, new Tracks(pid, number, name), Nesting.ordered(full, lane.getValue()));
    }
    writeOpen(index, dump, pid);
  }

  private static int lane(Dump.Full full, int event) {
    return Event.lane(full.get(event, Event.TAG));
  }

  /** The tracks of a thread: events that do not nest in the first one are in the next. */
  private final class Tracks {
    private final int pid;
    private final int lane;
    private final String name;
    private int count;

    Tracks(int pid, int lane, String name) {
      this.pid = pid;
      this.lane = lane;
      this.name = name;
    }

    long track(int number) throws IOException {
      for (; count <= number; count++) {
        String shown = count == 0 ? name : "%s (%d)".formatted(name, count + 1);
        packets.thread(pid, id(count), shown);
      }
      return PerfettoPackets.track(pid, id(number));
    }

    private int id(int number) {
      return lane + 1 + number * (Event.NONE + 1);
    }
  }

  private void writeLane(int index, Dump.Full full, Tracks tracks, int[] events)
      throws IOException {
    Nesting nesting =
        new Nesting((time, track) -> packets.end(time(index, time), tracks.track(track)));
    for (int event : events) {
      long start = full.get(event, Event.START);
      int track = nesting.begin(start, Math.max(start, full.get(event, Event.END)));
      begin(index, full, event, tracks.track(track));
    }
    nesting.end();
  }

  private void begin(int index, Dump.Full full, int event, long track) throws IOException {
    Kind kind = full.kind(event);
    long tag = full.get(event, Event.TAG);
    long start = time(index, full.get(event, Event.START));
    long number = full.get(event, Event.NUMBER);
    PerfettoPackets.Slice slice = packets.slice(start, track, kind.label());
    if (kind == Kind.STEP) {
      slice.named("step " + full.get(event, Event.STEP));
    } else {
      int name = Event.name(tag);
      slice.interned(name == Event.NONE ? kind.label() : full.header().name(name));
      if (full.get(event, Event.STEP) >= 0) {
        slice.annotated("step", full.get(event, Event.STEP));
      }
    }
    if (number >= 0 && kind != Kind.STEP) {
      slice.annotated(kind.isMatched() ? "call" : "number", number);
    }
    if (full.get(event, Event.BYTES) > 0) {
      slice.annotated("bytes", full.get(event, Event.BYTES));
    }
    if (Event.has(tag, Event.FAILED)) {
      slice.annotated("failed", 1);
    }
    if (kind.isMatched() && number >= 0 && Event.group(tag) != Event.NONE) {
      GroupCalls group = dumps.groups().get(full.header().groups().get(Event.group(tag)).key());
      if (group != null && group.attendances().size() > 1) {
        slice.flow(group.flow(number));
      }
    }
    slice.write();
    if (kind == Kind.BATCH_WAIT) {
      packets.count(start, index + 1, full.get(event, Event.EXTRA));
    }
  }

  /** Draws the operations that have not returned until the time of the dump. */
  private void writeOpen(int index, Dump dump, int pid) throws IOException {
    List<Dump.Call> open = dump.open();
    for (int i = 0; i < open.size(); i++) {
      Dump.Call call = open.get(i);
      int id = (Event.NONE + 1) * 64 + i;
      packets.thread(pid, id, "has not returned");
      long track = PerfettoPackets.track(pid, id);
      PerfettoPackets.Slice slice =
          packets
              .slice(time(index, call.start()), track, call.kind().label())
              .interned(call.operation());
      slice.annotated("call", call.number());
      slice.write();
      packets.end(time(index, dump.nanos()), track);
    }
  }

  private long time(int dump, long time) {
    return clocks.time(dump, time) - base;
  }
}
