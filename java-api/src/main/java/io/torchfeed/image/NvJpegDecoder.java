// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.torchfeed;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A decoder of JPEGs on a CUDA device, by NVIDIA's nvJPEG. The host only reads files and draws; the
 * device decodes, crops, scales, flips and normalizes.
 *
 * <pre>{@code
 * try (NvJpegDecoder decoder = NvJpegDecoder.open("cuda:0")) {
 *   try (Tensor images = decoder.decode(files, plan, seed, epoch, indices)) { // [B, 3, 224, 224]
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>The draws for an image, its part and its reflections, equal the draws of the same {@link
 * ImagePlan} on the CPU for the same seed, epoch and index. Pixels differ from the CPU's by a few
 * levels: nvJPEG computes the inverse DCT differently than libjpeg-turbo, and libtorch scales
 * without rounding in between.
 *
 * <p>A batch is decoded by the engines for JPEGs if the device has them, up to 64 images at once
 * while they have no more pixels together than the plan permits for one; they read baseline JPEGs
 * in color. All others are decoded one after the other.
 *
 * <p>nvJPEG reads baseline and progressive JPEGs of 8 bits, in grey or color; not CMYK, PNG or
 * WebP. It needs {@code org.bytedeco:cuda} on the class path, and the libraries of CUDA: see "GPUs"
 * in the module's README.
 *
 * <p>Thread-safe; calls of one decoder take turns. For decoding in parallel, each thread opens one.
 */
public final class NvJpegDecoder implements AutoCloseable {
  /** At most this number of images are decoded at once, and are on the device in full size. */
  private static final int TOGETHER = 64;

  private final Device device;
  private final NvJpeg library; // under the lock of this
  private boolean isClosed;

  private NvJpegDecoder(Device device, NvJpeg library) {
    this.device = device;
    this.library = library;
  }

  /**
   * Opens a decoder.
   *
   * @param device a CUDA device, such as {@code "cuda:0"}
   * @return the decoder
   * @throws IllegalArgumentException if it is no CUDA device
   * @throws IllegalStateException if libtorch sees no such device, or nvJPEG or the classes of the
   *     presets for CUDA are missing; the message says which
   */
  public static NvJpegDecoder open(String device) {
    requireNonNull(device, "device");
    if (!device.startsWith("cuda")) {
      throw new IllegalArgumentException("device must be a CUDA device like cuda:0, got " + device);
    }
    Facade.load();
    try {
      String unused = torchfeed.device_name(device);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
    return open(device, NvJpeg::onDefaultStream);
  }

  static NvJpegDecoder open(String device, NvJpeg.Queue queue) {
    Device own = NativeHandle.outsideOfScopes(() -> new Device(device));
    try {
      return new NvJpegDecoder(own, NvJpeg.open(own, queue));
    } catch (RuntimeException | Error e) {
      own.close();
      throw e;
    }
  }

  /**
   * Decodes a whole image.
   *
   * @param encoded the content of a JPEG file
   * @return uint8 {@code [3, height, width]} in RGB on the device. It belongs to the innermost
   *     {@code PointerScope} of the thread, or otherwise to the caller.
   * @throws ImageException if the bytes are no JPEG that nvJPEG reads
   * @throws IllegalStateException if the decoder is closed, or the device fails
   */
  public Tensor decode(byte[] encoded) {
    requireNonNull(encoded, "encoded");
    return inCallersScope(() -> pixels(encoded, PlanArguments.MAX_PIXELS));
  }

  /**
   * Decodes a batch of images by a plan that may be random.
   *
   * @param images the contents of B JPEG files
   * @param plan may crop, scale, flip, turn and normalize, with a bilinear or bicubic filter
   * @param seed the seed of the loader
   * @param epoch the epoch
   * @param indices the index of each image in the dataset
   * @return {@code [B, 3, height, width]} on the device, uint8 or float32 as the plan's row. It
   *     belongs to the innermost {@code PointerScope} of the thread, or otherwise to the caller.
   * @throws ImageException if the bytes of an image are no JPEG that nvJPEG reads; the message says
   *     which
   * @throws IllegalArgumentException if there are no images, not one index for each, or the plan
   *     has other steps or filters
   * @throws IllegalStateException if the decoder is closed, or the device fails
   */
  public Tensor decode(List<byte[]> images, ImagePlan plan, long seed, long epoch, long[] indices) {
    requireNonNull(images, "images");
    requireNonNull(plan, "plan");
    requireNonNull(indices, "indices");
    if (images.isEmpty()) {
      throw new IllegalArgumentException("there must be at least one image");
    }
    if (indices.length != images.size()) {
      throw new IllegalArgumentException(
          "there must be one index for each of %d images, got %d"
              .formatted(images.size(), indices.length));
    }
    plan.requireCuts();
    return inCallersScope(
        () -> {
          TensorVector rows = new TensorVector();
          for (int from = 0; from < indices.length; from += TOGETHER) {
            int to = Math.min(from + TOGETHER, indices.length);
            try (PointerScope scope = new PointerScope()) {
              @Nullable Tensor[] decoded = together(images.subList(from, to), plan.maxPixels());
              for (int i = from; i < to; i++) {
                rows.push_back(
                    cut(plan, images.get(i), decoded[i - from], seed, epoch, indices, i));
              }
            }
          }
          return plan.finish(torch.stack(rows));
        });
  }

  private Tensor cut(
      ImagePlan plan,
      byte[] encoded,
      @Nullable Tensor decoded,
      long seed,
      long epoch,
      long[] indices,
      int i) {
    try {
      Tensor whole = decoded == null ? pixels(encoded, plan.maxPixels()) : decoded;
      return plan.cut(encoded, seed, epoch, indices[i], whole);
    } catch (ImageException e) {
      throw new ImageException(
          "image %d (index %d): %s".formatted(i, indices[i], e.getMessage()), e);
    }
  }

  private synchronized @Nullable Tensor[] together(List<byte[]> images, long maxPixels) {
    requireOpen();
    for (byte[] encoded : images) {
      requireNonNull(encoded, "an image");
    }
    return library.decodeTogether(images, maxPixels);
  }

  private synchronized Tensor pixels(byte[] encoded, long maxPixels) {
    requireOpen();
    return library.decode(encoded, maxPixels);
  }

  private void requireOpen() {
    if (isClosed) {
      throw new IllegalStateException("NvJpegDecoder is closed");
    }
  }

  private static Tensor inCallersScope(Supplier<Tensor> computation) {
    Tensor result = NativeHandle.outsideOfScopes(computation);
    PointerScope callers = PointerScope.getInnerScope();
    if (callers != null) {
      callers.attach(result);
      result.releaseReference(); // the scope has one
    }
    return result;
  }

  /** Frees the memory of the decoder. Has no effect the second time. */
  @Override
  public synchronized void close() {
    if (!isClosed) {
      isClosed = true;
      library.close();
      device.close();
    }
  }
}
