// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.Torchfeed;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.examples.common.Kernel;
import java.util.TreeSet;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The smallest program with a loader: it takes one batch and prints the age of its process. */
public final class FirstBatch {
  private static final int ROWS = 4096;
  private static final int PIXELS = 784;
  private static final int BATCH = 64;

  private FirstBatch() {}

  /**
   * Prints the age at the begin of this method, and with the first batch.
   *
   * @param args {@code libraries} prints the paths of the native libraries loaded, too
   */
  @SuppressWarnings("try") // the scope works by being closed
  public static void main(String[] args) {
    double begun = Kernel.processSeconds();
    Torchfeed.load();
    try (PointerScope scope = new PointerScope()) {
      Tensor images = torch.ones(ROWS, PIXELS);
      try (TensorDataset dataset = TensorDataset.of(images);
          DataLoader loader = DataLoader.over(dataset).batchSize(BATCH).workers(1).build()) {
        for (Batch batch : loader.epoch(0)) {
          if (batch.tensor(0).size(0) != BATCH) {
            throw new IllegalStateException("a batch must have " + BATCH + " rows");
          }
          break;
        }
      }
    }
    System.out.println("main " + begun);
    System.out.println("first batch " + Kernel.processSeconds());
    if (args.length > 0) {
      new TreeSet<>(Loader.getLoadedLibraries().values()).forEach(System.out::println);
    }
  }
}
