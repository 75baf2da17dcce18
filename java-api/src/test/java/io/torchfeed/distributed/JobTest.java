// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.internal.ReservedPort;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of ranks that are not of one job, or do not agree on the number of ranks. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private static ProcessGroup join(int rank, int worldSize, String job, ReservedPort port) {
    Map<String, String> variables = new HashMap<>();
    variables.put("RANK", Integer.toString(rank));
    variables.put("WORLD_SIZE", Integer.toString(worldSize));
    variables.put("MASTER_ADDR", "127.0.0.1");
    variables.put("MASTER_PORT", Integer.toString(port.number()));
    variables.put("TORCHFEED_JOB_ID", job);
    return ProcessGroup.join(variables, GroupOptions.ofTimeout(LIMIT));
  }

  private static ProcessGroup join(int rank, GroupOptions options, ReservedPort port) {
    Part part = new Part(3, rank);
    return ProcessGroup.join(Master.at("127.0.0.1", port.number()), part, options);
  }

  private static String failureOf(Future<ProcessGroup> joining) throws Exception {
    try (ProcessGroup group = joining.get()) {
      return "joined " + group.size();
    } catch (ExecutionException e) {
      return String.valueOf(e.getCause());
    }
  }

  @Test
  void aWrongWorldSizeIsNamedOnEveryRank() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (ReservedPort port = ReservedPort.open()) {
      List<Future<ProcessGroup>> ranks = new ArrayList<>();
      for (int worldSize : new int[] {3, 2, 3}) {
        int rank = ranks.size();
        ranks.add(threads.submit(() -> join(rank, worldSize, "", port)));
      }
      for (Future<ProcessGroup> rank : ranks) {
        assertThat(failureOf(rank))
            .contains("IllegalArgumentException")
            .contains("WORLD_SIZE must be the same on all ranks")
            .contains("3 on rank 0, 2 on rank 1");
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** Only the last rank differs: without checks, or with a device, which need not exist. */
  @ParameterizedTest
  @CsvSource({
    "false, '', without checks, without a device",
    "true, cuda, with checks, with a device"
  })
  void otherOptionsOnOneRankAreNamedOnEveryRank(
      boolean checks, String device, String checksInWords, String deviceInWords) throws Exception {
    GroupOptions options = GroupOptions.ofTimeout(LIMIT);
    GroupOptions other = options.withChecks(checks).withDevice(device);
    ExecutorService threads = Executors.newCachedThreadPool();
    try (ReservedPort port = ReservedPort.open()) {
      List<Future<ProcessGroup>> ranks = new ArrayList<>();
      for (GroupOptions each : List.of(options, options, other)) {
        int rank = ranks.size();
        ranks.add(threads.submit(() -> join(rank, each, port)));
      }
      for (Future<ProcessGroup> rank : ranks) {
        assertThat(failureOf(rank))
            .isEqualTo(
                "java.lang.IllegalArgumentException: the options of a group must be the same on all"
                    + " ranks, got 'with checks, without a device' on rank 0, '"
                    + checksInWords
                    + ", "
                    + deviceInWords
                    + "' on rank 2");
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void otherOptionsOfASubgroupAreNamedOnEveryRank() throws Exception {
    RankThreads.run(
        3,
        LIMIT,
        group -> {
          GroupOptions options = GroupOptions.ofTimeout(LIMIT).withChecks(group.rank() != 1);
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.subgroup(options, 2, 1, 0))
              .withMessageContaining("the options of a group must be the same on all ranks")
              .withMessageContaining("'without checks, without a device' on rank 1")
              .withMessageContaining("'with checks, without a device' on rank ");
          try (ProcessGroup agreed = group.subgroup(0, 1, 2)) {
            agreed.barrier();
          }
        });
  }

  @ParameterizedTest
  @CsvSource({
    "first, second, 'job first, and this is job second'",
    "first, '', 'job first, and this is a job without a name'",
    "'', second, 'a job without a name, and this is job second'",
  })
  void aRankOfAnotherJobIsRefusedAndTheJobStarts(String job, String other, String message)
      throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (ReservedPort port = ReservedPort.open()) {
      Future<ProcessGroup> first = threads.submit(() -> join(0, 2, job, port));
      Future<ProcessGroup> stranger = threads.submit(() -> join(1, 2, other, port));
      assertThat(failureOf(stranger))
          .contains("IllegalStateException")
          .contains("127.0.0.1:" + port.number() + " is used by " + message);
      try (ProcessGroup own = join(1, 2, job, port);
          ProcessGroup joined = first.get()) {
        assertThat(own.size()).isEqualTo(joined.size());
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
