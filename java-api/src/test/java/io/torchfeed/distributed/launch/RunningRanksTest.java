// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of which rank is reported and which are awaited; the processes are stubs. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunningRanksTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final int KILLED = 137;

  private Path folder = Path.of("");

  @BeforeEach
  void nameTheFolder(@TempDir Path folder) {
    this.folder = folder;
  }

  private static RunningRanks ranks(Duration certain, Duration uncertain) {
    return new RunningRanks(Duration.ZERO, new RunningRanks.Patience(certain, uncertain));
  }

  private Path note(int rank) {
    return folder.resolve("rank-" + rank);
  }

  private void start(RunningRanks running, int rank, StubProcess process) {
    running.start(
        onOutputFailure -> {
          try {
            return RankProcess.prefixed(rank, process, note(rank), onOutputFailure);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  private void losePeer(int rank) throws IOException {
    Files.writeString(note(rank), "");
  }

  private static LaunchException failure(RunningRanks running) {
    return catchThrowableOfType(LaunchException.class, running::await);
  }

  @Test
  void ranksThatHaveExitedAreNotAwaited() throws Exception {
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, StubProcess.saying("error: rank 1 was lost").exit(1));
      start(running, 1, StubProcess.saying("").exit(KILLED));
      losePeer(0);
      LaunchException failure = failure(running);
      assertThat(failure.rank()).isEqualTo(1);
      assertThat(failure).hasMessageContaining("rank 1 was the first to fail, by signal 9");
    }
  }

  @Test
  void theOutputOfARankDoesNotDetermineWhichFailedFirst() throws Exception {
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, StubProcess.saying("error: rank 1 was lost").exit(1));
      start(running, 1, StubProcess.saying("what a PeerLostException is").exit(2));
      losePeer(0);
      LaunchException failure = failure(running);
      assertThat(failure.rank()).isEqualTo(1);
      assertThat(failure.errorTail()).isEqualTo("what a PeerLostException is");
    }
  }

  @Test
  void signalsOutrankExitCodesAndEarlierExitsOutrankLaterOnes() {
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, StubProcess.saying("Connection closed by peer").exit(1));
      start(running, 1, StubProcess.saying("").exit(KILLED));
      assertThat(failure(running).rank()).isEqualTo(1);
    }
    try (RunningRanks running = ranks(LONG, LONG)) {
      StubProcess later = StubProcess.saying("");
      start(running, 0, later);
      start(running, 1, StubProcess.saying("").exit(3));
      later.exit(4);
      assertThat(failure(running).rank()).isEqualTo(1);
    }
  }

  @Test
  void theFirstRankToExitIsReportedIfAllLostAPeer() throws Exception {
    try (RunningRanks running = ranks(LONG, Duration.ZERO)) {
      start(running, 0, StubProcess.saying(""));
      start(running, 1, StubProcess.saying("").exit(1));
      losePeer(1);
      assertThat(failure(running).rank()).isEqualTo(1);
    }
  }

  @Test
  void ranksStillRunningAreTerminated() {
    StubProcess survivor = StubProcess.saying("");
    try (RunningRanks running = ranks(Duration.ZERO, LONG)) {
      start(running, 0, survivor);
      start(running, 1, StubProcess.saying("").exit(7));
      assertThat(failure(running).exitCode()).isEqualTo(7);
    }
    assertThat(survivor.exitValue()).isEqualTo(StubProcess.TERMINATED);
  }

  @Test
  void anUnreportedExitIsDetected() throws Exception {
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, StubProcess.saying("").exitUnheard(0));
      start(running, 1, StubProcess.saying("").exit(0));
      running.await();
    }
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, StubProcess.saying("").exitUnheard(6));
      assertThat(failure(running).exitCode()).isEqualTo(6);
    }
  }

  @Test
  void anErrorWhileReadingOutputEndsTheLaunch() {
    Error full = new OutOfMemoryError("a test");
    StubProcess process =
        new StubProcess(
            new InputStream() {
              @Override
              public int read() {
                throw full;
              }

              @Override
              public int read(byte[] into, int from, int count) {
                throw full;
              }
            });
    try (RunningRanks running = ranks(LONG, LONG)) {
      start(running, 0, process);
      assertThatExceptionOfType(LaunchException.class)
          .isThrownBy(running::await)
          .withCause(full)
          .withMessageStartingWith("the output of rank 0 could not be forwarded");
    }
    assertThat(process.isAlive()).isFalse();
  }

  @Test
  void aProcessWithoutAccessibleStreamsIsTerminated() {
    StubProcess process = new StubProcess(null);
    assertThatThrownBy(() -> RankProcess.prefixed(0, process, note(0), rank -> {}))
        .hasMessage("no stream");
    assertThat(process.isAlive()).isFalse();
  }
}
