// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.TestJvm;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of processes that exit, are killed, or cannot write while they save. */
@ExtendWith(LeakCheck.class)
class CheckpointProcessTest {
  private static final String PROGRAM = CheckpointProgram.class.getName();
  private static final String SAVED = "saved ";

  /** The number of times that the process is killed. */
  private static final int KILLS = Integer.getInteger("torchfeed.kills", 3);

  private final Path folder;
  private final Path run;

  CheckpointProcessTest(@TempDir Path folder) {
    this.folder = folder;
    run = folder.resolve("run");
  }

  /** Returns the step of the checkpoint, whose numbers must all be of that step. */
  private long load(boolean isLarge) {
    return load(CheckpointProgram.ofSize(isLarge));
  }

  private long load(CheckpointProgram program) {
    try (Checkpoints checkpoints = Checkpoints.open(run)) {
      Checkpoint loaded = checkpoints.load(program.state()).orElseThrow();
      assertThat(loaded.skipped()).isEmpty();
      assertThat(program.value()).isEqualTo(loaded.step());
      return loaded.step();
    }
  }

  @Test
  void theExitOfTheProcessWaitsForTheLastCheckpoint() throws Exception {
    try (TestJvm jvm =
        TestJvm.start(folder, Map.of(), List.of(), PROGRAM, run.toString(), "exit")) {
      assertThat(jvm.exitCode()).as("%s", jvm.output()).isEqualTo(3);
    }
    assertThat(load(true)).isEqualTo(5);
  }

  @Test
  void aKilledProcessLosesNoCheckpointThatWasSaved() throws Exception {
    kill("loop", CheckpointProgram.ofSize(true));
  }

  /** Its files are large enough to be flushed while they are written. */
  @Test
  void aProcessThatIsKilledWhileItSavesInTheBackgroundLosesNoneEither() throws Exception {
    kill("background", CheckpointProgram.large());
  }

  private void kill(String how, CheckpointProgram program) throws Exception {
    long last = 0;
    Random random = new Random(KILLS);
    for (int kill = 0; kill < KILLS; kill++) {
      int lines = 2 + random.nextInt(4);
      try (TestJvm jvm = TestJvm.start(folder, Map.of(), List.of(), PROGRAM, run.toString(), how)) {
        jvm.await(output -> output.size() >= lines);
        LockSupport.parkNanos(random.nextInt(20_000_000)); // the moment within a save
        jvm.signal("KILL");
        jvm.exitCode();
        List<String> saved = jvm.output().stream().filter(line -> line.startsWith(SAVED)).toList();
        long told = Long.parseLong(saved.get(saved.size() - 1).substring(SAVED.length()));
        assertThat(told).isGreaterThan(last);
        last = load(program);
        assertThat(last).isGreaterThanOrEqualTo(told);
      }
    }
  }

  /** A limit of the file size refuses writes as a full disk does, without needing one. */
  @Test
  void aFullDiskLeavesTheLastCheckpointAndNothingElse() throws Exception {
    fill("ulimit -f 512", "fill");
  }

  /** As much as is flushed while it is written fits. */
  @Test
  void aDiskThatIsFullInTheBackgroundLeavesTheLastCheckpointAndNothingElse() throws Exception {
    fill("ulimit -f 70000", "fill-large");
  }

  /** Fills a disk by a state that is larger than a number of blocks of 512 bytes. */
  private void fill(String limit, String how) throws Exception {
    List<String> command = new ArrayList<>(TestJvm.after(limit));
    command.addAll(TestJvm.command(List.of("-XX:-UsePerfData"), PROGRAM, run.toString(), how));
    try (TestJvm jvm = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(jvm.exitCode()).as("%s", jvm.output()).isZero();
      assertThat(jvm.output())
          .singleElement()
          .asString()
          .startsWith("UNWRITABLE " + run.resolve("step-000002"))
          .contains("cannot be written");
    }
    assertThat(load(false)).isEqualTo(3);
    assertThat(run.toFile().list())
        .containsExactlyInAnyOrder("LATEST", "step-000001", "step-000003");
  }
}
