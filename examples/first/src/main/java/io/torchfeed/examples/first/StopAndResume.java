// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.Batch;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains an epoch: {@code StopAndResume FOLDER [STEPS]} stops after steps, the next run resumes.
 */
final class StopAndResume {
  public static void main(String[] args) throws IOException {
    Path weights = Files.createDirectories(Path.of(args[0])).resolve("weights.pt");
    Path position = weights.resolveSibling("position.json");
    int steps = args.length > 1 ? Integer.parseInt(args[1]) : 10;
    torch.manual_seed(42);
    LinearImpl net = new LinearImpl(2, 1);
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1)); // keeps nothing between steps
    var inputs = torch.randn(40, 2);
    try (var data = TensorDataset.of(inputs, inputs.sum(1).unsqueeze(1));
        var loader =
            DataLoader.over(data).sampler(ShuffledSampler.of(40, 42)).batchSize(4).build();
        var batches =
            Files.exists(position)
                ? loader.resume(LoaderState.fromJson(Files.readString(position)))
                : loader.epoch(0)) {
      if (Files.exists(weights)) {
        InputArchive archive = new InputArchive();
        archive.load_from(weights.toString());
        net.load(archive);
      }
      for (int step = 0; step < steps && batches.hasNext(); step++) {
        try (var scope = new PointerScope()) {
          Batch batch = batches.next();
          System.out.println("samples " + Arrays.toString(batch.indices()));
          optimizer.zero_grad();
          torch.mse_loss(net.forward(batch.tensor(0)), batch.tensor(1)).backward();
          optimizer.step();
        }
      }
      OutputArchive archive = new OutputArchive();
      net.save(archive);
      archive.save_to(weights.toString());
      Files.writeString(position, batches.state().toJson());
    }
  }
}
