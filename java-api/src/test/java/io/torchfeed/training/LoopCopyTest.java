// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of loops whose states are copied during the next step. */
@ExtendWith(LeakCheck.class)
class LoopCopyTest {
  private static final CheckpointOptions ALL = CheckpointOptions.defaults().withKept(99);

  private final Path folder;

  LoopCopyTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Path train(boolean isLater) {
    Path root = folder.resolve("later-" + isLater);
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints = Checkpoints.open(root, ALL.withCopyInBackground(isLater));
        TensorDataset data = LoopNet.data();
        DataLoader loader = LoopNet.loader(data, Part.whole())) {
      LoopNet net = new LoopNet(0.25);
      TrainingLoop.alone(net)
          .state(net::addTo)
          .loader(loader)
          .epochs(2)
          .checkpoints(checkpoints, 1)
          .build()
          .run((step, model, batch) -> net.loss(batch), net.optimizer::step);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return root;
  }

  @Test
  void theCheckpointsOfEachStepAreBitForBitThoseThatWereCopiedAtOnce() throws IOException {
    Path one = train(false);
    Path other = train(true);
    List<Path> files;
    try (Stream<Path> all = Files.walk(one)) {
      files = all.filter(Files::isRegularFile).map(one::relativize).toList();
    }
    assertThat(files).hasSizeGreaterThan(30);
    for (Path file : files) {
      assertThat(Files.mismatch(one.resolve(file), other.resolve(file)))
          .as("%s", file)
          .isEqualTo(-1);
    }
  }

  /** A net whose copy takes longer than its steps. */
  private static final class LargeNet extends Module {
    final Tensor weight = register_parameter("weight", torch.ones(32 << 20), true);

    Tensor loss(Batch batch) {
      return weight.narrow(0, 0, 4).mul(batch.tensor(0)).sum();
    }

    /** Changes the whole weight, as an optimizer does. */
    void update() {
      weight.detach().zero_();
    }
  }

  /** Without a wait before the update, the save fails since the weight has changed. */
  @Test
  void anUpdateWaitsForTheCopy() throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints =
            Checkpoints.open(folder, CheckpointOptions.defaults().withCopyInBackground(true));
        TensorDataset data = TensorDataset.of(torch.ones(12, 4), torch.ones(12));
        DataLoader loader = DataLoader.over(data).batchSize(3).build()) {
      LargeNet net = new LargeNet();
      TrainingLoop.Outcome end =
          TrainingLoop.alone(net)
              .state(parts -> parts.module("model", net))
              .loader(loader)
              .afterEpoch((model, step) -> net.update())
              .checkpoints(checkpoints, 1)
              .build()
              .run((step, model, batch) -> net.loss(batch), net::update);
      assertThat(end).isEqualTo(TrainingLoop.Outcome.COMPLETED);
    }
  }
}
