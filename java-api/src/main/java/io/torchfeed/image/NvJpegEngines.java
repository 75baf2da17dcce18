// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.global.nvjpeg;
import org.bytedeco.cuda.nvjpeg.nvjpegHandle;
import org.bytedeco.cuda.nvjpeg.nvjpegImage_t;
import org.bytedeco.cuda.nvjpeg.nvjpegJpegState;
import org.bytedeco.cuda.nvjpeg.nvjpegJpegStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * The engines of a device that decode many JPEGs at once, beside its other work. Few kinds of
 * devices have them, and they read baseline JPEGs only. One thread at a time.
 */
final class NvJpegEngines implements AutoCloseable {
  /** 64 images of 500,000 pixels in three colors; as floats they take 400 MB. */
  private static final long MAX_FLOATS = 100_000_000;

  private final Device device;
  private final NvJpeg.Queue queue;
  private final nvjpegHandle handle;
  private final nvjpegJpegState state;
  private final nvjpegJpegStream header;

  private NvJpegEngines(Device device, NvJpeg.Queue queue, nvjpegHandle handle) {
    this.device = device;
    this.queue = queue;
    this.handle = handle;
    this.state = new nvjpegJpegState();
    this.header = new nvjpegJpegStream();
  }

  /** Opens the engines of a device; returns null if it has none. */
  static @Nullable NvJpegEngines open(Device device, NvJpeg.Queue queue) {
    nvjpegHandle handle = new nvjpegHandle();
    int created =
        queue.run(device, stream -> NvJpeg.create(nvjpeg.NVJPEG_BACKEND_HARDWARE, handle));
    if (created != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      return null; // ARCH_MISMATCH, or whatever else: everything works without
    }
    NvJpegEngines engines = new NvJpegEngines(device, queue, handle);
    if (queue.run(device, stream -> engines.prepare()) != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      engines.close();
      return null;
    }
    return engines;
  }

  private int prepare() {
    int status = nvjpeg.nvjpegJpegStateCreate(handle, state);
    return status == nvjpeg.NVJPEG_STATUS_SUCCESS
        ? nvjpeg.nvjpegJpegStreamCreate(handle, header)
        : status;
  }

  /**
   * Decodes the images that the engines read.
   *
   * @param maxPixels of an image that is taken
   * @return {@code [3, height, width]} of each, which belong to the innermost scope: bytes as
   *     float32, or as uint8 if they are many; null for an image that is left to others
   */
  @Nullable Tensor[] decode(List<byte[]> images, long maxPixels) {
    @Nullable Tensor[] decoded = new @Nullable Tensor[images.size()];
    List<Integer> taken = new ArrayList<>();
    List<NvJpegSize> sizes = new ArrayList<>();
    long left = PlanArguments.MAX_PIXELS; // of all, which are on the device at once
    for (int i = 0; i < decoded.length; i++) {
      NvJpegSize size = takes(images.get(i), Math.min(maxPixels, left));
      if (size != null) {
        left -= size.pixels();
        taken.add(i);
        sizes.add(size);
      }
    }
    int count = taken.size();
    if (count == 0) {
      return decoded;
    }
    Tensor memory = NvJpegSize.allocate(sizes, device);
    List<Tensor> pixels = NvJpegSize.parts(memory, sizes);
    if (run(taken.stream().map(images::get).toList(), sizes, pixels)
        != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      return decoded; // one of them is damaged: who decodes each by itself says which
    }
    if (memory.numel() <= MAX_FLOATS) { // one operation instead of one for each image
      pixels = NvJpegSize.parts(memory.to(ScalarType.Float), sizes);
    }
    for (int k = 0; k < count; k++) {
      decoded[taken.get(k)] = pixels.get(k);
    }
    return decoded;
  }

  /** Returns the size of an image that the engines read, null for all others. */
  private @Nullable NvJpegSize takes(byte[] encoded, long maxPixels) {
    try {
      NvJpegSize size = NvJpegSize.of(handle, encoded, maxPixels);
      return !size.isGrey() && isSupported(encoded) ? size : null;
    } catch (ImageException e) {
      return null; // who decodes it by itself gets this again
    }
  }

  private boolean isSupported(byte[] encoded) {
    int[] refusal = {1};
    return nvjpeg.nvjpegJpegStreamParseHeader(handle, encoded, encoded.length, header)
            == nvjpeg.NVJPEG_STATUS_SUCCESS
        && nvjpeg.nvjpegDecodeBatchedSupported(handle, header, refusal)
            == nvjpeg.NVJPEG_STATUS_SUCCESS
        && refusal[0] == 0;
  }

  private int run(List<byte[]> images, List<NvJpegSize> sizes, List<Tensor> pixels) {
    int count = images.size();
    try (PointerScope scope = new PointerScope()) {
      PointerPointer<BytePointer> data = new PointerPointer<>(count);
      SizeTPointer lengths = new SizeTPointer(count);
      nvjpegImage_t targets = new nvjpegImage_t(count);
      for (int k = 0; k < count; k++) {
        byte[] encoded = images.get(k);
        data.put(k, new BytePointer(encoded)); // lives until the device is done
        lengths.put(k, encoded.length);
        sizes.get(k).point(targets.getPointer(k), pixels.get(k));
      }
      return queue.run(
          device,
          stream -> {
            int status =
                nvjpeg.nvjpegDecodeBatchedInitialize(
                    handle, state, count, 1, nvjpeg.NVJPEG_OUTPUT_RGB);
            return status == nvjpeg.NVJPEG_STATUS_SUCCESS
                ? nvjpeg.nvjpegDecodeBatched(handle, state, data, lengths, targets, stream)
                : status;
          });
    }
  }

  @Override
  public void close() {
    int unused =
        queue.run(
            device,
            stream -> {
              if (!header.isNull()) {
                nvjpeg.nvjpegJpegStreamDestroy(header);
              }
              if (!state.isNull()) {
                nvjpeg.nvjpegJpegStateDestroy(state);
              }
              return nvjpeg.nvjpegDestroy(handle);
            });
  }
}
