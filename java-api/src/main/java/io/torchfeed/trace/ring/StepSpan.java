// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A step of a training loop: its forward passes, the work between them, which is backward, and the
 * update. For one thread.
 */
public final class StepSpan {
  private final @Nullable Recorder recorder;
  private final boolean isRecorded;
  private final long number;
  private final long start;
  private long forwardEnd;

  private StepSpan(@Nullable Recorder recorder, boolean isRecorded, long number) {
    this.recorder = recorder;
    this.isRecorded = isRecorded;
    this.number = number;
    start = isOn() ? System.nanoTime() : 0;
    if (recorder != null) {
      recorder.step(number);
    }
  }

  /** Begins a step of this thread. */
  public static StepSpan begin(long number) {
    return new StepSpan(Recorder.current(), PhaseEvent.isWanted(), number);
  }

  private boolean isOn() {
    return recorder != null || isRecorded;
  }

  /** Runs the forward pass of a batch. */
  public <T> T forward(Supplier<T> pass) {
    if (!isOn()) {
      return pass.get();
    }
    long begun = System.nanoTime();
    endBackward(begun);
    T result = pass.get();
    forwardEnd = System.nanoTime();
    add(Kind.FORWARD, begun, forwardEnd);
    return result;
  }

  /** Runs the change of the parameters. */
  public void update(Runnable update) {
    if (!isOn()) {
      update.run();
      return;
    }
    long begun = System.nanoTime();
    endBackward(begun);
    update.run();
    add(Kind.UPDATE, begun, System.nanoTime());
  }

  private void endBackward(long now) {
    if (forwardEnd != 0) {
      add(Kind.BACKWARD, forwardEnd, now);
      forwardEnd = 0;
    }
  }

  /** Ends the step. */
  public void end() {
    if (isOn()) {
      add(Kind.STEP, start, System.nanoTime());
    }
  }

  private void add(Kind kind, long from, long to) {
    if (recorder != null) {
      recorder.add(from, to, kind, number, 0, 0);
    }
    if (isRecorded) {
      PhaseEvent.add(kind.label(), number, to - from);
    }
  }
}
