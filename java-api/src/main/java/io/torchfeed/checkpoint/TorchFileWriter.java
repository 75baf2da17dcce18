// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.saving.WriteBehind;
import io.torchfeed.memory.DType;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The bytes of a file as {@code torch.save} writes it: a zip file of a pickle and of storages. */
final class TorchFileWriter {
  private static final String ROOT = "archive/";

  /** The alignment of storages, for readers that map the file into memory. */
  private static final int ALIGNMENT = 64;

  private static final int LOCAL_HEADER_BYTES = 30;
  private static final int EXTRA_HEADER_BYTES = 4;
  private static final int ZIP64_EXTRA_BYTES = 20;
  private static final long ZIP64_SIZE = 0xFFFFFFFFL;
  private static final short PADDING_ID = 0x4246;

  /** Of all entries, so that equal tensors give equal bytes; the first day adds a field. */
  private static final LocalDateTime TIME = LocalDateTime.of(1980, 1, 2, 0, 0);

  private final Map<String, Tensor> tensors;
  private final byte[] pickle;

  /**
   * Makes the pickle.
   *
   * @throws IllegalArgumentException if a tensor or the names as a whole do not fit the format
   */
  TorchFileWriter(Map<String, Tensor> tensors, int maxPickleBytes) {
    this.tensors = new LinkedHashMap<>(tensors);
    pickle = pickle(tensors);
    if (pickle.length > maxPickleBytes) {
      throw new IllegalArgumentException(
          "names and shapes must have at most %d bytes, got %d"
              .formatted(maxPickleBytes, pickle.length));
    }
  }

  private static byte[] pickle(Map<String, Tensor> tensors) {
    PickleBytes out = new PickleBytes();
    out.raw(0x80).raw(2);
    out.emptyOrderedDict().raw('(');
    int index = 0;
    for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
      Tensor tensor = entry.getValue();
      TensorBytes.requireDense(entry.getKey(), tensor);
      DType dtype = DType.of(tensor.scalar_type());
      String storage = TorchDTypes.storageOf(dtype);
      boolean isTyped = storage != null;
      out.text(entry.getKey());
      out.global("torch._utils", isTyped ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
      out.raw('(').raw('(').text("storage");
      out.global(storage == null ? TorchDTypes.UNTYPED : storage);
      out.text(String.valueOf(index++)).text("cpu");
      out.number(isTyped ? tensor.numel() : tensor.numel() * dtype.bytes());
      out.raw('t').raw('Q').number(0);
      out.numbers(tensor.sizes().vec().get());
      out.numbers(contiguousStrides(tensor.sizes().vec().get()));
      out.raw(0x89).emptyOrderedDict(); // requires no gradient, has no hooks
      if (!isTyped) {
        out.global(TorchDTypes.globalOf(dtype));
      }
      out.raw('t').raw('R');
    }
    return out.raw('u').raw('.').toByteArray();
  }

  private static long[] contiguousStrides(long[] sizes) {
    long[] strides = new long[sizes.length];
    long stride = 1;
    for (int i = sizes.length - 1; i >= 0; i--) {
      strides[i] = stride;
      stride *= Math.max(1, sizes[i]);
    }
    return strides;
  }

  /** The bytes of a pickle in protocol 2. */
  private static final class PickleBytes {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    PickleBytes raw(int value) {
      out.write(value);
      return this;
    }

    PickleBytes text(String text) {
      byte[] bytes = Checks.utf8("a name", text);
      raw('X');
      out.writeBytes(littleEndian(Integer.BYTES).putInt(bytes.length).array());
      out.writeBytes(bytes);
      return this;
    }

    PickleBytes number(long number) {
      if (number == (int) number) {
        raw('J');
        out.writeBytes(littleEndian(Integer.BYTES).putInt((int) number).array());
      } else {
        raw(0x8a).raw(Long.BYTES);
        out.writeBytes(littleEndian(Long.BYTES).putLong(number).array());
      }
      return this;
    }

    PickleBytes numbers(long[] numbers) {
      raw('(');
      for (long number : numbers) {
        number(number);
      }
      return raw('t');
    }

    PickleBytes global(String name) {
      int dot = name.lastIndexOf('.');
      return global(name.substring(0, dot), name.substring(dot + 1));
    }

    PickleBytes global(String module, String name) {
      raw('c');
      out.writeBytes((module + "\n" + name + "\n").getBytes(StandardCharsets.UTF_8));
      return this;
    }

    PickleBytes emptyOrderedDict() {
      return global("collections", "OrderedDict").raw(')').raw('R');
    }

    byte[] toByteArray() {
      return out.toByteArray();
    }

    private static ByteBuffer littleEndian(int bytes) {
      return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
  }

  /**
   * Writes the file, whose bytes go to the disk meanwhile; the last ones are not flushed.
   *
   * @throws IOException if they cannot be written or flushed, or the file has other ones, too
   */
  void write(FileChannel file) throws IOException {
    long bytes;
    try (WriteBehind behind = new WriteBehind(file)) {
      bytes = writeTo(behind);
    }
    SavedBytes.requireSize(file, bytes);
  }

  /** Writes the bytes; returns their number. */
  long writeTo(WritableByteChannel channel) throws IOException {
    // Flushed before each storage, so that the bytes counted are the end of all before it.
    CountingStream counted = new CountingStream(Channels.newOutputStream(channel));
    try (OutputStream buffered = new BufferedOutputStream(counted);
        ZipOutputStream zip = new ZipOutputStream(buffered)) {
      put(zip, counted, "data.pkl", pickle);
      put(zip, counted, "byteorder", "little".getBytes(StandardCharsets.UTF_8));
      int index = 0;
      for (Tensor tensor : tensors.values()) {
        try (PointerScope scope = new PointerScope()) {
          put(zip, counted, index++, TensorBytes.inOrder(tensor));
        }
      }
      put(zip, counted, "version", "3\n".getBytes(StandardCharsets.UTF_8));
    }
    return counted.bytes;
  }

  private static void put(ZipOutputStream zip, CountingStream counted, String name, byte[] bytes)
      throws IOException {
    CRC32 checksum = new CRC32();
    checksum.update(bytes);
    start(zip, counted, name, bytes.length, checksum);
    zip.write(bytes);
    zip.closeEntry();
  }

  private static void put(ZipOutputStream zip, CountingStream counted, int index, Tensor tensor)
      throws IOException {
    CRC32 checksum = new CRC32();
    TensorBytes.forEach(tensor, checksum::update);
    start(zip, counted, "data/" + index, tensor.numel() * tensor.element_size(), checksum);
    byte[] piece = new byte[1 << 16];
    TensorBytes.forEach(
        tensor,
        bytes -> {
          while (bytes.hasRemaining()) {
            int count = Math.min(piece.length, bytes.remaining());
            bytes.get(piece, 0, count);
            zip.write(piece, 0, count);
          }
        });
    zip.closeEntry();
  }

  private static void start(
      ZipOutputStream zip, CountingStream counted, String name, long size, CRC32 checksum)
      throws IOException {
    zip.flush();
    ZipEntry entry = new ZipEntry(ROOT + name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(size);
    entry.setCompressedSize(size);
    entry.setCrc(checksum.getValue());
    entry.setTimeLocal(TIME);
    entry.setExtra(padding(counted.bytes, entry.getName().length(), size));
    zip.putNextEntry(entry);
  }

  /** Returns an extra field after which the bytes of an entry are aligned. */
  private static byte[] padding(long position, int nameBytes, long size) {
    long start =
        position
            + LOCAL_HEADER_BYTES
            + nameBytes
            + (size >= ZIP64_SIZE ? ZIP64_EXTRA_BYTES : 0)
            + EXTRA_HEADER_BYTES;
    int bytes = (int) Math.floorMod(-start, (long) ALIGNMENT);
    return ByteBuffer.allocate(EXTRA_HEADER_BYTES + bytes)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putShort(PADDING_ID)
        .putShort((short) bytes)
        .array();
  }

  /** A stream that counts its bytes, and whose end leaves the file open. */
  private static final class CountingStream extends OutputStream {
    private final OutputStream out;
    private long bytes;

    CountingStream(OutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int value) throws IOException {
      out.write(value);
      bytes++;
    }

    @Override
    public void write(byte[] from, int start, int length) throws IOException {
      out.write(from, start, length);
      bytes += length;
    }
  }
}
