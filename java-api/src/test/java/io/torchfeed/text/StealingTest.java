// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StealingTest {
  private final TextPartition plan;
  private final List<String> all;

  StealingTest(@TempDir Path folder) {
    Path file =
        Lines.file(
            folder,
            "numbers",
            String.join("", IntStream.range(0, 9_000).mapToObj("%d\n"::formatted).toList()));
    plan = TextPartition.plan(Lines.names(file), 3, 32).roundRobin();
    all = IntStream.range(0, 9_000).mapToObj(Integer::toString).toList();
  }

  private static List<TextState> read(TextPartition plan, List<String> seen, int... lines) {
    List<TextState> states = new ArrayList<>();
    for (int rank = 0; rank < lines.length; rank++) {
      try (LineCursor cursor = plan.open(rank)) {
        for (int i = 0; i < lines[rank] && cursor.next(); i++) {
          seen.add(Lines.text(cursor));
        }
        states.add(cursor.state());
      }
    }
    return states;
  }

  @Test
  void blocksAreAssignedRoundRobin() {
    assertThat(plan.ranges(1)).hasSize(32).first().isEqualTo(plan.blocks().get(1));
    assertThat(plan.ranges(1).get(31)).isEqualTo(plan.blocks().get(94));
    assertThat(Lines.ofAll(plan)).containsExactlyInAnyOrderElementsOf(all);
  }

  @Test
  void fastRanksTakeWholeBlocksOfSlowOnes() {
    List<String> seen = new ArrayList<>();
    List<TextState> states = read(plan, seen, 2_900, 10, 1_500);
    TextPartition stolen = plan.steal(states);
    long block = plan.blocks().get(0).length();
    assertThat(stolen.shares())
        .extracting(TextPartition.RankShare::bytes)
        .allSatisfy(
            bytes ->
                assertThat(bytes)
                    .isBetween(
                        stolen.shares().get(0).bytes() - 2 * block,
                        stolen.shares().get(0).bytes() + 2 * block));
    assertThat(stolen.ranges(1).get(0)).isEqualTo(states.get(1).rest().get(0));
    assertThat(plan.ranges(1)).containsAll(stolen.ranges(0).subList(2, stolen.ranges(0).size()));
    assertThat(plan.steal(states).digest()).isEqualTo(stolen.digest());
    seen.addAll(Lines.ofAll(stolen));
    assertThat(seen).containsExactlyInAnyOrderElementsOf(all);
  }

  @Test
  void statesIncludeStolenBlocks() {
    List<String> seen = new ArrayList<>();
    TextPartition stolen = plan.steal(read(plan, seen, 3_000, 0, 0));
    List<TextState> states = read(stolen, seen, 300, 300, 300);
    assertThat(states.get(0).rest()).isNotEmpty();
    assertThat(plan.ranges(0)).doesNotContainAnyElementsOf(states.get(0).rest().subList(1, 3));
    seen.addAll(Lines.ofAll(stolen.resume(states, 5)));
    assertThat(seen).containsExactlyInAnyOrderElementsOf(all);
  }

  @Test
  void equalRemaindersAreNotRedistributed() {
    TextPartition same = plan.steal(read(plan, new ArrayList<>(), 0, 0, 0));
    assertThat(same.digest()).isEqualTo(plan.digest());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.steal(List.of()))
        .withMessage("states must hold one for each of 3 ranks, got 0");
  }
}
