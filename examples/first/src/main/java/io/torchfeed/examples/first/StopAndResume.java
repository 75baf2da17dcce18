// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.Progress;
import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains an epoch: {@code StopAndResume FOLDER [STEPS]} stops after steps, the next run resumes.
 */
final class StopAndResume {
  public static void main(String[] args) {
    int steps = args.length > 1 ? Integer.parseInt(args[1]) : 10;
    torch.manual_seed(42);
    LinearImpl net = new LinearImpl(2, 1);
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    var inputs = torch.randn(40, 2);
    try (var checkpoints = Checkpoints.open(Path.of(args[0]));
        var data = TensorDataset.of(inputs, inputs.sum(1).unsqueeze(1));
        var loader =
            DataLoader.over(data).sampler(ShuffledSampler.of(40, 42)).batchSize(4).build()) {
      Progress progress = Progress.over(loader);
      TrainingState state =
          TrainingState.builder()
              .module("model", net)
              .optimizer("optimizer", optimizer, net)
              .part("progress", progress)
              .build();
      checkpoints.load(state); // if there is one
      long last = progress.step() + steps;
      for (Batch batch : progress) { // the rest of the epoch
        try (var scope = new PointerScope()) {
          System.out.println("samples " + Arrays.toString(batch.indices()));
          optimizer.zero_grad();
          torch.mse_loss(net.forward(batch.tensor(0)), batch.tensor(1)).backward();
          optimizer.step();
        }
        if (progress.step() == last) {
          break;
        }
      }
      checkpoints.save(progress.step(), state);
    }
  }
}
