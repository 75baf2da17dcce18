// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.checkpoint.SafetensorsHeader.Entry;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.saving.WriteBehind;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The bytes of a safetensors file. */
final class SafetensorsWriter {
  private static final int ALIGNMENT = 8;

  private final Map<String, Tensor> tensors;
  private final ByteBuffer head;
  private final long size;

  /**
   * Makes the header.
   *
   * @throws IllegalArgumentException if a tensor, or the header as a whole, does not fit the format
   */
  SafetensorsWriter(Map<String, Tensor> tensors, Map<String, String> metadata) {
    this.tensors = new LinkedHashMap<>();
    Map<String, DType> dtypes = new TreeMap<>();
    tensors.forEach((name, tensor) -> dtypes.put(name, dtypeOf(name, tensor)));
    Map<String, Entry> entries = new LinkedHashMap<>();
    long at = 0;
    for (String name : SafetensorsHeader.fileOrder(dtypes)) {
      Tensor tensor = requireNonNull(tensors.get(name));
      long end = at + tensor.numel() * tensor.element_size();
      entries.put(name, new Entry(requireNonNull(dtypes.get(name)), shapeOf(tensor), at, end));
      this.tensors.put(name, tensor);
      at = end;
    }
    head = head(new SafetensorsHeader(new TreeMap<>(metadata), entries));
    size = head.remaining() + at;
  }

  private static DType dtypeOf(String name, Tensor tensor) {
    TensorBytes.requireDense(name, tensor);
    String what = "tensor " + Quotes.shortened(name);
    if (name.equals(SafetensorsHeader.METADATA)) {
      throw new IllegalArgumentException(what + " has the name that the format reserves");
    }
    DType dtype = DType.of(tensor.scalar_type());
    if (SafetensorsHeader.nameOf(dtype) == null) {
      throw new IllegalArgumentException(
          "%s has the dtype %s, which the format does not know".formatted(what, dtype));
    }
    return dtype;
  }

  private static List<Long> shapeOf(Tensor tensor) {
    List<Long> shape = new ArrayList<>();
    for (long i = 0; i < tensor.dim(); i++) {
      shape.add(tensor.size(i));
    }
    return shape;
  }

  private static ByteBuffer head(SafetensorsHeader header) {
    byte[] json;
    try {
      json = Checks.utf8("a name or a text", header.toJson());
    } catch (IOException e) {
      throw new IllegalStateException("writing to a string never fails", e);
    }
    int length = (json.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (length > SafetensorsHeader.MAX_BYTES) {
      throw new IllegalArgumentException(
          "names and texts must fit in a header of %d bytes, got %d"
              .formatted(SafetensorsHeader.MAX_BYTES, length));
    }
    ByteBuffer head =
        ByteBuffer.allocate(Long.BYTES + length).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
    head.put(json);
    while (head.hasRemaining()) {
      head.put((byte) ' ');
    }
    return head.flip();
  }

  /** Returns the number of all bytes. */
  long size() {
    return size;
  }

  /**
   * Writes all bytes, which go to the disk meanwhile; the last ones are not flushed.
   *
   * @throws IOException if they cannot be written or flushed, or the file has other ones, too
   */
  void write(FileChannel file) throws IOException {
    write(file, written -> {});
  }

  /**
   * Writes all bytes, as {@link #write(FileChannel)}.
   *
   * @param seen gets each piece before it is written
   */
  void write(FileChannel file, Consumer<ByteBuffer> seen) throws IOException {
    try (WriteBehind behind = new WriteBehind(file)) {
      writeTo(behind, seen);
    }
    SavedBytes.requireSize(file, size);
  }

  /** Writes all bytes. */
  void writeTo(WritableByteChannel channel, Consumer<ByteBuffer> seen) throws IOException {
    forEach(
        piece -> {
          seen.accept(piece.duplicate());
          while (piece.hasRemaining()) {
            channel.write(piece);
          }
        });
  }

  private void forEach(NativeBytes.Use<IOException> use) throws IOException {
    use.accept(head.duplicate());
    for (Tensor tensor : tensors.values()) {
      try (PointerScope scope = new PointerScope()) {
        TensorBytes.forEach(TensorBytes.inOrder(tensor), use);
      }
    }
  }
}
