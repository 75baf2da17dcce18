// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunCheckpointsTest {
  private static final RunPlan PLAN = new RunPlan(7, 2, 64, "digest");

  private final List<String> warnings = new ArrayList<>();
  private final Path run;
  private final Path folder;

  RunCheckpointsTest(@TempDir Path run) {
    this.run = run;
    this.folder = run.resolve("checkpoints");
  }

  private static TrainingState state(RunPlan plan) {
    TrainingState.Builder state = TrainingState.builder();
    plan.addTo(state);
    return state.build();
  }

  /** Saves checkpoints after two epochs, without the parts that have tensors. */
  private void save() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, state(PLAN));
      checkpoints.save(2, state(PLAN));
    }
  }

  private long resume(Path path) {
    return RunCheckpoints.resume(
            path, state(PLAN), Part.whole(), LongUnaryOperator.identity(), warnings::add)
        .step();
  }

  private void assertRefused(Path path, String message) {
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> RunCheckpoints.requireAny(path))
        .withMessageContaining(message)
        .matches(CommandException::isWrongUse);
  }

  @Test
  void theLastCheckpointOfARunIsLoadedOrOneThatIsNamed() {
    save();
    RunCheckpoints.requireAny(run);
    RunCheckpoints.requireAny(folder.resolve("step-000001"));
    assertThat(resume(run)).isEqualTo(2);
    assertThat(resume(folder.resolve("step-000001"))).isEqualTo(1);
    assertThat(RunCheckpoints.runOf(folder.resolve("step-000001"))).isEqualTo(run);
    assertThat(RunCheckpoints.runOf(run)).isEqualTo(run);
  }

  @Test
  void aDamagedOneIsSkippedWithAWarningUnlessItIsNamed() throws IOException {
    save();
    Files.writeString(folder.resolve("step-000002").resolve("manifest.json"), "{}");
    assertThat(resume(run)).isEqualTo(1);
    assertThat(warnings).singleElement().asString().contains("step-000002", "SHA-256");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> resume(folder.resolve("step-000002")))
        .withMessageContaining("SHA-256");
  }

  @Test
  void allRanksLoadTheSameOneIfOneOfThemCannotReadTheLast() {
    save();
    Checkpoint last =
        RunCheckpoints.resume(run, state(PLAN), Part.whole(), step -> step - 1, warnings::add);
    assertThat(last.step()).isEqualTo(1);
    assertThat(warnings).singleElement().asString().contains("step-000002", "all ranks");
  }

  @Test
  void aCheckpointThatWasCopiedElsewhereIsTheOneThatIsLoaded() throws IOException {
    save();
    Path copies = Files.createDirectory(run.resolve("copies"));
    Files.move(folder.resolve("step-000001"), copies.resolve("step-000001"));
    assertThat(resume(copies.resolve("step-000001"))).isEqualTo(1);
    assertThat(RunCheckpoints.runOf(copies.resolve("step-000001"))).isEqualTo(copies);
  }

  @Test
  void aRunWhoseFolderIsNamedLikeACheckpointIsARun() throws IOException {
    save();
    Path renamed = Files.createDirectory(run.resolve("step-1"));
    Files.move(folder, renamed.resolve("checkpoints"));
    assertThat(resume(renamed)).isEqualTo(2);
    assertThat(RunCheckpoints.runOf(renamed)).isEqualTo(renamed);
  }

  @Test
  void aFolderWithoutCheckpointsIsAClearError() throws IOException {
    assertRefused(run, "no checkpoint to resume from: " + folder + " is missing");
    Files.createDirectory(folder);
    assertRefused(run, "no checkpoint to resume from in " + folder);
    assertRefused(folder.resolve("step-000003"), "step-000003 is missing");
  }

  @Test
  void checkpointsOfAnOlderVersionAreNamed() throws IOException {
    Files.createDirectory(folder);
    Files.write(folder.resolve("epoch-0001.ckpt"), new byte[1]);
    assertRefused(run, folder + " has checkpoints of an older version of this program");
    assertRefused(folder.resolve("epoch-0001.ckpt"), "epoch-0001.ckpt is a checkpoint of an older");
  }

  @Test
  void checkpointsOfAnotherProgramAreRefused() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, TrainingState.builder().number("other", () -> 1, saved -> {}).build());
    }
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> resume(run))
        .withMessageContaining("other parts");
  }

  @ParameterizedTest
  @CsvSource({
    "8, 2, 64, digest, --seed was 7",
    "7, 4, 64, digest, --ranks was 2",
    "7, 2, 32, digest, --batch-size was 64",
    "7, 2, 64, other, the sampler's plan was digest"
  })
  void aDifferentPlanIsRejectedByField(
      long seed, int ranks, int batchSize, String sampler, String message) {
    save();
    TrainingState now = state(new RunPlan(seed, ranks, batchSize, sampler));
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(
            () ->
                RunCheckpoints.resume(
                    run, now, Part.whole(), LongUnaryOperator.identity(), warnings::add))
        .withMessageContaining(message);
  }
}
