// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.training.steps.EpochBatches;
import io.torchfeed.training.steps.OwnBatches;
import io.torchfeed.training.steps.Peers;
import io.torchfeed.training.steps.PlanAgreement;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How far a training is: its steps, its epoch, and the position in the data, as one part of a
 * {@link io.torchfeed.checkpoint.TrainingState}. {@link TrainingLoop} has its own; a loop of your
 * own iterates over it:
 *
 * <pre>{@code
 * Progress progress = Progress.over(loader);
 * TrainingState state =
 *     TrainingState.builder().module("model", net).part("progress", progress).build();
 * try (Checkpoints checkpoints = Checkpoints.open(root)) {
 *   checkpoints.load(state); // the batches continue where they were
 *   while (progress.epoch() < 3) {
 *     for (Batch batch : progress) { // the rest of the epoch
 *       step(batch.tensor(0), batch.tensor(1));
 *       if (progress.step() % 100 == 0) {
 *         checkpoints.saveInBackground(progress.step(), state);
 *       }
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>A batch counts as used when it has been taken: save after its step, and before the loader is
 * closed. On several ranks, one that takes an index from all saves for all; over a stream each rank
 * saves its own, by {@link io.torchfeed.checkpoint.TrainingState.Builder#ofEachRank}.
 *
 * <p>Not thread-safe.
 */
public final class Progress implements Stateful, Iterable<Batch> {
  private static final String KIND = "Progress";
  private static final int VERSION = 1;

  private final @Nullable DataLoader loader;
  private long step;
  private long exchanges;

  /** Of a {@link TrainingLoop}. */
  private @Nullable EpochBatches pass;

  /** Of a loop of the user's own. */
  private @Nullable Batches taken;

  /** Of a {@link TrainingLoop} that evaluates its model. */
  private @Nullable Evaluations evaluations;

  /** Of a {@link TrainingLoop}: the options of the run, or of the checkpoint before it begins. */
  private SavedOptions options = SavedOptions.none();

  /** One state, or over a stream one of each rank; empty at the start of epoch 0. */
  private List<LoaderState> states = List.of();

  private Progress(@Nullable DataLoader loader) {
    this.loader = loader;
  }

  /** Returns the progress of a {@link TrainingLoop}, which opens the passes. */
  static Progress ofLoop() {
    return new Progress(null);
  }

  /** Adds the results of evaluations, before the first step. */
  void add(Evaluations results) {
    evaluations = results;
  }

  /** Sets the options of the run; returns those with which the state was saved. */
  SavedOptions replace(SavedOptions present) {
    SavedOptions before = options;
    options = present;
    return before;
  }

  /** Returns the metric of the present state, if it was evaluated. */
  Optional<Metric> metric() {
    return evaluations == null ? Optional.empty() : evaluations.metricAfter(step);
  }

  /**
   * Returns the progress of a loop of your own, at the start of epoch 0.
   *
   * @param loader delivers the batches; borrowed, and closes an open pass when it is closed
   * @return the progress, for {@link #iterator} and for a training state
   */
  public static Progress over(DataLoader loader) {
    return new Progress(requireNonNull(loader, "loader"));
  }

  /**
   * Returns the number of steps: in a loop of your own, of the batches that were taken; else of the
   * steps that have been completed.
   *
   * @return at least 0
   */
  public long step() {
    return step;
  }

  /**
   * Returns the epoch of the next batch.
   *
   * @return at least 0; one more once the end of an epoch was seen
   * @throws IllegalStateException if the loader was closed within an epoch
   */
  public long epoch() {
    List<LoaderState> now = states();
    return now.isEmpty() ? 0 : now.get(0).epoch() + (isAtEnd(now) ? 1 : 0);
  }

  private static boolean isAtEnd(List<LoaderState> states) {
    return states.stream().allMatch(LoaderState::finished);
  }

  /**
   * Returns the samples of that epoch that were used, padding included.
   *
   * @return at least 0; if a plan is divided into whole batches, the batches
   * @throws IllegalStateException if the loader was closed within an epoch
   */
  public long samples() {
    List<LoaderState> now = states();
    return isAtEnd(now) ? 0 : now.stream().mapToLong(Progress::samples).sum();
  }

  private static long samples(LoaderState state) {
    return state instanceof LoaderState.IndexState indices
        ? indices.sampler().segments().stream()
            .mapToLong(each -> each.worldSize() * each.deliveredByEachRank())
            .sum()
        : ((LoaderState.StreamState) state)
            .positions().stream().mapToLong(LoaderState.ShardPosition::samples).sum();
  }

  private List<LoaderState> states() {
    if (taken != null) {
      return List.of(taken.state());
    }
    return pass == null ? states : pass.committed();
  }

  /**
   * Returns the rest of the epoch: it continues a pass that was left, or after its end begins the
   * next epoch. A batch is valid until the next one is taken.
   *
   * @throws IllegalStateException if this is the progress of a {@link TrainingLoop}, which takes
   *     the batches itself, or the loader is closed
   */
  @Override
  public Iterator<Batch> iterator() {
    if (loader == null) {
      throw new IllegalStateException("the loop takes the batches of this progress itself");
    }
    if (taken == null) {
      taken = states.isEmpty() ? loader.epoch(0) : loader.resume(states);
    }
    return new Rest(taken);
  }

  private final class Rest implements Iterator<Batch> {
    private final Batches batches;

    Rest(Batches batches) {
      this.batches = batches;
    }

    @Override
    public boolean hasNext() {
      boolean hasNext = batches.hasNext();
      if (!hasNext && batches.equals(taken)) {
        states = List.of(batches.state());
        taken = null;
      }
      return hasNext;
    }

    @Override
    public Batch next() {
      Batch next = batches.next();
      step++;
      return next;
    }
  }

  /**
   * Opens the pass that continues; it is borrowed until {@link #leave}.
   *
   * @param loader the same on all ranks, which call this together, but for the part
   * @param perStep the batches of a step
   * @param peers the ranks, which go through a stream together
   */
  EpochBatches open(DataLoader loader, int perStep, Peers peers) {
    PlanAgreement.requireSameData(loader, epoch(), peers);
    Batches opened = states.isEmpty() ? loader.epoch(0) : loader.resume(states);
    try {
      pass = EpochBatches.of(loader, opened, states, perStep, peers);
      return pass;
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
  }

  /** Opens the pass that continues over data that this rank has for itself. */
  EpochBatches openOwn(DataLoader loader, int perStep, Peers peers) {
    Batches opened = states.isEmpty() ? loader.epoch(0) : loader.resume(states);
    try {
      long left = loader.batches(opened.epoch()) - opened.position();
      pass = new OwnBatches(opened, left, perStep, peers);
      return pass;
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
  }

  /** Returns the exchanges of weights, if gradients are not averaged. */
  long exchanges() {
    return exchanges;
  }

  /**
   * Counts a step, which has used the batches so far.
   *
   * @param exchangesSoFar of weights; 0 if gradients are averaged
   */
  void commit(long exchangesSoFar) {
    step++;
    exchanges = exchangesSoFar;
    if (pass != null) {
      pass.commit();
    }
  }

  /** Ends the epoch of the pass. */
  void endEpoch() {
    if (pass != null) {
      states = pass.end();
      pass = null;
    }
  }

  /** Ends the pass: batches that no completed step has used count as not delivered. */
  void leave() {
    states = states();
    pass = null;
  }

  /** Returns a hash of this progress, to be compared between ranks. */
  long digest() {
    return Hash64.fnv1a(json());
  }

  private String json() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", KIND);
      out.writeNumberField("step", step);
      out.writeNumberField("exchanges", exchanges);
      out.writeStringField("loader", lines(states()));
      if (evaluations != null) {
        out.writeFieldName("evaluations");
        evaluations.write(out);
      }
      if (!options.values().isEmpty()) {
        out.writeFieldName("options");
        options.write(out);
      }
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.toString();
  }

  private static String lines(List<LoaderState> states) {
    return states.stream().map(LoaderState::toJson).collect(Collectors.joining("\n"));
  }

  @Override
  public StateDict stateDict() {
    return StateDict.of(json(), Map.of());
  }

  @Override
  public void loadStateDict(StateDict saved) {
    requireNonNull(saved, "saved").requireFit(Map.of());
    JsonObject json = JsonObject.parse("progress of a training", saved.json());
    json.requireKind(KIND);
    json.only("version", "kind", "step", "exchanges", "loader", "evaluations", "options");
    json.requireVersion(VERSION);
    List<LoaderState> loaded = json.text("loader").lines().map(LoaderState::fromJson).toList();
    long steps = Checks.requireAtLeastZero("step", json.number("step"));
    long exchanged = json.number("exchanges");
    SavedOptions savedOptions =
        SavedOptions.read(json.has("options") ? json.object("options") : null);
    if (evaluations != null) {
      evaluations.load(json.has("evaluations") ? json.object("evaluations") : null);
    }
    exchanges = exchanged;
    options = savedOptions;
    states = loaded;
    step = steps;
    pass = null;
    if (taken != null) {
      taken.close();
      taken = null;
    }
  }
}
