// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace;

import static java.util.Objects.requireNonNull;

import io.torchfeed.trace.ring.Recorder;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The trace of this process: its operations of groups and reducers, waits for data and transfers,
 * and the steps of a training loop with forward, backward and update. The newest events stay in
 * memory. They are written to a file of the process when it is asked for, by {@link #dump} or a
 * signal, when a rank is lost or does not respond in time, and at the end.
 *
 * <pre>{@code
 * long step = 0;
 * try (Trace trace = Trace.start(TraceOptions.to(Path.of("/shared/run-7")))) {
 *   for (Batch batch : loader.epoch(epoch)) {
 *     Trace.step(step++);
 *     train(batch.tensor(0), batch.tensor(1));
 *   }
 * }
 * }</pre>
 *
 * <p>Without a change of the program, the environment variable {@code TORCHFEED_TRACE} names the
 * folder, and a process records from its first operation to its end; {@code TORCHFEED_TRACE_EVENTS}
 * and {@code TORCHFEED_TRACE_SIGNAL} are the options. The ranks of a launcher inherit them. A wrong
 * value is reported in one line on stderr, and nothing is recorded.
 *
 * <p>Then {@code java -cp ... io.torchfeed.Torchfeed trace FOLDER} tells who waited for whom.
 *
 * <p>A process has at most one trace at a time. Thread-safe.
 */
public final class Trace implements AutoCloseable {
  private final Recorder recorder;

  private Trace(Recorder recorder) {
    this.recorder = recorder;
  }

  /**
   * Starts to record.
   *
   * @param options the folder of dumps, and the events to keep
   * @return the trace; the caller closes it
   * @throws IllegalStateException if this process records a trace already, or the signal cannot be
   *     handled
   * @throws java.io.UncheckedIOException if the folder cannot be created
   */
  public static Trace start(TraceOptions options) {
    return new Trace(Recorder.start(requireNonNull(options, "options").settings()));
  }

  /**
   * Returns whether this process records a trace, by {@link #start} or by its environment.
   *
   * @return true if so
   */
  public static boolean isOn() {
    return Recorder.current() != null;
  }

  /**
   * Says in which step of the training this thread is, for a loop of one's own. A {@code
   * TrainingLoop} does it. No effect if nothing is recorded.
   *
   * @param number at least 0, the same on all ranks
   * @throws IllegalArgumentException if the number is negative
   */
  public static void step(long number) {
    if (number < 0) {
      throw new IllegalArgumentException("the step must be at least 0, got " + number);
    }
    Recorder on = Recorder.current();
    if (on != null) {
      on.step(number);
    }
  }

  /** A part of the program in the trace, from its beginning until it is closed. */
  public static final class Section implements AutoCloseable {
    private final String name;
    private final @Nullable Recorder recorder;
    private final long start;
    private boolean isClosed;

    private Section(String name, @Nullable Recorder recorder) {
      this.name = name;
      this.recorder = recorder;
      start = recorder == null ? 0 : System.nanoTime();
    }

    /** Ends the part; no effect the second time. By the thread that has begun it. */
    @Override
    public void close() {
      if (recorder != null && !isClosed) {
        isClosed = true;
        recorder.addNamed(name, start, System.nanoTime());
      }
    }
  }

  /**
   * Begins a part of the program that the timeline shows by its name. No effect if nothing is
   * recorded.
   *
   * @param name one of few, for example {@code validation}
   * @return the part; the caller closes it
   */
  public static Section section(String name) {
    return new Section(requireNonNull(name, "name"), Recorder.current());
  }

  /**
   * Writes the events that are kept, in place of the last dump of this process, and continues.
   *
   * @return the file
   * @throws java.io.UncheckedIOException if it cannot be written
   */
  public Path dump() {
    return recorder.dump("the program asked for it");
  }

  /** Writes a last dump and stops recording; no effect the second time. */
  @Override
  public void close() {
    recorder.stop();
  }
}
