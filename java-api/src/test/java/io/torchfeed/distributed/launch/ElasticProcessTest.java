// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of when a launcher ends a process that still runs. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticProcessTest {
  private static final Duration GRACE = Duration.ofSeconds(5);
  private static final int KILLED = 137;
  private static final int TERMINATED = 143;

  private Process sleeping;
  private ElasticProcess process;

  @BeforeEach
  void start(@TempDir Path folder) throws IOException {
    sleeping = new ProcessBuilder("sleep", "600").start();
    RankOutput output = new RankOutput("p0.1", -1, RankOutput.Shown.NONE, null);
    process =
        new ElasticProcess(
            0,
            1,
            RankProcess.adopt("p0.1", 0, sleeping, folder.resolve("p0.1"), output, each -> {}),
            output);
  }

  @AfterEach
  void end() {
    sleeping.destroyForcibly();
  }

  private static long seconds(int seconds) {
    return Duration.ofSeconds(seconds).toNanos();
  }

  @Test
  void oneThatIsLostForTheGracePeriodIsKilled() throws Exception {
    process.connected();
    process.lost();
    process.look(seconds(0), GRACE);
    process.look(seconds(5), GRACE);
    process.look(seconds(6), GRACE);
    assertThat(sleeping.waitFor()).isEqualTo(KILLED);
  }

  @Test
  void oneThatWasLostAndHasConnectedAgainIsNotKilled() throws Exception {
    process.connected();
    process.lost();
    process.look(seconds(0), GRACE);
    process.connected();
    process.look(seconds(6), GRACE);
    process.look(seconds(12), GRACE);
    process.running.terminate(); // has no effect on one that was killed before
    assertThat(sleeping.waitFor()).isEqualTo(TERMINATED);
  }

  @Test
  void oneThatDoesNotKnowOfTheEndIsAskedToEnd() throws Exception {
    process.endAfter(seconds(0), seconds(4), GRACE);
    assertThat(sleeping.isAlive()).isTrue();
    process.endAfter(seconds(0), seconds(6), GRACE);
    assertThat(sleeping.waitFor()).isEqualTo(TERMINATED);
  }

  @Test
  void oneThatDoesNotEndIsKilled() throws Exception {
    process.endAfter(seconds(0), seconds(11), GRACE);
    assertThat(sleeping.waitFor()).isEqualTo(KILLED);
  }

  @Test
  void oneThatHasFinishedIsAwaited() throws Exception {
    process.isFinisher = true;
    process.endAfter(seconds(0), seconds(60), GRACE);
    process.running.terminate();
    assertThat(sleeping.waitFor()).isEqualTo(TERMINATED);
  }
}
