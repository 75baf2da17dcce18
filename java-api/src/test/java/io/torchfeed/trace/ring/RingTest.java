// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RingTest {
  private static void add(Ring ring, long value) {
    ring.add(value, value, value, value, value, value, value);
  }

  @Test
  void theNewestEventsStayInTheirOrder() {
    Ring ring = new Ring(8);
    assertThat(ring.copy()).isEmpty();
    for (int i = 0; i < 20; i++) {
      add(ring, i);
    }
    long[] all = ring.copy();
    assertThat(ring.total()).isEqualTo(20);
    assertThat(all).hasSize(8 * Event.FIELDS);
    for (int i = 0; i < all.length; i++) {
      assertThat(all[i]).isEqualTo(12 + i / Event.FIELDS);
    }
  }

  @Test
  void eventsThatAreBeingOverwrittenAreLeftOut() throws Exception {
    Ring ring = new Ring(4);
    AtomicBoolean isOver = new AtomicBoolean();
    List<Thread> writers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      long first = i * 1_000_000_000L;
      Thread writer =
          new Thread(
              () -> {
                for (long value = first; !isOver.get(); value++) {
                  add(ring, value);
                }
              });
      writer.start();
      writers.add(writer);
    }
    try {
      for (int round = 0; round < 100_000; round++) {
        long[] all = ring.copy();
        for (int at = 0; at < all.length; at++) {
          if (all[at] != all[at - at % Event.FIELDS]) { // an assertion for each would be slow
            throw new AssertionError("event of %s".formatted(Arrays.toString(all)));
          }
        }
      }
    } finally {
      isOver.set(true);
      for (Thread writer : writers) {
        writer.join();
      }
    }
  }
}
