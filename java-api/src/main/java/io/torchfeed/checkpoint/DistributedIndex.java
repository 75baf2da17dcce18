// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.PickledObjects.Global;
import io.torchfeed.checkpoint.PickledObjects.Instance;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The file {@code .metadata} of a folder of {@code torch.distributed.checkpoint}: a pickle of where
 * the chunks of each tensor are.
 *
 * <p>Source: torch 2.15.0, {@code metadata.py} and {@code filesystem.py} there; the same since 2.0.
 */
final class DistributedIndex {
  private static final String PACKAGE = "torch.distributed.checkpoint.";
  private static final String METADATA = PACKAGE + "metadata.Metadata";
  private static final String TENSOR = PACKAGE + "metadata.TensorStorageMetadata";
  private static final String TRANSFORMS = "transform_descriptors";
  private static final int MAX_CHUNKS = 1 << 14;

  /**
   * A box of a tensor's elements.
   *
   * @param offsets of its first element in each dimension of the tensor
   * @param file beside the index
   * @param start where the bytes of {@code torch.save} begin in the file
   */
  record Chunk(List<Long> offsets, List<Long> sizes, String file, long start, long bytes) {}

  /** A tensor; its chunks are within it, and have as many elements; they may {@link #overlap}. */
  record Chunked(DType dtype, List<Long> sizes, List<Chunk> chunks) {}

  private record Key(String name, List<Long> offsets) {}

  private record Place(String file, long start, long bytes) {}

  private final Map<Key, Place> places = new HashMap<>();
  private final Map<String, Chunked> tensors = new LinkedHashMap<>();
  private long chunksLeft;

  private DistributedIndex(long mostChunks) {
    chunksLeft = mostChunks;
  }

  /**
   * Reads an index.
   *
   * @return its tensors by name; other objects are left out
   */
  static Map<String, Chunked> read(ByteBuffer pickle) throws UnpicklingException {
    DistributedIndex index = new DistributedIndex(pickle.remaining());
    Object root = Unpickler.readInstances(pickle);
    if (!(root instanceof Instance instance && instance.className().equals(METADATA))) {
      throw new UnpicklingException(
          "it is a pickle, but no index of torch.distributed.checkpoint; open a file of torch.save"
              + " by TorchFile");
    }
    Map<?, ?> metadata = PickledObjects.requireMap(instance.state());
    for (Map.Entry<?, ?> entry : map(metadata, "storage_data").entrySet()) {
      index.addPlace(state(entry.getKey()), state(entry.getValue()));
    }
    for (Map.Entry<?, ?> entry : map(metadata, "state_dict_metadata").entrySet()) {
      if (entry.getKey() instanceof String name
          && entry.getValue() instanceof Instance value
          && value.className().equals(TENSOR)) {
        index.tensors.put(name, index.tensor(name, PickledObjects.requireMap(value.state())));
      }
    }
    return index.tensors;
  }

  private static Map<?, ?> map(Map<?, ?> attributes, String name) throws UnpicklingException {
    return PickledObjects.requireMap(attribute(attributes, name));
  }

  private static Object attribute(Map<?, ?> attributes, String name) throws UnpicklingException {
    Object value = attributes.get(name);
    if (value == null) {
      throw new UnpicklingException("it lacks the attribute " + name);
    }
    return value;
  }

  private static String text(Map<?, ?> attributes, String name) throws UnpicklingException {
    if (attribute(attributes, name) instanceof String text) {
      return text;
    }
    throw new UnpicklingException("the attribute %s is no text".formatted(name));
  }

  private static List<Long> numbers(Map<?, ?> attributes, String name) throws UnpicklingException {
    return PickledObjects.numbers(PickledObjects.list(attribute(attributes, name)));
  }

  private static Map<?, ?> state(Object object) throws UnpicklingException {
    if (object instanceof Instance instance) {
      return PickledObjects.requireMap(instance.state());
    }
    throw new UnpicklingException("it has another object in the place of an entry");
  }

  private void addPlace(Map<?, ?> key, Map<?, ?> info) throws UnpicklingException {
    if (!(key.get("offset") instanceof List<?>)) {
      return; // no tensor
    }
    String name = text(key, "fqn");
    if (info.get(TRANSFORMS) instanceof List<?> transforms && !transforms.isEmpty()) {
      Object first = transforms.get(0);
      throw new UnpicklingException(
          "%s is written by the extension %s, which is not supported; save it without extensions"
              .formatted(
                  Quotes.shortened(name),
                  first instanceof String text ? Quotes.shortened(text) : "without a name"));
    }
    places.put(
        new Key(name, numbers(key, "offset")),
        new Place(
            text(info, "relative_path"),
            PickledObjects.number(attribute(info, "offset")),
            PickledObjects.number(attribute(info, "length"))));
  }

  private Chunked tensor(String name, Map<?, ?> tensor) throws UnpicklingException {
    DType dtype = dtype(attribute(tensor, "properties"));
    List<Long> sizes = numbers(tensor, "size");
    List<Chunk> chunks = new ArrayList<>();
    try {
      long left = elements(sizes);
      for (Object each : PickledObjects.list(attribute(tensor, "chunks"))) {
        Map<?, ?> chunk = state(each);
        List<Long> offsets = numbers(chunk, "offsets");
        List<Long> extent = numbers(chunk, "sizes");
        long count = elements(extent);
        if (--chunksLeft < 0 || !isWithin(offsets, extent, sizes)) {
          throw malformed(name);
        }
        if (count > 0) {
          Place place = place(new Key(name, offsets), Math.multiplyExact(count, dtype.bytes()));
          chunks.add(new Chunk(offsets, extent, place.file, place.start, place.bytes));
          left -= count;
        }
      }
      if (left != 0 || chunks.size() > MAX_CHUNKS) {
        throw malformed(name);
      }
    } catch (ArithmeticException e) {
      throw new UnpicklingException(
          "the shape of %s is too large: %s".formatted(Quotes.shortened(name), sizes));
    }
    return new Chunked(dtype, sizes, chunks);
  }

  private Place place(Key key, long bytes) throws UnpicklingException {
    Place place = places.get(key);
    if (place == null) {
      throw new UnpicklingException(
          "the place of the chunk of %s at %s is missing"
              .formatted(Quotes.shortened(key.name), key.offsets));
    }
    if (bytes > place.bytes) {
      throw new UnpicklingException(
          "the chunk of %s at %s has more elements than its %d bytes"
              .formatted(Quotes.shortened(key.name), key.offsets, place.bytes));
    }
    Math.addExact(place.start, place.bytes); // throws
    return place;
  }

  private static UnpicklingException malformed(String name) {
    return new UnpicklingException(
        "the chunks of %s must be at most %d, and have each of its elements once"
            .formatted(Quotes.shortened(name), MAX_CHUNKS));
  }

  private static DType dtype(Object properties) throws UnpicklingException {
    if (properties instanceof Instance instance) {
      Object first =
          instance.state() instanceof List<?> list && !list.isEmpty()
              ? Objects.requireNonNull(list.get(0))
              : instance.state();
      if (first instanceof Global) {
        return PickledObjects.dtype(first);
      }
    }
    throw new UnpicklingException("a tensor has no dtype");
  }

  private static long elements(List<Long> sizes) {
    long elements = 1;
    for (long size : sizes) {
      elements = Math.multiplyExact(elements, size);
    }
    return elements;
  }

  private static boolean isWithin(List<Long> offsets, List<Long> extent, List<Long> sizes) {
    if (offsets.size() != sizes.size() || extent.size() != sizes.size()) {
      return false;
    }
    for (int i = 0; i < sizes.size(); i++) {
      if (Math.addExact(offsets.get(i), extent.get(i)) > sizes.get(i)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether an element is in two chunks. */
  static boolean overlap(List<Chunk> chunks) {
    for (int i = 0; i < chunks.size(); i++) {
      for (int j = 0; j < i; j++) {
        if (overlap(chunks.get(i), chunks.get(j))) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean overlap(Chunk a, Chunk b) {
    for (int i = 0; i < a.sizes.size(); i++) {
      if (a.offsets.get(i) + a.sizes.get(i) <= b.offsets.get(i)
          || b.offsets.get(i) + b.sizes.get(i) <= a.offsets.get(i)) {
        return false;
      }
    }
    return true;
  }
}
