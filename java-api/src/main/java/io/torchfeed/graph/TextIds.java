// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.util.Arrays;
import java.util.stream.IntStream;

/** A hash table that numbers ids that are texts, in the order of arrival. */
final class TextIds extends IdTable {
  private static final int MAX_BYTES = Integer.MAX_VALUE - 8;

  private static final int FREE = -1;

  /** The arrival numbers, with open addressing; at most half of the places are occupied. */
  private int[] places = new int[1 << 8];

  private byte[] texts = new byte[1 << 10];
  private int[] ends = new int[1 << 7];
  private int size;

  TextIds() {
    Arrays.fill(places, FREE);
  }

  @Override
  int size() {
    return size;
  }

  int number(byte[] bytes, int start, int end) {
    int place = firstPlace(bytes, start, end);
    for (int number = places[place]; number != FREE; number = places[place]) {
      if (Arrays.equals(texts, start(number), ends[number], bytes, start, end)) {
        return number;
      }
      place = nextPlace(place);
    }
    append(bytes, start, end);
    places[place] = size;
    size++;
    if (2 * size > places.length) {
      grow();
    }
    return size - 1;
  }

  private int firstPlace(byte[] bytes, int start, int end) {
    return (int) IdMap.Hash.FNV_MIX.of(bytes, start, end) & (places.length - 1);
  }

  private int nextPlace(int place) {
    return (place + 1) & (places.length - 1);
  }

  private void grow() {
    if (places.length == 1 << 30) {
      throw tooMany(size);
    }
    places = new int[2 * places.length];
    Arrays.fill(places, FREE);
    for (int number = 0; number < size; number++) {
      int place = firstPlace(texts, start(number), ends[number]);
      while (places[place] != FREE) {
        place = nextPlace(place);
      }
      places[place] = number;
    }
  }

  private int start(int number) {
    return number == 0 ? 0 : ends[number - 1];
  }

  private void append(byte[] bytes, int start, int end) {
    int used = start(size());
    long needed = (long) used + end - start;
    if (needed > texts.length) {
      if (needed > MAX_BYTES) {
        throw new IllegalStateException(
            "the ids of a rank must have at most %d bytes, got more; use more ranks"
                .formatted(MAX_BYTES));
      }
      texts = Arrays.copyOf(texts, (int) Math.min(MAX_BYTES, Math.max(needed, 2L * texts.length)));
    }
    if (size() == ends.length) {
      ends = Arrays.copyOf(ends, 2 * ends.length);
    }
    System.arraycopy(bytes, start, texts, used, end - start);
    ends[size()] = (int) needed;
  }

  @Override
  int read(WireReader in) {
    int length = in.getLength();
    int start = in.skip(length);
    return number(in.bytes(), start, start + length);
  }

  @Override
  IdMap sorted() {
    int[] order =
        IntStream.range(0, size())
            .boxed()
            .sorted(
                (a, b) ->
                    Arrays.compareUnsigned(texts, start(a), ends[a], texts, start(b), ends[b]))
            .mapToInt(Integer::intValue)
            .toArray();
    byte[] sorted = new byte[start(size())];
    int[] sortedEnds = new int[order.length];
    int used = 0;
    for (int i = 0; i < order.length; i++) {
      int length = ends[order[i]] - start(order[i]);
      System.arraycopy(texts, start(order[i]), sorted, used, length);
      used += length;
      sortedEnds[i] = used;
    }
    return IdMap.ofTexts(sorted, sortedEnds);
  }

  @Override
  int[] numbersIn(IdMap map) {
    int[] numbers = new int[size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = map.numberOf(texts, start(i), ends[i]);
    }
    return numbers;
  }
}
