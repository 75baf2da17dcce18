// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.DecodedFolder;
import io.torchfeed.data.source.ImageDecoder;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A program that measures samples per second of a loader by its number of workers, with both
 * engines. Arguments: the seconds of a turn, a folder of images in folders, and the numbers of
 * workers, the first of which the others are compared with.
 */
final class Workers {
  private static final int TURNS = 3;
  private static final int DIGITS = 60_000;
  private static final int IMAGES = 4096;

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
    all.rows("1x28x28 float", torch.rand(DIGITS, 1, 28, 28), 256, 10);
    all.rows(
        "3x224x224 uint8",
        torch.randint(0, 256, new long[] {IMAGES, 3, 224, 224}, new TensorOptions(ScalarType.Byte)),
        64,
        2);
    all.javaRows();
    all.images(Path.of(args[1]));
  }

  private void rows(String name, Tensor rows, int batch, int copies) {
    Tensor labels = torch.arange(new Scalar(rows.size(0)), new TensorOptions(ScalarType.Long));
    try (TensorDataset once = TensorDataset.of(rows, labels);
        NativeDataset data = NativeDataset.concat(Collections.nCopies(copies, once))) {
      report(name, count -> loading(DataLoader.over(data), data.size(), batch, count));
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
    report("1x28x28 float, Java engine", n -> loading(DataLoader.over(data), data.size(), 256, n));
  }

  private void images(Path folder) throws IOException {
    ImagePlan plan =
        ImagePlan.builder()
            .randomResizedCrop(224, 224)
            .horizontalFlip(0.5)
            .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
            .build();
    try (NativeDataset once = ImageFolder.open(folder, plan);
        NativeDataset data =
            NativeDataset.concat(Collections.nCopies((int) (1024 / once.size()), once))) {
      report("images", count -> loading(DataLoader.over(data), data.size(), 32, count));
    }
    DecodedFolder once = DecodedFolder.open(folder, ImageDecoder.of(plan));
    List<Dataset> copies = new ArrayList<>(Collections.nCopies((int) (1024 / once.size()), once));
    Dataset data = Dataset.concat(copies);
    report("images, Java engine", n -> loading(DataLoader.over(data), data.size(), 32, n));
  }

  /** Loads some samples, and returns their number. */
  private interface Work extends AutoCloseable {
    long run();

    @Override
    default void close() {}
  }

  private interface Kind {
    Work with(int workers);
  }

  /** Takes turns among the numbers of workers, so that a drift of the machine meets all. */
  private void report(String name, Kind kind) {
    double[][] rates = new double[workers.size()][TURNS];
    List<Work> works = workers.stream().map(kind::with).toList();
    works.forEach(Work::run);
    for (int turn = 0; turn < TURNS; turn++) {
      for (int i = 0; i < rates.length; i++) {
        rates[i][turn] = rate(works.get(i));
      }
    }
    works.forEach(Work::close);
    double one = median(rates[0]) / workers.get(0);
    for (int i = 0; i < rates.length; i++) {
      double each = median(rates[i]) / workers.get(i);
      System.out.printf(
          "%s, %d workers: %.0f/s, %.3f of one worker's, each%n",
          name, workers.get(i), median(rates[i]), each / one);
    }
  }

  private double rate(Work work) {
    long samples = 0;
    long start = System.nanoTime();
    double taken;
    do {
      samples += work.run();
      taken = (System.nanoTime() - start) / 1e9;
    } while (taken < seconds);
    return samples / taken;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  private static Work loading(DataLoaderBuilder over, long size, int batch, int workers) {
    DataLoader loader =
        over.batchSize(batch).workers(workers).sampler(ShuffledSampler.of(size, 1)).build();
    return new Work() {
      private long epoch;

      @Override
      public long run() {
        long samples = 0;
        try (Batches batches = loader.epoch(epoch++)) {
          for (Batch each : batches) {
            samples += each.size();
          }
        }
        return samples;
      }

      @Override
      public void close() {
        System.out.println(loader.stats());
        loader.close();
      }
    };
  }
}
