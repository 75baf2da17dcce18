// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that ranks load a checkpoint that each of them can read. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CommonCheckpointTest {
  private static final CheckpointOptions ALL = CheckpointOptions.defaults().withKept(9);

  private final Path folder;

  CommonCheckpointTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static TrainingState ofRank() {
    TrainingState own = TrainingState.builder().module("net", new LinearImpl(2, 2)).build();
    return TrainingState.builder().ofEachRank("own", own).build();
  }

  /** Saves checkpoints of two ranks after some steps. */
  private void save(long... steps) {
    try (PointerScope scope = new PointerScope();
        Checkpoints first = Checkpoints.open(folder, ALL);
        Checkpoints second = Checkpoints.open(folder, ALL)) {
      for (long step : steps) {
        first.saveInBackground(step, ofRank(), Shards.of(Part.rank(0).of(2), "run" + step));
        second.saveInBackground(step, ofRank(), Shards.of(Part.rank(1).of(2), "run" + step));
        first.await();
        second.await();
      }
    }
  }

  private void damage(long step, int rank) throws IOException {
    Path file =
        folder.resolve("step-%06d/own.rank-%05d-of-00002.safetensors".formatted(step, rank + 1));
    assertThat(file).exists();
    Files.write(file, new byte[1]);
  }

  private Checkpoint load(ProcessGroup group) {
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      return checkpoints.load(ofRank(), group.part(), group::allGatherLongs).orElseThrow();
    }
  }

  @Test
  void ranksReturnToTheNewestThatIsGoodForAllOfThem() throws Exception {
    save(1, 2, 3, 4);
    damage(4, 0);
    damage(3, 1);
    damage(2, 0);
    RankThreads.run(
        2,
        group -> {
          Checkpoint loaded = load(group);
          assertThat(loaded.step()).isEqualTo(1);
          assertThat(loaded.ranks()).isEqualTo(2);
          assertThat(loaded.skipped())
              .extracting(each -> each.path().getName(each.path().getNameCount() - 2).toString())
              .containsExactly(
                  group.rank() == 0
                      ? new String[] {"step-000004", "step-000002"}
                      : new String[] {"step-000003"});
        });
  }

  @Test
  void allFailIfOneCanReadNone() throws Exception {
    save(1);
    damage(1, 1);
    RankThreads.run(
        2,
        group ->
            assertThatExceptionOfType(CheckpointException.class)
                .isThrownBy(() -> load(group))
                .withMessageStartingWith(
                    group.rank() == 1
                        ? folder + ": none of its checkpoints is good; the first: "
                        : folder + ": rank 1 can read none of them")
                .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED)));
  }

  @Test
  void thereMayBeNone() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              Checkpoints checkpoints = Checkpoints.open(folder)) {
            assertThat(checkpoints.load(ofRank(), group.part(), group::allGatherLongs)).isEmpty();
          }
        });
  }

  @Test
  void oneProcessChecksTheFilesOfAllRanks() throws IOException {
    save(1, 2, 3);
    Files.writeString(folder.resolve("LATEST"), "step-000002");
    damage(2, 1);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.steps()).containsExactly(2L, 1L);
      checkpoints.verify(1);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.verify(2))
          .withMessageContaining("own.rank-00002-of-00002.safetensors: it must have ");
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.verify(7))
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.MISSING));
    }
  }
}
