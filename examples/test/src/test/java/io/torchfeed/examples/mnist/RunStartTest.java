// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.Shards;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunStartTest {
  private final List<String> warnings = new ArrayList<>();
  private final Path run;
  private final Path folder;

  RunStartTest(@TempDir Path run) {
    this.run = run;
    this.folder = run.resolve("checkpoints");
  }

  private static TrainingState state(long seed, int ranks, int batchSize, String sampler) {
    Settings settings = new Settings();
    settings.seed = seed;
    settings.batchSize = batchSize;
    TrainingState.Builder state = TrainingState.builder();
    RunStart.addTo(state, settings, ranks, sampler);
    return state.build();
  }

  private static TrainingState state() {
    return state(7, 2, 64, "digest");
  }

  /** Saves checkpoints after two steps, without the parts that have tensors. */
  private void save() {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, state());
      checkpoints.save(2, state());
    }
  }

  /** Prepares a run; returns the name of the checkpoint that its loop loads. */
  private String prepared(Path out, Path resume) {
    RunStart.prepare(out, resume, warnings::add);
    try (Checkpoints checkpoints = Checkpoints.open(out.resolve("checkpoints"))) {
      Checkpoint loaded = checkpoints.load(state()).orElseThrow();
      loaded.skipped().forEach(each -> warnings.add(each.getMessage()));
      return loaded.folder().getFileName().toString();
    }
  }

  private void assertRefused(Path path, String message) {
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> RunStart.requireAny(path))
        .withMessageContaining(message)
        .matches(CommandException::isWrongUse);
  }

  @Test
  void theLastCheckpointOfARunIsLoadedOrOneThatIsNamed() {
    save();
    RunStart.requireAny(run);
    RunStart.requireAny(folder.resolve("step-000001"));
    assertThat(prepared(run, run)).isEqualTo("step-000002");
    assertThat(prepared(run, folder.resolve("step-000001"))).isEqualTo("step-000001");
    assertThat(prepared(run, run)).as("the later one was given up").isEqualTo("step-000001");
    assertThat(folder.resolve("step-000002")).exists();
    assertThat(RunStart.runOf(folder.resolve("step-000001"))).isEqualTo(run);
    assertThat(RunStart.runOf(run)).isEqualTo(run);
  }

  @Test
  void aRunThatIsNotResumedStartsWithoutCheckpoints() {
    save();
    RunStart.prepare(run, null, warnings::add);
    assertThat(folder).doesNotExist();
    RunStart.prepare(run, null, warnings::add);
  }

  @Test
  void aDamagedOneIsSkippedWithAWarningUnlessItIsNamed() throws IOException {
    save();
    Files.writeString(folder.resolve("step-000002").resolve("manifest.json"), "{}");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> prepared(run, folder.resolve("step-000002")))
        .withMessageContaining("SHA-256");
    assertThat(prepared(run, run)).isEqualTo("step-000001");
    assertThat(prepared(run.resolve("other"), run)).isEqualTo("step-000001");
    assertThat(warnings).hasSize(2).allMatch(line -> line.contains("step-000002/manifest.json: "));
  }

  @Test
  void oneThatARankCannotReadIsNotCopied() throws IOException {
    for (long step = 1; step <= 2; step++) {
      try (Checkpoints first = Checkpoints.open(folder);
          Checkpoints second = Checkpoints.open(folder)) {
        first.saveInBackground(step, ofRank(), Shards.of(Part.rank(0).of(2), "run" + step));
        second.saveInBackground(step, ofRank(), Shards.of(Part.rank(1).of(2), "run" + step));
      }
    }
    Path ofSecond = folder.resolve("step-000002/own.rank-00002-of-00002.safetensors");
    assertThat(ofSecond).exists();
    Files.write(ofSecond, new byte[1]);
    Path other = run.resolve("other");
    RunStart.prepare(other, run, warnings::add);
    assertThat(other.resolve("checkpoints/LATEST")).content().isEqualTo("step-000001");
    assertThat(warnings).singleElement().asString().contains("step-000002", "; using the one");
  }

  private static TrainingState ofRank() {
    TrainingState own = TrainingState.builder().module("net", new LinearImpl(2, 2)).build();
    return TrainingState.builder().ofEachRank("own", own).build();
  }

  @Test
  void aCheckpointOfAnotherRunIsCopied() throws IOException {
    save();
    Path copies = Files.createDirectory(run.resolve("copies"));
    Files.move(folder.resolve("step-000001"), copies.resolve("step-000001"));
    assertThat(RunStart.runOf(copies.resolve("step-000001"))).isEqualTo(copies);
    Path other = run.resolve("other");
    assertThat(prepared(other, copies.resolve("step-000001"))).isEqualTo("step-000001");
    assertThat(prepared(other, run)).isEqualTo("step-000002");
    assertThat(other.resolve("checkpoints/step-000001")).doesNotExist();
    assertThat(copies.resolve("step-000001")).exists();
  }

  @Test
  void aRunWhoseFolderIsNamedLikeACheckpointIsARun() throws IOException {
    save();
    Path renamed = Files.createDirectory(run.resolve("step-1"));
    Files.move(folder, renamed.resolve("checkpoints"));
    assertThat(prepared(renamed, renamed)).isEqualTo("step-000002");
    assertThat(RunStart.runOf(renamed)).isEqualTo(renamed);
  }

  @Test
  void aFolderWithoutCheckpointsIsAClearError() throws IOException {
    assertRefused(run, "no checkpoint to resume from: " + folder + " is missing");
    Files.createDirectory(folder);
    assertRefused(run, "no checkpoint to resume from in " + folder);
    assertRefused(folder.resolve("step-000003"), "step-000003 is missing");
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
    TrainingState now = state(seed, ranks, batchSize, sampler);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CommandException.class)
          .isThrownBy(() -> checkpoints.load(now))
          .withMessageContaining(message);
    }
  }
}
