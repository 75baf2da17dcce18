// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.Unpickler.UnpicklingException;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;

/** A file of {@code torch.save} since 1.6: a zip file of a pickle and of storages. */
final class ZippedTorch implements TorchStorages {
  private static final String PICKLE = "/data.pkl";
  private static final int MAX_SMALL = 1 << 16;

  private final ZipFile zip;
  private final String folder;
  private final Object root;
  private final int pickleBytes;

  private ZippedTorch(ZipFile zip, String folder, byte[] pickle) throws UnpicklingException {
    this.zip = zip;
    this.folder = folder;
    root = Unpickler.read(ByteBuffer.wrap(pickle), new HashMap<>());
    pickleBytes = pickle.length;
  }

  /**
   * Opens a file and reads its pickle.
   *
   * @throws ZipException if it is malformed
   * @throws CheckpointException if it is of another kind
   */
  static ZippedTorch open(Path path) throws IOException, UnpicklingException {
    ZipFile zip = zip(path);
    try {
      return open(path, zip);
    } catch (IOException | UnpicklingException | RuntimeException | Error e) {
      try {
        zip.close();
      } catch (IOException closing) {
        e.addSuppressed(closing);
      }
      throw e;
    }
  }

  private static ZipFile zip(Path path) throws IOException {
    try {
      return new ZipFile(path.toFile());
    } catch (ZipException e) {
      ZipException malformed =
          new ZipException(
              "it is no whole zip file (%s), as torch.save writes".formatted(e.getMessage()));
      malformed.initCause(e);
      throw malformed;
    }
  }

  private static ZippedTorch open(Path path, ZipFile zip) throws IOException, UnpicklingException {
    ZipEntry pickle =
        zip.stream()
            .filter(entry -> entry.getName().endsWith(PICKLE))
            .findFirst()
            .orElseThrow(() -> new ZipException("it is a zip archive without an entry data.pkl"));
    String folder = pickle.getName().substring(0, pickle.getName().length() - PICKLE.length());
    if (zip.getEntry(folder + "/constants.pkl") != null) {
      throw new CheckpointException(
          path,
          Problem.MISMATCH,
          "it is a TorchScript archive; load it as one, or save model.state_dict() by torch.save");
    }
    ZipEntry order = zip.getEntry(folder + "/byteorder");
    if (order != null
        && !new String(bytes(zip, order, MAX_SMALL), StandardCharsets.UTF_8).equals("little")) {
      throw new CheckpointException(
          path, Problem.MISMATCH, "it was saved on a machine with another order of bytes");
    }
    return new ZippedTorch(zip, folder, bytes(zip, pickle, MAX_PICKLE_BYTES));
  }

  private static byte[] bytes(ZipFile zip, ZipEntry entry, int max) throws IOException {
    requireStored(entry);
    if (entry.getSize() > max) {
      throw new ZipException(
          "entry %s must have at most %d bytes, got %d"
              .formatted(Quotes.shortened(entry.getName()), max, entry.getSize()));
    }
    try (InputStream in = zip.getInputStream(entry)) {
      byte[] bytes = in.readNBytes((int) entry.getSize());
      CRC32 checksum = new CRC32();
      checksum.update(bytes);
      requireWhole(entry, bytes.length, checksum);
      return bytes;
    }
  }

  private static void requireStored(ZipEntry entry) throws ZipException {
    if (entry.getMethod() != ZipEntry.STORED || entry.getSize() != entry.getCompressedSize()) {
      throw new ZipException("entry %s is compressed".formatted(Quotes.shortened(entry.getName())));
    }
  }

  /** Checks that an entry was read as a whole; without a checksum, as Python can save it, too. */
  private static void requireWhole(ZipEntry entry, long bytes, CRC32 checksum) throws ZipException {
    if (bytes != entry.getSize()
        || (entry.getCrc() != 0 && entry.getCrc() != checksum.getValue())) {
      throw new ZipException(
          "entry %s differs from its checksum".formatted(Quotes.shortened(entry.getName())));
    }
  }

  private @Nullable ZipEntry storage(String key) {
    return zip.getEntry(folder + "/data/" + key);
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
    ZipEntry storage = storage(key);
    if (storage == null) {
      return -1;
    }
    requireStored(storage);
    return storage.getSize();
  }

  @Override
  public InputStream open(String key) throws IOException {
    return zip.getInputStream(requireNonNull(storage(key)));
  }

  @Override
  public void requireWhole(String key, CRC32 checksum) throws ZipException {
    ZipEntry storage = requireNonNull(storage(key));
    requireWhole(storage, storage.getSize(), checksum);
  }

  @Override
  public void close() throws IOException {
    zip.close();
  }
}
