// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.DistributedIndex.Chunked;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of a model in several files with an index, as Hugging Face's libraries save large
 * ones: {@code model.safetensors.index.json} or {@code pytorch_model.bin.index.json} beside them;
 * or in a folder of {@code torch.distributed.checkpoint}, whose index is {@code .metadata}.
 *
 * <pre>{@code
 * Path index = root.resolve("model.safetensors.index.json");
 * try (IndexedTensors saved = IndexedTensors.open(index)) {
 *   saved.copyTo("", net);
 * }
 * }</pre>
 *
 * <p>Files whose names end in {@code .safetensors} are opened as {@link SafetensorsFile}, others as
 * {@link TorchFile}. Checkpoints of several ranks have such indices, too.
 *
 * <p>In a folder of {@code torch.distributed.checkpoint}, a name is the keys that lead to the
 * tensor, with a point between two, such as {@code model.fc.weight}. A tensor that several ranks
 * saved comes as a whole, whatever their number. Numbers and texts, whose files hold pickles of
 * their own, are left out.
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 */
public final class IndexedTensors implements AutoCloseable {
  private static final int MAX_INDEX_BYTES = 1 << 26;
  private static final String SAFETENSORS = ".safetensors";

  /** An open file. */
  private record Shard(Set<String> names, Function<String, Tensor> read, Runnable close) {}

  private final Path path;
  private final Map<String, Shard> shards = new HashMap<>();
  private final Map<String, String> places;

  private IndexedTensors(Path path, Map<String, String> places) {
    this.path = path;
    this.places = places;
  }

  /**
   * Opens an index and all its files, and checks that these have the tensors that it names.
   *
   * @param path the index, a regular file
   * @return the open files; the caller closes them
   * @throws CheckpointException if the index or one of its files is missing, unreadable or
   *     malformed, a file lacks a tensor, or is not named as one beside the index
   */
  public static IndexedTensors open(Path path) {
    requireNonNull(path, "path");
    byte[] bytes = bytes(path);
    if (LegacyTorch.isPickle(bytes)) {
      return ofDistributed(path, bytes);
    }
    IndexedTensors opened;
    try {
      String text = new String(bytes, StandardCharsets.UTF_8);
      opened =
          new IndexedTensors(
              path, JsonObject.parse("list of files", text).object("weight_map").texts());
    } catch (IllegalArgumentException e) {
      throw new CheckpointException(path, Problem.DAMAGED, String.valueOf(e.getMessage()), e);
    }
    try {
      opened.places.forEach(opened::require);
      return opened;
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
  }

  private static IndexedTensors ofDistributed(Path path, byte[] pickle) {
    Map<String, Chunked> tensors;
    try {
      tensors = DistributedIndex.read(ByteBuffer.wrap(pickle));
    } catch (UnpicklingException e) {
      throw new CheckpointException(path, Problem.DAMAGED, String.valueOf(e.getMessage()), e);
    }
    String index = String.valueOf(path.getFileName());
    Map<String, String> places = new LinkedHashMap<>();
    tensors.keySet().forEach(name -> places.put(name, index));
    IndexedTensors opened = new IndexedTensors(path, places);
    DistributedTensors put = new DistributedTensors(path, tensors, opened::beside);
    put.requireFiles();
    opened.shards.put(index, new Shard(put.names(), put::read, put::close));
    return opened;
  }

  private static byte[] bytes(Path path) {
    try (FileChannel channel = SavedBytes.open(path)) {
      if (channel.size() > MAX_INDEX_BYTES) {
        throw new CheckpointException(
            path,
            Problem.DAMAGED,
            "an index must have at most %d bytes, got %d"
                .formatted(MAX_INDEX_BYTES, channel.size()));
      }
      byte[] begin = SavedBytes.begin(channel);
      String content = FileContent.of(begin);
      if (content != null
          && !content.startsWith("a JSON")
          && !FileContent.isText(content) // perhaps JSON: its parser says where it ends to be
          && !LegacyTorch.isPickle(begin)) {
        throw new CheckpointException(path, Problem.DAMAGED, "it is no index, but " + content);
      }
      return Channels.newInputStream(channel).readAllBytes();
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  private void require(String name, String file) {
    if (!shards.computeIfAbsent(file, this::open).names.contains(name)) {
      throw new CheckpointException(
          path.resolveSibling(file),
          Problem.DAMAGED,
          "it lacks the tensor %s, which is in it by %s"
              .formatted(Quotes.shortened(name), path.getFileName()));
    }
  }

  private Path beside(String file) {
    if (file.isEmpty() || file.startsWith(".") || file.contains("/") || file.contains("\\")) {
      throw new CheckpointException(
          path,
          Problem.DAMAGED,
          "it must name files beside it, got \"%s\"".formatted(Quotes.shortened(file)));
    }
    try {
      return path.resolveSibling(file);
    } catch (InvalidPathException e) {
      throw new CheckpointException(
          path,
          Problem.DAMAGED,
          "it must name files beside it, got \"%s\""
              .formatted(Quotes.printable(Quotes.shortened(file))),
          e);
    }
  }

  private Shard open(String file) {
    Path beside = beside(file);
    if (file.endsWith(SAFETENSORS)) {
      SafetensorsFile opened = SafetensorsFile.open(beside);
      return new Shard(opened.names(), opened::read, opened::close);
    }
    TorchFile opened = TorchFile.open(beside);
    return new Shard(opened.names(), opened::read, opened::close);
  }

  /**
   * Returns the names of the tensors, in the order of the index.
   *
   * @return an unmodifiable set
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(places.keySet());
  }

  /**
   * Reads a tensor.
   *
   * @param name one of {@link #names}
   * @return a new tensor on the CPU, owned by the caller and by no pointer scope
   * @throws IllegalArgumentException if the index has none of this name
   * @throws CheckpointException if it cannot be read
   * @throws IllegalStateException if this is closed
   */
  public Tensor read(String name) {
    String file = places.get(requireNonNull(name, "name"));
    if (file == null) {
      throw new IllegalArgumentException(
          "%s has no tensor %s".formatted(path, Quotes.shortened(name)));
    }
    return requireNonNull(shards.get(file)).read.apply(name);
  }

  /**
   * Copies tensors into the parameters and buffers of a module, as {@code load_state_dict} with
   * {@code strict=True}.
   *
   * @param prefix the beginning of the names of the module's tensors, for example {@code model.};
   *     empty if its tensors are all of the files
   * @param module borrowed; on any device
   * @throws IllegalArgumentException if no name begins with the prefix, a tensor is missing, has
   *     another shape or dtype, or the module has none of its name; then nothing is copied
   * @throws CheckpointException as in {@link #read}; then nothing is copied
   */
  public void copyTo(String prefix, Module module) {
    ModuleCopy.of(path, names(), this::read, prefix, module).strict();
  }

  /**
   * Copies the tensors that a module has, too, as {@code load_state_dict} with {@code
   * strict=False}; its others stay as they are.
   *
   * @param prefix as in {@link #copyTo}
   * @param module borrowed; on any device
   * @return the names of the tensors that are missing here or in the module
   * @throws IllegalArgumentException if no name begins with the prefix, or a tensor has another
   *     shape or dtype; then nothing is copied
   * @throws CheckpointException as in {@link #read}; then nothing is copied
   */
  public IncompatibleKeys copyMatchingTo(String prefix, Module module) {
    return ModuleCopy.of(path, names(), this::read, prefix, module).matching();
  }

  @Override
  public void close() {
    shards.values().forEach(shard -> shard.close.run());
  }
}
