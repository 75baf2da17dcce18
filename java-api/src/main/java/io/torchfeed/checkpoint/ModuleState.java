// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.StateCopy.Held;
import io.torchfeed.checkpoint.StateDict.Checked;
import io.torchfeed.internal.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;

/**
 * The parameters and buffers of a module, under the names of {@code state_dict} in Python.
 *
 * @param module borrowed
 */
record ModuleState(Module module) implements Held, Checked {
  private static final String KIND = "Module";
  private static final int VERSION = 1;

  @Override
  public StateDict stateDict() {
    try (PointerScope scope = new PointerScope()) {
      return StateDict.of(json(), tensors(module));
    }
  }

  @Override
  public StateDict sharedStateDict() {
    try (PointerScope scope = new PointerScope()) {
      return StateDict.sharing(json(), tensors(module));
    }
  }

  /** Shares the parameters: batch normalization changes buffers without the optimizer. */
  @Override
  public StateDict heldStateDict() {
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> tensors = parameters(module);
      Set<String> parameters = Set.copyOf(tensors.keySet());
      addDefined(module.named_buffers(), tensors);
      return StateDict.of(json(), tensors, name -> !parameters.contains(name));
    }
  }

  private static String json() {
    return "{\"version\":%s,\"kind\":\"%s\"}".formatted(VERSION, KIND);
  }

  @Override
  public void check(StateDict state) {
    requireKind(state);
    try (PointerScope scope = new PointerScope()) {
      state.requireFit(tensors(module));
    }
  }

  @Override
  public void loadStateDict(StateDict state) {
    requireKind(state);
    try (PointerScope scope = new PointerScope()) {
      state.copyTo(tensors(module));
    }
  }

  private static void requireKind(StateDict state) {
    JsonObject json = JsonObject.parse("state of a module", state.json());
    json.requireKind(KIND);
    json.only("version", "kind").requireVersion(VERSION);
  }

  /**
   * Returns the parameters, and the buffers that have values.
   *
   * @return by name, in the module's order; owned by the caller's pointer scope
   */
  static Map<String, Tensor> tensors(Module module) {
    Map<String, Tensor> tensors = parameters(module);
    addDefined(module.named_buffers(), tensors);
    return tensors;
  }

  static Map<String, Tensor> parameters(Module module) {
    Map<String, Tensor> parameters = new LinkedHashMap<>();
    addDefined(module.named_parameters(), parameters);
    return parameters;
  }

  private static void addDefined(StringTensorDict from, Map<String, Tensor> to) {
    StringTensorDictItemVector items = from.items();
    for (long i = 0; i < items.size(); i++) {
      StringTensorDictItem item = items.get(i);
      Tensor value = item.value();
      if (value.defined()) {
        to.put(item.key().getString(), value);
      }
    }
  }
}
