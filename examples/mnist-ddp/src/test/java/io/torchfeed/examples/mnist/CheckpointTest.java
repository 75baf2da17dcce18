// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.examples.common.CommandException;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointTest {
  private static final Checkpoint.Plan PLAN = new Checkpoint.Plan(7, 2, 64, "digest");

  @TempDir Path run = Path.of("");

  private CheckpointFolder folder() {
    return CheckpointFolder.ofRun(run);
  }

  private static Checkpoint checkpoint(int epoch) {
    byte[] model = new byte[100_000];
    byte[] optimizer = new byte[50_000];
    byte[] other = new byte[10];
    Arrays.fill(model, (byte) epoch);
    Arrays.fill(optimizer, (byte) -epoch);
    RankState first = new RankState(optimizer, new byte[] {1});
    return new Checkpoint(
        PLAN,
        epoch,
        model,
        List.of(first, new RankState(new byte[0], new byte[] {2}), new RankState(other, other)));
  }

  private static void assertWhole(Checkpoint read) {
    Checkpoint expected = checkpoint(read.epoch());
    assertThat(read.plan()).isEqualTo(PLAN);
    assertThat(read.model()).isEqualTo(expected.model());
    for (int rank = 0; rank < 3; rank++) {
      assertThat(read.rank(rank).optimizer()).isEqualTo(expected.rank(rank).optimizer());
      assertThat(read.rank(rank).replica()).isEqualTo(expected.rank(rank).replica());
    }
    assertThat(read.rank(1).optimizer()).isEqualTo(read.rank(0).optimizer());
  }

  @Test
  void theNewestCheckpointIsRead() {
    folder().save(checkpoint(1));
    folder().save(checkpoint(2));
    CheckpointFolder.Found found = folder().newest(warning -> {});
    assertThat(found.checkpoint().epoch()).isEqualTo(2);
    assertWhole(found.checkpoint());
  }

  /** Eight ranks keep 212 MB with --algorithm low-precision, in a heap of 512 MB. */
  @Test
  void aCheckpointIsWrittenWithoutACopyAndReadOnce() {
    byte[] state = new byte[1 << 20];
    int ranks = 8;
    Checkpoint large =
        new Checkpoint(
            PLAN, 1, state, Collections.nCopies(ranks, new RankState(state, new byte[1 << 20])));
    long bytes = (2L * ranks + 1) << 20;
    assertThat(allocated(() -> folder().save(large))).isLessThan(bytes / 10);
    assertThat(allocated(() -> folder().newest(warning -> {}))).isLessThan(bytes + bytes / 10);
  }

  private static long allocated(Runnable body) {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    body.run(); // loads the classes
    long before = threads.getCurrentThreadAllocatedBytes();
    body.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 10, 40, 60_000, 150_000})
  void aTruncatedFileIsSkippedWithAWarning(int length) throws IOException {
    folder().save(checkpoint(1));
    folder().save(checkpoint(2));
    Path newest = folder().newest(warning -> {}).file();
    Files.write(newest, Arrays.copyOf(Files.readAllBytes(newest), length));
    List<String> warnings = new ArrayList<>();
    assertThat(folder().newest(warnings::add).checkpoint().epoch()).isEqualTo(1);
    assertThat(warnings).hasSize(1);
    assertThat(warnings.get(0)).contains("epoch-0002.ckpt");
  }

  @Test
  void aCheckpointOfFormatOneHasTheStateOfRankZero() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeBytes("torchfeed mnist-ddp checkpoint 1\n");
      out.writeLong(PLAN.seed());
      out.writeInt(PLAN.ranks());
      out.writeInt(PLAN.batchSize());
      out.writeUTF(PLAN.sampler());
      out.writeInt(3);
      out.writeInt(1);
      out.write(new byte[] {5});
      out.writeInt(2);
      out.write(new byte[] {6, 7});
      out.write(MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray()));
    }
    Checkpoint read = Checkpoint.read(Files.write(run.resolve("old"), bytes.toByteArray()));
    assertThat(read.plan()).isEqualTo(PLAN);
    assertThat(read.epoch()).isEqualTo(3);
    assertThat(read.model()).containsExactly(5);
    for (int rank = 0; rank < 2; rank++) {
      assertThat(read.rank(rank).optimizer()).containsExactly(6, 7);
      assertThat(read.rank(rank).replica()).isEmpty();
    }
  }

  @Test
  void oneChangedByteIsDetected() throws IOException {
    folder().save(checkpoint(1));
    Path file = folder().newest(warning -> {}).file();
    byte[] bytes = Files.readAllBytes(file);
    bytes[70_000] ^= 1;
    Files.write(file, bytes);
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> CheckpointFolder.resolve(file, warning -> {}))
        .withMessageContaining("SHA-256");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> folder().newest(warning -> {}))
        .withMessageContaining("no good checkpoint");
  }

  @Test
  void aFolderWithoutCheckpointsIsAClearError() {
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> folder().newest(warning -> {}))
        .withMessageContaining("no checkpoint to resume from");
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
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> PLAN.requireSame(new Checkpoint.Plan(seed, ranks, batchSize, sampler)))
        .withMessageContaining(message);
  }

  /** Kills a process that writes checkpoints continuously, with SIGKILL at random moments. */
  @Test
  void aKillAtAnyMomentLeavesAGoodCheckpoint() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int last = 0;
    for (int round = 0; round < 12; round++) {
      Path saved = Files.write(run.resolve("saved"), new byte[0]);
      Process writer = startWriter(last + 1, saved);
      while (Files.size(saved) == 0) {
        assertThat(writer.isAlive()).isTrue();
        Thread.sleep(1);
      }
      Thread.sleep(random.nextInt(60));
      writer.destroyForcibly();
      assertThat(writer.waitFor(30, TimeUnit.SECONDS)).isTrue();
      List<String> warnings = new ArrayList<>();
      Checkpoint read = folder().newest(warnings::add).checkpoint();
      assertThat(warnings).as("seed %d", seed).isEmpty();
      assertThat((long) read.epoch())
          .as("seed %d", seed)
          .isGreaterThanOrEqualTo(last + Files.size(saved));
      assertWhole(read);
      last = read.epoch();
    }
  }

  private Process startWriter(int from, Path saved) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return new ProcessBuilder(
            java,
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Writer.class.getName(),
            run.toString(),
            Integer.toString(from))
        .redirectOutput(saved.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /**
   * A program that saves checkpoints one after another and writes a byte to standard output for
   * each.
   */
  static final class Writer {
    private Writer() {}

    public static void main(String[] arguments) {
      CheckpointFolder folder = CheckpointFolder.ofRun(Path.of(arguments[0]));
      for (int epoch = Integer.parseInt(arguments[1]); ; epoch++) {
        folder.save(checkpoint(epoch));
        System.out.write('.');
        System.out.flush();
      }
    }
  }
}
