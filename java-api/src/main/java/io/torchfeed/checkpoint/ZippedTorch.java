// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.PickledObjects.UnpicklingException;
import io.torchfeed.checkpoint.StoredZip.Entry;
import io.torchfeed.checkpoint.StoredZip.NoEndException;
import io.torchfeed.internal.Quotes;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/** The format of {@code torch.save} since 1.6: a zip archive of a pickle and of storages. */
final class ZippedTorch implements TorchStorages {
  private static final String PICKLE = "/data.pkl";
  private static final int MAX_SMALL = 1 << 16;

  private final FileChannel channel;
  private final StoredZip zip;
  private final String folder;
  private final Object root;
  private final int pickleBytes;

  private ZippedTorch(FileChannel channel, StoredZip zip, String folder, byte[] pickle)
      throws UnpicklingException {
    this.channel = channel;
    this.zip = zip;
    this.folder = folder;
    root = Unpickler.read(ByteBuffer.wrap(pickle), new HashMap<>());
    pickleBytes = pickle.length;
  }

  /**
   * Reads the pickle of a file.
   *
   * @param channel closed with the returned object, or by a failure
   * @throws ZipException if it is malformed
   * @throws CheckpointException if it is of another kind
   */
  static ZippedTorch open(Path path, FileChannel channel) throws IOException, UnpicklingException {
    try {
      return open(path, channel, 0, channel.size());
    } catch (IOException | UnpicklingException | RuntimeException | Error e) {
      closeAfter(channel, e);
      throw e;
    }
  }

  /**
   * Opens a part of a file and reads its pickle.
   *
   * @param start where the part begins in the file, at least 0
   * @param bytes its number of bytes, at least 0
   * @throws ZipException if it is malformed, or the file ends before it
   * @throws CheckpointException if it is of another kind
   */
  static ZippedTorch open(Path path, long start, long bytes)
      throws IOException, UnpicklingException {
    FileChannel channel = SavedBytes.open(path);
    try {
      if (start > channel.size() || bytes > channel.size() - start) {
        throw new ZipException(
            "it ends after %d bytes, but the archive at %d needs %d more"
                .formatted(channel.size(), start, bytes));
      }
      return open(path, channel, start, bytes);
    } catch (IOException | UnpicklingException | RuntimeException | Error e) {
      closeAfter(channel, e);
      throw e;
    }
  }

  private static void closeAfter(FileChannel channel, Throwable thrown) {
    try {
      channel.close();
    } catch (IOException closing) {
      thrown.addSuppressed(closing);
    }
  }

  private static StoredZip zip(FileChannel channel, long start, long bytes) throws IOException {
    try {
      return new StoredZip(channel, start, bytes);
    } catch (ZipException e) {
      ZipException malformed =
          new ZipException(
              "it is no whole zip file (%s), as torch.save writes%s"
                  .formatted(
                      e.getMessage(),
                      e instanceof NoEndException ? "; write or download it again" : ""));
      malformed.initCause(e);
      throw malformed;
    }
  }

  private static ZippedTorch open(Path path, FileChannel channel, long start, long size)
      throws IOException, UnpicklingException {
    StoredZip zip = zip(channel, start, size);
    Entry pickle =
        zip.entries().stream()
            .filter(entry -> entry.name().endsWith(PICKLE))
            .findFirst()
            .orElseThrow(() -> otherArchive(zip));
    String folder = pickle.name().substring(0, pickle.name().length() - PICKLE.length());
    if (zip.find(folder + "/constants.pkl") != null) {
      throw new CheckpointException(
          path,
          Problem.MISMATCH,
          "it is a TorchScript archive; load it as one, or save model.state_dict() by torch.save");
    }
    Entry order = zip.find(folder + "/byteorder");
    if (order != null
        && !new String(bytes(zip, order, MAX_SMALL), StandardCharsets.UTF_8).equals("little")) {
      throw new CheckpointException(
          path,
          Problem.MISMATCH,
          "it was saved on a machine with another order of bytes; load it in Python and save it"
              + " again");
    }
    return new ZippedTorch(channel, zip, folder, bytes(zip, pickle, MAX_PICKLE_BYTES));
  }

  private static ZipException otherArchive(StoredZip zip) {
    List<String> names = zip.entries().stream().map(Entry::name).toList();
    boolean isOfNumpy = names.stream().anyMatch(name -> name.endsWith(".npy"));
    return new ZipException(
        "it is a zip archive without an entry data.pkl, but %s%s"
            .formatted(
                names.isEmpty() ? "an empty one" : "with " + Quotes.listed(", ", names),
                isOfNumpy
                    ? ", as numpy.savez writes: open it by NumpyFile"
                    : "; save model.state_dict() by torch.save"));
  }

  private static byte[] bytes(StoredZip zip, Entry entry, int max) throws IOException {
    if (entry.bytes() > max) {
      throw new ZipException(
          "entry %s must have at most %d bytes, got %d"
              .formatted(Quotes.shortened(entry.name()), max, entry.bytes()));
    }
    byte[] bytes = zip.open(entry).readNBytes((int) entry.bytes());
    if (bytes.length < entry.bytes()) {
      throw new EOFException("the file became shorter");
    }
    CRC32 checksum = new CRC32();
    checksum.update(bytes);
    StoredZip.requireWhole(entry, checksum);
    return bytes;
  }

  private @Nullable Entry storage(String key) {
    return zip.find(folder + "/data/" + key);
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
  public long bytes(String key) throws ZipException {
    Entry storage = storage(key);
    if (storage == null) {
      return -1;
    }
    StoredZip.requireStored(storage);
    return storage.bytes();
  }

  @Override
  public InputStream open(String key) throws IOException {
    return zip.open(requireNonNull(storage(key)));
  }

  @Override
  public void requireWhole(String key, CRC32 checksum) throws ZipException {
    StoredZip.requireWhole(requireNonNull(storage(key)), checksum);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
