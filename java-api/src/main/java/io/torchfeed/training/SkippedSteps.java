// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.training.LoopEvent.Kind;
import java.util.function.Consumer;

/** The steps of a run that change nothing, as their gradients are not finite. */
final class SkippedSteps {
  private final boolean areSkipped;
  private boolean isFinite = true;
  private long count;

  SkippedSteps(boolean areSkipped) {
    this.areSkipped = areSkipped;
  }

  /**
   * Returns the update of a step, which does nothing if gradients are not finite. They are the same
   * on all ranks, and so is that decision.
   */
  Runnable guarding(ReplicatedModel model, Runnable update) {
    if (!areSkipped) {
      return update;
    }
    if (model instanceof ModelAveraging) {
      throw new IllegalStateException(
          "skipNonFinite needs gradients that are the same on all ranks; ModelAveraging has each"
              + " rank's own");
    }
    return () -> {
      isFinite = Double.isFinite(model.clipGradNorm(Double.POSITIVE_INFINITY));
      if (isFinite) {
        update.run();
      }
    };
  }

  /** Counts a step that is complete, and reports it if it was skipped. */
  void end(Step step, Consumer<LoopEvent> events) {
    if (!isFinite) {
      isFinite = true;
      count++;
      String text =
          "step %d changed nothing, since a gradient is not finite; %d such steps so far"
              .formatted(step.number(), count);
      events.accept(new LoopEvent(Kind.NOT_FINITE, text));
    }
  }

  long count() {
    return count;
  }
}
