// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.NvJpegDecoder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.DeviceBatch;
import io.torchfeed.memory.DeviceTransfer;
import io.torchfeed.memory.RowSpec;
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
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
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
 * second: decoded there by nvJPEG, by the consumer or ahead of it by the workers of a loader, or on
 * one thread of the host and sent. Without such a device it fails and names the missing part.
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

  /** A loader whose workers decode, and a step of the consumer. */
  @State(Scope.Thread)
  public static class Loading {
    private static final int SIDE = 4096;
    private static final long BATCHES = 10_000; // of an epoch

    /** The threads that read files and decode. */
    @Param({"1", "2", "4"})
    public int workers;

    /** The products of matrices of 4096x4096 half floats in the consumer's step. */
    @Param({"0", "64"})
    public int products;

    private DataLoader loader;
    private Batches batches;
    private Tensor matrix;

    /** Builds the loader. */
    @Setup
    public void open(DeviceDecodeBenchmark of) {
      loader =
          DataLoader.over(new Repeated(of.files, BATCHES * IMAGES))
              .batchSize(IMAGES)
              .seed(1)
              .workers(workers)
              .device(of.device)
              .afterTransfer(Batch.Step.decode(0, 1, of.decoder, PLAN))
              .build();
      batches = loader.epoch(0);
      try (Tensor ones = torch.ones(SIDE, SIDE);
          Device target = new Device(of.device)) {
        matrix = ones.to(target, ScalarType.Half);
      }
    }

    /** Ends the loader before its decoder. */
    @TearDown
    public void close() {
      matrix.close();
      batches.close();
      loader.close();
    }
  }

  /** The files again and again, as a dataset. */
  private record Repeated(List<byte[]> files, long size) implements Dataset {
    @Override
    public List<RowSpec> columns() {
      int longest = files.stream().mapToInt(file -> file.length).max().orElseThrow();
      return List.of(RowSpec.of(DType.UINT8, longest));
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.packed(0));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.put(0, files.get((int) (index % files.size())));
    }
  }

  /**
   * Takes a batch that a worker has decoded, and computes with it. Compare with the same step over
   * no images: {@link #stepAlone}.
   */
  @Benchmark
  @OperationsPerInvocation(IMAGES)
  public double aheadInALoader(Loading loading) {
    if (!loading.batches.hasNext()) {
      loading.batches = loading.loader.epoch(loading.batches.epoch() + 1);
    }
    try (PointerScope scope = new PointerScope()) {
      step(loading);
      return lastOf(loading.batches.next().tensor(0));
    }
  }

  /** Computes without taking batches: the limit of {@link #aheadInALoader} that the step sets. */
  @Benchmark
  @OperationsPerInvocation(IMAGES)
  public double stepAlone(Loading loading) {
    try (PointerScope scope = new PointerScope()) {
      step(loading);
      return loading.matrix.select(0, 0).select(0, 0).item_double();
    }
  }

  private static void step(Loading loading) {
    for (int i = 0; i < loading.products; i++) {
      loading.matrix.matmul(loading.matrix);
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
