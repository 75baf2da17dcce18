// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests the effects of the options of a group. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GroupOptionsTest {
  private static final GroupOptions LIMIT = GroupOptions.ofTimeout(Duration.ofSeconds(20));

  private static ProcessGroup join(int rank, int port, String name) {
    return ProcessGroup.join(Master.at("127.0.0.1", port), new Part(2, rank), LIMIT.withName(name));
  }

  @Test
  void theDeviceOfARankFollowsItsProcessAlsoAtAGivenAddress() {
    Map<String, String> fourth = Map.of("LOCAL_RANK", "3", "RANK", "7", "WORLD_SIZE", "9");
    Master master = Master.at("127.0.0.1", 1);
    GroupJoin placed = GroupJoin.of(master, new Part(2, 1), fourth);
    assertThat(placed.environment().localRank()).isEqualTo(3);
    assertThat(placed.environment().part()).isEqualTo(new Part(2, 1));
    assertThat(GroupJoin.of(master, new Part(2, 1), Map.of()).environment().localRank())
        .isEqualTo(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GroupJoin.of(master, new Part(2, 1), Map.of("LOCAL_RANK", "-1")))
        .withMessageContaining("LOCAL_RANK");
  }

  @Test
  void aRankOfAnotherNameIsRefused() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (Master master = Master.listen("127.0.0.1")) {
      Future<ProcessGroup> first =
          threads.submit(
              () -> ProcessGroup.join(master, new Part(2, 0), LIMIT.withName("trial 1")));
      assertThatIllegalStateException()
          .isThrownBy(() -> join(1, master.port(), "trial 2"))
          .withMessageContaining("is used by job trial 1, and this is job trial 2");
      join(1, master.port(), "trial 1").close();
      first.get().close();
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aGroupWithoutChecksComparesNoCalls() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              ProcessGroup fast = group.subgroup(LIMIT.withChecks(false), 0, 1)) {
            ReduceOp op = group.rank() == 0 ? ReduceOp.SUM : ReduceOp.MAX;
            assertThatIllegalArgumentException()
                .isThrownBy(() -> group.allReduce(Tensor.create(1f), op));
            Tensor tensor = Tensor.create(1f);
            fast.allReduce(tensor, op);
            fast.allReduce(tensor, ReduceOp.SUM);
            assertThat(fast.size()).isEqualTo(2);
          }
        });
  }

  @Test
  void aSubGroupHasATimeoutOfItsOwn() throws Exception {
    RankThreads.run(
        2,
        group -> {
          GroupOptions soon = GroupOptions.ofTimeout(Duration.ofMillis(300));
          try (ProcessGroup impatient = group.subgroup(soon, 0, 1)) {
            if (group.rank() == 0) {
              assertThatThrownBy(impatient::barrier).isInstanceOf(PeerLostException.class);
            }
            group.barrier();
          }
        });
  }

  @Test
  void aGroupWithPythonRanksHasNoDevice() {
    Master master = Master.at("127.0.0.1", 1);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> PythonProcessGroup.join(master, new Part(2, 1), LIMIT.withDevice("cuda:0")))
        .withMessageContaining("through host memory")
        .withMessageContaining("device=cuda:0");
  }

  @Test
  void aDeviceWithoutAnIndexIsThatOfTheLocalRank() {
    assertThat(LIMIT.withDevice("cuda").device(3)).isEqualTo("cuda:3");
    assertThat(LIMIT.withDevice("cuda:1").device(3)).isEqualTo("cuda:1");
    assertThat(LIMIT.hasDevice()).isFalse();
  }
}
