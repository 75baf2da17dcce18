// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static io.torchfeed.testing.Cursors.hash;
import static io.torchfeed.testing.Cursors.indices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of plans: their orders against published vectors, their parameters and digests. */
class SamplerTest {
  private static final Tail[] EVEN_TAILS = {Tail.PAD, Tail.DROP};
  private static final long MAX_SIZE = (1L << 60) - 1;

  private static long[] order(long... indices) {
    return indices;
  }

  @Nested
  class PublishedVectors {
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "10|0|0 2 1 5 9 8 4 7 6 3",
          "10|1|9 0 2 5 7 4 6 3 1 8",
          "10|2|5 0 3 1 8 4 6 2 7 9",
          "10|3|3 1 8 5 2 6 9 7 0 4",
          "2|0|0 1",
          "3|0|2 1 0",
          "4|0|0 2 1 3",
          "5|0|2 4 3 0 1",
          "7|0|2 4 6 0 5 1 3",
          "11|0|10 4 6 0 5 1 9 3 7 8 2",
        })
    void oneRankDeliversTheShuffledDataset(long datasetSize, long epoch, String expected) {
      assertThat(indices(DistributedRandomSampler.of(datasetSize, Part.whole()), epoch))
          .isEqualTo(parsed(expected));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "3|PAD|0|0 2 1 5, 9 1 4 7, 6 0 3 8",
          "3|PAD|1|9 0 2 5, 1 4 6 3, 1 8 0 7",
          "3|PAD|2|5 0 3 1, 8 1 6 2, 7 9 0 4",
          "3|DROP|0|2 4 6, 0 5 1, 8 3 7",
          "4|PAD|0|0 2 1, 5 9 1, 4 7 6, 0 3 8",
          "4|DROP|0|0 2, 1 5, 3 6, 4 7",
        })
    void ranksDeliverContiguousSlices(int worldSize, Tail tail, long epoch, String expected) {
      String[] ranks = expected.split(", ", -1);
      for (int rank = 0; rank < worldSize; rank++) {
        assertThat(
                indices(
                    DistributedRandomSampler.of(10, new Part(worldSize, rank)).withTail(tail),
                    epoch))
            .isEqualTo(parsed(ranks[rank]));
      }
    }

    @ParameterizedTest
    @CsvSource({
      "65535, 2957524896421921189",
      "65536, 8176306639881115230",
      "70000, 7630271839221228120"
    })
    void largeDatasetsHaveThePublishedHash(long datasetSize, long hash) {
      DistributedRandomSampler sampler = DistributedRandomSampler.of(datasetSize, Part.whole());
      assertThat(hash(indices(sampler, 0))).isEqualTo(hash);
      assertThat(hash(indices(sampler.inJava(), 0))).isEqualTo(hash);
    }

    @Test
    void sequentialRanksTakeContiguousSlicesAndWrap() {
      assertThat(indices(DistributedSequentialSampler.of(10, new Part(3, 0)), 0))
          .isEqualTo(order(0, 1, 2, 3));
      assertThat(indices(DistributedSequentialSampler.of(10, new Part(3, 2)), 5))
          .isEqualTo(order(8, 9, 0, 1));
      assertThat(
              indices(DistributedSequentialSampler.of(10, new Part(3, 2)).withTail(Tail.DROP), 0))
          .isEqualTo(order(6, 7, 8));
    }

    @Test
    void randomOrdersAreThePermutationOfSeedPlusEpoch() {
      assertThat(indices(RandomSampler.of(10, 0), 0)).isEqualTo(parsed("4 1 7 5 3 9 0 8 6 2"));
      assertThat(indices(RandomSampler.of(10, 40), 2)).isEqualTo(parsed("2 6 1 8 4 5 0 9 3 7"));
      assertThat(indices(RandomSampler.of(10, -1), 0)).isEqualTo(parsed("1 4 6 2 0 5 8 7 9 3"));
      assertThat(indices(RandomSampler.of(10, -1), 1)).isEqualTo(parsed("4 1 7 5 3 9 0 8 6 2"));
      assertThat(hash(indices(RandomSampler.of(1_000_000, 0), 0))).isEqualTo(-6523075623344306310L);
    }

    private static long[] parsed(String text) {
      return Arrays.stream(text.split(" ", -1)).mapToLong(Long::parseLong).toArray();
    }
  }

  @Nested
  class Ranks {
    @ParameterizedTest
    @EnumSource(value = Tail.class, names = "UNEVEN", mode = EnumSource.Mode.EXCLUDE)
    void ranksAreDisjointIfTheyDivideTheDatasetEvenly(Tail tail) {
      assertThat(visits(12, 4, tail, 7)).containsExactlyInAnyOrder(range(12));
    }

    @Test
    void paddedRanksCoverTheDatasetAndRepeatItsFirstSamples() {
      assertThat(visits(10, 4, Tail.PAD, 1))
          .containsExactlyInAnyOrder(0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    }

    @Test
    void droppingRanksOmitTheLastSamples() {
      assertThat(visits(10, 4, Tail.DROP, 1)).containsExactlyInAnyOrder(range(8));
    }

    @ParameterizedTest
    @CsvSource({"10, 4", "1, 3", "2, 5", "0, 2", "7, 100"})
    void ranksHaveEqualLengths(long datasetSize, int worldSize) {
      for (Tail tail : EVEN_TAILS) {
        assertThat(
                IntStream.range(0, worldSize)
                    .mapToObj(
                        rank ->
                            DistributedRandomSampler.of(datasetSize, new Part(worldSize, rank))
                                .withTail(tail))
                    .map(sampler -> indices(sampler, 0).length)
                    .distinct())
            .hasSize(1);
      }
    }

    @ParameterizedTest
    @CsvSource({"1, 3", "2, 5", "3, 100"})
    void moreRanksThanSamplesStayInsideTheDataset(long datasetSize, int worldSize) {
      long[] padded = visits(datasetSize, worldSize, Tail.PAD, 0);
      assertThat(padded).hasSize(worldSize).contains(range(datasetSize));
      assertThat(Arrays.stream(padded)).allMatch(index -> index >= 0 && index < datasetSize);
      assertThat(visits(datasetSize, worldSize, Tail.DROP, 0)).isEmpty();
    }

    @Test
    void moreSequentialRanksThanSamplesWrapAround() {
      assertThat(
              IntStream.range(0, 5)
                  .mapToLong(
                      rank -> indices(DistributedSequentialSampler.of(2, new Part(5, rank)), 0)[0]))
          .containsExactly(0L, 1L, 0L, 1L, 0L);
    }

    private static long[] visits(long datasetSize, int worldSize, Tail tail, long epoch) {
      return IntStream.range(0, worldSize)
          .mapToObj(
              rank ->
                  DistributedRandomSampler.of(datasetSize, new Part(worldSize, rank))
                      .withTail(tail))
          .flatMapToLong(sampler -> LongStream.of(indices(sampler, epoch)))
          .toArray();
    }

    private static long[] range(long end) {
      return LongStream.range(0, end).toArray();
    }
  }

  @Nested
  class Epochs {
    @Test
    void epochsCountModuloTwoToThe32() {
      DistributedRandomSampler sampler = DistributedRandomSampler.of(100, new Part(2, 1));
      assertThat(indices(sampler, (1L << 32) + 3)).isEqualTo(indices(sampler, 3));
      RandomSampler random = RandomSampler.of(100, 5);
      assertThat(indices(random, (1L << 32) + 3)).isEqualTo(indices(random, 3));
    }

    @Test
    void epochsDifferAndAreReproducible() {
      RandomSampler sampler = RandomSampler.of(1000, 5);
      assertThat(indices(sampler, 1)).isEqualTo(indices(sampler, 1));
      assertThat(indices(sampler, 1)).isNotEqualTo(indices(sampler, 2));
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE})
    void negativeEpochsAreRefused(long epoch) {
      for (Sampler sampler : oneOfEachKind()) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> sampler.epoch(epoch))
            .withMessage("epoch must be at least 0, got " + epoch);
      }
    }
  }

  @Nested
  class Parameters {
    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE})
    void negativeDatasetSizesAreRefused(long datasetSize) {
      String message = "datasetSize must be at least 0, got " + datasetSize;
      for (Runnable constructor :
          List.<Runnable>of(
              () -> DistributedRandomSampler.of(datasetSize, Part.whole()),
              () -> DistributedSequentialSampler.of(datasetSize, Part.whole()),
              () -> RandomSampler.of(datasetSize, 0),
              () -> SequentialSampler.of(datasetSize))) {
        assertThatIllegalArgumentException().isThrownBy(constructor::run).withMessage(message);
      }
    }

    @Test
    void datasetsTooLargeForLibtorchAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RandomSampler.of(MAX_SIZE + 1, 0))
          .withMessageContainingAll("[0, " + MAX_SIZE + "]", "got " + (MAX_SIZE + 1));
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  DistributedRandomSampler.of(Long.MAX_VALUE, new Part(2, 0)).withTail(Tail.DROP));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DistributedRandomSampler.of(MAX_SIZE, new Part(2, 0)))
          .withMessageContaining("[0, " + (MAX_SIZE - 1) + "]");
      assertThatCode(() -> DistributedRandomSampler.of(MAX_SIZE - 1, new Part(2, 0)))
          .doesNotThrowAnyException();
    }

    @Test
    void aNullTailIsRefused() {
      assertThatThrownBy(() -> DistributedRandomSampler.of(1, Part.whole()).withTail(nothing()))
          .isInstanceOf(NullPointerException.class)
          .hasMessage("tail");
    }

    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
    private static <T> T nothing() {
      return null;
    }
  }

  @Nested
  class Sizes {
    @Test
    void listsTooLargeForMemoryAreRefusedOnOpening() {
      for (Sampler sampler :
          List.of(
              RandomSampler.of(MAX_SIZE, 0),
              DistributedRandomSampler.of(1L << 50, new Part(3, 0)),
              DistributedRandomSampler.of(1L << 50, new Part(3, 0)).withTail(Tail.DROP))) {
        assertThatThrownBy(() -> sampler.epoch(0))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContainingAll(sampler.toString(), "bytes of memory are available", "use a");
      }
    }

    /** Memory may be available when checked and gone when libtorch allocates it. */
    @Test
    void listsThatLibtorchCannotAllocateAreRefusedOnOpening() {
      Sampler sampler = RandomSampler.of(1L << 59, 0);
      assertThatThrownBy(
              () ->
                  NativeCursor.openList(
                      sampler,
                      1, // as if one index were requested
                      position -> false,
                      () -> IndexCursor.random(1L << 59, 0, 0)))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll(sampler.toString(), "bytes of memory are available", "use a")
          .rootCause()
          .hasMessageContaining("DefaultCPUAllocator: can't allocate memory");
    }

    @Test
    void sequencesMayBeAsLongAsALong() {
      assertThat(tail(SequentialSampler.of(1L << 62)))
          .containsExactly((1L << 62) - 2, (1L << 62) - 1);
      assertThat(tail(DistributedSequentialSampler.of(Long.MAX_VALUE, new Part(2, 1))))
          .containsExactly(Long.MAX_VALUE - 1, 0);
      assertThat(
              tail(DistributedSequentialSampler.of(Long.MAX_VALUE, new Part(Integer.MAX_VALUE, 0))))
          .hasSize(2);
    }

    @Test
    void emptyDatasetsHaveEmptyEpochs() {
      for (Sampler sampler :
          List.of(
              DistributedRandomSampler.of(0, new Part(3, 2)),
              DistributedSequentialSampler.of(0, new Part(3, 2)).withTail(Tail.DROP),
              RandomSampler.of(0, 1),
              SequentialSampler.of(0))) {
        assertThat(sampler.size()).isZero();
        try (Cursor cursor = sampler.epoch(1)) {
          assertThat(cursor.next(new long[4], 0, 4)).isZero();
          cursor.seek(0);
          assertThat(cursor.remaining()).isZero();
        }
      }
    }

    private static long[] tail(Sampler sampler) {
      try (Cursor cursor = sampler.epoch(0)) {
        cursor.seek(sampler.size() - 2);
        return Cursors.next(cursor, 100);
      }
    }
  }

  @Nested
  class Digests {
    @Test
    void digestsAreStable() {
      assertThat(SequentialSampler.of(10).digest())
          .isEqualTo("3a838bd66ddfbba0f81f38293592b7b5d831e955838fbf12298462b062a7a989");
      assertThat(DistributedRandomSampler.of(10, new Part(3, 1)).digest())
          .isEqualTo(DistributedRandomSampler.of(10, new Part(3, 1)).digest());
    }

    @Test
    void digestsDifferByKindAndEachParameter() {
      Set<String> digests = new HashSet<>();
      Stream.of(
              DistributedRandomSampler.of(10, new Part(3, 1)),
              DistributedRandomSampler.of(11, new Part(3, 1)),
              DistributedRandomSampler.of(10, new Part(2, 1)),
              DistributedRandomSampler.of(10, new Part(3, 2)),
              DistributedRandomSampler.of(10, new Part(3, 1)).withTail(Tail.DROP),
              DistributedSequentialSampler.of(10, new Part(3, 1)),
              RandomSampler.of(10, 3),
              RandomSampler.of(10, 31),
              RandomSampler.of(103, 1),
              SequentialSampler.of(10),
              SequentialSampler.of(11))
          .forEach(sampler -> assertThat(digests.add(sampler.digest())).isTrue());
    }
  }

  @Test
  void ranksOfUnequalSizeAreRefusedByLibtorchPlans() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DistributedRandomSampler.of(10, new Part(3, 1)).withTail(Tail.UNEVEN))
        .withMessageStartingWith("tail must be PAD or DROP");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DistributedSequentialSampler.of(10, new Part(3, 1)).withTail(Tail.UNEVEN))
        .withMessageStartingWith("tail must be PAD or DROP");
  }

  private static List<Sampler> oneOfEachKind() {
    return List.of(
        DistributedRandomSampler.of(10, new Part(3, 1)),
        DistributedSequentialSampler.of(10, new Part(3, 1)),
        RandomSampler.of(10, 3),
        SequentialSampler.of(10));
  }
}
