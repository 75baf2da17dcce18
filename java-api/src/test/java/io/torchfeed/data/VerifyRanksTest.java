// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency.AllGather;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of loaders that compare the plans of the ranks; threads are ranks. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VerifyRanksTest {
  /** A loader of a rank, which opens a pass. */
  private interface Rank {
    void open(AllGather gather);
  }

  /** Runs two ranks; returns the messages of their failures. */
  private static List<String> run(Rank first, Rank second) throws Exception {
    long[][] slots = new long[2][];
    CyclicBarrier barrier = new CyclicBarrier(2);
    List<String> failures = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<?>> ranks = new ArrayList<>();
      for (Rank each : List.of(first, second)) {
        int rank = ranks.size();
        ranks.add(threads.submit(() -> each.open(mine -> gather(slots, barrier, rank, mine))));
      }
      for (Future<?> each : ranks) {
        try {
          each.get();
        } catch (ExecutionException e) {
          Throwable cause = requireNonNull(e.getCause());
          assertThat(cause).isInstanceOf(IllegalStateException.class);
          failures.add(cause.getMessage());
        }
      }
    } finally {
      threads.shutdownNow();
    }
    return failures;
  }

  private static long[][] gather(long[][] slots, CyclicBarrier barrier, int rank, long[] mine) {
    try {
      slots[rank] = mine;
      barrier.await();
      long[][] all = slots.clone();
      barrier.await();
      return all;
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new AssertionError(e);
    }
  }

  private static Rank plan(Part part, int size, long seed, int batchSize, long epoch) {
    return gather -> {
      try (PointerScope scope = new PointerScope();
          TensorDataset data = Rows.dataset(size);
          DataLoader loader =
              DataLoader.over(data)
                  .sampler(ShuffledSampler.of(size, part, seed))
                  .batchSize(batchSize)
                  .verifyRanks(gather)
                  .build();
          Batches batches = loader.epoch(epoch)) {
        assertThat(batches.next().size()).isEqualTo(batchSize);
        try (Batches again = loader.resume(batches.state())) {
          assertThat(again.position()).isEqualTo(1);
        }
      }
    };
  }

  private static Part part(int rank) {
    return new Part(2, rank);
  }

  @Test
  void ranksWithOnePlanGetTheirParts() throws Exception {
    assertThat(run(plan(part(0), 20, 1, 2, 3), plan(part(1), 20, 1, 2, 3))).isEmpty();
  }

  @Test
  void eachRankNamesTheFirstDifference() throws Exception {
    assertAllSay(
        plan(part(1), 20, 2, 2, 3), "the ranks' plans differ in seed: rank 0 has 1, rank 1 has 2");
    assertAllSay(
        plan(part(1), 22, 1, 2, 3),
        "the ranks' plans differ in datasetSize: rank 0 has 20, rank 1 has 22");
    assertAllSay(
        plan(part(1), 20, 1, 5, 3),
        "the ranks' plans differ in batchSize: rank 0 has 2, rank 1 has 5");
    assertAllSay(
        plan(part(1), 20, 1, 2, 4), "the ranks' plans differ in epoch: rank 0 has 3, rank 1 has 4");
    assertAllSay(
        plan(part(0), 20, 1, 2, 3),
        "processes 0 and 1 deliver the same samples: both have the plan of rank 0");
    assertAllSay(
        plan(Part.whole(), 20, 1, 2, 3),
        "the ranks' plans differ in worldSize: rank 0 has 2, rank 1 has 1");
  }

  @Test
  void ranksThatAllHaveTheWholeAreTold() throws Exception {
    Rank whole = plan(Part.whole(), 20, 1, 2, 3);
    String message =
        "the sampler divides the order over 1, but the ranks are 2; pass group.part() to it";
    assertThat(run(whole, whole)).containsExactly(message, message);
  }

  private static void assertAllSay(Rank second, String message) throws Exception {
    assertThat(run(plan(part(0), 20, 1, 2, 3), second)).containsExactly(message, message);
  }

  private static Rank stream(Part part, int shards, int batchSize, long epoch) {
    return gather -> {
      try (DataLoader loader =
              DataLoader.over(new Shards(shards))
                  .part(part)
                  .batchSize(batchSize)
                  .verifyRanks(gather)
                  .build();
          Batches batches = loader.epoch(epoch)) {
        assertThat(batches.hasNext()).isFalse();
      }
    };
  }

  /** A stream without samples. */
  private record Shards(int shards) implements StreamDataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.FLOAT32, 1));
    }

    @Override
    public SampleStream open(long epoch, int shard, @Nullable String position) {
      return new SampleStream() {
        @Override
        public boolean next(SampleWriter sample) {
          return false;
        }

        @Override
        public String position() {
          return "";
        }
      };
    }
  }

  @Test
  void ranksOfAStreamReadDifferentShardsOfOne() throws Exception {
    Rank first = stream(part(0), 4, 2, 3);
    assertThat(run(first, stream(part(1), 4, 2, 3))).isEmpty();
    String differ = "the ranks' streams differ in ";
    assertThat(run(first, stream(part(1), 6, 2, 3)))
        .hasSize(2)
        .allMatch((differ + "shards: rank 0 has 4, rank 1 has 6")::equals);
    assertThat(run(first, stream(part(1), 4, 3, 3)))
        .hasSize(2)
        .allMatch((differ + "batchSize: rank 0 has 2, rank 1 has 3")::equals);
    assertThat(run(first, stream(part(1), 4, 2, 4)))
        .hasSize(2)
        .allMatch((differ + "epoch: rank 0 has 3, rank 1 has 4")::equals);
    assertThat(run(first, stream(part(0), 4, 2, 3)))
        .hasSize(2)
        .allMatch("ranks 0 and 1 both read shard 0; give each loader its part"::equals);
  }
}
