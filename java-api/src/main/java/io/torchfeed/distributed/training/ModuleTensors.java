// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.pytorch.EmbeddingBagImpl;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringSharedModuleDictItem;
import org.bytedeco.pytorch.StringSharedModuleDictItemVector;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * The parameters or the buffers of a module.
 *
 * @param names their names, in the order of the tensors
 * @param tensors the tensors; owned by the caller's pointer scope
 */
record ModuleTensors(List<String> names, TensorVector tensors) {
  static ModuleTensors parameters(Module module, Set<String> ignored) {
    return of(module.named_parameters(), ignored);
  }

  static ModuleTensors buffers(Module module, Set<String> ignored) {
    return of(module.named_buffers(), ignored);
  }

  private static ModuleTensors of(StringTensorDict dict, Set<String> ignored) {
    StringTensorDictItemVector items = dict.items();
    List<String> names = new ArrayList<>();
    List<Tensor> tensors = new ArrayList<>();
    for (long i = 0; i < items.size(); i++) {
      StringTensorDictItem item = items.get(i);
      String name = item.key().getString();
      if (!ignored.contains(name)) {
        names.add(name);
        tensors.add(item.value());
      }
    }
    return new ModuleTensors(names, new TensorVector(tensors.toArray(new Tensor[0])));
  }

  /** Returns the names of the parameters of sparse embeddings: their gradients are sparse. */
  static List<String> sparse(Module module) {
    List<String> names = new ArrayList<>();
    if (isSparse(module)) {
      names.add("weight");
    }
    // Without the module itself, which libtorch refuses to name if the presets made it by new.
    StringSharedModuleDictItemVector modules =
        module.named_modules("", /* include_self= */ false).items();
    for (long i = 0; i < modules.size(); i++) {
      StringSharedModuleDictItem item = modules.get(i);
      if (isSparse(item.value())) {
        names.add(item.key().getString() + ".weight");
      }
    }
    return names;
  }

  private static boolean isSparse(Module module) {
    EmbeddingImpl embedding = module.asEmbedding();
    EmbeddingBagImpl bag = module.asEmbeddingBag();
    return (embedding != null && embedding.options().sparse().get())
        || (bag != null && bag.options().sparse().get());
  }

  /** Returns the buffers that have values, under the names that they have in states. */
  static Map<String, Tensor> bufferStates(Module module, Set<String> ignored) {
    ModuleTensors buffers = buffers(module, ignored);
    Map<String, Tensor> states = new LinkedHashMap<>();
    for (int i = 0; i < buffers.names.size(); i++) {
      Tensor buffer = buffers.tensors.get(i);
      if (buffer.defined()) {
        states.put("buffer." + buffers.names.get(i), buffer);
      }
    }
    return states;
  }

  /** Throws if a name belongs to no parameter or buffer. */
  static void requireNames(Module module, Set<String> names) {
    Set<String> unknown = new TreeSet<>(names);
    parameters(module, Set.of()).names.forEach(unknown::remove);
    buffers(module, Set.of()).names.forEach(unknown::remove);
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "names to ignore must be names of parameters or buffers, got "
              + String.join(", ", unknown));
    }
  }

  /** Returns the names, one per line. */
  static String lines(Iterable<?> values) {
    StringBuilder lines = new StringBuilder();
    values.forEach(value -> lines.append(value).append('\n'));
    return lines.toString();
  }

  /** Returns the parameters that require a gradient, each once; the caller's scope owns them. */
  static Tensor[] trained(Module module) {
    TensorVector all = module.parameters();
    List<Tensor> trained = new ArrayList<>();
    for (long i = all.size(); i-- > 0; ) {
      Tensor parameter = all.get(i);
      if (parameter.requires_grad() && trained.stream().noneMatch(parameter::is_same)) {
        trained.add(new Tensor(parameter)); // outlives the vector
      }
    }
    if (trained.isEmpty()) {
      throw new IllegalArgumentException(
          "at least one parameter must require a gradient, got "
              + all.size()
              + " parameters that do not");
    }
    return trained.toArray(Tensor[]::new);
  }

  /** Returns the dtype and the shape of a tensor. */
  static String describe(Tensor tensor) {
    return tensor.scalar_type() + Arrays.toString(tensor.sizes().vec().get());
  }

  /** Returns an algorithm over tensors in one line. */
  static String describe(AveragingAlgorithm algorithm, Tensor[] tensors) {
    StringBuilder shapes = new StringBuilder(algorithm + ", over");
    for (Tensor tensor : tensors) {
      shapes.append(' ').append(describe(tensor));
    }
    return shapes.toString();
  }
}
