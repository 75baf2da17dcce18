// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.LoaderState;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The steps that have been completed, and the position in the data after them. */
final class Progress implements Stateful {
  private static final String KIND = "ElasticTraining";
  private static final int VERSION = 2;

  private long step;
  private long exchanges;
  private @Nullable LoaderState state; // null at the start of epoch 0
  private @Nullable Batches pass;
  private long position;

  long step() {
    return step;
  }

  /** Returns the epoch of the next batch. */
  long epoch() {
    LoaderState now = state();
    return now == null ? 0 : now.epoch() + (now.finished() ? 1 : 0);
  }

  /**
   * Returns the samples of that epoch that were used, or the batches of a plan of whole batches.
   */
  long samples() {
    LoaderState now = state();
    return now instanceof LoaderState.IndexState indices && !now.finished()
        ? indices.sampler().segments().stream()
            .mapToLong(each -> each.worldSize() * each.deliveredByEachRank())
            .sum()
        : 0;
  }

  private @Nullable LoaderState state() {
    return pass == null ? state : pass.stateAt(position);
  }

  /** Opens the pass that continues; it is borrowed until {@link #leave}. */
  Batches open(DataLoader loader) {
    Batches opened = state == null ? loader.epoch(0) : loader.resume(state);
    try {
      position = opened.position();
      if (step == 0) {
        opened.stateAt(position); // refuses data that have no position
      }
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
    pass = opened;
    return opened;
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
      position = pass.position();
    }
  }

  /** Ends the epoch of the pass. */
  void endEpoch() {
    if (pass != null) {
      state = pass.state();
      pass = null;
    }
  }

  /** Ends the pass: batches that no completed step has used count as not delivered. */
  void leave() {
    state = state();
    pass = null;
  }

  /** Returns a hash of this progress, to be compared between ranks. */
  long digest() {
    return Hash64.fnv1a(json());
  }

  private String json() {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      LoaderState now = state();
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeStringField("kind", KIND);
      out.writeNumberField("step", step);
      out.writeNumberField("exchanges", exchanges);
      out.writeStringField("loader", now == null ? "" : now.toJson());
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.toString();
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
    String loader = json.text("loader");
    state = loader.isEmpty() ? null : LoaderState.fromJson(loader);
    step = json.number("step");
    exchanges = json.has("exchanges") ? json.number("exchanges") : 0; // older states
    pass = null;
  }
}
