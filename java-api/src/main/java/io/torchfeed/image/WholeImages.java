// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A decoder of whole images on a device, in the current stream of the calling thread, which it
 * waits for. One thread at a time.
 */
interface WholeImages extends AutoCloseable {
  /**
   * Decodes an image.
   *
   * @param maxPixels of an image that is not refused
   * @return uint8 {@code [3, height, width]}, which belongs to the innermost scope
   * @throws ImageException if it cannot be read
   * @throws IllegalStateException if the device fails
   */
  Tensor decode(byte[] encoded, long maxPixels);

  /**
   * Decodes those images that the device's engines for JPEGs take, all at once.
   *
   * @return as {@link #decode(byte[], long)}, or the same numbers as float32; null for each image
   *     that {@code decode} must read, or refuse
   */
  @Nullable Tensor[] decodeTogether(List<byte[]> images, long maxPixels);

  @Override
  void close();
}
