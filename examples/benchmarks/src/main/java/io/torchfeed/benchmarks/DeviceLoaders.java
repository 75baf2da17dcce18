// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.loader.LoaderStats;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.DeviceBatch;
import io.torchfeed.memory.DeviceTransfer;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A program that measures how fast rows in host memory arrive on a device in random order, within
 * an endless epoch, beside bare copies of as many bytes: gathered by the device itself, or by
 * workers. {@code peers/device.py loaders} loads the same in Python, by whole epochs. For each
 * setting it also prints the time of each stage per batch; the longest bounds the rate. Arguments:
 * the device, the seconds, and the numbers of workers; -1 stands for the device.
 *
 * <p>The property {@code torchfeed.fake.device} names the library of the fake device, whose copies
 * take the time that {@code TORCHFEED_FAKE_DEVICE_RATE} says, in bytes per second, and no
 * processor.
 */
final class DeviceLoaders {
  private static final List<Integer> BATCHES = List.of(64, 256, 1024);
  private static final int IMAGES = 4096;
  private static final int DIGITS = 60_000;
  private static final int COPIES = 4; // of the rows in an epoch, on a device with hardware

  private static final int WARM_UP = 8; // batches for each thread: more than are prefetched

  private static final double MAX_BYTES = 200e6; // of a batch, which is page-locked many times

  private final String device;
  private final double seconds;
  private final List<Integer> workers;

  private DeviceLoaders(String device, double seconds, List<Integer> workers) {
    this.device = device;
    this.seconds = seconds;
    this.workers = workers;
  }

  /** Prints a line for each setting. */
  public static void main(String[] args) {
    List<Integer> workers = Stream.of(args).skip(2).map(Integer::valueOf).toList();
    DeviceLoaders all = new DeviceLoaders(args[0], Double.parseDouble(args[1]), workers);
    String fake = System.getProperty("torchfeed.fake.device");
    try (PointerScope scope = new PointerScope()) {
      if (fake == null) {
        all.measure("3x224x224 uint8", bytes().repeat(COPIES, 1, 1, 1));
        all.measure("1x28x28 float32", torch.rand(DIGITS, 1, 28, 28).repeat(COPIES, 1, 1, 1));
        all.measure("3x224x224 float32", bytes().to(ScalarType.Float));
      } else {
        Loader.load(torch.class);
        System.load(fake);
        all.measure("3x224x224 uint8", bytes());
        all.measure("1x28x28 float32", torch.rand(DIGITS, 1, 28, 28));
        all.measure("2 float32", torch.rand(COPIES * DIGITS, 2)); // hardly any bytes
      }
    }
  }

  private static Tensor bytes() {
    return torch.randint(
        0, 256, new long[] {IMAGES, 3, 224, 224}, new TensorOptions(ScalarType.Byte));
  }

  private void measure(String row, Tensor images) {
    long rows = images.size(0);
    double bytes = (double) images.nbytes() / rows;
    Tensor labels = torch.arange(new Scalar(rows), new TensorOptions(ScalarType.Long));
    try (TensorDataset data = TensorDataset.of(images, labels)) {
      for (int batch : BATCHES) {
        if (batch * bytes > MAX_BYTES) {
          continue;
        }
        double limit = bareCopies(Math.round(batch * bytes));
        System.out.printf("bare copies of %s, batch %d: %.2f GB/s%n", row, batch, limit / 1e9);
        for (int count : workers) {
          DataLoaderBuilder builder =
              DataLoader.over(data)
                  .batchSize(batch)
                  .device(device)
                  .sampler(RepeatedSampler.endless(ShuffledSampler.of(rows, 1)));
          try (DataLoader loader =
              (count < 0 ? builder.gatherOnDevice() : builder.workers(count)).build()) {
            double rate = rate(loader, count);
            System.out.printf(
                "torchfeed %s, batch %d, %s: %.0f rows/s, %.2f GB/s, %.2f of copies; %s (%s)%n",
                row,
                batch,
                count < 0 ? "the device" : count + " workers",
                rate,
                rate * bytes / 1e9,
                rate * bytes / limit,
                stages(loader.stats()),
                loader.stats());
          }
        }
      }
    }
  }

  private static String stages(LoaderStats stats) {
    Duration handing = stats.handing().plus(stats.transferring()).minus(stats.awaitingDevice());
    return String.format(
        "us per batch %.1f: gathering %.1f, handing over %.1f, copying %.1f",
        micros(stats.elapsed().minus(stats.starting()), stats),
        micros(stats.working(), stats) / Math.max(1, stats.workers()),
        micros(handing, stats),
        micros(stats.copying(), stats));
  }

  private static double micros(Duration time, LoaderStats stats) {
    return time.toNanos() / 1e3 / stats.batches();
  }

  /**
   * Returns the rows per second between two batches. Whole epochs would be shorter than it takes
   * many workers to load their first batches.
   */
  private double rate(DataLoader loader, int workers) {
    try (Batches batches = loader.epoch(0)) {
      load(batches, seconds / 2, WARM_UP * (1 + Math.max(0, workers)));
      return load(batches, seconds, 1);
    }
  }

  /** Receives batches, waits for the last one, and returns the rows per second. */
  private static double load(Batches batches, double seconds, int least) {
    long start = System.nanoTime();
    long rows = 0;
    for (int count = 1; ; count++) {
      Batch batch = batches.next();
      rows += batch.size();
      if (count >= least && (System.nanoTime() - start) / 1e9 >= seconds) {
        try (PointerScope scope = new PointerScope()) {
          double unused = batch.tensor(0).flatten().select(0, 0).item_double();
        }
        return rows / ((System.nanoTime() - start) / 1e9);
      }
    }
  }

  /** Returns the bytes per second of copies from page-locked memory into one tensor. */
  private double bareCopies(long bytes) {
    try (DeviceTransfer transfer = DeviceTransfer.to(device, 2);
        Slab slab = Slab.allocatePinned(List.of(RowSpec.of(DType.UINT8, bytes)), 1, device);
        Tensor view = slab.view(0, 1);
        DeviceBatch target = transfer.send(view)) {
      Tensor to = target.tensors().get(0);
      copy(to, view, 4);
      long count = 0;
      double taken;
      long start = System.nanoTime();
      do {
        count += copy(to, view, 32);
        taken = (System.nanoTime() - start) / 1e9;
      } while (taken < Math.min(seconds, 0.3));
      return count * bytes / taken;
    }
  }

  private static int copy(Tensor to, Tensor view, int count) {
    for (int i = 0; i < count; i++) {
      to.copy_(view, true);
    }
    try (Tensor row = to.get(0);
        Tensor element = row.get(0)) {
      double unused = element.item_double(); // waits for all copies
    }
    return count;
  }
}
