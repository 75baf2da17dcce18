// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.internal.Quotes;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.ZipException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** An open file of {@code torch.save}: one pickled object, and the elements of its tensors. */
interface TorchStorages extends Closeable {
  /** The most bytes of a pickle. */
  int MAX_PICKLE_BYTES = 16 << 20;

  /** The bytes that are copied at once. */
  int PIECE = 1 << 16;

  /** Returns the object of the pickle, made by {@link Unpickler}. */
  Object root();

  /** Returns the number of bytes of the pickle. */
  int pickleBytes();

  /**
   * Returns the number of bytes of a storage.
   *
   * @return -1 if the file has none of this key
   * @throws ZipException if it is not readable in place
   */
  long bytes(String key) throws ZipException;

  /** Opens an existing storage; the caller closes the stream. */
  InputStream open(String key) throws IOException;

  /**
   * Compares a storage that was read as a whole with its checksum, if it has one.
   *
   * @throws ZipException if it differs
   */
  void requireWhole(String key, CRC32 checksum) throws ZipException;

  /** Checks that the elements of a tensor are in the file. */
  default void requireElements(String name, PickledTensor tensor)
      throws ZipException, UnpicklingException {
    long bytes = bytes(tensor.storage().key());
    if (bytes < 0) {
      throw new UnpicklingException(
          "the elements of %s are missing".formatted(Quotes.shortened(name)));
    }
    try {
      long end =
          Math.multiplyExact(
              Math.addExact(tensor.offset(), tensor.span()), (long) tensor.dtype().bytes());
      if (end <= bytes) {
        return;
      }
    } catch (ArithmeticException e) {
      throw new UnpicklingException(
          "the shape of %s is too large: %s".formatted(Quotes.shortened(name), tensor.sizes()));
    }
    throw new UnpicklingException(
        "%s needs more elements than the %d bytes of its storage have"
            .formatted(Quotes.shortened(name), bytes));
  }

  /**
   * Reads a tensor that {@link #requireElements} accepted.
   *
   * @return a new tensor on the CPU, owned by the caller and by no pointer scope
   */
  default Tensor read(PickledTensor tensor) throws IOException {
    try (Tensor elements = TensorBytes.empty(tensor.dtype(), tensor.span())) {
      fill(elements, tensor);
      return NativeHandle.outsideOfScopes(
          () -> elements.as_strided(tensor.sizeArray(), tensor.strideArray()));
    }
  }

  private void fill(Tensor elements, PickledTensor tensor) throws IOException {
    String storage = tensor.storage().key();
    long from = tensor.offset() * tensor.dtype().bytes();
    CRC32 checksum = new CRC32();
    byte[] piece = new byte[PIECE];
    try (PointerScope scope = new PointerScope();
        InputStream in = open(storage)) {
      in.skipNBytes(from);
      TensorBytes.forEach(elements, bytes -> fill(bytes, in, piece, checksum));
    }
    if (from == 0 && elements.nbytes() == bytes(storage)) {
      requireWhole(storage, checksum);
    }
  }

  private static void fill(ByteBuffer bytes, InputStream in, byte[] piece, CRC32 checksum)
      throws IOException {
    while (bytes.hasRemaining()) {
      int count = in.read(piece, 0, Math.min(piece.length, bytes.remaining()));
      if (count < 0) {
        throw new EOFException("the file became shorter");
      }
      checksum.update(piece, 0, count);
      bytes.put(piece, 0, count);
    }
  }
}
