// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.PlanParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Tests that the messages about large states are short. */
class StateMessagesTest {
  private static final int MANY = 100_000;
  private static final int SHORT = 400;

  private static void assertRefused(ThrowingCallable call, String part) {
    IllegalArgumentException thrown = catchThrowableOfType(IllegalArgumentException.class, call);
    assertThat(thrown).hasMessageContaining(part);
    assertThat(thrown.getMessage()).hasSizeLessThan(SHORT);
  }

  private static LoaderState.StreamState state(
      List<LoaderState.ShardPosition> positions, int next, boolean finished) {
    return new LoaderState.StreamState(
        PlanParameters.of("test.Stream"), 0, MANY, positions, next, 0, finished);
  }

  @Test
  void aStreamOfManyShards() {
    List<LoaderState.ShardPosition> positions = new ArrayList<>();
    for (int shard = 0; shard < MANY - 1; shard++) {
      positions.add(new LoaderState.ShardPosition(shard, "x".repeat(1000), 1, false));
    }
    assertRefused(() -> state(positions, MANY, false), "next must be the shard of one of the");
    assertRefused(() -> state(positions, 0, true), "got shard 0, which has not");
    positions.add(positions.get(7));
    assertRefused(() -> state(positions, 0, false), "got shard 7 twice");
    assertRefused(
        () -> new LoaderState.ShardPosition(-1, "x".repeat(MANY), 0, false), "shard and samples");
  }

  @Test
  void manyBatchesDeliveredAhead() {
    try (RowData rows = RowData.samples(2 * MANY);
        DataLoader loader = rows.over().inOrder(false).build();
        Batches pass = loader.epoch(0)) {
      LoaderState.IndexState state = (LoaderState.IndexState) pass.state();
      long[] ahead = LongStream.concat(LongStream.range(2, MANY), LongStream.of(9)).toArray();
      assertRefused(
          () -> loader.resume(new LoaderState.IndexState(state.sampler(), ahead)),
          "deliveredAhead must ascend in [1, %d), got 9 after %d".formatted(2 * MANY, MANY - 1));
    }
  }
}
