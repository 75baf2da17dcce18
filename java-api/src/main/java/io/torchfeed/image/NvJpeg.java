// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.lang.reflect.Method;
import java.util.List;
import java.util.function.ToIntFunction;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.nvjpeg;
import org.bytedeco.cuda.nvjpeg.nvjpegDevAllocator_t;
import org.bytedeco.cuda.nvjpeg.nvjpegHandle;
import org.bytedeco.cuda.nvjpeg.nvjpegImage_t;
import org.bytedeco.cuda.nvjpeg.nvjpegJpegState;
import org.bytedeco.cuda.nvjpeg.nvjpegPinnedAllocator_t;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.cuda.CUDAGuard;
import org.bytedeco.pytorch.cuda.CUDAStream;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jspecify.annotations.Nullable;

/**
 * A handle of nvJPEG and its working memory, through the presets for CUDA, whose classes are loaded
 * here and nowhere else, so that no other program needs them. One thread at a time.
 */
final class NvJpeg implements WholeImages {
  /** As libjpeg-turbo does; without, chroma has steps at the edges of colors. */
  private static final int FLAGS = nvjpeg.NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION;

  private final Device device;
  private final Queue queue;
  private final nvjpegHandle handle;
  private final nvjpegJpegState state;
  private final @Nullable NvJpegEngines engines;

  /** A way to run work on a device. */
  interface Queue {
    /**
     * Calls {@code work}, and returns its status once the stream given to it has done all of it.
     */
    int run(Device device, ToIntFunction<CUstream_st> work);
  }

  private NvJpeg(
      Device device,
      Queue queue,
      nvjpegHandle handle,
      nvjpegJpegState state,
      @Nullable NvJpegEngines engines) {
    this.device = device;
    this.queue = queue;
    this.handle = handle;
    this.state = state;
    this.engines = engines;
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
    NvJpegStatus.require(
        "nvJPEG", queue.run(device, stream -> create(nvjpeg.NVJPEG_BACKEND_DEFAULT, handle)));
    nvjpegJpegState state = new nvjpegJpegState();
    int status = queue.run(device, stream -> nvjpeg.nvjpegJpegStateCreate(handle, state));
    if (status != nvjpeg.NVJPEG_STATUS_SUCCESS) {
      nvjpeg.nvjpegDestroy(handle);
    }
    NvJpegStatus.require("nvJPEG", status);
    return new NvJpeg(device, queue, handle, state, NvJpegEngines.open(device, queue));
  }

  /** Creates a handle whose way of decoding is {@code backend}; returns nvJPEG's status. */
  static int create(int backend, nvjpegHandle handle) {
    nvjpegDevAllocator_t ownMemory = null;
    nvjpegPinnedAllocator_t ownPinned = null;
    return nvjpeg.nvjpegCreateEx(backend, ownMemory, ownPinned, FLAGS, handle);
  }

  /**
   * Runs work in libtorch's current stream of the thread, whose memory it is given, and waits for
   * that stream and no other.
   */
  static int onCurrentStream(Device device, ToIntFunction<CUstream_st> work) {
    try (PointerScope scope = new PointerScope();
        CUDAGuard guard = new CUDAGuard(device)) {
      CUDAStream stream = torch_cuda.getCurrentCUDAStream(device.index());
      int status = work.applyAsInt(handleOf(stream));
      stream.synchronize();
      return status;
    }
  }

  /**
   * Returns CUDA's own stream. By reflection, since the module of the presets for libtorch does not
   * read the one for CUDA, and javac therefore does not know the type of the result.
   */
  private static CUstream_st handleOf(CUDAStream stream) {
    try {
      return (CUstream_st) handles().invoke(stream);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the stream of libtorch has no handle", e);
    }
  }

  static Method handles() throws NoSuchMethodException {
    return CUDAStream.class.getMethod("stream");
  }

  @Override
  public Tensor decode(byte[] encoded, long maxPixels) {
    NvJpegSize size = NvJpegSize.of(handle, encoded, maxPixels);
    Tensor pixels = size.allocate(device);
    try (PointerScope scope = new PointerScope()) {
      BytePointer bytes = new BytePointer(encoded); // lives until the device is done
      nvjpegImage_t target = new nvjpegImage_t();
      size.point(target, pixels);
      NvJpegStatus.requireReadable(
          queue.run(
              device,
              stream ->
                  nvjpeg.nvjpegDecode(
                      handle,
                      state,
                      bytes,
                      encoded.length,
                      nvjpeg.NVJPEG_OUTPUT_RGB,
                      target,
                      stream)));
    }
    return pixels;
  }

  @Override
  public @Nullable Tensor[] decodeTogether(List<byte[]> images, long maxPixels) {
    return engines == null
        ? new @Nullable Tensor[images.size()]
        : engines.decode(images, maxPixels);
  }

  @Override
  public void close() {
    if (engines != null) {
      engines.close();
    }
    int unused =
        queue.run(
            device,
            stream -> {
              nvjpeg.nvjpegJpegStateDestroy(state);
              return nvjpeg.nvjpegDestroy(handle);
            });
  }
}
