// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.torchfeed;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * A decoder of images on a CUDA device, by NVIDIA's nvJPEG. The host only reads files and draws;
 * the device decodes, crops, scales, flips and normalizes.
 *
 * <pre>{@code
 * try (NvJpegDecoder decoder = NvJpegDecoder.open("cuda:0")) {
 *   try (Tensor images = decoder.decode(files, plan, seed, epoch, indices)) { // [B, 3, 224, 224]
 *     ...
 *   }
 * }
 * }</pre>
 *
 * <p>In a loader, {@link io.torchfeed.data.loader.Batch.Step#decode} decodes batches ahead of the
 * consumer.
 *
 * <p>The draws for an image, its part and its reflections, equal the draws of the same {@link
 * ImagePlan} on the CPU for the same seed, epoch and index. Pixels differ from the CPU's by a few
 * levels: nvJPEG computes the inverse DCT differently than libjpeg-turbo, and libtorch scales
 * without rounding in between.
 *
 * <p>A batch is decoded by the engines for JPEGs if the device has them, up to 64 images at once
 * while they have no more pixels together than the plan permits for one; they read baseline JPEGs
 * in color. Other JPEGs are decoded one after the other by nvJPEG, which reads baseline and
 * progressive ones of 8 bits, in grey or color. Images that it refuses (CMYK, PNG and WebP, damaged
 * JPEGs that are readable all the same) are decoded on the CPU, as the plan does there, and copied
 * to the device. {@link #counts} says how many took each way.
 *
 * <p>Work is enqueued in libtorch's current stream of the calling thread, and each call waits for
 * that stream while images are decoded.
 *
 * <p>It needs {@code org.bytedeco:cuda} on the class path, and the libraries of CUDA: see "GPUs" in
 * the module's README.
 *
 * <p>Thread-safe; nvJPEG decodes for one call at a time, while others crop and scale. For decoding
 * in parallel, each thread opens one.
 */
public final class NvJpegDecoder implements AutoCloseable {
  /** At most this number of images are decoded at once, and are on the device in full size. */
  private static final int TOGETHER = 64;

  private static final byte[] UNREAD = {};

  private final String name;
  private final Device device;
  private final WholeImages library; // under the lock of this
  private final LongAdder byEngines = new LongAdder();
  private final LongAdder oneByOne = new LongAdder();
  private final LongAdder onCpu = new LongAdder();
  private boolean isClosed;

  /**
   * The numbers of images of batches that a decoder has decoded so far, by the way it took.
   *
   * @param byEngines by the engines of the device, many at once
   * @param oneByOne by nvJPEG, one after the other
   * @param onCpu by the CPU, since nvJPEG refused them
   */
  public record Counts(long byEngines, long oneByOne, long onCpu) {}

  private NvJpegDecoder(String name, Device device, WholeImages library) {
    this.name = name;
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
    return open(device, own -> NvJpeg.open(own, NvJpeg::onCurrentStream));
  }

  static NvJpegDecoder open(String device, Function<Device, WholeImages> library) {
    Device own = NativeHandle.outsideOfScopes(() -> new Device(device));
    try {
      return new NvJpegDecoder(device, own, library.apply(own));
    } catch (RuntimeException | Error e) {
      own.close();
      throw e;
    }
  }

  /**
   * Returns the name of the device.
   *
   * @return as given to {@link #open}
   */
  public String device() {
    return name;
  }

  /**
   * Returns how many images of batches were decoded where.
   *
   * @return a snapshot, available even after the decoder is closed
   */
  public Counts counts() {
    return new Counts(byEngines.sum(), oneByOne.sum(), onCpu.sum());
  }

  /**
   * Decodes a whole image by nvJPEG.
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
   * @param images the contents of B files, at least 0, of JPEG or, for the CPU, any kind that the
   *     plan reads
   * @param plan may crop, scale, flip, turn and normalize, with a bilinear or bicubic filter
   * @param seed the seed of the loader
   * @param epoch the epoch
   * @param indices the index of each image in the dataset
   * @return {@code [B, 3, height, width]} on the device, uint8 or float32 as the plan's row. It
   *     belongs to the innermost {@code PointerScope} of the thread, or otherwise to the caller.
   * @throws ImageException if neither nvJPEG nor the CPU can read an image; the message says which
   * @throws IllegalArgumentException if there is not one index for each image, or the plan has
   *     other steps or filters
   * @throws IllegalStateException if the decoder is closed, or the device fails
   */
  public Tensor decode(List<byte[]> images, ImagePlan plan, long seed, long epoch, long[] indices) {
    requireNonNull(images, "images");
    requireNonNull(plan, "plan");
    requireNonNull(indices, "indices");
    if (indices.length != images.size()) {
      throw new IllegalArgumentException(
          "there must be one index for each of %d images, got %d"
              .formatted(images.size(), indices.length));
    }
    plan.requireCuts();
    for (byte[] encoded : images) {
      requireNonNull(encoded, "an image");
    }
    return inCallersScope(() -> rows(images, plan, seed, epoch, indices));
  }

  /** Returns the batch; everything else belongs to the innermost scope, too. */
  private Tensor rows(List<byte[]> images, ImagePlan plan, long seed, long epoch, long[] indices) {
    List<Long> row = plan.row().shape();
    long[] shape = {images.size(), row.get(0), row.get(1), row.get(2)};
    byte[] flips = new byte[images.size()];
    Tensor target = allocate(shape);
    Rows rows = new Rows(plan, seed, epoch, indices, target);
    for (int from = 0; from < flips.length; from += TOGETHER) {
      int to = Math.min(from + TOGETHER, flips.length);
      try (PointerScope scope = new PointerScope()) { // of images in full size
        @Nullable Tensor[] decoded = together(images.subList(from, to), plan.maxPixels());
        for (int i = from; i < to; i++) {
          Tensor whole = decoded[i - from];
          if (whole == null) {
            flips[i] = decodeAlone(rows, i, images.get(i));
          } else {
            flips[i] = rows.cut(i, images.get(i), whole);
            byEngines.increment();
          }
        }
      }
    }
    return plan.finish(target, flips);
  }

  private synchronized Tensor allocate(long[] shape) {
    requireOpen();
    return torch.empty(
        shape, new TensorOptions(ScalarType.Float).device(new DeviceOptional(device)), null);
  }

  /** Decodes an image that the engines did not take; returns the flips to be done. */
  private byte decodeAlone(Rows rows, int i, byte[] encoded) {
    Tensor whole;
    try {
      whole = pixels(encoded, rows.plan.maxPixels());
    } catch (ImageException refused) {
      rows.decodeOnCpu(i, encoded, refused);
      onCpu.increment();
      return 0;
    }
    byte flips = rows.cut(i, encoded, whole);
    oneByOne.increment();
    return flips;
  }

  /** The rows of a batch that is being decoded. */
  private static final class Rows {
    final ImagePlan plan;
    private final boolean turns;
    private final long seed;
    private final long epoch;
    private final long[] indices;
    private final Tensor tensor; // float32 on the device

    Rows(ImagePlan plan, long seed, long epoch, long[] indices, Tensor tensor) {
      this.plan = plan;
      this.turns = plan.turns();
      this.seed = seed;
      this.epoch = epoch;
      this.indices = indices;
      this.tensor = tensor;
    }

    byte cut(int i, byte[] encoded, Tensor whole) {
      byte[] read = turns ? encoded : UNREAD; // native code gets a copy
      return plan.cut(read, seed, epoch, indices[i], whole, tensor, i);
    }

    void decodeOnCpu(int i, byte[] encoded, ImageException refused) {
      try (Tensor row = plan.decoded(encoded, seed, epoch, indices[i])) {
        tensor.select(0, i).copy_(row);
      } catch (ImageException e) {
        ImageException unreadable =
            new ImageException(
                "image %d (index %d): %s".formatted(i, indices[i], e.getMessage()), e);
        unreadable.addSuppressed(refused);
        throw unreadable;
      }
    }
  }

  private synchronized @Nullable Tensor[] together(List<byte[]> images, long maxPixels) {
    requireOpen();
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
