// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.internal.SplitMix;
import io.torchfeed.testing.Cursors;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the permutation; {@link SeekablePermutationStatisticsTest} tests its randomness. */
class SeekablePermutationTest {
  private static final long MAX_SIZE = 1L << 62;

  @Test
  void valuesMatchTheReferenceImplementation() throws IOException {
    List<String> lines = goldenLines();
    assertThat(lines.get(0)).startsWith("# program ").contains("seekable_permutation.py");
    assertThat(lines).hasSizeGreaterThan(300);
    for (String line : lines.subList(1, lines.size())) {
      String[] words = line.split("[ =]", -1);
      long n = Long.parseLong(words[1]);
      var permutation =
          SeekablePermutation.of(n, Long.parseLong(words[3]), Long.parseLong(words[5]));
      if (words[6].equals("hash")) {
        assertThat(Cursors.hash(all(permutation))).as(line).isEqualTo(Long.parseLong(words[7]));
        continue;
      }
      for (String pair : Arrays.copyOfRange(words, 7, words.length)) {
        String[] indexAndValue = pair.split(":", 2);
        long index = Long.parseLong(indexAndValue[0]);
        long value = Long.parseLong(indexAndValue[1]);
        assertThat(permutation.at(index)).as(line).isEqualTo(value);
        assertThat(permutation.indexOf(value)).as(line).isEqualTo(index);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "2, 0, '0 1'",
    "2, 1, '1 0'",
    "3, 0, '1 0 2'",
    "3, 1, '1 2 0'",
    "5, 0, '1 4 2 0 3'",
    "5, 1, '4 2 3 1 0'",
    "10, 0, '0 3 9 2 7 4 8 5 1 6'",
    "10, 1, '6 5 1 3 2 9 7 8 4 0'",
    "4096, 0, '59 2578 3668 1408 2768'",
    "4096, 1, '1965 3377 1568 3496 301'",
    "4611686018427387904, 0, '2488904415277070004 4537672090162413119 2911559256279293203'",
    "4611686018427387904, 1, '3640754515563164705 1351899343610776196 3202441119574709305'",
    "4611686018427387903, 0, '2488904415277070004 4537672090162413119 1274778396278022173'",
  })
  void firstAndLastValuesMatchTheSpecification(long n, long epoch, String values) {
    checkEnds(SeekablePermutation.of(n, 42, epoch)::at, n, values);
  }

  @ParameterizedTest
  @CsvSource({
    "4097, 0, '3155 1317 2921 1968 1863'",
    "4097, 1, '2524 546 991 1952 2533'",
    "65536, 0, '5885 50270 28820 45318 11451'",
    "65536, 1, '54971 43163 50006 38332 50921'",
    "1000000, 0, '305104 770255 553877 487568 153980'",
    "1000000, 1, '440993 369179 991124 408481 852990'",
    "1000000000, 0, '674094837 65978096 263655644 676855441'",
    "1000000000, 1, '595159537 377068650 725620089 214639731'",
  })
  void theWideNetworkMatchesTheSpecificationForSmallSizesToo(long n, long epoch, String values) {
    checkEnds(new WideNetwork(n, SeekablePermutation.keys(42, epoch))::at, n, values);
  }

  @Test
  void everySizeUpTo4200IsABijection() {
    for (int n = 1; n <= 4200; n++) {
      checkBijection(SeekablePermutation.of(n, n, 3));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {65_535, 65_536, 65_537, 1_000_003, 1 << 20, (1 << 20) + 1})
  void largeSizesAreBijections(int n) {
    checkBijection(SeekablePermutation.of(n, 42, 0));
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        (1L << 40) + 3,
        (1L << 47) - 1,
        1L << 47,
        (1L << 47) + 1,
        (1L << 61) + 1,
        MAX_SIZE - 1,
        MAX_SIZE
      })
  void theInverseOfAHugePermutationIsCorrect(long n) {
    var permutation = SeekablePermutation.of(n, 42, 0);
    SplitMix numbers = new SplitMix(n);
    for (int i = 0; i < 10_000; i++) {
      long index = numbers.nextBelow(n);
      assertThat(permutation.indexOf(permutation.at(index))).isEqualTo(index);
      assertThat(permutation.at(permutation.indexOf(index))).isEqualTo(index);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 9, 4096, 4097, 100_000, 1L << 33, 1L << 47, MAX_SIZE})
  void bulkReadsEqualSingleReads(long n) {
    var permutation = SeekablePermutation.of(n, 5, 1);
    for (long stride : new long[] {1, 2, 17, n / 1500 + 1, n}) {
      for (int count : new int[] {0, 1, 7, 8, 9, 511, 512, 513, 1300}) {
        int fitting = (int) Math.min(count, (n - 1) / stride + 1);
        long start = fitting == 0 ? 0 : n - 1 - (fitting - 1) * stride;
        long[] into = new long[fitting + 3];
        permutation.at(start, stride, into, 2, fitting);
        for (int i = 0; i < fitting; i++) {
          assertThat(into[2 + i]).isEqualTo(permutation.at(start + i * stride));
        }
        assertThat(into[0] + into[1] + into[fitting + 2]).isZero();
      }
    }
  }

  @Test
  void concurrentReadsAreIndependent() throws Exception {
    var permutation = SeekablePermutation.of(50_000, 1, 1);
    long[] expected = all(permutation);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Callable<Boolean> reading =
          () -> {
            for (int pass = 0; pass < 100; pass++) {
              if (!Arrays.equals(all(permutation), expected)) {
                return false;
              }
            }
            return true;
          };
      for (Future<Boolean> equal : threads.invokeAll(List.of(reading, reading, reading, reading))) {
        assertThat(equal.get()).isTrue();
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void aBillionNumbersAreOpenedWithinAMillisecond() {
    long[] into = new long[32];
    long fastest = Long.MAX_VALUE;
    for (int attempt = 0; attempt < 20; attempt++) {
      long before = System.nanoTime();
      SeekablePermutation.of(1_000_000_000, 42, attempt).at(999_999_000, 1, into, 0, 32);
      fastest = Math.min(fastest, System.nanoTime() - before);
    }
    assertThat(fastest).isLessThan(1_000_000);
  }

  @ParameterizedTest
  @ValueSource(longs = {Long.MIN_VALUE, -1, 0, MAX_SIZE + 1, Long.MAX_VALUE})
  void sizesOutOfRangeAreRefused(long n) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SeekablePermutation.of(n, 0, 0))
        .withMessage("n must be in [1, 4611686018427387904], got " + n);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 4096, 4097, 1L << 47, MAX_SIZE})
  void indicesOutsideThePermutationAreRefused(long n) {
    var permutation = SeekablePermutation.of(n, 0, 0);
    assertThat(permutation.size()).isEqualTo(n);
    assertThat(permutation.indexOf(permutation.at(n - 1))).isEqualTo(n - 1);
    for (long outside : new long[] {Long.MIN_VALUE, -1, n, Long.MAX_VALUE}) {
      assertThatThrownBy(() -> permutation.at(outside))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> permutation.indexOf(outside))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 1, 0, 1",
    "100, 1, 0, 1",
    "99, 1, 0, 2",
    "0, 100, 0, 2",
    "1, 33, 0, 4",
    "1, 9223372036854775807, 0, 2",
    "9223372036854775807, 1, 0, 2",
    "0, 1, -1, 1",
    "0, 1, 0, -1",
    "0, 1, 4, 5",
    "0, 1, 8, 1",
  })
  void bulkReadsThatLeaveThePermutationOrTheArrayAreRefused(
      long start, long stride, int from, int count) {
    long[] into = new long[8];
    var permutation = SeekablePermutation.of(100, 0, 0);
    assertThatThrownBy(() -> permutation.at(start, stride, into, from, count))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(into).containsOnly(0);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void stridesBelowOneAreRefused(long stride) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SeekablePermutation.of(100, 0, 0).at(50, stride, new long[1], 0, 1))
        .withMessage("stride must be at least 1, got " + stride);
  }

  private static void checkEnds(Values permutation, long n, String values) {
    long[] expected = Arrays.stream(values.split(" ", -1)).mapToLong(Long::parseLong).toArray();
    for (int i = 0; i < expected.length - 1; i++) {
      assertThat(permutation.at(i)).isEqualTo(expected[i]);
    }
    assertThat(permutation.at(n - 1)).isEqualTo(expected[expected.length - 1]);
  }

  private static void checkBijection(SeekablePermutation permutation) {
    long[] values = all(permutation);
    BitSet seen = new BitSet(values.length);
    for (int i = 0; i < values.length; i++) {
      seen.set((int) values[i]);
      if (permutation.indexOf(values[i]) != i || permutation.at(i) != values[i]) {
        throw new AssertionError("at " + i + " of " + values.length);
      }
    }
    assertThat(seen.cardinality()).isEqualTo(values.length);
  }

  private static long[] all(SeekablePermutation permutation) {
    long[] values = new long[(int) permutation.size()];
    permutation.at(0, 1, values, 0, values.length);
    return values;
  }

  private static List<String> goldenLines() throws IOException {
    try (InputStream in =
        Objects.requireNonNull(
            SeekablePermutationTest.class.getResourceAsStream(
                "/golden/seekable_permutation.txt"))) {
      return new String(in.readAllBytes(), UTF_8).lines().toList();
    }
  }

  private interface Values {
    long at(long index);
  }
}
