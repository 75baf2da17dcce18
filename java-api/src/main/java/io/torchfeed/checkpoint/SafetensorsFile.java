// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.SafetensorsHeader.Entry;
import io.torchfeed.checkpoint.SafetensorsHeader.MalformedException;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Quotes;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A file of named tensors that Python's {@code safetensors} reads and writes: a JSON header and the
 * tensors' bytes, without code that reading would run.
 *
 * <pre>{@code
 * Path path = root.resolve("fc.safetensors");
 * Map<String, Tensor> tensors = Map.of("weight", net.weight(), "bias", net.bias());
 * SafetensorsFile.write(path, tensors, Map.of("format", "pt"));
 *
 * try (SafetensorsFile saved = SafetensorsFile.open(path);
 *     Tensor weight = saved.read("weight")) {
 *   net.weight().detach().copy_(weight);
 * }
 * }</pre>
 *
 * <p>A whole module is written by {@link #write(Path, Module)} and loaded by {@link #copyTo};
 * {@link IndexedTensors} reads models in several files.
 *
 * <p>Tensors may have any shape, have more than 2 GiB, and be of each dtype of the format whose
 * elements are whole bytes: bool, integers of 8 to 64 bits with and without sign, float16,
 * bfloat16, float32, float64, complex64, and float8 e4m3fn, e5m2 and e8m0fnu. Files with F4 or F6
 * are refused. Their bytes go from and to the disk without a copy in the Java heap. A header takes
 * a small multiple of its size, which is limited to 100 MB.
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 *
 * <p>The format of the safetensors package for Python, compared with its version 0.8.0.
 */
public final class SafetensorsFile implements AutoCloseable {
  private static final int LENGTH_BYTES = Long.BYTES;
  private static final long PIECE = 1 << 20; // in the cache while it is digested
  private static final String CURE = "; download or write the file again";

  private final Path path;
  private final FileChannel channel;
  private final SafetensorsHeader header;
  private final long dataStart;

  private SafetensorsFile(
      Path path, FileChannel channel, SafetensorsHeader header, long dataStart) {
    this.path = path;
    this.channel = channel;
    this.header = header;
    this.dataStart = dataStart;
  }

  /**
   * Opens a file and checks its header: all of it must follow the format, and the tensors must fill
   * the file without holes or overlaps.
   *
   * @param path a regular file
   * @return the open file; the caller closes it
   * @throws CheckpointException if it is missing, unreadable or malformed; the message names the
   *     first violation
   */
  public static SafetensorsFile open(Path path) {
    requireNonNull(path, "path");
    return open(path, read -> {});
  }

  /**
   * Opens a source and checks its header, as {@link #open(Path)}. Of a store, {@link
   * io.torchfeed.storage.ReadAhead} reads tensors in their order at the rate of the line.
   *
   * @param source borrowed; the caller closes it after the file
   * @return the open file; the caller closes it
   * @throws CheckpointException if it is unreadable or malformed; the message names the first
   *     violation
   * @throws IllegalArgumentException if the name of the source is no path
   */
  public static SafetensorsFile open(ByteSource source) {
    requireNonNull(source, "source");
    return checked(
        Path.of(requireNonNull(source.name(), "the name of a source")),
        SavedBytes.open(source),
        read -> {});
  }

  /**
   * Opens a file and checks its header, as {@link #open(Path)}.
   *
   * @param seen gets the length of the header and the header
   */
  static SafetensorsFile open(Path path, Consumer<ByteBuffer> seen) {
    return checked(path, SavedBytes.open(path), seen);
  }

  private static SafetensorsFile checked(
      Path path, FileChannel channel, Consumer<ByteBuffer> seen) {
    try {
      return open(path, channel, seen);
    } catch (JsonProcessingException e) {
      String json = Quotes.shortened(e.getOriginalMessage());
      throw closing(channel, damaged(path, "the header is no JSON: " + json + CURE, e));
    } catch (CharacterCodingException e) {
      throw closing(channel, damaged(path, "the header is not in UTF-8" + CURE, e));
    } catch (MalformedException e) {
      String message = String.valueOf(e.getMessage());
      String cure = message.contains(";") ? "" : CURE;
      throw closing(channel, damaged(path, message + cure, e));
    } catch (IOException e) {
      throw closing(channel, CheckpointException.unreadable(path, e));
    }
  }

  private static SafetensorsFile open(Path path, FileChannel channel, Consumer<ByteBuffer> seen)
      throws IOException, MalformedException {
    long size = channel.size();
    if (size < LENGTH_BYTES) {
      throw noHeader(
          channel, "it has %d bytes, which is less than the length of a header".formatted(size));
    }
    ByteBuffer length = ByteBuffer.allocate(LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    SavedBytes.readFully(channel, length, 0);
    long headerBytes = length.flip().getLong();
    if (headerBytes < 0 || headerBytes > SafetensorsHeader.MAX_BYTES) {
      throw noHeader(
          channel,
          "the header must have at most %d bytes, got %s"
              .formatted(SafetensorsHeader.MAX_BYTES, Long.toUnsignedString(headerBytes)));
    }
    long dataStart = LENGTH_BYTES + headerBytes;
    if (dataStart > size) {
      throw noHeader(
          channel,
          "the header has %d bytes, but the file ends after %d of them"
              .formatted(headerBytes, size - LENGTH_BYTES));
    }
    channel.position(LENGTH_BYTES);
    seen.accept(length.rewind());
    InputStream bytes =
        new SavedBytes.FirstBytes(Channels.newInputStream(channel), headerBytes, seen);
    // Not from the bytes: Jackson would also take UTF-16 and UTF-32.
    Reader text = new InputStreamReader(bytes, StandardCharsets.UTF_8.newDecoder());
    return new SafetensorsFile(
        path, channel, SafetensorsHeader.parse(text, size - dataStart), dataStart);
  }

  /** Returns the exception for a file without a header, which may be of another format. */
  private static MalformedException noHeader(FileChannel channel, String rule) throws IOException {
    String content = FileContent.of(SavedBytes.begin(channel));
    return new MalformedException(
        content == null || content.startsWith("a safetensors") // a damaged one
            ? rule
            : "it is no safetensors file, but " + content);
  }

  private static CheckpointException damaged(Path path, String detail, Exception cause) {
    return new CheckpointException(path, Problem.DAMAGED, detail, cause);
  }

  private static CheckpointException closing(FileChannel channel, CheckpointException thrown) {
    try {
      channel.close();
    } catch (IOException e) {
      thrown.addSuppressed(e);
    }
    return thrown;
  }

  /**
   * Returns the texts of the file, which may be anything: Python's have {@code format}, {@code pt}.
   *
   * @return an unmodifiable map
   */
  public Map<String, String> metadata() {
    return Collections.unmodifiableMap(header.metadata());
  }

  /**
   * Returns the names of the tensors, in the order of their bytes.
   *
   * @return an unmodifiable set
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(header.entries().keySet());
  }

  /**
   * Reads a tensor.
   *
   * @param name one of {@link #names}
   * @return a new tensor on the CPU, owned by the caller and by no pointer scope
   * @throws IllegalArgumentException if the file has none of this name
   * @throws CheckpointException if it cannot be read
   * @throws IllegalStateException if the file is closed
   */
  public Tensor read(String name) {
    Entry entry = header.entries().get(requireNonNull(name, "name"));
    if (entry == null) {
      throw new IllegalArgumentException(
          "%s has no tensor %s".formatted(path, Quotes.shortened(name)));
    }
    if (!channel.isOpen()) {
      throw new IllegalStateException("the file is closed");
    }
    Tensor tensor = empty(name, entry);
    try {
      fill(tensor, entry, channel, dataStart, Long.MAX_VALUE, read -> {});
      return tensor;
    } catch (RuntimeException | Error e) {
      tensor.close();
      throw e;
    }
  }

  private Tensor empty(String name, Entry entry) {
    try {
      return TensorBytes.empty(entry.dtype(), entry.sizes());
    } catch (RuntimeException e) {
      throw CheckpointException.noMemory(path, name, entry.end() - entry.begin(), e);
    }
  }

  /** Returns the place of the first byte behind the header. */
  long dataStart() {
    return dataStart;
  }

  /** Returns the size of the file, by its header. */
  long bytes() {
    long end = dataStart;
    for (Entry entry : header.entries().values()) {
      end = dataStart + entry.end();
    }
    return end;
  }

  /**
   * Makes tensors for all that the file has, without its bytes.
   *
   * @param into receives them by name, also if there is no memory for the next one; their owner is
   *     the caller
   * @throws CheckpointException if there is too little memory
   */
  void allocate(Map<String, Tensor> into) {
    header.entries().forEach((name, entry) -> into.put(name, empty(name, entry)));
  }

  /**
   * Reads bytes of the tensors in order. This opens the file for itself, so that the system reads
   * ahead for each of several threads; it may be closed here.
   *
   * @param from the place in the file of the first byte, behind the header
   * @param to the end of the range, at most {@link #bytes}
   * @param into as {@link #allocate} has left them
   * @param seen gets the bytes in the memory of the tensors
   * @throws CheckpointException if they cannot be read
   */
  void read(long from, long to, Map<String, Tensor> into, Consumer<ByteBuffer> seen) {
    try (FileChannel own = SavedBytes.open(path)) {
      for (Map.Entry<String, Entry> each : header.entries().entrySet()) {
        Entry entry = each.getValue();
        if (dataStart + entry.begin() < to && dataStart + entry.end() > from) {
          fill(requireNonNull(into.get(each.getKey())), entry, own, from, to, seen);
        }
      }
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  /** Reads those bytes of a tensor that are in a range of the file. */
  private void fill(
      Tensor tensor,
      Entry entry,
      FileChannel source,
      long from,
      long to,
      Consumer<ByteBuffer> seen) {
    long start = dataStart + entry.begin();
    long end = Math.min(dataStart + entry.end(), to);
    try (PointerScope scope = new PointerScope();
        Pointer memory = tensor.data_ptr()) {
      for (long at = Math.max(start, from); at < end; at += PIECE) {
        ByteBuffer piece = NativeBytes.buffer(memory, at - start, Math.min(PIECE, end - at));
        SavedBytes.readFully(source, piece, at);
        seen.accept(piece.flip());
      }
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  /**
   * Copies tensors into the parameters and buffers of a module, as {@code load_state_dict} with
   * {@code strict=True}.
   *
   * @param prefix the beginning of the names of the module's tensors, for example {@code model.};
   *     empty if its tensors are the file
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
   * the old content.
   *
   * @param path the file
   * @param tensors by name, dense, on any device; copied to the CPU one after the other
   * @param metadata texts for any use; Python writes {@code format}, {@code pt}
   * @throws IllegalArgumentException if a tensor is undefined or sparse, has a dtype that the
   *     format does not know, or is named {@code __metadata__}
   * @throws CheckpointException if it cannot be written; nothing is left of it
   */
  public static void write(Path path, Map<String, Tensor> tensors, Map<String, String> metadata) {
    requireNonNull(metadata, "metadata");
    requireNonNull(path, "path");
    requireNonNull(tensors, "tensors");
    SafetensorsWriter writer = new SafetensorsWriter(tensors, metadata);
    try {
      FileReplacement.write(path, writer::write);
    } catch (IOException e) {
      throw CheckpointException.unwritable(path, e);
    }
  }

  /**
   * Writes the parameters and buffers of a module, as {@link #write(Path, Map, Map)} does, under
   * the names of {@code state_dict} in Python, with the metadata {@code format}, {@code pt}.
   *
   * @param path the file
   * @param module borrowed; its running statistics are buffers and written, too
   * @throws IllegalArgumentException as {@link #write(Path, Map, Map)}
   * @throws CheckpointException if it cannot be written; nothing is left of it
   */
  public static void write(Path path, Module module) {
    requireNonNull(path, "path");
    requireNonNull(module, "module");
    try (PointerScope scope = new PointerScope()) {
      write(path, ModuleState.tensors(module), Map.of("format", "pt"));
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }
}
