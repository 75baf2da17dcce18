// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.global.nvjpeg;
import org.bytedeco.cuda.nvjpeg.nvjpegHandle;
import org.bytedeco.cuda.nvjpeg.nvjpegImage_t;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The size of a JPEG in pixels, as nvJPEG reads it from the header.
 *
 * @param sampling nvJPEG's number for the resolution of the colors
 */
record NvJpegSize(int width, int height, int sampling) {
  private static final int COMPONENTS = 4; // NVJPEG_MAX_COMPONENT
  private static final int CHANNELS = PlanArguments.CHANNELS;
  private static final int ALIGNMENT = 512; // of libtorch's allocator

  /**
   * Reads a header.
   *
   * @param maxPixels of an image that is not refused
   * @throws ImageException if it cannot be read, or the image is larger
   */
  static NvJpegSize of(nvjpegHandle handle, byte[] encoded, long maxPixels) {
    int[] components = new int[1];
    int[] sampling = new int[1];
    int[] widths = new int[COMPONENTS];
    int[] heights = new int[COMPONENTS];
    int status =
        nvjpeg.nvjpegGetImageInfo(
            handle, encoded, encoded.length, components, sampling, widths, heights);
    // The bytes are the only argument that can be wrong, for example empty.
    NvJpegStatus.requireReadable(
        status == nvjpeg.NVJPEG_STATUS_INVALID_PARAMETER ? nvjpeg.NVJPEG_STATUS_BAD_JPEG : status);
    NvJpegSize size = new NvJpegSize(widths[0], heights[0], sampling[0]);
    if (size.width < 1 || size.height < 1 || size.pixels() > maxPixels) {
      throw new ImageException(
          ("an image must have at most %d pixels, got %dx%d; maxPixels of the plan changes this"
                  + " limit")
              .formatted(maxPixels, size.width, size.height));
    }
    return size;
  }

  long pixels() {
    return (long) width * height;
  }

  boolean isGrey() {
    return sampling == nvjpeg.NVJPEG_CSS_GRAY;
  }

  /**
   * Returns an uninitialized uint8 {@code [3, height, width]}, which belongs to the innermost
   * scope.
   */
  Tensor allocate(Device device) {
    return torch.empty(
        new long[] {CHANNELS, height, width},
        new TensorOptions(ScalarType.Byte).device(new DeviceOptional(device)),
        null);
  }

  /** Returns uninitialized memory for images, which belongs to the innermost scope. */
  static Tensor allocate(List<NvJpegSize> sizes, Device device) {
    return torch.empty(
        new long[] {sizes.stream().mapToLong(NvJpegSize::room).sum()},
        new TensorOptions(ScalarType.Byte).device(new DeviceOptional(device)),
        null);
  }

  /** Returns the {@code [3, height, width]} of each image in memory of {@link #allocate}. */
  static List<Tensor> parts(Tensor memory, List<NvJpegSize> sizes) {
    List<Tensor> parts = new ArrayList<>();
    long start = 0;
    for (NvJpegSize size : sizes) {
      parts.add(
          memory
              .narrow(0, start, CHANNELS * size.pixels())
              .view(CHANNELS, size.height, size.width));
      start += size.room();
    }
    return parts;
  }

  /** Returns the bytes from one image to the next, which begins as an allocation does. */
  private long room() {
    long bytes = CHANNELS * pixels();
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** Lets nvJPEG write into a tensor of {@link #allocate}. */
  void point(nvjpegImage_t target, Tensor pixels) {
    BytePointer plane = new BytePointer(pixels.data_ptr());
    for (int channel = 0; channel < CHANNELS; channel++) {
      target.channel(channel, plane.getPointer(channel * pixels()));
      target.pitch(channel, width);
    }
  }
}
