// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.Arrays;

/** Numbers by arrival. */
final class NumberIds extends IdTable {
  private long[] ids = new long[1 << 7];

  int number(long id) {
    int place = firstPlace(Mixing.mix64(id));
    for (int number = at(place); number >= 0; number = at(place)) {
      if (ids[number] == id) {
        return number;
      }
      place = nextPlace(place);
    }
    if (size() == ids.length) {
      ids = Arrays.copyOf(ids, 2 * ids.length);
    }
    ids[size()] = id;
    return add(place);
  }

  @Override
  long hash(int number) {
    return Mixing.mix64(ids[number]);
  }

  @Override
  int read(WireReader in) {
    return number(in.getLong());
  }

  @Override
  void addAll(IdMap other) {
    for (int i = 0; i < other.size(); i++) {
      number(other.id(i));
    }
  }

  @Override
  IdMap sorted() {
    return IdMap.ofNumbers(Arrays.copyOf(ids, size()));
  }

  @Override
  int[] numbersIn(IdMap map) {
    int[] numbers = new int[size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = map.numberOf(ids[i]);
    }
    return numbers;
  }
}
