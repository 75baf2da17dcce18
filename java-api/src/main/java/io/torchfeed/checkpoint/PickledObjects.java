// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.PickledTensor.PickledStorage;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The objects of pickles, and the functions that {@code torch.save} calls to make them. */
final class PickledObjects {
  private PickledObjects() {}

  /** A violation of the format, or an object that is not supported. */
  static class UnpicklingException extends Exception {
    private static final long serialVersionUID = 1L;

    UnpicklingException(String message) {
      super(message);
    }
  }

  /** An end of the bytes within the pickle. */
  static final class EndException extends UnpicklingException {
    private static final long serialVersionUID = 1L;

    EndException() {
      super("the pickle ends too early");
    }
  }

  /** The name of a function, class or constant of Python. */
  record Global(String name) {}

  /** An object of a class that has no meaning here: data alone, nothing of the class is run. */
  static final class Instance {
    private final String className;
    private Object state = Map.of();

    Instance(String className) {
      this.className = className;
    }

    String className() {
      return className;
    }

    /** Returns its attributes by name, or another object that it wrote in their place. */
    Object state() {
      return state;
    }

    void setState(Object value) {
      state = value;
    }
  }

  /**
   * Returns the result of a call.
   *
   * @param function its name
   * @return null if the function is unknown
   */
  static @Nullable Object result(String function, List<Object> arguments)
      throws UnpicklingException {
    switch (function) {
      case "collections.OrderedDict" -> {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (Object pair : arguments.isEmpty() ? arguments : list(arguments.get(0))) { // Python 2
          put(map, list(pair));
        }
        return map;
      }
      case "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2" -> {
        return tensor(arguments, null, 6);
      }
      case "torch._utils._rebuild_tensor_v3" -> {
        return tensor(arguments, dtype(argument(arguments, 6)), 7);
      }
      case "torch._utils._rebuild_parameter" -> {
        if (argument(arguments, 0) instanceof PickledTensor tensor) {
          return tensor;
        }
      }
      case "torch.Size", "__builtin__.set", "builtins.set" -> {
        return list(argument(arguments, 0));
      }
      case "torch.device" -> {
        return argument(arguments, 0);
      }
      default -> {
        return null;
      }
    }
    throw new UnpicklingException(
        "torch.save does not write these arguments of %s".formatted(function));
  }

  static Object argument(List<Object> arguments, int index) throws UnpicklingException {
    if (index >= arguments.size()) {
      throw new UnpicklingException("the pickle calls a function with too few arguments");
    }
    return arguments.get(index);
  }

  private static PickledTensor tensor(
      List<Object> arguments, @Nullable DType dtype, int metadataIndex) throws UnpicklingException {
    if (!(argument(arguments, 0) instanceof PickledStorage storage)) {
      throw new UnpicklingException("the pickle has a tensor without a storage");
    }
    if (metadataIndex < arguments.size() && !requireMap(arguments.get(metadataIndex)).isEmpty()) {
      throw new UnpicklingException(
          "it has a conjugate or negative view; save tensor.resolve_conj().resolve_neg()");
    }
    long offset = number(number(argument(arguments, 1)) + storage.offset()); // may overflow
    List<Long> sizes = numbers(list(argument(arguments, 2)));
    List<Long> strides = numbers(list(argument(arguments, 3)));
    if (sizes.size() != strides.size()) {
      throw new UnpicklingException(
          "a tensor has %d sizes and %d strides".formatted(sizes.size(), strides.size()));
    }
    return new PickledTensor(
        storage, dtype == null ? storage.dtype() : dtype, offset, sizes, strides);
  }

  static long number(Object object) throws UnpicklingException {
    if (object instanceof Long number && number >= 0) {
      return number;
    }
    throw new UnpicklingException("a tensor's offset, size or stride is no number of at least 0");
  }

  static List<Long> numbers(List<Object> objects) throws UnpicklingException {
    List<Long> numbers = new ArrayList<>();
    for (Object object : objects) {
      numbers.add(number(object));
    }
    return List.copyOf(numbers);
  }

  static DType dtype(Object object) throws UnpicklingException {
    @Nullable DType dtype = TorchDTypes.ofGlobal(global(object).name());
    if (dtype == null) {
      throw new UnpicklingException(
          "it has a tensor of %s, which is not supported"
              .formatted(Quotes.shortened(global(object).name())));
    }
    return dtype;
  }

  static void put(Map<Object, Object> map, List<Object> items) throws UnpicklingException {
    if (items.size() % 2 != 0) {
      throw new UnpicklingException("the pickle has a key without a value");
    }
    for (int i = 0; i < items.size(); i += 2) {
      Object key = items.get(i);
      if (!(key instanceof String
          || key instanceof Long
          || key instanceof Boolean
          || key instanceof Instance)) {
        throw new UnpicklingException(
            "a key of a dictionary must be a text or a whole number; save it with str(key)");
      }
      map.put(key, items.get(i + 1));
    }
  }

  static Global global(Object object) throws UnpicklingException {
    if (object instanceof Global global) {
      return global;
    }
    throw new UnpicklingException("the pickle calls an object that is no name");
  }

  @SuppressWarnings("unchecked")
  static List<Object> list(Object object) throws UnpicklingException {
    if (object instanceof List<?>) {
      return (List<Object>) object;
    }
    throw new UnpicklingException("the pickle has another object in the place of a list");
  }

  @SuppressWarnings("unchecked")
  static Map<Object, Object> requireMap(Object object) throws UnpicklingException {
    if (object instanceof Map<?, ?>) {
      return (Map<Object, Object>) object;
    }
    throw new UnpicklingException(
        object instanceof PickledTensor
            ? "it has a tensor with attributes, which are not supported"
            : "the pickle has another object in the place of a dictionary");
  }
}
