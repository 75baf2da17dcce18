// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the definition's example, options and bad input; the guarantees are properties. */
class ClassBalancedSamplerTest {
  private static final int[] LABELS = {0, 0, 0, 0, 1, 1, 2};

  private static ClassBalancedSampler.Builder example() {
    return ClassBalancedSampler.ofLabels(3, LABELS).seed(42);
  }

  @Test
  void theExampleOfTheDefinitionIsReproduced() {
    ClassBalancedSampler sampler = example().samples(12).build();
    assertThat(Cursors.indices(sampler, 0)).containsExactly(2, 6, 4, 1, 6, 5, 0, 6, 5, 3, 6, 4);
    assertThat(Cursors.indices(sampler, 1)).containsExactly(5, 1, 6, 4, 3, 6, 5, 0, 6, 4, 2, 6);
  }

  @Test
  void theEpochLengthIsTheDatasetTheLongestClassOrExplicit() {
    assertThat(example().build().size()).isEqualTo(7);
    assertThat(example().coverLongestClass(true).build().size()).isEqualTo(12);
    assertThat(example().coverLongestClass(false).samples(5).build().size()).isEqualTo(5);
    assertThat(example().samples(1L << 62).build().size()).isEqualTo(1L << 62);
    assertThat(Cursors.indices(example().samples(0).build(), 0)).isEmpty();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> example().coverLongestClass(true).samples(5).build())
        .withMessageContaining("samples(5)");
  }

  @Test
  void aSampleOfSeveralClassesIsInSeveralLists() {
    int[][] sets = {{0, 1, 1}, {1}, {}, {0, 0}};
    ClassBalancedSampler sampler = ClassBalancedSampler.ofClassSets(2, sets).samples(8).build();
    long[] indices = Cursors.indices(sampler, 0);
    assertThat(indices).containsOnly(0, 1, 3);
    assertThat(Arrays.stream(indices).filter(index -> index == 0)).hasSize(4);
  }

  @Test
  void emptyClassesAreReportedAndIgnoredClassesAreSkipped() {
    ClassBalancedSampler sampler =
        ClassBalancedSampler.ofLabels(6, 5, 1, 255, 1, 3, -100).ignore(255, -100).ignore(3).build();
    assertThat(sampler.classes()).containsExactly(1, 5);
    assertThat(sampler.emptyClasses()).containsExactly(0, 2, 4);
    assertThat(sampler.size()).isEqualTo(6);
    assertThat(Cursors.indices(sampler, 0)).containsOnly(0, 1, 3);
  }

  @Test
  void samplesThatNoClassDrawsAreReported() {
    ClassBalancedSampler ofLabels =
        ClassBalancedSampler.ofLabels(6, 5, 1, 255, 1, 3, -100).ignore(255, -100, 3).build();
    assertThat(ofLabels.samplesWithoutClass()).containsExactly(2, 4, 5);
    int[][] sets = {{}, {0, 1}, {7}, {7, 1}, {}};
    ClassBalancedSampler ofSets = ClassBalancedSampler.ofClassSets(2, sets).ignore(7).build();
    assertThat(ofSets.samplesWithoutClass()).containsExactly(0, 2, 4);
    assertThat(example().build().samplesWithoutClass()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void epochsThatDifferInTheUpperHalfHaveDifferentOrders(boolean reshuffled) {
    int[] labels = IntStream.range(0, 100).map(i -> i % 5).toArray();
    ClassBalancedSampler sampler =
        ClassBalancedSampler.ofLabels(5, labels).seed(42).reshuffleEachCycle(reshuffled).build();
    long upper = 1L << 32;
    assertThat(
            LongStream.of(0, 1, upper, upper + 1, 2 * upper, Long.MAX_VALUE)
                .mapToObj(epoch -> samplesOfClass(sampler, 3, epoch))
                .distinct())
        .hasSize(6);
    assertThat(
            LongStream.of(0, upper, 3 * upper)
                .mapToObj(epoch -> classes(sampler, epoch))
                .distinct())
        .hasSize(3);
  }

  private static List<Long> samplesOfClass(Sampler sampler, int label, long epoch) {
    return LongStream.of(Cursors.indices(sampler, epoch))
        .filter(i -> i % 5 == label)
        .boxed()
        .toList();
  }

  private static List<Long> classes(Sampler sampler, long epoch) {
    return LongStream.of(Cursors.indices(sampler, epoch)).map(i -> i % 5).boxed().toList();
  }

  /** The definition numbers the draws of a class from the start of the epoch. */
  @Test
  void passesOverAClassRestartInEachEpoch() {
    int[] labels = IntStream.range(0, 40).map(i -> i < 36 ? 0 : 1).toArray();
    ClassBalancedSampler halfLaps = ClassBalancedSampler.ofLabels(2, labels).build();
    ClassBalancedSampler wholeLaps =
        ClassBalancedSampler.ofLabels(2, labels).coverLongestClass(true).build();
    assertThat(LongStream.of(Cursors.indices(halfLaps, 0)).distinct().count()).isEqualTo(24);
    assertThat(LongStream.of(Cursors.indices(wholeLaps, 0)).distinct().count()).isEqualTo(40);
    assertThat(
            LongStream.concat(
                    LongStream.of(Cursors.indices(halfLaps, 0)),
                    LongStream.of(Cursors.indices(halfLaps, 1)))
                .distinct()
                .count())
        .isLessThan(40);
  }

  @Test
  void anyPositionIsReachedDirectly() {
    ClassBalancedSampler sampler = example().samples(1L << 62).build();
    try (Cursor cursor = sampler.epoch(2)) {
      cursor.seek((1L << 62) - 3);
      // Three consecutive positions serve the three classes, whose samples do not overlap.
      assertThat(Arrays.stream(Cursors.next(cursor, 9)).map(i -> LABELS[(int) i]))
          .containsExactlyInAnyOrder(0L, 1L, 2L);
    }
  }

  @Test
  void eachOptionIsSetOnce() {
    assertThatIllegalStateException()
        .isThrownBy(() -> example().seed(1))
        .withMessage("seed was already set to 42");
    assertThatIllegalStateException().isThrownBy(() -> example().samples(1).samples(1));
    assertThatIllegalStateException()
        .isThrownBy(() -> example().reshuffleEachCycle(true).reshuffleEachCycle(true));
  }

  @Test
  void everyParameterDistinguishesPlans() {
    assertThat(
            Stream.of(
                    example().build(),
                    example().samples(8).build(),
                    ClassBalancedSampler.ofLabels(3, LABELS).seed(43).build(),
                    ClassBalancedSampler.ofLabels(3, 0, 0, 0, 1, 1, 1, 2).seed(42).build(),
                    ClassBalancedSampler.ofLabels(4, 0, 0, 0, 0, 1, 1, 3).seed(42).build(),
                    example().reshuffleEachCycle(true).build(),
                    example().distinctInBatch(3).build(),
                    example().distinctInBatch(4).build())
                .map(Sampler::digest)
                .distinct())
        .hasSize(8);
    assertThat(ClassBalancedSampler.ofLabels(9, LABELS).seed(42).build().digest())
        .isEqualTo(example().build().digest());
  }

  @Nested
  class Distinct {
    @Test
    void aSampleAlreadyInTheBatchIsReplacedByTheNextInItsList() {
      int[][] sets = {{0, 1}, {0, 1}, {0, 1}, {0, 1}};
      ClassBalancedSampler.Builder builder =
          ClassBalancedSampler.ofClassSets(2, sets).seed(3).samples(40).distinctInBatch(4);
      long[] indices = Cursors.indices(builder.build(), 1);
      for (int batch = 0; batch < 10; batch++) {
        assertThat(Arrays.copyOfRange(indices, 4 * batch, 4 * batch + 4))
            .containsExactlyInAnyOrder(0, 1, 2, 3);
      }
    }

    @Test
    void aListEntirelyInTheBatchRepeats() {
      ClassBalancedSampler sampler = example().samples(12).distinctInBatch(6).build();
      long[] indices = Cursors.indices(sampler, 0);
      assertThat(Arrays.stream(indices).filter(index -> index == 6)).hasSize(4);
      // Disjoint lists that are long enough are drawn as without the option.
      assertThat(indices).containsExactly(2, 6, 4, 1, 6, 5, 0, 6, 5, 3, 6, 4);
    }

    /** Drawing a class that the batch uses up, one sample at a time, would take hours. */
    @Test
    void aClassThatTheBatchUsesUpCostsNoMoreThanOthers() {
      int size = 1_000_000;
      int[] labels = IntStream.range(0, size).map(i -> i % 4 == 0 ? 1 : 0).toArray();
      ClassBalancedSampler sampler =
          ClassBalancedSampler.ofLabels(2, labels).distinctInBatch(size).build();
      long[] indices =
          assertTimeoutPreemptively(Duration.ofMinutes(1), () -> Cursors.indices(sampler, 0));
      assertThat(LongStream.of(indices).filter(i -> i % 4 == 0).count()).isEqualTo(size / 2);
      assertThat(LongStream.of(indices).distinct().count()).isEqualTo(size / 2 + size / 4);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void batchSizesBelowOneAreRefused(int globalBatch) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> example().distinctInBatch(globalBatch))
          .withMessage("globalBatch must be at least 1, got " + globalBatch);
    }

    @Test
    void epochsThatCannotBeListedAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> example().distinctInBatch(4).samples(1L << 31).build())
          .withMessageContaining("at most 2147483639");
    }
  }

  @Nested
  class BadInput {
    @Test
    void classesOutOfRangeAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(3, 0, 1, 3).build())
          .withMessage("a class must be in [0, 2] or be ignored, got 3 for sample 2");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(3, -1).build())
          .withMessage("a class must be in [0, 2] or be ignored, got -1 for sample 0");
    }

    @Test
    @SuppressWarnings("NullAway")
    void nullsAreRefused() {
      int[][] sets = {{0}, null, {1}};
      assertThatNullPointerException()
          .isThrownBy(() -> ClassBalancedSampler.ofClassSets(2, sets).build())
          .withMessage("classesOfSample[1]: a sample without a class has an empty array");
      assertThatNullPointerException()
          .isThrownBy(() -> ClassBalancedSampler.ofClassSets(2, null))
          .withMessage("classesOfSample");
      assertThatNullPointerException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(2, (int[]) null))
          .withMessage("labels");
      assertThatNullPointerException()
          .isThrownBy(() -> example().ignore((int[]) null))
          .withMessage("numbers");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -3})
    void classCountsBelowOneAreRefused(int classes) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(classes, 0).build())
          .withMessage("classes must be at least 1, got " + classes);
    }

    @Test
    void moreClassesThanTheHeapHoldsAreRefused() {
      ClassBalancedSampler.Builder builder = ClassBalancedSampler.ofLabels(Integer.MAX_VALUE, 0);
      assertThatIllegalStateException()
          .isThrownBy(builder::build)
          .withMessageContaining("lists of 2147483647 classes does not fit the Java heap");
    }

    @Test
    void datasetsWithoutASampleOfAnyClassAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(2).build())
          .withMessageContaining("at least one class must have a sample, got 0 samples");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassBalancedSampler.ofLabels(2, 1, 1).ignore(1).build())
          .withMessageContaining("1 empty and 1 ignored");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, (1L << 62) + 1})
    void lengthsOutOfRangeAreRefused(long samples) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> example().samples(samples))
          .withMessageEndingWith("got " + samples);
    }

    @Test
    void negativeEpochsAreRefused() {
      DivisionChecks.negativeEpochsAreRefused(example().build());
    }
  }
}
