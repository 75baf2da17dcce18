// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Quotes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * The saved tensors whose names begin with a prefix, to be copied into a module.
 *
 * @param names without the prefix, in the order of the file
 * @param read returns a tensor by that name, owned by the caller
 * @param module borrowed
 */
record ModuleCopy(List<String> names, Function<String, Tensor> read, Module module) {
  /**
   * Chooses tensors.
   *
   * @param file for messages
   * @throws IllegalArgumentException if none has the prefix, though the file has tensors
   */
  static ModuleCopy of(
      Path file, Set<String> names, Function<String, Tensor> read, String prefix, Module module) {
    requireNonNull(prefix, "prefix");
    requireNonNull(module, "module");
    List<String> within =
        names.stream()
            .filter(name -> name.startsWith(prefix))
            .map(name -> name.substring(prefix.length()))
            .toList();
    if (within.isEmpty() && !names.isEmpty()) {
      throw new IllegalArgumentException(
          "no name in %s begins with the prefix \"%s\"; the names are %s"
              .formatted(file, Quotes.shortened(prefix), Quotes.listed(", ", names)));
    }
    return new ModuleCopy(within, name -> read.apply(prefix + name), module);
  }

  /** Copies all tensors, or none if the module has other ones. */
  void strict() {
    try (PointerScope scope = new PointerScope()) {
      copy(names, ModuleState.tensors(module));
    }
  }

  /** Copies the tensors that the module has, too, or none if one does not fit. */
  IncompatibleKeys matching() {
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> targets = ModuleState.tensors(module);
      List<String> missing = new ArrayList<>(targets.keySet());
      names.forEach(missing::remove);
      List<String> unexpected = new ArrayList<>(names);
      unexpected.removeAll(targets.keySet());
      targets.keySet().retainAll(names);
      copy(List.copyOf(targets.keySet()), targets);
      return new IncompatibleKeys(missing, unexpected);
    }
  }

  private void copy(List<String> chosen, Map<String, Tensor> targets) {
    Map<String, Tensor> tensors = new TreeMap<>();
    try (StateDict state = StateDict.owning("", tensors)) {
      for (String name : chosen) {
        tensors.put(name, read.apply(name));
      }
      state.copyTo(targets);
    }
  }
}
