// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The arrays of a file of {@code numpy.save}, {@code numpy.savez} or {@code
 * numpy.savez_compressed}, read into memory one by one.
 *
 * <pre>{@code
 * NumpyFile saved = NumpyFile.open(root.resolve("digits.npz"));
 * try (Tensor images = saved.read("images");
 *     Tensor labels = saved.read("labels")) {
 *   train(images, labels);
 * }
 * }</pre>
 *
 * <p>Arrays may be boolean, (unsigned) integer, floating point or complex, in any byte order, in C
 * or Fortran order, and of any shape; others are refused by name. {@link FileColumn#npy} and {@link
 * FileColumn#npz} read rows of arrays that are larger than memory. Immutable; it keeps no file
 * open.
 */
public final class NumpyFile {
  private static final String EXTENSION = ".npy";
  private static final String RULE =
      "must be a file of numpy.save or a whole zip archive, as numpy.savez writes";
  private static final int PIECE = 1 << 16;
  private static final long MAX_RATIO = 1100; // deflate has at most 1032

  private final Path path;
  private final Map<String, ZipMember> members; // one without a name is an npy file

  private NumpyFile(Path path, Map<String, ZipMember> members) {
    this.path = path;
    this.members = members;
  }

  /**
   * Opens a file and reads the names of its arrays.
   *
   * @param path an npy or npz file
   * @return the file
   * @throws IllegalArgumentException if it is neither
   * @throws UncheckedIOException if it cannot be opened or read
   */
  public static NumpyFile open(Path path) {
    return FileHead.read(requireNonNull(path, "path"), file -> new NumpyFile(path, members(file)));
  }

  private static Map<String, ZipMember> members(FileHead file) {
    Map<String, ZipMember> members = new LinkedHashMap<>();
    if (NpyFormat.isNpy(file)) {
      ZipMember whole = new ZipMember("", ZipMember.STORED, 0, file.size(), file.size(), 0);
      members.put("", whole);
      return members;
    }
    Map<String, ZipMember> all = ZipMember.all(file, RULE);
    for (ZipMember member : all.values()) {
      String name = member.name();
      if (name.endsWith(EXTENSION)) {
        members.put(name.substring(0, name.length() - EXTENSION.length()), member);
      }
    }
    if (members.isEmpty() && !all.isEmpty()) {
      throw file.refused(
          "must have members *.npy, as numpy.savez writes",
          "a zip archive of %s; a file of torch.save is opened by TorchFile"
              .formatted(ZipMember.described(all.keySet())));
    }
    return members;
  }

  /**
   * Returns the names of the arrays, in the order of the file.
   *
   * @return an unmodifiable set; of an npy file, the empty name
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(members.keySet());
  }

  /**
   * Reads an array.
   *
   * @param name one of {@link #names}
   * @return a new tensor on the CPU, with the shape of the array and, in Fortran order, its
   *     strides; owned by the caller and by no pointer scope
   * @throws IllegalArgumentException if the file has none of this name, or it is malformed, of
   *     another dtype, or differs from its checksum
   * @throws UncheckedIOException if the file cannot be read
   */
  public Tensor read(String name) {
    ZipMember member = members.get(requireNonNull(name, "name"));
    if (member == null) {
      throw new IllegalArgumentException(
          "%s must have the array %s, got %s"
              .formatted(
                  path,
                  Quotes.shortened(name),
                  Quotes.shortened(String.join(", ", members.keySet()))));
    }
    return FileHead.read(path, file -> read(file, member));
  }

  private static Tensor read(FileHead file, ZipMember member) {
    FileHead raw = member.name().isEmpty() ? file : member.raw(file);
    if (member.method() != ZipMember.STORED && member.method() != ZipMember.DEFLATED) {
      throw file.refused(
          "must have stored or deflated arrays",
          FieldFormat.quote(member.name()) + " in another method; save it by numpy.savez");
    }
    if (member.bytes() / MAX_RATIO > raw.size()
        || (member.method() == ZipMember.STORED && member.bytes() != raw.size())) {
      throw damaged(file, member, "its sizes contradict each other");
    }
    CRC32 checksum = new CRC32();
    Inflater inflater = new Inflater(true);
    try (InputStream stored = new Bytes(raw);
        InputStream plain =
            member.method() == ZipMember.STORED
                ? stored
                : new InflaterInputStream(stored, inflater, PIECE);
        InputStream in = new CheckedInputStream(plain, checksum)) {
      Tensor tensor = read(new FileHead(file.path(), new Prefix(in), 0, member.bytes()), in);
      boolean isWhole =
          in.read() < 0 && (member.name().isEmpty() || checksum.getValue() == member.checksum());
      if (!isWhole) {
        tensor.close();
        throw damaged(file, member, "it differs from its checksum");
      }
      return tensor;
    } catch (ZipException | EOFException e) {
      throw damaged(file, member, Failures.reason(e));
    } catch (UncheckedIOException e) { // of the header
      IOException cause = requireNonNull(e.getCause());
      throw cause instanceof ZipException || cause instanceof EOFException
          ? damaged(file, member, Failures.reason(cause))
          : e;
    } catch (IOException e) {
      throw FileHead.unreadable(file.path(), e);
    } finally {
      inflater.end();
    }
  }

  private static IllegalArgumentException damaged(FileHead file, ZipMember member, String reason) {
    return file.refused(
        "must have whole arrays",
        "%s, which is damaged: %s".formatted(FieldFormat.quote(member.name()), reason));
  }

  /** Reads an array whose header and elements come from a stream. */
  private static Tensor read(FileHead head, InputStream in) throws IOException {
    NpyFormat.Array array = NpyFormat.array(head);
    long[] shape = array.shape();
    RowFile.requireSize(head, array.dtype(), array.offsetBytes(), shape);
    requireStrides(head, shape);
    long[] inMemory = array.fortranOrder() ? reversed(shape) : shape;
    Tensor elements = empty(array.dtype(), inMemory);
    try (PointerScope scope = new PointerScope()) {
      int unit = array.order() == ByteOrder.nativeOrder() ? 1 : array.dtype().unitBytes();
      byte[] piece = new byte[PIECE];
      try (Pointer memory = elements.data_ptr()) {
        NativeBytes.forEach(memory, elements.nbytes(), bytes -> fill(bytes, in, piece, unit));
      }
    } catch (IOException | RuntimeException | Error e) {
      elements.close();
      throw e;
    }
    if (!array.fortranOrder()) {
      return elements;
    }
    try (elements) {
      long[] axes = reversed(LongStream.range(0, shape.length).toArray());
      return NativeHandle.outsideOfScopes(() -> elements.permute(axes));
    }
  }

  /** Requires that sizes of an empty array have strides, too. */
  private static void requireStrides(FileHead head, long... shape) {
    long elements = 1;
    for (long size : shape) {
      if (elements > Long.MAX_VALUE / Math.max(size, 1)) {
        throw head.refused(
            "must be of a shape with strides below 2^63", "the shape " + Arrays.toString(shape));
      }
      elements *= Math.max(size, 1);
    }
  }

  private static void fill(ByteBuffer bytes, InputStream in, byte[] piece, int unit)
      throws IOException {
    while (bytes.hasRemaining()) {
      int count = Math.min(piece.length, bytes.remaining());
      if (in.readNBytes(piece, 0, count) < count) {
        throw new EOFException("it ends too early");
      }
      for (int at = 0; unit > 1 && at < count; at += unit) {
        for (int i = 0; i < unit / 2; i++) {
          byte first = piece[at + i];
          piece[at + i] = piece[at + unit - 1 - i];
          piece[at + unit - 1 - i] = first;
        }
      }
      bytes.put(piece, 0, count);
    }
  }

  private static Tensor empty(DType dtype, long... sizes) {
    return NativeHandle.outsideOfScopes(
        () -> {
          try (TensorOptions options = new TensorOptions(dtype.scalarType());
              MemoryFormatOptional format = new MemoryFormatOptional()) {
            return torch.empty(sizes, options, format);
          }
        });
  }

  private static long[] reversed(long[] numbers) {
    long[] reversed = new long[numbers.length];
    for (int i = 0; i < numbers.length; i++) {
      reversed[i] = numbers[numbers.length - 1 - i];
    }
    return reversed;
  }

  /** The bytes of a part of a file. */
  private static final class Bytes extends InputStream {
    private final FileHead part;
    private long at;

    Bytes(FileHead part) {
      this.part = part;
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int from, int length) {
      int count = (int) Math.min(length, part.size() - at);
      if (count == 0) {
        return -1;
      }
      part.bytes(at, count, "its elements").get(into, from, count);
      at += count;
      return count;
    }
  }

  /** The beginning of a stream, which stops behind the last byte that was asked for. */
  private static final class Prefix implements FileHead.Source {
    private final InputStream in;
    private byte[] known = {};

    Prefix(InputStream in) {
      this.in = in;
    }

    @Override
    public int read(ByteBuffer into, long position) throws IOException {
      int from = (int) position;
      int end = from + into.remaining();
      if (end > known.length) {
        byte[] more = in.readNBytes(end - known.length);
        int length = known.length;
        known = Arrays.copyOf(known, length + more.length);
        System.arraycopy(more, 0, known, length, more.length);
      }
      int count = Math.min(end, known.length) - from;
      into.put(known, from, Math.max(count, 0));
      return count <= 0 ? -1 : count;
    }
  }
}
