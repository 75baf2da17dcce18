// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.JdkSignal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The only recorder of this process: events of all threads in a ring, and the operations of groups
 * that have not returned. The environment can start it before the program does. Thread-safe.
 */
public final class Recorder {
  private static final int OPEN_CALLS = 256;
  private static final long BETWEEN_LOSSES = 1_000_000_000L;
  private static volatile @Nullable Recorder current = ofEnvironment();

  private final RecorderSettings settings;
  private final Ring ring;
  private final ThreadLocal<Lane> ownLane = ThreadLocal.withInitial(this::newLane);
  private final List<Lane> lanes = new ArrayList<>();
  private final List<GroupLog> groups = new ArrayList<>();
  private final Map<String, Integer> names = new ConcurrentHashMap<>();
  private final AtomicReferenceArray<@Nullable GroupSpan> open =
      new AtomicReferenceArray<>(OPEN_CALLS);
  private final AtomicInteger begun = new AtomicInteger();
  private final FailedCalls failures = new FailedCalls();
  private final DumpWriter writer;
  private final Thread atExit = new Thread(this::dumpAtExit, "torchfeed-trace");
  private @Nullable JdkSignal signal;
  private @Nullable Object handlerBefore;
  private long lastLoss;
  private boolean hasLoss;

  private Recorder(RecorderSettings settings) {
    this.settings = settings;
    ring = new Ring(settings.events());
    writer = new DumpWriter(this, settings.folder());
  }

  private static @Nullable Recorder ofEnvironment() {
    try {
      RecorderSettings settings = RecorderSettings.of(System.getenv());
      return settings == null ? null : new Recorder(settings).started();
    } catch (IllegalArgumentException | IllegalStateException | UncheckedIOException e) {
      System.err.println("torchfeed records no trace: " + Failures.describe(e));
      return null;
    }
  }

  private Recorder started() {
    try {
      Files.createDirectories(settings.folder());
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the folder %s for traces cannot be created: %s"
              .formatted(settings.folder(), Failures.reason(e)),
          e);
    }
    String name = settings.signal();
    if (name != null) {
      JdkSignal own = JdkSignal.of(name);
      handlerBefore = own.handle(() -> tryDump("SIG" + name + " came"));
      signal = own;
    }
    Runtime.getRuntime().addShutdownHook(atExit);
    return this;
  }

  /** Returns the recorder; null if none is on. */
  public static @Nullable Recorder current() {
    return current;
  }

  /**
   * Starts a recorder.
   *
   * @throws IllegalStateException if one is on, or the signal cannot be handled
   * @throws UncheckedIOException if the folder cannot be created
   */
  public static synchronized Recorder start(RecorderSettings settings) {
    Recorder other = current;
    if (other != null) {
      throw new IllegalStateException(
          "this process records a trace already, for the folder " + other.settings.folder());
    }
    Recorder started = new Recorder(settings).started();
    current = started;
    return started;
  }

  /** Writes a last dump and stops; no effect once it is stopped. */
  public void stop() {
    synchronized (Recorder.class) {
      if (current != this) {
        return;
      }
      current = null;
      JdkSignal handled = signal;
      Object before = handlerBefore;
      if (handled != null && before != null) {
        handled.restore(before);
      }
      try {
        Runtime.getRuntime().removeShutdownHook(atExit);
      } catch (IllegalStateException e) {
        return; // the process ends, and the hook writes the dump
      }
    }
    dump("the trace ends");
  }

  /** Returns the beginning of an event for {@link #end}; 0 if no recorder is on. */
  public static long begin() {
    return current == null ? 0 : System.nanoTime();
  }

  /** Ends an event of this thread; no effect without a beginning. */
  public static void end(long start, Kind kind, long number, long bytes, long extra) {
    Recorder on = start == 0 ? null : current;
    if (on != null) {
      on.add(start, System.nanoTime(), kind, number, bytes, extra);
    }
  }

  /** Adds an event of this thread. */
  public void add(long start, long end, Kind kind, long number, long bytes, long extra) {
    Lane lane = ownLane.get();
    long tag = Event.tag(kind, 0, Event.NONE, lane.index(), Event.NONE);
    ring.add(start, end, tag, lane.step(), number, bytes, extra);
  }

  /** Adds an event of this thread with a name. */
  public void addNamed(String name, long start, long end) {
    Lane lane = ownLane.get();
    long tag = Event.tag(Kind.SECTION, 0, Event.NONE, lane.index(), name(name));
    ring.add(start, end, tag, lane.step(), -1, 0, 0);
  }

  /** Sets the step of later events of this thread. */
  public void step(long number) {
    ownLane.get().step(number);
  }

  Lane lane() {
    return ownLane.get();
  }

  void add(GroupSpan span, long end, int flags, long number, long bytes, long waited) {
    long tag =
        Event.tag(
            span.kind(),
            flags,
            span.group().index(this),
            span.lane().index(),
            name(span.operation()));
    ring.add(span.start(), end, tag, span.step(), number, bytes, waited);
  }

  /** Adds a part of an operation. */
  void add(GroupSpan span, Kind kind, long start, long end, long bytes) {
    int group = span.group().index(this);
    long tag = Event.tag(kind, 0, group, span.lane().index(), Event.NONE);
    ring.add(start, end, tag, span.step(), -1, bytes, 0);
  }

  /** Keeps an operation until it ends; returns its place. */
  int open(GroupSpan span) {
    int place = begun.getAndIncrement() & (OPEN_CALLS - 1);
    open.lazySet(place, span);
    return place;
  }

  void close(int place, GroupSpan span) {
    if (open.get(place) == span) {
      open.lazySet(place, null);
    }
  }

  /** Writes a dump at the loss of a rank, unless there was one a moment ago. */
  void lost(String operation) {
    long now = System.nanoTime();
    synchronized (this) {
      if (hasLoss && now - lastLoss < BETWEEN_LOSSES) {
        return;
      }
      hasLoss = true;
      lastLoss = now;
    }
    tryDump("a rank was lost in " + operation);
  }

  /** A process that has done nothing, such as one that only starts others, leaves no dump. */
  private void dumpAtExit() {
    if (ring.total() > 0 || !open().isEmpty()) {
      tryDump("the process ends");
    }
  }

  private void tryDump(String reason) {
    try {
      dump(reason);
    } catch (UncheckedIOException e) {
      System.getLogger("io.torchfeed.trace")
          .log(Level.WARNING, "the trace cannot be dumped: " + Failures.describe(e));
    }
  }

  /**
   * Writes all events that the ring has, in place of the dump before.
   *
   * @return the file
   * @throws UncheckedIOException if it cannot be written
   */
  public Path dump(String reason) {
    return writer.write(reason);
  }

  FailedCalls failures() {
    return failures;
  }

  Ring ring() {
    return ring;
  }

  synchronized int register(GroupLog group) {
    if (groups.size() == Event.NONE) {
      return Event.NONE;
    }
    groups.add(group);
    return groups.size() - 1;
  }

  private int name(String text) {
    Integer known = names.get(text);
    return known == null ? newName(text) : known;
  }

  private synchronized int newName(String text) {
    return names.size() == Event.NONE && !names.containsKey(text)
        ? Event.NONE
        : names.computeIfAbsent(text, added -> names.size());
  }

  private synchronized Lane newLane() {
    Thread thread = Thread.currentThread();
    for (Lane lane : lanes) {
      if (lane.name().equals(thread.getName()) && lane.thread() == null) {
        lane.take(thread);
        return lane;
      }
    }
    Lane lane = new Lane(Math.min(lanes.size(), Event.NONE), thread);
    if (lanes.size() < Event.NONE) {
      lanes.add(lane);
    }
    return lane;
  }

  synchronized List<Lane> lanes() {
    return List.copyOf(lanes);
  }

  synchronized List<GroupLog> groups() {
    return List.copyOf(groups);
  }

  /** Returns the names by their index. */
  List<String> names() {
    return names.entrySet().stream()
        .sorted(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns the operations that have not returned. */
  List<GroupSpan> open() {
    List<GroupSpan> spans = new ArrayList<>();
    for (int i = 0; i < OPEN_CALLS; i++) {
      GroupSpan span = open.get(i);
      if (span != null) {
        spans.add(span);
      }
    }
    return spans;
  }
}
