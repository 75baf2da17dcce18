// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A program that measures how fast rows in host memory arrive on a device in random order, whole
 * epochs until the seconds of a setting are over. {@code peers/device.py loaders} is the same in
 * Python. Arguments: the device and the seconds.
 */
final class DeviceLoaders {
  private static final List<Integer> WORKERS = List.of(0, 1, 2, 4, 8);
  private static final int PICTURES = 4096;
  private static final int DIGITS = 60_000;

  private DeviceLoaders() {}

  /** Prints a line for each setting. */
  public static void main(String[] args) {
    String device = args[0];
    double seconds = Double.parseDouble(args[1]);
    Tensor pictures =
        torch.randint(
            0, 256, new long[] {PICTURES, 3, 224, 224}, new TensorOptions(ScalarType.Byte));
    measure("3x224x224 uint8", pictures, List.of(64, 256), device, seconds);
    Tensor digits = torch.rand(DIGITS, 1, 28, 28);
    measure("1x28x28 float32", digits, List.of(256, 1024), device, seconds);
  }

  private static void measure(
      String row, Tensor images, List<Integer> batches, String device, double seconds) {
    long rows = images.size(0);
    double bytes = (double) images.nbytes() / rows;
    Tensor labels = torch.arange(new Scalar(rows), new TensorOptions(ScalarType.Long));
    try (TensorDataset data = TensorDataset.of(images, labels)) {
      for (int batch : batches) {
        for (int workers : WORKERS) {
          try (DataLoader loader =
              DataLoader.over(data)
                  .batchSize(batch)
                  .workers(workers)
                  .device(device)
                  .sampler(ShuffledSampler.of(rows, 1))
                  .build()) {
            double rate = rate(loader, rows, seconds);
            System.out.printf(
                "torchfeed %s, batch %d, %d workers: %.0f rows/s, %.2f GB/s%n",
                row, batch, workers, rate, rate * bytes / 1e9);
          }
        }
      }
    }
  }

  private static double rate(DataLoader loader, long rows, double seconds) {
    load(loader, 0); // warms up
    long start = System.nanoTime();
    long epoch = 0;
    double taken;
    do {
      load(loader, ++epoch);
      taken = (System.nanoTime() - start) / 1e9;
    } while (taken < seconds);
    return epoch * rows / taken;
  }

  /** Receives all batches of an epoch, and waits for the last one. */
  private static void load(DataLoader loader, long epoch) {
    long left = loader.batches();
    try (Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        try (PointerScope scope = new PointerScope()) {
          Tensor images = batch.tensor(0);
          if (--left == 0) {
            double unused = images.flatten().select(0, 0).item_double();
          }
        }
      }
    }
  }
}
