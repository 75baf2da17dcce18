// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.World;
import io.torchfeed.examples.mnist.faults.RankLog.Begun;
import io.torchfeed.examples.mnist.faults.RankLog.End;
import io.torchfeed.examples.mnist.faults.RankLog.Event;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RankLogTest {
  static Stream<Event> events() {
    return Stream.of(
        new RankLog.Ready(-1),
        new RankLog.Wrapped(2),
        new RankLog.Entered(3, 4, 5, 1, 2, World.Origin.CHECKPOINT, -7),
        new Begun(1, 2, 3, 4, -5, List.of(7L, 0L), 1),
        new Begun(1, 2, 3, 4, -5, List.of(), 2),
        new RankLog.Done(4, 5, 6, Long.MIN_VALUE),
        new RankLog.Ended(6, End.THREW, "asked to fail before the step"));
  }

  @ParameterizedTest
  @MethodSource("events")
  void aLineIsReadAsItWasWritten(Event event) {
    assertThat(RankLog.parse(RankLog.format(event))).isEqualTo(event);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "done", "done 1 2 3", "done 1 2 3 xyz", "other 1", "ended 1 SLEPT"})
  void anotherLineIsRefused(String line) {
    assertThatThrownBy(() -> RankLog.parse(line))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("not a line of a rank's log: " + line);
  }
}
