// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.function.IntSupplier;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.nvjpeg;
import org.bytedeco.cuda.nvjpeg.nvjpegHandle;
import org.bytedeco.cuda.nvjpeg.nvjpegImage_t;
import org.bytedeco.cuda.nvjpeg.nvjpegJpegState;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.cuda.CUDAGuard;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jspecify.annotations.Nullable;

/**
 * A handle of nvJPEG and its working memory, through the presets for CUDA, whose classes are loaded
 * here and nowhere else, so that no other program needs them. One thread at a time.
 */
final class NvJpeg implements AutoCloseable {
  private static final int COMPONENTS = 4; // NVJPEG_MAX_COMPONENT
  private static final int CHANNELS = PlanArguments.CHANNELS;

  private static final @Nullable CUstream_st DEFAULT_STREAM = null;

  private final Device device;
  private final Queue queue;
  private final nvjpegHandle handle;
  private final nvjpegJpegState state;

  /** A way to run work on a device. */
  interface Queue {
    /** Calls {@code work}, and returns its status once the default stream has done all of it. */
    int run(Device device, IntSupplier work);
  }

  private NvJpeg(Device device, Queue queue, nvjpegHandle handle, nvjpegJpegState state) {
    this.device = device;
    this.queue = queue;
    this.handle = handle;
    this.state = state;
  }

  /**
   * Opens nvJPEG on a device.
   *
   * @param device remains valid for as long as the result is used
   * @throws IllegalStateException if a class or library is missing, or nvJPEG fails
   */
  static NvJpeg open(Device device, Queue queue) {
    try {
      Loader.load(nvjpeg.class);
    } catch (LinkageError | TypeNotPresentException e) {
      throw new IllegalStateException(
          "nvJPEG cannot be loaded ("
              + e.getMessage()
              + "); add org.bytedeco:cuda to the class path, for this platform, too, and"
              + " org.bytedeco:cuda-redist or libnvjpeg.so of the same version of CUDA",
          e);
    }
    nvjpegHandle handle = new nvjpegHandle();
    require("nvJPEG", queue.run(device, () -> nvjpeg.nvjpegCreateSimple(handle)));
    nvjpegJpegState state = new nvjpegJpegState();
    int status = queue.run(device, () -> nvjpeg.nvjpegJpegStateCreate(handle, state));
    if (status != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      nvjpeg.nvjpegDestroy(handle);
    }
    require("nvJPEG", status);
    return new NvJpeg(device, queue, handle, state);
  }

  /**
   * Runs work after libtorch's current stream of the thread, which may still use the memory that an
   * allocation returned, and waits for it.
   */
  static int onDefaultStream(Device device, IntSupplier work) {
    try (PointerScope scope = new PointerScope();
        CUDAGuard guard = new CUDAGuard(device)) {
      CUDAStream stream = torch_cuda.getDefaultCUDAStream(device.index());
      CUDAStream current = torch_cuda.getCurrentCUDAStream(device.index());
      if (current.notEquals(stream)) {
        current.synchronize();
      }
      int status = work.getAsInt();
      stream.synchronize();
      return status;
    }
  }

  /**
   * Decodes a picture.
   *
   * @param maxPixels of a picture that is not refused
   * @return uint8 {@code [3, height, width]}, which belongs to the innermost scope
   * @throws ImageException if it cannot be read
   */
  Tensor decode(byte[] encoded, long maxPixels) {
    int[] components = new int[1];
    int[] sampling = new int[1];
    int[] widths = new int[COMPONENTS];
    int[] heights = new int[COMPONENTS];
    int status =
        nvjpeg.nvjpegGetImageInfo(
            handle, encoded, encoded.length, components, sampling, widths, heights);
    // The bytes are the only argument that can be wrong, for example empty.
    requireReadable(
        status == nvjpeg.NVJPEG_STATUS_INVALID_PARAMETER ? nvjpeg.NVJPEG_STATUS_BAD_JPEG : status);
    int width = widths[0];
    int height = heights[0];
    if (width < 1 || height < 1 || (long) width * height > maxPixels) {
      throw new ImageException(
          ("an image must have at most %d pixels, got %dx%d; maxPixels of the plan changes this"
                  + " limit")
              .formatted(maxPixels, width, height));
    }
    Tensor pixels =
        torch.empty(
            new long[] {CHANNELS, height, width},
            new TensorOptions(ScalarType.Byte).device(new DeviceOptional(device)),
            null);
    try (PointerScope scope = new PointerScope()) {
      BytePointer bytes = new BytePointer(encoded); // lives until the device is done
      nvjpegImage_t target = new nvjpegImage_t();
      BytePointer plane = new BytePointer(pixels.data_ptr());
      for (int channel = 0; channel < CHANNELS; channel++) {
        target.channel(channel, plane.getPointer((long) channel * height * width));
        target.pitch(channel, width);
      }
      requireReadable(
          queue.run(
              device,
              () ->
                  nvjpeg.nvjpegDecode(
                      handle,
                      state,
                      bytes,
                      encoded.length,
                      nvjpeg.NVJPEG_OUTPUT_RGB,
                      target,
                      DEFAULT_STREAM)));
    }
    return pixels;
  }

  private static void requireReadable(int status) {
    switch (status) {
      case nvjpeg.NVJPEG_STATUS_BAD_JPEG, nvjpeg.NVJPEG_STATUS_INCOMPLETE_BITSTREAM ->
          throw new ImageException("not a whole JPEG, or a damaged one: " + name(status));
      case nvjpeg.NVJPEG_STATUS_JPEG_NOT_SUPPORTED,
          nvjpeg.NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ->
          throw new ImageException(
              "a JPEG of a kind that nvJPEG does not read; ImagePlan may read it on the CPU: "
                  + name(status));
      default -> require("the decoding of a JPEG on the device", status);
    }
  }

  private static void require(String what, int status) {
    if (status != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      throw new IllegalStateException(what + " failed: " + name(status));
    }
  }

  private static String name(int status) {
    return switch (status) {
      case nvjpeg.NVJPEG_STATUS_NOT_INITIALIZED -> "NVJPEG_STATUS_NOT_INITIALIZED";
      case nvjpeg.NVJPEG_STATUS_INVALID_PARAMETER -> "NVJPEG_STATUS_INVALID_PARAMETER";
      case nvjpeg.NVJPEG_STATUS_BAD_JPEG -> "NVJPEG_STATUS_BAD_JPEG";
      case nvjpeg.NVJPEG_STATUS_JPEG_NOT_SUPPORTED -> "NVJPEG_STATUS_JPEG_NOT_SUPPORTED";
      case nvjpeg.NVJPEG_STATUS_ALLOCATOR_FAILURE -> "NVJPEG_STATUS_ALLOCATOR_FAILURE";
      case nvjpeg.NVJPEG_STATUS_EXECUTION_FAILED -> "NVJPEG_STATUS_EXECUTION_FAILED";
      case nvjpeg.NVJPEG_STATUS_ARCH_MISMATCH -> "NVJPEG_STATUS_ARCH_MISMATCH";
      case nvjpeg.NVJPEG_STATUS_INTERNAL_ERROR -> "NVJPEG_STATUS_INTERNAL_ERROR";
      case nvjpeg.NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ->
          "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED";
      case nvjpeg.NVJPEG_STATUS_INCOMPLETE_BITSTREAM -> "NVJPEG_STATUS_INCOMPLETE_BITSTREAM";
      default -> "status " + status;
    };
  }

  @Override
  public void close() {
    int unused =
        queue.run(
            device,
            () -> {
              nvjpeg.nvjpegJpegStateDestroy(state);
              return nvjpeg.nvjpegDestroy(handle);
            });
  }
}
