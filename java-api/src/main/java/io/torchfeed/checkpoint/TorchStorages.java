// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.ZipException;

/** An open file of {@code torch.save}: one pickled object, and the elements of its tensors. */
interface TorchStorages extends Closeable {
  /** The most bytes of a pickle. */
  int MAX_PICKLE_BYTES = 16 << 20;

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
}
