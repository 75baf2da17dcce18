// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.internal.JsonObject;
import io.torchfeed.sampler.SamplerState;

/**
 * The JSON form of loader states. The state of a sampler or of a stream is written unchanged; the
 * state of a sampler with batches delivered ahead is an object of both.
 */
final class LoaderStateJson {
  private static final String SAMPLER = "sampler";
  private static final String AHEAD = "deliveredAhead";

  private LoaderStateJson() {}

  static String write(LoaderState.IndexState state) {
    String sampler = state.sampler().toJson();
    return state.deliveredAhead().isEmpty()
        ? sampler
        : "{\"%s\":%s,\"%s\":%s}".formatted(SAMPLER, sampler, AHEAD, state.deliveredAhead());
  }

  static LoaderState read(String json) {
    JsonObject state = JsonObject.parse("loader state", json);
    if (state.has("positions")) {
      return LoaderState.StreamState.fromJson(json);
    }
    if (!state.has(SAMPLER)) {
      return new LoaderState.IndexState(SamplerState.fromJson(json));
    }
    state.only(SAMPLER, AHEAD);
    return new LoaderState.IndexState(
        SamplerState.fromJson(state.object(SAMPLER).toString()), state.numbers(AHEAD));
  }
}
