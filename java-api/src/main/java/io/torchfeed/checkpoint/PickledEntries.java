// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.PickledObjects.Global;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.Quotes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tensors and values of a pickle, each under the keys that lead to it.
 *
 * @param tensors by name
 * @param values numbers, truth values and texts by name
 */
record PickledEntries(Map<String, PickledTensor> tensors, Map<String, Object> values) {
  private static final int MAX_DEPTH = 64;
  private static final String SEPARATOR = "/";

  /**
   * Collects the entries.
   *
   * @param root the object of a pickle
   * @param limit the most objects, and the most characters of all names: a small pickle may use one
   *     object in many places
   */
  static PickledEntries of(Object root, int limit) throws UnpicklingException {
    Collector collector =
        new Collector(new PickledEntries(new LinkedHashMap<>(), new LinkedHashMap<>()), limit);
    collector.add("", root, 0);
    return collector.entries;
  }

  private static final class Collector {
    private final PickledEntries entries;
    private final int limit;
    private long objects;
    private long characters;

    Collector(PickledEntries entries, int limit) {
      this.entries = entries;
      this.limit = limit;
    }

    private void add(String name, Object object, int depth) throws UnpicklingException {
      characters += name.length();
      if (++objects > limit || characters > limit) {
        throw new UnpicklingException(
            "the pickle repeats its objects more than " + limit + " times");
      }
      if (depth > MAX_DEPTH) {
        throw new UnpicklingException(
            "it has dictionaries more than " + MAX_DEPTH + " levels deep");
      }
      if (object instanceof Map<?, ?> map) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          add(within(name, entry.getKey(), depth), entry.getValue(), depth + 1);
        }
      } else if (object instanceof List<?> list) {
        for (int i = 0; i < list.size(); i++) {
          add(within(name, i, depth), list.get(i), depth + 1);
        }
      } else if (object instanceof PickledTensor tensor) {
        requireNew(name, entries.tensors.put(name, tensor) == null);
      } else if (object instanceof Global global) {
        if (TorchDTypes.ofGlobal(global.name()) == null) {
          throw new UnpicklingException(
              "it has the object %s, which is not supported; save model.state_dict()"
                  .formatted(Quotes.shortened(global.name())));
        }
        requireNew(name, entries.values.put(name, global.name()) == null);
      } else if (isValue(object)) {
        requireNew(name, entries.values.put(name, object) == null);
      } else if (object != Unpickler.NONE) {
        throw new UnpicklingException("the pickle has a storage without a tensor; save the tensor");
      }
    }

    private static boolean isValue(Object object) {
      return object instanceof String || object instanceof Number || object instanceof Boolean;
    }

    private static String within(String name, Object key, int depth) {
      return depth == 0 ? String.valueOf(key) : name + SEPARATOR + key;
    }

    private static void requireNew(String name, boolean isNew) throws UnpicklingException {
      if (!isNew) {
        throw new UnpicklingException("two entries have the name " + Quotes.shortened(name));
      }
    }
  }
}
