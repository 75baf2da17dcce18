// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.amp.GradScaler;
import io.torchfeed.testing.JsonMutations;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replaces each number, text, name and truth value of a manifest, with the states in it, by values
 * of all types: a checkpoint is loaded, this one or the one before it, or the one exception tells
 * why not. The digest fits each time.
 */
@ExtendWith(LeakCheck.class)
class MutatedStatesTest {
  private final Path folder;

  MutatedStatesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void eachChangedManifestGivesACheckpointOrTheOneException() throws IOException {
    try (SmallNet net = new SmallNet();
        GradScaler scaler = GradScaler.create();
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      SGD sgd = new SGD(net.all(), new SGDOptions(0.1));
      net.train(sgd, 0, 1);
      LinearImpl layer = new LinearImpl(2, 1); // each tensor costs a hundred loads
      Adam adam = new Adam(layer.parameters(), new AdamOptions(0.1));
      layer.forward(torch.ones(1, 2)).sum().backward();
      adam.step();
      long[] number = {5};
      String[] text = {"text"};
      TrainingState state =
          TrainingState.builder()
              .module("model", net)
              .optimizer("sgd", sgd, net)
              .optimizer("adam", adam, layer)
              .part("scaler", scaler)
              .generator("generator", torch.getDefaultCPUGenerator())
              .number("number", () -> number[0], saved -> number[0] = saved)
              .text("text", () -> text[0], saved -> text[0] = saved)
              .ofEachRank("own", new ModuleState(layer))
              .build();
      checkpoints.save(1, state);
      checkpoints.save(2, state);
      int[] outcomes = new int[3];
      Path manifest = folder.resolve("step-000002").resolve("manifest.json");
      for (String changed : JsonMutations.of(Files.readString(manifest))) {
        ChangedFiles.writeManifest(manifest, changed);
        outcomes[outcome(checkpoints, state, changed)]++;
      }
      assertThat(outcomes).as("refused, before, this").doesNotContain(0);
    }
  }

  private static int outcome(Checkpoints checkpoints, TrainingState state, String changed) {
    try {
      return (int) checkpoints.load(state).orElseThrow().step();
    } catch (CheckpointException e) {
      return 0;
    } catch (RuntimeException | Error e) {
      throw new AssertionError(changed, e);
    }
  }
}
