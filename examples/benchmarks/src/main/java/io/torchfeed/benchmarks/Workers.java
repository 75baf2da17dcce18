// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.DecodedFolder;
import io.torchfeed.data.source.ImageDecoder;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A program that measures samples per second of a loader by its number of workers, with both
 * engines, beside the limits of the machine: as many loaders with a thread each, which share
 * nothing but the samples, and threads that only compute. Each line of a loader also has its
 * memory, and the switches of threads and the processor time of a batch. Arguments: the seconds of
 * a turn, a folder of images in folders, and the numbers of workers, the first of which the others
 * are compared with.
 */
final class Workers {
  private static final int TURNS = 3;
  private static final int DIGITS = 60_000;
  private static final int IMAGES = 4096;
  private static final int WARM_UP = 8; // batches for each thread: more than are prefetched
  private static final int STEPS = 1_000_000; // of a computation, a millisecond
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final double seconds;
  private final List<Integer> workers;

  private Workers(double seconds, List<Integer> workers) {
    this.seconds = seconds;
    this.workers = workers;
  }

  /** Prints a line for each kind of samples and number of workers. */
  public static void main(String[] args) throws IOException {
    List<Integer> workers = Stream.of(args).skip(2).map(Integer::valueOf).toList();
    Workers all = new Workers(Double.parseDouble(args[0]), workers);
    all.report("arithmetic", "threads", count -> new Shared(count, i -> new Arithmetic()));
    all.rows("1x28x28 float", torch.rand(DIGITS, 1, 28, 28), 256);
    all.rows(
        "3x224x224 uint8",
        torch.randint(0, 256, new long[] {IMAGES, 3, 224, 224}, new TensorOptions(ScalarType.Byte)),
        64);
    all.javaRows();
    all.images(Path.of(args[1]));
  }

  private void rows(String name, Tensor rows, int batch) {
    Tensor labels = torch.arange(new Scalar(rows.size(0)), new TensorOptions(ScalarType.Long));
    try (TensorDataset data = TensorDataset.of(rows, labels)) {
      loaders(name, () -> DataLoader.over(data), data.size(), batch);
    }
  }

  private void javaRows() {
    float[] values = new float[784 * 4096];
    Dataset data =
        new Dataset() {
          @Override
          public long size() {
            return 300_000;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.FLOAT32, 1, 28, 28), RowSpec.of(DType.INT64));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            sample.put(0, values, (int) (index % 4096) * 784, 784);
            sample.putLong(1, index);
          }
        };
    loaders("1x28x28 float, Java engine", () -> DataLoader.over(data), data.size(), 256);
  }

  private void images(Path folder) throws IOException {
    ImagePlan plan =
        ImagePlan.builder()
            .randomResizedCrop(224, 224)
            .horizontalFlip(0.5)
            .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
            .build();
    try (NativeDataset data = ImageFolder.open(folder, plan)) {
      loaders("images", () -> DataLoader.over(data), data.size(), 32);
    }
    DecodedFolder data = DecodedFolder.open(folder, ImageDecoder.of(plan));
    loaders("images, Java engine", () -> DataLoader.over(data), data.size(), 32);
  }

  private void loaders(String name, Supplier<DataLoaderBuilder> over, long size, int batch) {
    report(name, "workers", count -> new Loading(over.get(), size, batch, count));
    report(
        name,
        "loaders with a thread each",
        count -> new Shared(count, i -> new Loading(over.get(), size, batch, 0)));
  }

  /** Something that takes time, again and again. */
  private interface Work extends AutoCloseable {
    /** Runs for a time, and returns the samples per second. */
    double rate(double seconds);

    /** Returns the costs of a batch in the last turn, for a line. */
    default String costs() {
      return "";
    }

    @Override
    default void close() {}
  }

  private interface Kind {
    Work with(int count);
  }

  /** Takes turns among the numbers of threads, so that a drift of the machine meets all. */
  private void report(String name, String threads, Kind kind) {
    double[][] rates = new double[workers.size()][TURNS];
    List<Work> works = new ArrayList<>();
    List<Long> memory = new ArrayList<>();
    for (int count : workers) {
      long before = ProcessStatus.residentBytes();
      Work work = kind.with(count);
      work.rate(seconds);
      works.add(work);
      memory.add(ProcessStatus.residentBytes() - before);
    }
    for (int turn = 0; turn < TURNS; turn++) {
      for (int i = 0; i < rates.length; i++) {
        rates[i][turn] = works.get(i).rate(seconds);
      }
    }
    double one = median(rates[0]) / workers.get(0);
    for (int i = 0; i < rates.length; i++) {
      double each = median(rates[i]) / workers.get(i);
      System.out.printf(
          "%s, %d %s: %.0f/s, %.3f of the first, each%s; %d MB%n",
          name,
          workers.get(i),
          threads,
          median(rates[i]),
          each / one,
          works.get(i).costs(),
          memory.get(i) >> 20);
    }
    works.forEach(Work::close);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** A loader within an endless epoch: the first batches of each pass are not timed. */
  private static final class Loading implements Work {
    private final DataLoader loader;
    private final int warmUp;
    private double batches;
    private double switches;
    private double processorNanos;

    Loading(DataLoaderBuilder over, long samples, int batch, int workers) {
      this.warmUp = WARM_UP * (1 + workers);
      this.loader =
          over.batchSize(batch)
              .workers(workers)
              .sampler(RepeatedSampler.endless(ShuffledSampler.of(samples, 1)))
              .build();
    }

    @Override
    public double rate(double seconds) {
      try (Batches pass = loader.epoch(0)) {
        for (int i = 0; i < warmUp; i++) {
          pass.next();
        }
        long switchesBefore = ProcessStatus.switches();
        long processorBefore = SYSTEM.getProcessCpuTime();
        long samples = 0;
        batches = 0;
        long start = System.nanoTime();
        double taken;
        do {
          samples += pass.next().size();
          batches++;
          taken = (System.nanoTime() - start) / 1e9;
        } while (taken < seconds);
        switches = ProcessStatus.switches() - switchesBefore;
        processorNanos = SYSTEM.getProcessCpuTime() - processorBefore;
        return samples / taken;
      }
    }

    @Override
    public String costs() {
      return ", %.2f switches and %.1f us of processors per batch"
          .formatted(switches / batches, processorNanos / batches / 1e3);
    }

    @Override
    public void close() {
      loader.close();
    }
  }

  /** Works that run at once, each in a thread of its own. */
  private static final class Shared implements Work {
    private final List<Work> works;
    private final ExecutorService threads;

    Shared(int count, IntFunction<Work> each) {
      works = IntStream.range(0, count).mapToObj(each).toList();
      threads = Executors.newFixedThreadPool(count);
    }

    @Override
    public double rate(double seconds) {
      List<CompletableFuture<Double>> running =
          works.stream()
              .map(work -> CompletableFuture.supplyAsync(() -> work.rate(seconds), threads))
              .toList();
      return running.stream().mapToDouble(CompletableFuture::join).sum();
    }

    @Override
    public void close() {
      threads.shutdown();
      works.forEach(Work::close);
    }
  }

  /** A computation in registers, which only the processors and their clocks bound. */
  private static final class Arithmetic implements Work {
    private long value = 1;

    @Override
    public double rate(double seconds) {
      long steps = 0;
      long start = System.nanoTime();
      double taken;
      do {
        long next = value;
        for (int i = 0; i < STEPS; i++) {
          next = next * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
        }
        value = next;
        steps += STEPS;
        taken = (System.nanoTime() - start) / 1e9;
      } while (taken < seconds);
      return steps / taken;
    }
  }
}
