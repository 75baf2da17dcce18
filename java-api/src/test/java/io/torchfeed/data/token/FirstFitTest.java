// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FirstFitTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 100})
  void eachPieceGoesIntoTheFirstWindowWithRoom(int length) {
    Random random = new Random(length);
    FirstFit fit = new FirstFit(length);
    List<Integer> rooms = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      int tokens = 1 + random.nextInt(length);
      int expected = 0;
      while (expected < rooms.size() && rooms.get(expected) < tokens) {
        expected++;
      }
      if (expected == rooms.size()) {
        rooms.add(length);
      }
      rooms.set(expected, rooms.get(expected) - tokens);
      assertThat(fit.place(tokens)).isEqualTo(expected);
      assertThat(fit.windows()).isEqualTo(rooms.size());
    }
  }
}
