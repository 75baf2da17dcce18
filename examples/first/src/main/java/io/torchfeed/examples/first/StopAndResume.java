// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.order.ShuffledSampler;
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
    String[] position = {""};
    TrainingState state =
        TrainingState.builder()
            .module("model", net)
            .optimizer("optimizer", optimizer, net)
            .text("position", () -> position[0], saved -> position[0] = saved)
            .build();
    var inputs = torch.randn(40, 2);
    try (var checkpoints = Checkpoints.open(Path.of(args[0]));
        var data = TensorDataset.of(inputs, inputs.sum(1).unsqueeze(1));
        var loader =
            DataLoader.over(data).sampler(ShuffledSampler.of(40, 42)).batchSize(4).build()) {
      long done = checkpoints.load(state).map(Checkpoint::step).orElse(0L);
      try (var batches =
          done > 0 ? loader.resume(LoaderState.fromJson(position[0])) : loader.epoch(0)) {
        for (int step = 0; step < steps && batches.hasNext(); step++, done++) {
          try (var scope = new PointerScope()) {
            Batch batch = batches.next();
            System.out.println("samples " + Arrays.toString(batch.indices()));
            optimizer.zero_grad();
            torch.mse_loss(net.forward(batch.tensor(0)), batch.tensor(1)).backward();
            optimizer.step();
          }
        }
        position[0] = batches.state().toJson();
      }
      checkpoints.save(done, state);
    }
  }
}
