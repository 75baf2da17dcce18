// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.PickledObjects.EndException;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.checkpoint.PickledTensor.PickledStorage;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;

/**
 * A file of {@code torch.save} before 1.6: five pickles (a number that marks it, the version of the
 * format, the machine, the object, the keys of its storages) and the storages in the order of the
 * keys, each as the number of its elements and these. It has no checksums.
 */
final class LegacyTorch implements TorchStorages {
  private static final BigInteger MAGIC = new BigInteger("1950a86a20f9469cfc6c", 16);
  private static final long VERSION = 1001;
  private static final int PROTO = 0x80;

  private record Region(long start, long bytes) {}

  private final FileChannel channel;
  private final Map<String, Region> regions = new HashMap<>();
  private final Object root;
  private final int pickleBytes;

  private LegacyTorch(Path path, FileChannel channel) throws IOException, UnpicklingException {
    this.channel = channel;
    ByteBuffer in = ByteBuffer.allocate((int) Math.min(channel.size(), MAX_PICKLE_BYTES));
    SavedBytes.readFully(channel, in, 0);
    in.flip();
    requireHead(path, in);
    int start = in.position();
    Map<String, PickledStorage> storages = new HashMap<>();
    root = Unpickler.read(in, storages);
    pickleBytes = in.position() - start;
    locate(Unpickler.read(in, new HashMap<>()), storages, in.position());
  }

  /** Returns whether a file begins with a pickle. */
  static boolean isPickle(byte[] begin) {
    return begin.length > 0 && Byte.toUnsignedInt(begin[0]) == PROTO;
  }

  /**
   * Reads the pickles of a file.
   *
   * @param channel closed with the returned object, or by a failure
   * @throws CheckpointException if it is of another kind
   */
  static LegacyTorch open(Path path, FileChannel channel) throws IOException, UnpicklingException {
    try {
      try {
        return new LegacyTorch(path, channel);
      } catch (EndException e) {
        throw channel.size() > MAX_PICKLE_BYTES
            ? new UnpicklingException(
                "its pickles must have at most %d bytes".formatted(MAX_PICKLE_BYTES))
            : e;
      }
    } catch (IOException | UnpicklingException | RuntimeException | Error e) {
      try {
        channel.close();
      } catch (IOException closing) {
        e.addSuppressed(closing);
      }
      throw e;
    }
  }

  private static void requireHead(Path path, ByteBuffer in) throws UnpicklingException {
    if (!isMagic(in)) {
      throw new CheckpointException(
          path,
          Problem.MISMATCH,
          "it is a pickle, but none of torch.save; load it in Python and save its tensors by"
              + " torch.save");
    }
    Object version = Unpickler.read(in, new HashMap<>());
    if (!version.equals(VERSION)) {
      throw new UnpicklingException(
          "the version of the format must be %d, got %s".formatted(VERSION, version));
    }
    if (!(Unpickler.read(in, new HashMap<>()) instanceof Map<?, ?> machine)) {
      throw new UnpicklingException("the description of the machine that saved it is missing");
    }
    if (!Boolean.TRUE.equals(machine.get("little_endian"))) {
      throw new CheckpointException(
          path,
          Problem.MISMATCH,
          "it was saved on a machine with another order of bytes; load it in Python and save it"
              + " again");
    }
  }

  private static boolean isMagic(ByteBuffer in) throws EndException {
    try {
      return Unpickler.read(in, new HashMap<>()).equals(MAGIC);
    } catch (EndException e) {
      throw e;
    } catch (UnpicklingException e) {
      return false; // of other objects
    }
  }

  private void locate(Object keys, Map<String, PickledStorage> storages, long end)
      throws IOException, UnpicklingException {
    if (!(keys instanceof List<?> list)) {
      throw new UnpicklingException("the keys of the storages are missing");
    }
    ByteBuffer count = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    long at = end;
    for (Object key : list) {
      PickledStorage storage = storages.get(key);
      if (storage == null) {
        throw new UnpicklingException("a storage belongs to no tensor");
      }
      String name = Quotes.shortened(storage.key());
      if (channel.size() - at < Long.BYTES) {
        throw new UnpicklingException("the file ends before the storage " + name);
      }
      SavedBytes.readFully(channel, count.clear(), at);
      at += Long.BYTES;
      long elements = count.flip().getLong();
      long left = channel.size() - at;
      if (elements < 0 || elements > left / storage.dtype().bytes()) {
        throw new UnpicklingException(
            "the storage %s has %d elements of %d bytes, but the file ends after %d bytes of it"
                .formatted(name, elements, storage.dtype().bytes(), left));
      }
      long bytes = elements * storage.dtype().bytes();
      if (regions.put(storage.key(), new Region(at, bytes)) != null) {
        throw new UnpicklingException("the file has the storage %s twice".formatted(name));
      }
      at += bytes;
    }
  }

  @Override
  public Object root() {
    return root;
  }

  @Override
  public int pickleBytes() {
    return pickleBytes;
  }

  @Override
  public long bytes(String key) {
    Region region = regions.get(key);
    return region == null ? -1 : region.bytes;
  }

  @Override
  public InputStream open(String key) throws IOException {
    Region region = requireNonNull(regions.get(key));
    channel.position(region.start);
    return new SavedBytes.FirstBytes(Channels.newInputStream(channel), region.bytes);
  }

  @Override
  public void requireWhole(String key, CRC32 checksum) {
    // it has no checksums
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
