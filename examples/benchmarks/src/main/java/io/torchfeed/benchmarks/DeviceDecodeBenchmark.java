// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.NvJpegDecoder;
import io.torchfeed.memory.DeviceBatch;
import io.torchfeed.memory.DeviceTransfer;
import io.torchfeed.memory.Slab;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
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
 * Benchmarks of JPEGs that become random crops of 3x224x224 bytes on a device, in images per
 * second: decoded there by nvJPEG, or on one thread of the host and sent. Without such a device it
 * fails and names the missing part.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 2)
public class DeviceDecodeBenchmark {
  private static final int IMAGES = 64;
  private static final long[] INDICES = LongStream.range(0, IMAGES).toArray();
  private static final ImagePlan PLAN =
      ImagePlan.builder().randomResizedCrop(224, 224).horizontalFlip(0.5).build();

  /** The target device. */
  @Param("cuda:0")
  public String device;

  /** A folder with at least 64 JPEG files, at any depth. */
  @Param("")
  public String data;

  private final List<byte[]> files = new ArrayList<>();
  private DeviceTransfer transfer;
  private NvJpegDecoder decoder;
  private Slab slab;
  private long epoch;

  /** Reads the files and opens the device. */
  @Setup
  public void open() throws IOException {
    try (Stream<Path> all = Files.walk(Path.of(data))) {
      for (Path file :
          all.filter(path -> path.toString().endsWith(".jpg")).sorted().limit(IMAGES).toList()) {
        files.add(Files.readAllBytes(file));
      }
    }
    if (files.size() < IMAGES) {
      throw new IllegalStateException(
          "there are %d JPEG files in '%s', but %d are needed: -p data=FOLDER"
              .formatted(files.size(), data, IMAGES));
    }
    transfer = DeviceTransfer.to(device, 2);
    slab = Slab.allocatePinned(List.of(PLAN.row()), IMAGES, device);
    decoder = NvJpegDecoder.open(device);
  }

  /** Frees everything. */
  @TearDown
  public void close() {
    decoder.close();
    slab.close();
    transfer.close();
  }

  /** Decodes on the device. */
  @Benchmark
  @OperationsPerInvocation(IMAGES)
  public double onTheDevice() {
    try (PointerScope scope = new PointerScope()) {
      return lastOf(decoder.decode(files, PLAN, 1, epoch++, INDICES));
    }
  }

  /** Decodes on the host, in this thread, and sends the batch. */
  @Benchmark
  @OperationsPerInvocation(IMAGES)
  public double onTheHost() {
    for (int i = 0; i < IMAGES; i++) {
      PLAN.write(files.get(i), slab, 0, i, 1, epoch, i);
    }
    epoch++;
    try (DeviceBatch batch = transfer.send(slab, IMAGES);
        PointerScope scope = new PointerScope()) {
      return lastOf(batch.tensors().get(0));
    }
  }

  /** Waits for a batch. */
  private static double lastOf(Tensor batch) {
    return batch.select(0, IMAGES - 1).flatten().select(0, 0).item_double();
  }
}
