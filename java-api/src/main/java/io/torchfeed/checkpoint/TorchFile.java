// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Quotes;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.zip.ZipException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A file of Python's {@code torch.save}: the tensors of a {@code state_dict}, or of dictionaries
 * and lists of them. Python loads the files that {@code write} makes with {@code torch.load}, also
 * with {@code weights_only=True} and {@code mmap=True}.
 *
 * <pre>{@code
 * Path path = root.resolve("net.pt");
 * TorchFile.write(path, net); // its parameters and buffers
 *
 * try (TorchFile saved = TorchFile.open(path)) {
 *   saved.copyTo("", net);
 * }
 * }</pre>
 *
 * <p>A tensor's name is its key. Within nested dictionaries and lists it is all keys and indices
 * that lead to it, with a slash between two: {@code model/fc.weight} in <code>
 * {"model": net.state_dict()}</code>, {@code optimizer/state/0/momentum_buffer} in the state of an
 * optimizer.
 *
 * <p>Reading runs no code of the file, unlike Python's without {@code weights_only}: it knows
 * tensors, parameters, dictionaries with texts or whole numbers as keys, lists, tuples, sets,
 * numbers, texts, devices and dtypes, and refuses everything else, such as a whole module. Tensors
 * may have any shape and strides, and each {@link io.torchfeed.memory.DType}; tensors of a device
 * come to the CPU. Their description takes at most 16 MiB in the file, and about 30 times as much
 * in the Java heap; their elements take none.
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 *
 * <p>The zip format of torch since 1.6, and the legacy one before it, which has no checksums; both
 * compared with version 2.10. {@code write} makes the first.
 */
public final class TorchFile implements AutoCloseable {
  private static final int MIN_LIMIT = 1 << 16;
  private static final int QUOTED_BYTES = 8;

  private final Path path;
  private final TorchStorages storages;
  private final PickledEntries entries;
  private boolean isClosed;

  private TorchFile(Path path, TorchStorages storages, PickledEntries entries) {
    this.path = path;
    this.storages = storages;
    this.entries = entries;
  }

  /**
   * Opens a file and reads all of it except the elements of tensors.
   *
   * @param path a regular file
   * @return the open file; the caller closes it
   * @throws CheckpointException if it is missing, unreadable or malformed, or has objects that are
   *     not supported
   */
  public static TorchFile open(Path path) {
    requireNonNull(path, "path");
    return open(path, () -> SavedBytes.open(path));
  }

  /**
   * Opens a source and reads all of it except the elements of tensors, as {@link #open(Path)}. Its
   * reads are small; of a store, {@link io.torchfeed.storage.ReadAhead} or {@link
   * io.torchfeed.storage.CachedSource} makes them few.
   *
   * @param source borrowed; the caller closes it after the file
   * @return the open file; the caller closes it
   * @throws CheckpointException if it is unreadable or malformed, or has objects that are not
   *     supported
   * @throws IllegalArgumentException if the name of the source is no path
   */
  public static TorchFile open(ByteSource source) {
    requireNonNull(source, "source");
    return open(
        Path.of(requireNonNull(source.name(), "the name of a source")),
        () -> SavedBytes.open(source));
  }

  private static TorchFile open(Path path, Supplier<FileChannel> opening) {
    TorchStorages storages = null;
    try {
      storages = storages(path, opening);
      int limit = Math.max(MIN_LIMIT, 4 * storages.pickleBytes());
      PickledEntries entries = PickledEntries.of(storages.root(), limit);
      for (Map.Entry<String, PickledTensor> entry : entries.tensors().entrySet()) {
        storages.requireElements(entry.getKey(), entry.getValue());
      }
      return new TorchFile(path, storages, entries);
    } catch (ZipException | UnpicklingException e) {
      throw closing(storages, damaged(path, String.valueOf(e.getMessage()), e));
    } catch (IOException e) {
      throw closing(storages, CheckpointException.unreadable(path, e));
    } catch (RuntimeException | Error e) {
      closing(storages, e);
      throw e;
    }
  }

  private static TorchStorages storages(Path path, Supplier<FileChannel> opening)
      throws IOException, UnpicklingException {
    byte[] begin;
    try (FileChannel channel = opening.get()) {
      begin = SavedBytes.begin(channel);
    }
    if (LegacyTorch.isPickle(begin)) {
      return LegacyTorch.open(path, opening.get());
    }
    try {
      return ZippedTorch.open(path, opening.get());
    } catch (ZipException e) {
      throw named(begin, e);
    }
  }

  /** Returns the same exception, or one with the name of the other format of the file. */
  private static ZipException named(byte[] begin, ZipException e) {
    String content = FileContent.of(begin);
    if (content == null && e.getCause() instanceof StoredZip.NoEndException) {
      byte[] first = Arrays.copyOf(begin, Math.min(QUOTED_BYTES, begin.length));
      content =
          "begins with %s, unlike a zip file; write or download it again"
              .formatted(HexFormat.ofDelimiter(" ").formatHex(first));
    } else if (content == null || content.startsWith("a zip")) {
      return e;
    }
    if (content.startsWith("a tar")) {
      content = "a tar archive; if torch before 0.2 saved it, load it in Python and save it again";
    }
    ZipException named = new ZipException("it is no file of torch.save, but " + content);
    named.initCause(e);
    return named;
  }

  private static CheckpointException damaged(Path path, String detail, Exception cause) {
    return new CheckpointException(path, Problem.DAMAGED, detail, cause);
  }

  private static <T extends Throwable> T closing(@Nullable TorchStorages storages, T thrown) {
    try {
      if (storages != null) {
        storages.close();
      }
    } catch (IOException e) {
      thrown.addSuppressed(e);
    }
    return thrown;
  }

  /**
   * Returns the names of the tensors, in the order of the file.
   *
   * @return an unmodifiable set
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(entries.tensors().keySet());
  }

  /**
   * Returns all that is no tensor, named like tensors, for example {@code epoch} or {@code
   * optimizer/param_groups/0/lr}. Entries that are {@code None} are left out.
   *
   * @return an unmodifiable map to {@link Long}, {@link java.math.BigInteger}, {@link Double},
   *     {@link Boolean} and {@link String}
   */
  public Map<String, Object> values() {
    return Collections.unmodifiableMap(entries.values());
  }

  /**
   * Reads a tensor.
   *
   * @param name one of {@link #names}
   * @return a new tensor on the CPU with the shape and strides that were saved, owned by the caller
   *     and by no pointer scope; it shares its elements with no other
   * @throws IllegalArgumentException if the file has none of this name
   * @throws CheckpointException if it cannot be read, or its elements differ from their checksum;
   *     that is compared if the tensor uses its storage from the first element to the last
   * @throws IllegalStateException if the file is closed
   */
  public Tensor read(String name) {
    PickledTensor tensor = entries.tensors().get(requireNonNull(name, "name"));
    if (tensor == null) {
      throw new IllegalArgumentException(
          "%s has no tensor %s".formatted(path, Quotes.shortened(name)));
    }
    if (isClosed) {
      throw new IllegalStateException("the file is closed");
    }
    try {
      return storages.read(tensor);
    } catch (ZipException e) {
      throw damaged(path, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  /**
   * Copies tensors into the parameters and buffers of a module, as {@code load_state_dict} with
   * {@code strict=True}.
   *
   * @param prefix the beginning of the names of the module's tensors, for example {@code model/};
   *     empty if the file is its {@code state_dict}
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

  /**
   * Writes a file, or replaces one as a whole: it appears with all its bytes or not at all, also
   * after a kill or a power cut. A replaced file keeps its permissions; other hard links to it keep
   * the old content. In Python it is a dictionary of tensors without gradients, in the order of the
   * map.
   *
   * @param path the file
   * @param tensors by name, dense, on any device; copied to the CPU one after the other
   * @throws IllegalArgumentException if a tensor is undefined or sparse, has a dtype that is no
   *     {@link io.torchfeed.memory.DType}, or the names have more than 16 MiB
   * @throws CheckpointException if it cannot be written; nothing is left of it
   */
  public static void write(Path path, Map<String, Tensor> tensors) {
    requireNonNull(path, "path");
    requireNonNull(tensors, "tensors");
    TorchFileWriter writer = new TorchFileWriter(tensors, TorchStorages.MAX_PICKLE_BYTES);
    try {
      FileReplacement.write(path, writer::write);
    } catch (IOException e) {
      throw CheckpointException.unwritable(path, e);
    }
  }

  /**
   * Writes the parameters and buffers of a module, as {@link #write(Path, Map)} does, under the
   * names of {@code state_dict} in Python.
   *
   * @param path the file
   * @param module borrowed; its running statistics are buffers and written, too
   * @throws IllegalArgumentException as {@link #write(Path, Map)}
   * @throws CheckpointException if it cannot be written; nothing is left of it
   */
  public static void write(Path path, Module module) {
    requireNonNull(path, "path");
    requireNonNull(module, "module");
    try (PointerScope scope = new PointerScope()) {
      write(path, ModuleState.tensors(module));
    }
  }

  @Override
  public void close() {
    isClosed = true;
    try {
      storages.close();
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }
}
