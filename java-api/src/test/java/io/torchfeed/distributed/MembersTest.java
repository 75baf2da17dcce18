// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests of the messages that refuse the ranks of a sub-group. */
class MembersTest {
  @Test
  void aWrongRankIsNamedWithItsPosition() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Members.of(new int[] {0, 9}, 0, 2))
        .withMessage("ranks must be in [0, 2), got 9 at position 1");
  }

  @Test
  void aLongListIsCounted() {
    int[] ranks = IntStream.concat(IntStream.of(0), IntStream.range(0, 5000)).toArray();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Members.of(ranks, 0, 5000))
        .withMessage(
            "ranks must be different, with 0 among them, "
                + "got [0, 0, 1, 2, 3, 4, 5, 6, 7, 8 and 4991 more]");
  }
}
