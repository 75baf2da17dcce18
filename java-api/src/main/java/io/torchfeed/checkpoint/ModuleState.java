// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
record ModuleState(Module module) implements Stateful {
  private static final String KIND = "Module";
  private static final int VERSION = 1;

  @Override
  public StateDict stateDict() {
    try (PointerScope scope = new PointerScope()) {
      return StateDict.of(
          "{\"version\":%d,\"kind\":\"%s\"}".formatted(VERSION, KIND), tensors(module));
    }
  }

  @Override
  public void loadStateDict(StateDict state) {
    JsonObject json = JsonObject.parse("state of a module", state.json());
    requireKind(json, KIND);
    json.only("version", "kind").requireVersion(VERSION);
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> targets = tensors(module);
      requireFit(state.tensors(), targets);
      state.copyTo(targets);
    }
  }

  static void requireKind(JsonObject json, String kind) {
    if (!json.text("kind").equals(kind)) {
      throw new IllegalArgumentException(
          "the state must be of a %s, got a %s".formatted(kind, json.text("kind")));
    }
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
      if (item.value().defined()) {
        to.put(item.key().getString(), item.value());
      }
    }
  }

  /**
   * Checks names, dtypes and shapes.
   *
   * @throws IllegalArgumentException if one differs; the message has all differences
   */
  static void requireFit(Map<String, Tensor> saved, Map<String, Tensor> targets) {
    List<String> differences = new ArrayList<>();
    List<String> missing = targets.keySet().stream().filter(n -> !saved.containsKey(n)).toList();
    List<String> unexpected = saved.keySet().stream().filter(n -> !targets.containsKey(n)).toList();
    if (!missing.isEmpty()) {
      differences.add("missing names: " + String.join(", ", missing));
    }
    if (!unexpected.isEmpty()) {
      differences.add("unexpected names: " + String.join(", ", unexpected));
    }
    targets.forEach(
        (name, target) -> {
          Tensor tensor = saved.get(name);
          if (tensor != null && !StateDict.describe(tensor).equals(StateDict.describe(target))) {
            differences.add(
                "%s is %s in the state and %s in the module"
                    .formatted(name, StateDict.describe(tensor), StateDict.describe(target)));
          }
        });
    if (!differences.isEmpty()) {
      throw new IllegalArgumentException(
          "the state does not fit the module: " + String.join("; ", differences));
    }
  }
}
