// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.LoggedTexts;
import io.torchfeed.training.LoopEvent.Kind;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the events and errors of a loop that continues from a checkpoint. */
class LoopEventsTest {
  private final List<LoopEvent> events = new ArrayList<>();
  private final Path folder;

  LoopEventsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private String trained(long epochs, long seed, boolean isLogged) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        LoopNet net = new LoopNet(0);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      var builder =
          TrainingLoop.alone(net)
              .state(net::addTo)
              .loader(
                  part ->
                      DataLoader.over(data)
                          .sampler(ShuffledSampler.of(LoopNet.SAMPLES, part, seed))
                          .batchSize(LoopNet.GLOBAL_BATCH)
                          .build())
              .epochs(epochs)
              .checkpoints(checkpoints, 2);
      if (!isLogged) {
        builder.events(events::add);
      }
      assertThat(builder.build().run((step, model, batch) -> net.loss(batch), net.optimizer::step))
          .isEqualTo(Outcome.COMPLETED);
      return net.digest();
    }
  }

  private Path step(int number) {
    return folder.resolve("step-%06d".formatted(number));
  }

  @Test
  void aTrainingThatIsCompleteSaysThatNothingIsLeft() throws Exception {
    String end = trained(1, 42, false);
    assertThat(events).isEmpty();
    assertThat(trained(1, 42, false)).isEqualTo(end);
    String text =
        "all epochs were complete after 5 steps, in "
            + step(5)
            + "; for more, set more epochs, or to begin again, another folder of checkpoints";
    assertThat(events).containsExactly(new LoopEvent(Kind.NOTHING_LEFT, text));
    try (LoggedTexts log = new LoggedTexts("io.torchfeed.training")) {
      trained(1, 42, true);
      assertThat(log.all()).containsExactly(text);
    }
  }

  @Test
  void checkpointsThatAreSkippedAreNamed() throws Exception {
    trained(1, 42, false);
    Files.delete(step(5).resolve("manifest.json"));
    trained(1, 42, false);
    assertThat(events).extracting(LoopEvent::kind).containsExactly(Kind.SKIPPED, Kind.RESUMED);
    assertThat(events.get(0).text()).startsWith(step(5) + "/manifest.json: ");
    assertThat(events.get(1)).hasToString("RESUMED continues after 4 steps, from " + step(4));
  }

  @Test
  void otherDataThanThatOfTheCheckpointIsRefusedWithItsFolder() throws IOException {
    assertThatExceptionOfType(ResumeMismatchException.class)
        .isThrownBy(
            () -> {
              trained(1, 42, false);
              trained(2, 43, false);
            })
        .withMessage(
            "cannot continue from %s: the state was saved with seed 42, but the plan has 43; resume"
                + " it with the plan that saved it; to begin again, use another folder of"
                + " checkpoints",
            step(5))
        .satisfies(e -> assertThat(e.parameter()).isEqualTo("seed"));
  }
}
