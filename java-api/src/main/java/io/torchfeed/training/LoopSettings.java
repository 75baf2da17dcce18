// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.sampler.Part;
import io.torchfeed.trace.Trace;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.TrainingLoop.Evaluation;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The values that a {@link TrainingLoopBuilder} sets, with their defaults. */
final class LoopSettings<M extends ReplicatedModel> {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.training");

  final Ranks ranks;
  final Progress progress = Progress.ofLoop();
  @Nullable Long epochs;
  @Nullable Long maxSteps;
  @Nullable Duration maxTime;
  @Nullable Integer accumulate;
  @Nullable Long seed;
  @Nullable ToDoubleFunction<Batch> weight;
  @Nullable Boolean skipNonFinite;
  @Nullable LearningRate rate;
  @Nullable Evaluation<? super M> evaluation;
  @Nullable Consumer<LoopEvent> events;
  @Nullable LoopMonitor monitor;
  @Nullable TraceOptions trace;
  LongSupplier nanoTime = System::nanoTime;
  Consumer<Step> whenChanged = step -> {};
  BiConsumer<M, Step> afterStep = (model, step) -> {};
  BiConsumer<M, Step> afterEpoch = (model, step) -> {};
  private @Nullable EvaluationOptions evaluationOptions;
  private @Nullable Evaluations evaluations;

  LoopSettings(Ranks ranks) {
    this.ranks = ranks;
  }

  long epochs() {
    return epochs == null ? (maxSteps == null ? 1 : Long.MAX_VALUE) : epochs;
  }

  long maxSteps() {
    return maxSteps == null ? Long.MAX_VALUE : maxSteps;
  }

  RunTime time() {
    return new RunTime(maxTime, nanoTime);
  }

  /** Starts the trace of the loop; null if there is none, or one is on already. */
  @Nullable Trace startTrace() {
    return trace == null ? null : startUnlessOn(trace);
  }

  /** Ranks that are threads of one process begin at the same time. */
  private static synchronized @Nullable Trace startUnlessOn(TraceOptions options) {
    return Trace.isOn() ? null : Trace.start(options);
  }

  int accumulate() {
    return accumulate == null ? 1 : accumulate;
  }

  long seed() {
    return seed == null ? 0 : seed;
  }

  void setRate(Step step) {
    if (rate != null) {
      rate.set(step);
    }
  }

  /** Returns the options that the progress keeps. */
  SavedOptions saved(DataLoader loader, Part part) {
    long batch = (long) loader.batchSize() * part.worldSize();
    return SavedOptions.of(batch, accumulate(), seed(), loader.seed());
  }

  /** Returns the options that all ranks share, as {@code PlanAgreement} names them. */
  long[] shared() {
    long millis = maxTime == null ? Long.MAX_VALUE : maxTime.toMillis();
    long[] own = {
      epochs(), accumulate(), seed(), maxSteps(), millis, skipNonFinite == null ? 0 : 1
    };
    return LongStream.concat(
            Arrays.stream(own), Arrays.stream(EvaluationOptions.numbers(evaluationOptions)))
        .toArray();
  }

  /** Keeps the results of evaluations as a part of the progress. */
  void evaluate(EvaluationOptions options) {
    evaluationOptions = options;
    evaluations = new Evaluations(options);
    progress.add(evaluations);
  }

  Optional<Evaluations> evaluations() {
    return Optional.ofNullable(evaluations);
  }

  /** Evaluates the model; there is an evaluation. */
  double evaluate(M model, Step step) {
    return requireNonNull(evaluation, "evaluation").of(model, step);
  }

  void note(LoopEvent event, int rank) {
    if (event.kind() == LoopEvent.Kind.CHANGED && rank > 0) {
      return; // rank 0 has saved its own options, and its part may be larger
    }
    if (events != null) {
      events.accept(event);
    } else if (isWarning(event.kind(), rank)) {
      LOGGER.log(Level.WARNING, event.text());
    } else if (rank == 0 || event.kind() == LoopEvent.Kind.WAITING) {
      LOGGER.log(Level.INFO, event.text());
    }
  }

  private static boolean isWarning(LoopEvent.Kind kind, int rank) {
    return kind == LoopEvent.Kind.SKIPPED || (rank == 0 && kind == LoopEvent.Kind.NOT_FINITE);
  }
}
