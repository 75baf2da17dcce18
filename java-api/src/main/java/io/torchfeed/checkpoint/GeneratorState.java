// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.checkpoint.StateDict.Checked;
import io.torchfeed.internal.JsonObject;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;

/**
 * The state of a generator of random numbers.
 *
 * @param generator borrowed
 */
record GeneratorState(Generator generator) implements Checked {
  private static final String KIND = "Generator";
  private static final String TENSOR = "state";
  private static final int VERSION = 1;

  @Override
  public StateDict stateDict() {
    try (PointerScope scope = new PointerScope()) {
      return StateDict.of(
          "{\"version\":%s,\"kind\":\"%s\"}".formatted(VERSION, KIND),
          Map.of(TENSOR, generator.get_state()));
    }
  }

  /** Sets the state and the present one again: only libtorch knows whether the bytes fit. */
  @Override
  public void check(StateDict state) {
    try (PointerScope scope = new PointerScope()) {
      Tensor present = generator.get_state();
      loadStateDict(state);
      generator.set_state(present);
    }
  }

  @Override
  public void loadStateDict(StateDict state) {
    JsonObject json = JsonObject.parse("state of a generator", state.json());
    json.requireKind(KIND);
    json.only("version", "kind").requireVersion(VERSION);
    try (PointerScope scope = new PointerScope()) {
      state.requireFit(Map.of(TENSOR, generator.get_state()));
      Tensor saved = state.tensors().values().iterator().next();
      generator.set_state(saved);
    } catch (RuntimeException e) {
      throw refused(e);
    }
  }

  /** Returns libtorch's refusal of malformed bytes as the exception of a wrong argument. */
  private static RuntimeException refused(RuntimeException e) {
    RuntimeException translated = NativeException.translate(e);
    return translated instanceof NativeException
        ? new IllegalArgumentException("the state of the generator: " + translated.getMessage(), e)
        : translated;
  }
}
