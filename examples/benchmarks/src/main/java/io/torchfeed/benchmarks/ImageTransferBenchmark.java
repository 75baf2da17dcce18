// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImageTensorPlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.DeviceBatch;
import io.torchfeed.memory.DeviceTransfer;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Benchmarks of images of 3x224x224 on their way to a device, in images per second: sent as bytes
 * and normalized there, or sent as floats. The limit is the transfer of the bytes alone. Without
 * such a device it fails and names the missing part.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 2)
public class ImageTransferBenchmark {
  private static final int BATCHES = 16;
  private static final int IMAGES = 64;
  private static final long SIDE = 224;
  private static final long[] INDICES = LongStream.range(0, IMAGES).toArray();
  private static final ImageTensorPlan PLAN =
      ImageTensorPlan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd());
  private static final ImageTensorPlan COLORS = PLAN.horizontalFlip(0.5).colorJitter(0.4, 0.4, 0.4);

  /** The target device. */
  @Param("cuda:0")
  public String device;

  private DeviceTransfer transfer;
  private Slab bytes;
  private Slab floats;

  /** Creates the batches. */
  @Setup
  public void open() {
    transfer = DeviceTransfer.to(device, 3);
    bytes = slab(DType.UINT8);
    floats = slab(DType.FLOAT32);
  }

  private Slab slab(DType dtype) {
    return Slab.allocatePinned(List.of(RowSpec.of(dtype, 3, SIDE, SIDE)), IMAGES, device);
  }

  /** Frees the batches. */
  @TearDown
  public void close() {
    floats.close();
    bytes.close();
    transfer.close();
  }

  /** Sends bytes and does nothing with them. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * IMAGES)
  public double bytesAlone() {
    return send(bytes, images -> images);
  }

  /** Sends bytes and normalizes them on the device. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * IMAGES)
  public double bytesNormalizedThere() {
    return send(bytes, PLAN::apply);
  }

  /** Sends bytes, and reflects, colors and normalizes them on the device. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * IMAGES)
  public double bytesColoredThere() {
    return send(bytes, images -> COLORS.apply(images, 1, 2, INDICES));
  }

  /** Sends floats that are normalized already. */
  @Benchmark
  @OperationsPerInvocation(BATCHES * IMAGES)
  public double normalizedFloats() {
    return send(floats, images -> images);
  }

  /** Sends batches, double buffered, and waits for the last one. */
  private double send(Slab slab, UnaryOperator<Tensor> steps) {
    double last = 0;
    DeviceBatch ahead = transfer.send(slab, IMAGES);
    for (int i = 0; i < BATCHES; i++) {
      try (DeviceBatch batch = ahead;
          PointerScope scope = new PointerScope()) {
        Tensor made = steps.apply(batch.tensors().get(0));
        if (i < BATCHES - 1) {
          ahead = transfer.send(slab, IMAGES);
        } else {
          last = made.select(0, IMAGES - 1).flatten().select(0, 0).item_double();
        }
      }
    }
    return last;
  }
}
