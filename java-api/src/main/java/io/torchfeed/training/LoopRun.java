// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.ResumeMismatchException;
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
  private final TrainingLoopBuilder<M> options;
  private final Ranks ranks;
  private final Progress progress;
  private final SavedState saved;
  private final LoopModel<M> model;
  private final LoopData data;
  private final PlannedStop stop;
  private boolean isHolder;
  private Peers peers = Peers.of(null);

  LoopRun(
      TrainingLoopBuilder<M> options,
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
    this.stop = stop;
  }

  /** Trains; closes the data and the model. */
  Outcome with(Loss<? super M> loss, Runnable update) throws InterruptedException {
    try {
      return groups(loss, update);
    } catch (RuntimeException | Error e) {
      if (e instanceof RuntimeException failure && ranks.isLeft(failure)) {
        saved.saveAsLast();
        return Outcome.LEFT;
      }
      ranks.fail(e);
      throw e;
    } finally {
      data.close();
      model.close();
    }
  }

  private Outcome groups(Loss<? super M> loss, Runnable update) throws InterruptedException {
    String reason = "";
    while (isNext(reason)) {
      try {
        Optional<String> end = together(loss, update);
        if (end.isEmpty()) {
          return progress.epoch() < options.epochs() ? Outcome.STOPPED : Outcome.COMPLETED;
        }
        reason = end.get();
      } finally {
        ranks.leave();
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

  /** Trains with the current ranks; returns why they end, or nothing if this run is at its end. */
  private Optional<String> together(Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try {
      enter();
      boolean mustLeave = ranks.commit(progress.step());
      if (!mustLeave && train(loss, update)) {
        saved.saveAtEnd();
        ranks.finish();
        return Optional.empty();
      }
      Optional<String> broken = ranks.broken();
      if (broken.isEmpty()) {
        model.get().average(); // a rank that leaves takes its weights with it
        peers.barrier().run(); // no rank is still in the last step when another one leaves
      }
      return Optional.of(broken.orElse(""));
    } catch (RuntimeException e) {
      if (!ranks.isBrokenBy(e)) {
        throw e;
      }
      return Optional.of(Failures.describe(e));
    } finally {
      stop.end();
      saved.await();
    }
  }

  /** Binds the model to the ranks, and takes the state from a checkpoint or rank 0. */
  private void enter() {
    peers = Peers.of(ranks.group().orElse(null));
    model.bind(ranks, isHolder, saved);
    long run = ranks.areFixed() ? ThreadLocalRandom.current().nextLong() : 0;
    long[] mine = {isHolder ? 1 : 0, progress.step(), progress.digest(), run};
    long[][] all =
        peers
            .numbers()
            .gather(
                PlanAgreement.withOptions(
                    mine, options.epochs(), options.accumulate(), options.seed()));
    PlanAgreement.requireSameOptions(all, peers);
    if (ranks.areFixed()) {
      PlanAgreement.requireSameStart(all, 1);
      ranks.group().ifPresent(group -> stop.begin(progress.step(), group, all[0][3]));
    } else {
      boolean areEqual = Arrays.stream(all).allMatch(each -> Arrays.equals(each, all[0]));
      if (model.get() instanceof ModelAveraging || all[0][0] == 0 || !areEqual) {
        ranks.share(saved.state());
      }
      model.continueAfter(ranks, progress);
    }
    isHolder = true;
    data.take(peers.part());
    saved.begin(ranks.areFixed());
    saved.report(options.epochs(), this::note);
    options.whenChanged.accept(next(progress.epoch()));
  }

  private void note(LoopEvent event) {
    options.note(event, peers.part().rank());
  }

  private Step next(long epoch) {
    return new Step(progress.step(), epoch, peers.part().rank(), peers.part().worldSize());
  }

  /**
   * Returns whether this run is at its end, since all epochs are complete or a stop was asked for;
   * else the ranks have changed after a step.
   */
  private boolean train(Loss<? super M> loss, Runnable update) throws InterruptedException {
    try (StepGuard guard = ranks.areFixed() ? null : new StepGuard(model.get().module())) {
      while (progress.epoch() < options.epochs()) {
        try (EpochBatches batches = open()) {
          if (!epoch(guard, batches, loss, update)) {
            return isStopped();
          }
        }
      }
    }
    return true;
  }

  private boolean isStopped() throws InterruptedException {
    boolean isStopped = stop.isAfter(progress.step());
    if (isStopped) {
      model.get().average();
      String text = "stops after %d steps, as it was asked to".formatted(progress.step());
      note(new LoopEvent(Kind.STOPPED, text));
    }
    return isStopped;
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

  /** Returns whether the epoch is complete. */
  private boolean epoch(
      @Nullable StepGuard guard, EpochBatches batches, Loss<? super M> loss, Runnable update)
      throws InterruptedException {
    try {
      while (batches.nextStep()) {
        step(guard, batches, loss, update);
        if (ranks.commit(progress.step()) || stop.isAfter(progress.step())) {
          return false;
        }
      }
      model.get().average();
      options.afterEpoch.accept(model.get(), next(batches.epoch()));
      progress.endEpoch();
    } finally {
      progress.leave();
    }
    saved.saveNow();
    return true;
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
    try (PointerScope scope = new PointerScope()) {
      new AccumulatedStep(batch -> loss.of(step, bound, batch), update, options.accumulate())
          .run(bound, batches);
    } catch (RuntimeException e) {
      if (guard != null && ranks.isBrokenBy(e) && guard.completesOrUndoes()) {
        progress.commit(model.exchanges());
        ranks.commit(progress.step());
      }
      throw e;
    }
    progress.commit(model.exchanges());
    try {
      options.afterStep.accept(bound, step);
      saved.saveAfterStep(batches, bound);
    } catch (RuntimeException e) {
      ranks.commit(progress.step()); // the step is complete
      throw e;
    }
  }
}
