// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.trace.Trace;
import io.torchfeed.trace.ring.StepSpan;
import io.torchfeed.training.LoopEvent.Kind;
import io.torchfeed.training.TrainingLoop.Loss;
import io.torchfeed.training.TrainingLoop.Outcome;
import io.torchfeed.training.steps.AccumulatedStep;
import io.torchfeed.training.steps.EpochBatches;
import io.torchfeed.training.steps.Peers;
import io.torchfeed.training.steps.PlanAgreement;
import io.torchfeed.training.steps.StepGuard;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The run of a {@link TrainingLoop}: with one set of ranks after the other, step by step. */
final class LoopRun<M extends ReplicatedModel> {
  private final LoopSettings<M> options;
  private final Ranks ranks;
  private final Progress progress;
  private final SavedState saved;
  private final LoopModel<M> model;
  private final LoopData data;
  private final SkippedSteps skipped;
  private final RunLimits limits;
  private PlannedStop stop;
  private final RunTime time;
  private boolean isHolder;
  private Peers peers = Peers.of(null);
  private final MonitoredSteps figures;

  LoopRun(
      LoopSettings<M> options,
      LoopModel<M> model,
      SavedState saved,
      LoopData data,
      PlannedStop stop) {
    this.options = options;
    this.ranks = options.ranks;
    this.progress = options.progress;
    this.model = model;
    this.saved = saved;
    this.data = data;
    skipped = new SkippedSteps(options.skipNonFinite != null);
    this.stop = stop;
    figures = new MonitoredSteps(options.rate, options.monitor);
    limits = new RunLimits(options);
    time = options.time();
  }

  /** The end of a pass over an epoch. */
  private enum PassEnd {
    /** The epoch is complete. */
    EPOCH,

    /** No step may follow. */
    LIMIT,

    /** A stop was asked for. */
    STOP,

    /** The ranks change. */
    CHANGE
  }

  /** Trains; closes the data and the model. */
  Outcome with(Loss<? super M> loss, Runnable update) throws InterruptedException {
    time.set(0);
    try (Trace trace = options.startTrace()) {
      return groups(loss, update);
    } catch (RuntimeException | Error e) {
      if (e instanceof RuntimeException failure && ranks.isLeft(failure)) {
        saved.saveAsLast();
        return Outcome.LEFT;
      }
      ranks.fail(e);
      throw e;
    } finally {
      figures.begin();
      data.close();
      model.close();
    }
  }

  private Outcome groups(Loss<? super M> loss, Runnable update) throws InterruptedException {
    String reason = "";
    while (isNext(reason)) {
      try {
        Together end = together(loss, update);
        if (end.outcome() != null) {
          return end.outcome();
        }
        reason = end.reason();
      } finally {
        try {
          figures.leave();
        } finally {
          ranks.leave();
        }
      }
    }
    return Outcome.NOT_NEEDED;
  }

  private boolean isNext(String reason) throws InterruptedException {
    if (!ranks.areFixed()) {
      String text = reason.isEmpty() ? "waits for ranks" : "waits for ranks, since " + reason;
      note(new LoopEvent(Kind.WAITING, text));
    }
    return ranks.next(reason);
  }

  /**
   * The end of a time with the same ranks.
   *
   * @param outcome of the run, if it ends, too
   * @param reason why the ranks end, if it was in the middle of a step
   */
  private record Together(@Nullable Outcome outcome, String reason) {}

  /** Trains with the current ranks. */
  private Together together(Loss<? super M> loss, Runnable update) throws InterruptedException {
    try {
      enter();
      boolean mustLeave = ranks.commit(progress.step());
      Optional<Outcome> end = mustLeave ? Optional.empty() : train(loss, update);
      if (end.isPresent()) {
        saved.saveAtEnd();
        ranks.finish();
        return new Together(end.get(), "");
      }
      Optional<String> broken = ranks.broken();
      if (broken.isEmpty()) {
        model.get().average(); // a rank that leaves takes its weights with it
        peers.barrier().run(); // no rank is still in the last step when another one leaves
      }
      return new Together(null, broken.orElse(""));
    } catch (RuntimeException e) {
      if (!ranks.isBrokenBy(e)) {
        throw e;
      }
      return new Together(null, Failures.describe(e));
    } finally {
      stop.end();
      saved.await();
    }
  }

  /** Binds the model to the ranks, and takes the state from a checkpoint or rank 0. */
  private void enter() {
    peers = Peers.of(ranks.group().orElse(null));
    model.bind(ranks, isHolder, saved);
    long run = ThreadLocalRandom.current().nextLong();
    long[] mine = {isHolder ? 1 : 0, progress.step(), progress.digest(), run, time.elapsed()};
    long[][] all = peers.numbers().gather(PlanAgreement.withOptions(mine, options.shared()));
    PlanAgreement.requireSameOptions(all, peers);
    time.set(Arrays.stream(all).mapToLong(each -> each[4]).max().orElseThrow());
    if (ranks.areFixed()) {
      PlanAgreement.requireSameStart(all, 1);
    } else {
      boolean areEqual =
          Arrays.stream(all).allMatch(each -> Arrays.equals(each, 0, 3, all[0], 0, 3));
      if (model.get() instanceof ModelAveraging || all[0][0] == 0 || !areEqual) {
        ranks.share(saved.state());
      }
      model.continueAfter(ranks, progress);
      stop = new PlannedStop(); // of the time; other stops are asked of the ranks
    }
    if (ranks.areFixed() || time.isLimited()) {
      ranks.group().ifPresent(group -> stop.begin(progress.step(), group, all[0][3]));
    }
    isHolder = true;
    data.take(peers.part());
    figures.take(data.loader(), model.get());
    saved.begin(ranks.areFixed(), model.get() instanceof ModelAveraging);
    saved.report(limits.nothingLeft(), options.saved(data.loader(), peers.part()), this::note);
    options.whenChanged.accept(next(progress.epoch()));
  }

  long skippedSteps() {
    return skipped.count();
  }

  private void note(LoopEvent event) {
    options.note(event, peers.part().rank());
  }

  private Step next(long epoch) {
    return new Step(progress.step(), epoch, peers.part().rank(), peers.part().worldSize());
  }

  /** Returns the outcome of this run at its end; nothing if the ranks change after a step. */
  private Optional<Outcome> train(Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try (StepGuard guard = ranks.areFixed() ? null : new StepGuard(model.get().module())) {
      PassEnd end = PassEnd.EPOCH;
      while (end == PassEnd.EPOCH && !limits.isAtEnd()) {
        try (EpochBatches batches = open()) {
          end = pass(guard, batches, loss, update);
        }
      }
      if (end == PassEnd.CHANGE) {
        return Optional.empty();
      }
      if (end != PassEnd.EPOCH) {
        model.get().average(); // in the middle of an epoch
      }
      if (end == PassEnd.LIMIT) {
        evaluateAtLimit();
      }
      return Optional.of(end == PassEnd.STOP ? stopped() : atEnd());
    }
  }

  private Outcome stopped() {
    String why = time.isOver() ? "since its time is over" : "as it was asked to";
    String text = "stops after %d steps, %s".formatted(progress.step(), why);
    note(new LoopEvent(Kind.STOPPED, text));
    return Outcome.STOPPED;
  }

  private Outcome atEnd() {
    Outcome outcome = limits.outcome();
    if (outcome == Outcome.STOPPED_EARLY) {
      String text = "stops early after %d steps: ".formatted(progress.step());
      note(new LoopEvent(Kind.STOPPED, text + limits.whyOver()));
    }
    return outcome;
  }

  private EpochBatches open() {
    try {
      return ranks.haveOwnData()
          ? progress.openOwn(data.loader(), options.accumulate(), peers)
          : progress.open(data.loader(), options.accumulate(), peers);
    } catch (ResumeMismatchException e) {
      throw saved.explained(e);
    }
  }

  private PassEnd pass(
      @Nullable StepGuard guard, EpochBatches batches, Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try {
      boolean isStart = progress.samples() == 0;
      long before = progress.step();
      if (evaluateAfterStep(batches)) { // a rank was lost meanwhile, or there was none before
        saved.saveAfterStep(batches, model.get(), true);
      }
      while (batches.nextStep()) {
        if (limits.isReached()) {
          return PassEnd.LIMIT;
        }
        step(guard, batches, loss, update);
        if (ranks.commit(progress.step())) {
          return PassEnd.CHANGE;
        }
        if (time.isOver()) {
          stop.request();
        }
        if (stop.isAfter(progress.step())) {
          return PassEnd.STOP;
        }
      }
      if (isStart) {
        limits.requireSteps(batches.epoch(), before);
      }
      saved.awaitCopied();
      model.get().average();
      options.afterEpoch.accept(model.get(), next(batches.epoch()));
      if (options.evaluations().filter(each -> each.isDueAtEnd(progress.step())).isPresent()) {
        evaluate(batches.epoch());
      }
      progress.endEpoch();
    } finally {
      progress.leave();
      saved.awaitCopied();
    }
    saved.saveNow();
    return PassEnd.EPOCH;
  }

  /** Evaluates the model within an epoch if it is time; returns whether it was. */
  private boolean evaluateAfterStep(EpochBatches batches) {
    boolean isDue =
        options.evaluations().filter(each -> each.isDueAfter(progress.step())).isPresent();
    if (isDue) {
      model.get().average();
      evaluate(batches.epoch());
    }
    return isDue;
  }

  /** Evaluates the state in which the training ends within an epoch, unless it was. */
  private void evaluateAtLimit() {
    if (options.evaluations().filter(each -> each.isDueAtLimit(progress.step())).isPresent()) {
      evaluate(progress.epoch());
      saved.saveNow();
    }
  }

  /** Evaluates the model; all ranks do it together, and count the value of rank 0. */
  private void evaluate(long epoch) {
    double mine;
    try (PointerScope scope = new PointerScope()) {
      mine = options.evaluate(model.get(), next(epoch));
    }
    long[][] all = peers.numbers().gather(new long[] {Double.doubleToLongBits(mine)});
    double[] values =
        Arrays.stream(all).mapToDouble(each -> Double.longBitsToDouble(each[0])).toArray();
    String text = options.evaluations().orElseThrow().take(progress.step(), values);
    note(new LoopEvent(Kind.EVALUATED, text));
    figures.evaluated(next(epoch), options.evaluations().orElseThrow().metric());
  }

  private void step(
      @Nullable StepGuard guard, EpochBatches batches, Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    M bound = model.get();
    Step step = next(batches.epoch());
    options.setRate(step);
    torch.manual_seed(Hash64.foldAll(options.seed(), step.number(), step.rank()));
    if (guard != null) {
      guard.begin();
    }
    StepSpan span = StepSpan.begin(step.number());
    try (PointerScope scope = new PointerScope()) {
      figures.begin();
      Runnable guarded = skipped.guarding(bound, update);
      Runnable copied =
          () -> {
            saved.awaitCopied(); // forward and backward passes only read the tensors
            span.update(guarded);
          };
      new AccumulatedStep(
              batch -> span.forward(() -> figures.add(batch, loss.of(step, bound, batch))),
              options.weight,
              copied,
              options.accumulate())
          .run(bound, batches);
    } catch (RuntimeException e) {
      if (guard != null && ranks.isBrokenBy(e) && guard.completesOrUndoes()) {
        progress.commit(model.exchanges());
        ranks.commit(progress.step());
      }
      throw e;
    } finally {
      span.end();
    }
    progress.commit(model.exchanges());
    skipped.end(step, this::note);
    try {
      figures.report(step, () -> limits.stepsLeft(batches));
      options.afterStep.accept(bound, step);
      saved.saveAfterStep(batches, bound, evaluateAfterStep(batches));
    } catch (RuntimeException e) {
      ranks.commit(progress.step()); // the step is complete
      throw e;
    }
  }
}
