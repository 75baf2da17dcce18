// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.training.LoopEvent.Kind;
import io.torchfeed.training.steps.EpochBatches;
import java.util.Optional;
import java.util.function.Consumer;

/** The state of a loop, and when it is saved. */
final class SavedState {
  private static final long NONE = -1;

  private final StateStore store;
  private final long everySteps;
  private final Progress progress;
  private final TrainingState state;
  private long last = NONE;
  private Optional<StateStore.Loaded> loaded = Optional.empty();
  private long loadedStep = NONE;
  private boolean isReported;
  private boolean isAveraging;

  SavedState(StateStore store, long everySteps, Progress progress, TrainingState state) {
    this.store = store;
    this.everySteps = everySteps;
    this.progress = progress;
    this.state = state;
  }

  TrainingState state() {
    return state;
  }

  boolean isEmpty() {
    return store.isEmpty();
  }

  void load() {
    loaded = store.load(state);
    loadedStep = progress.step();
    isReported = false;
  }

  /**
   * Reports the checkpoint once.
   *
   * @param end the text for a training that is at its end, with the places of the steps and the
   *     checkpoint; empty if there is more to do
   * @param present the options of the run, from now on also of the progress
   */
  void report(String end, SavedOptions present, Consumer<LoopEvent> events) {
    SavedOptions before = progress.replace(present);
    if (loaded.isEmpty() || isReported) {
      return;
    }
    isReported = true;
    loaded.get().skipped().forEach(each -> events.accept(new LoopEvent(Kind.SKIPPED, each)));
    String text = end.isEmpty() ? "continues after %d steps, from %s" : end;
    events.accept(
        new LoopEvent(
            end.isEmpty() ? Kind.RESUMED : Kind.NOTHING_LEFT,
            text.formatted(loadedStep, loaded.get().name())));
    if (end.isEmpty()) {
      present.changesFrom(before).forEach(each -> events.accept(new LoopEvent(Kind.CHANGED, each)));
    }
  }

  /** Returns the exception for a position that the data does not have, with its checkpoint. */
  ResumeMismatchException explained(ResumeMismatchException mismatch) {
    return loaded.isPresent() && progress.step() == loadedStep
        ? new ResumeMismatchException(loaded.get().name(), mismatch)
        : mismatch;
  }

  /**
   * Notes that the ranks hold the state.
   *
   * @param isSaved whether it is saved, if there is one: else other ranks than before may save it
   * @param isAveraging whether exchanges change the weights outside of updates
   */
  void begin(boolean isSaved, boolean isAveraging) {
    this.isAveraging = isAveraging;
    last = isSaved ? progress.step() : NONE;
    store.begin(progress, state);
  }

  /**
   * Saves the state after each {@code everySteps} steps, except at the end of an epoch.
   *
   * @param isEvaluated whether the state was evaluated, so that it is saved in any case
   */
  void saveAfterStep(EpochBatches batches, ReplicatedModel model, boolean isEvaluated) {
    boolean isDue = isEvaluated || progress.step() % everySteps == 0;
    if (store.isEmpty() || !isDue || batches.isLast()) {
      return;
    }
    model.average();
    saveNow();
  }

  void saveNow() {
    last = progress.step();
    store.save(last, state);
    if (isAveraging) {
      store.awaitCopied();
    }
  }

  /** Waits until the state may change. */
  void awaitCopied() {
    store.awaitCopied();
  }

  /** Saves the state at the end of the run, unless it is saved already. */
  void saveAtEnd() {
    if (last != progress.step()) {
      saveNow();
    }
    store.await();
  }

  void saveAsLast() {
    store.saveAsLast(progress.step(), state);
  }

  /** Waits until everything is saved: next, another rank may be the one that saves. */
  void await() {
    store.await();
  }
}
