// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A program that takes one batch of a dataset in memory, and prints its rows. */
final class FirstBatchProgram {
  private FirstBatchProgram() {}

  public static void main(String[] args) {
    Torchfeed.load();
    try (Tensor column = torch.ones(8);
        TensorDataset dataset = TensorDataset.of(column);
        DataLoader loader = DataLoader.over(dataset).batchSize(4).workers(1).build()) {
      for (Batch batch : loader.epoch(0)) {
        System.out.println("rows " + batch.tensor(0).size(0));
        break;
      }
    }
  }
}
