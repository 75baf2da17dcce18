// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static io.torchfeed.sampler.python.PlanAssertions.assertDistinct;
import static io.torchfeed.sampler.python.PlanAssertions.assertRefused;
import static io.torchfeed.sampler.python.PlanAssertions.parsed;
import static io.torchfeed.testing.Cursors.indices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the plan that Python's sampler divides among ranks. */
class PythonDistributedSamplerTest {
  private static final int MAX_SIZE = 2_147_483_639;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "10|3|0|PAD|4 5 0 2, 1 3 8 4, 7 9 6 1",
        "10|3|1|PAD|5 2 9 4, 6 0 3 5, 1 8 7 6",
        "10|3|2|PAD|8 5 0 3, 7 6 4 8, 1 9 2 7",
        "10|3|0|DROP|4 5 0, 1 3 8, 7 9 6",
        "10|3|0|UNEVEN|4 5 0 2, 1 3 8, 7 9 6",
        "9|4|0|PAD|8 7 6, 0 1 8, 2 4 0, 3 5 2",
        "12|2|0|PAD|8 5 7 2 3 11, 0 9 4 10 1 6",
        "12|2|1|PAD|1 6 11 5 2 10, 4 8 0 3 9 7",
        "2|5|0|PAD|0, 1, 0, 1, 0",
        "2|5|0|DROP|, , , , ",
      })
  void ranksHaveThePublishedOrders(
      long datasetSize, int worldSize, long epoch, Tail tail, String expected) {
    String[] ranks = expected.split(", ?", -1);
    for (int rank = 0; rank < worldSize; rank++) {
      Sampler plan =
          PythonDistributedSampler.of(datasetSize, new Part(worldSize, rank)).withTail(tail);
      assertThat(indices(plan, epoch)).isEqualTo(parsed(ranks[rank]));
    }
  }

  @Test
  void ranksWithoutShuffleTakeTurns() {
    assertThat(indices(PythonDistributedSampler.inOrder(10, new Part(3, 2)), 9))
        .isEqualTo(parsed("2 5 8 1"));
    assertThat(indices(PythonDistributedSampler.inOrder(10, new Part(3, 2)).withTail(Tail.DROP), 0))
        .isEqualTo(parsed("2 5 8"));
  }

  @ParameterizedTest
  @CsvSource({"2, 51, 52", "3, 34, 35", "4, 26, 27"})
  void sizesMatchThePublishedOnes(int worldSize, long dropped, long padded) {
    var plan = PythonDistributedSampler.of(100 + worldSize + 1, new Part(worldSize, 0));
    assertThat(plan.withTail(Tail.DROP).size()).isEqualTo(dropped);
    assertThat(plan.size()).isEqualTo(padded);
  }

  @Test
  void onlyTheLow32BitsOfSeedPlusEpochMatter() {
    var plan = PythonDistributedSampler.of(100, Part.whole());
    long[] second = indices(plan, 1);
    assertThat(indices(plan.withSeed(1), 0)).isEqualTo(second);
    assertThat(indices(plan.withSeed(1L << 32), 1)).isEqualTo(second);
    assertThat(indices(plan.withSeed(Long.MAX_VALUE), Long.MAX_VALUE))
        .isEqualTo(indices(plan.withSeed(-2), 0));
  }

  @Test
  void theRemainderIsDividedOverOtherRanks() {
    long[] order = parsed("4 1 7 5 3 9 0 8 6 2");
    List<EpochSegment> delivered = List.of(new EpochSegment(3, 1), new EpochSegment(2, 2));
    assertThat(rest(2, 0, delivered)).containsExactly(order[7], order[9]);
    assertThat(rest(2, 1, delivered)).containsExactly(order[8], order[0]);
  }

  private static long[] rest(int worldSize, int rank, List<EpochSegment> delivered) {
    try (Cursor cursor =
        PythonDistributedSampler.of(10, new Part(worldSize, rank)).resume(0, delivered)) {
      return Cursors.rest(cursor);
    }
  }

  @Test
  void everyParameterExceptRankAndWorldSizeDeterminesTheOrder() {
    var plan = PythonDistributedSampler.of(10, new Part(3, 1));
    assertThat(plan.order()).isEqualTo(PythonDistributedSampler.of(10, new Part(4, 2)).order());
    assertDistinct(
        plan,
        plan.withSeed(1),
        plan.withTail(Tail.DROP),
        PythonDistributedSampler.inOrder(10, new Part(3, 1)),
        PythonDistributedSampler.of(11, new Part(3, 1)),
        PythonDistributedSampler.of(10, new Part(4, 1)),
        PythonDistributedSampler.of(10, new Part(3, 2)));
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    assertRefused(() -> PythonDistributedSampler.of(-1, new Part(3, 0)), "datasetSize", "-1");
    assertRefused(
        () -> PythonDistributedSampler.of(MAX_SIZE + 1L, new Part(3, 0)),
        "[0, 2147483639] with shuffle");
    assertRefused(
        () -> PythonDistributedSampler.inOrder((1L << 62) + 1, new Part(3, 0)), "without shuffle");
    assertRefused(() -> indices(PythonDistributedSampler.of(10, new Part(3, 0)), -1), "epoch");
  }

  @Test
  void theLargestDatasetInOrderHasItsLastSampleOnTheLastRank() {
    long size = 1L << 62;
    try (Cursor cursor =
        PythonDistributedSampler.inOrder(size, new Part(1 << 20, (1 << 20) - 1)).epoch(0)) {
      cursor.seek(cursor.remaining() - 1);
      assertThat(Cursors.rest(cursor)).containsExactly(size - 1);
    }
  }

  @Test
  void anOrderThatExceedsTheHeapIsRefused() {
    assertThatIllegalStateException()
        .isThrownBy(() -> PythonDistributedSampler.of(MAX_SIZE, new Part(3, 0)).epoch(0))
        .withMessageContaining("8589934556 bytes")
        .withMessageContaining("-Xmx");
  }
}
