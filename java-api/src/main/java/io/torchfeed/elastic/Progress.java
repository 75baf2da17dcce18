// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The steps that have been completed, and the position in the data after them. */
final class Progress implements Stateful {
  private static final String KIND = "ElasticTraining";
  private static final int VERSION = 2;

  private long step;
  private long exchanges;
  private @Nullable EpochBatches pass;

  /** One state, or over a stream one of each rank; empty at the start of epoch 0. */
  private List<LoaderState> states = List.of();

  long step() {
    return step;
  }

  /** Returns the epoch of the next batch. */
  long epoch() {
    List<LoaderState> now = states();
    return now.isEmpty() ? 0 : now.get(0).epoch() + (isAtEnd(now) ? 1 : 0);
  }

  private static boolean isAtEnd(List<LoaderState> states) {
    return states.stream().allMatch(LoaderState::finished);
  }

  /**
   * Returns the samples of that epoch that were used, or the batches of a plan of whole batches.
   */
  long samples() {
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
    return pass == null ? states : pass.committed();
  }

  /**
   * Opens the pass that continues; it is borrowed until {@link #leave}.
   *
   * @param loader the same on all ranks, which call this together, but for the part
   * @param perStep the batches of a step
   * @param group the ranks, which go through a stream together
   */
  EpochBatches open(DataLoader loader, int perStep, ProcessGroup group) {
    PlanAgreement.requireSameData(loader, epoch(), group);
    Batches opened = states.isEmpty() ? loader.epoch(0) : loader.resume(states);
    try {
      pass = EpochBatches.of(opened, states, perStep, group);
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
    return pass;
  }

  /** Returns the exchanges of weights, if gradients are not averaged. */
  long exchanges() {
    return exchanges;
  }

  /**
   * Counts a step, which has used the current batch.
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
    saved.requireFit(Map.of());
    JsonObject json = JsonObject.parse("state of an elastic training", saved.json());
    json.requireKind(KIND);
    json.only("version", "kind", "step", "exchanges", "loader");
    if (json.number("version") != 1) {
      json.requireVersion(VERSION);
    }
    states = json.text("loader").lines().map(LoaderState::fromJson).toList();
    step = json.number("step");
    exchanges = json.has("exchanges") ? json.number("exchanges") : 0; // older states
    pass = null;
  }
}
