// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
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
import java.util.Map;
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

  private void optionsOf(long epochs, int batch, int accumulate, long seed)
      throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        LoopNet net = new LoopNet(0);
        Checkpoints checkpoints = Checkpoints.open(folder);
        DataLoader loader =
            DataLoader.over(data)
                .batchSize(batch)
                .transform((tensors, random) -> tensors)
                .seed(seed + 1)
                .build()) {
      assertThat(loader.batchSize()).isEqualTo(batch);
      assertThat(loader.seed()).isEqualTo(seed + 1);
      TrainingLoop.alone(net)
          .state(net::addTo)
          .loader(loader)
          .epochs(epochs)
          .accumulate(accumulate)
          .seed(seed)
          .checkpoints(checkpoints, 2)
          .events(events::add)
          .build()
          .run((step, model, batchOf) -> net.loss(batchOf), net.optimizer::step);
    }
  }

  @Test
  void otherOptionsThanThoseOfTheCheckpointAreNamed() throws Exception {
    optionsOf(1, 12, 1, 5);
    optionsOf(2, 12, 1, 5);
    assertThat(events).extracting(LoopEvent::kind).containsExactly(Kind.RESUMED);
    events.clear();
    optionsOf(2, 20, 2, 7);
    assertThat(events).extracting(LoopEvent::kind).containsExactly(Kind.NOTHING_LEFT);
    events.clear();
    optionsOf(3, 20, 2, 7);
    assertThat(events)
        .extracting(LoopEvent::toString)
        .containsExactly(
            "RESUMED continues after 10 steps, from " + step(10),
            "CHANGED continues with another batch size, 20 instead of 12",
            "CHANGED continues with another number of batches in a step, 2 instead of 1",
            "CHANGED continues with another seed of the loop, 7 instead of 5",
            "CHANGED continues with another seed of the loader, 8 instead of 6");
    events.clear();
    optionsOf(4, 20, 2, 7);
    assertThat(events).extracting(LoopEvent::kind).containsExactly(Kind.RESUMED);
  }

  @Test
  void aCheckpointWithoutOptionsIsLoaded() {
    Progress progress = Progress.ofLoop();
    SavedOptions options = SavedOptions.of(12, 1, 0, 0);
    assertThat(progress.replace(options)).isEqualTo(SavedOptions.none());
    try (StateDict saved = progress.stateDict()) {
      String json = saved.json();
      Progress next = Progress.ofLoop();
      next.loadStateDict(saved);
      assertThat(next.replace(SavedOptions.none())).isEqualTo(options);
      int begin = json.indexOf(",\"options\":");
      try (StateDict before = StateDict.of(json.substring(0, begin) + "}", Map.of())) {
        progress.loadStateDict(before);
      }
    }
    SavedOptions unknown = progress.replace(options);
    assertThat(unknown).isEqualTo(SavedOptions.none());
    assertThat(options.changesFrom(unknown)).isEmpty();
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
