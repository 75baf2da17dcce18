// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The example of the definition, options and bad input; the guarantees are properties. */
class ClassCyclingSamplerTest {
  private static final int[] LABELS = {0, 0, 0, 0, 1, 1, 2};

  private static ClassCyclingSampler.Builder example() {
    return ClassCyclingSampler.ofLabels(3, LABELS).seed(42);
  }

  @Test
  void theExampleOfTheDefinition() {
    ClassCyclingSampler sampler = example().samples(12).build();
    assertThat(Cursors.indices(sampler, 0)).containsExactly(2, 6, 4, 1, 6, 5, 0, 6, 5, 3, 6, 4);
    assertThat(Cursors.indices(sampler, 1)).containsExactly(5, 1, 6, 4, 3, 6, 5, 0, 6, 4, 2, 6);
  }

  @Test
  void theEpochIsTheDatasetOrCoversTheLongestClassOrIsGiven() {
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
    ClassCyclingSampler sampler = ClassCyclingSampler.ofClassSets(2, sets).samples(8).build();
    long[] indices = Cursors.indices(sampler, 0);
    assertThat(indices).containsOnly(0, 1, 3);
    assertThat(Arrays.stream(indices).filter(index -> index == 0)).hasSize(4);
  }

  @Test
  void emptyClassesAreReportedAndIgnoredOnesLeftOut() {
    ClassCyclingSampler sampler =
        ClassCyclingSampler.ofLabels(6, 5, 1, 255, 1, 3, -100).ignore(255, -100).ignore(3).build();
    assertThat(sampler.classes()).containsExactly(1, 5);
    assertThat(sampler.emptyClasses()).containsExactly(0, 2, 4);
    assertThat(sampler.size()).isEqualTo(6);
    assertThat(Cursors.indices(sampler, 0)).containsOnly(0, 1, 3);
  }

  @Test
  void anyPositionIsReachedAtOnce() {
    ClassCyclingSampler sampler = example().samples(1L << 62).build();
    try (Cursor cursor = sampler.epoch(2)) {
      cursor.seek((1L << 62) - 3);
      // Three positions in a row serve the three classes, whose samples do not overlap.
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
  void everyParameterTellsPlansApart() {
    assertThat(
            Stream.of(
                    example().build(),
                    example().samples(8).build(),
                    ClassCyclingSampler.ofLabels(3, LABELS).seed(43).build(),
                    ClassCyclingSampler.ofLabels(3, 0, 0, 0, 1, 1, 1, 2).seed(42).build(),
                    ClassCyclingSampler.ofLabels(4, 0, 0, 0, 0, 1, 1, 3).seed(42).build(),
                    example().reshuffleEachCycle(true).build(),
                    example().distinctInBatch(3).build(),
                    example().distinctInBatch(4).build())
                .map(Sampler::digest)
                .distinct())
        .hasSize(8);
    assertThat(ClassCyclingSampler.ofLabels(9, LABELS).seed(42).build().digest())
        .isEqualTo(example().build().digest());
  }

  @Nested
  class Distinct {
    @Test
    void aSampleThatIsInTheBatchIsReplacedByTheNextOfItsList() {
      int[][] sets = {{0, 1}, {0, 1}, {0, 1}, {0, 1}};
      ClassCyclingSampler.Builder builder =
          ClassCyclingSampler.ofClassSets(2, sets).seed(3).samples(40).distinctInBatch(4);
      long[] indices = Cursors.indices(builder.build(), 1);
      for (int batch = 0; batch < 10; batch++) {
        assertThat(Arrays.copyOfRange(indices, 4 * batch, 4 * batch + 4))
            .containsExactlyInAnyOrder(0, 1, 2, 3);
      }
    }

    @Test
    void aListThatIsInTheBatchAsAWholeRepeats() {
      ClassCyclingSampler sampler = example().samples(12).distinctInBatch(6).build();
      long[] indices = Cursors.indices(sampler, 0);
      assertThat(Arrays.stream(indices).filter(index -> index == 6)).hasSize(4);
      // Lists that do not overlap and are long enough are drawn as without the option.
      assertThat(indices).containsExactly(2, 6, 4, 1, 6, 5, 0, 6, 5, 3, 6, 4);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void batchesOfNothingAreRefused(int globalBatch) {
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
    void classesOutsideOfTheirRangeAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassCyclingSampler.ofLabels(3, 0, 1, 3).build())
          .withMessage("a class must be in [0, 2] or be ignored, got 3 for sample 2");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassCyclingSampler.ofLabels(3, -1).build())
          .withMessage("a class must be in [0, 2] or be ignored, got -1 for sample 0");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -3})
    void noClassesAreRefused(int classes) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassCyclingSampler.ofLabels(classes, 0).build())
          .withMessage("classes must be at least 1, got " + classes);
    }

    @Test
    void moreClassesThanTheHeapHoldsAreNamed() {
      ClassCyclingSampler.Builder builder = ClassCyclingSampler.ofLabels(Integer.MAX_VALUE, 0);
      assertThatIllegalStateException()
          .isThrownBy(builder::build)
          .withMessageContaining("lists of 2147483647 classes does not fit the Java heap");
    }

    @Test
    void datasetsWithoutAnySampleOfAClassAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassCyclingSampler.ofLabels(2).build())
          .withMessageContaining("at least one class must have a sample, got 0 samples");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ClassCyclingSampler.ofLabels(2, 1, 1).ignore(1).build())
          .withMessageContaining("1 empty and 1 ignored");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, (1L << 62) + 1})
    void lengthsOutsideOfTheirRangeAreRefused(long samples) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> example().samples(samples))
          .withMessageEndingWith("got " + samples);
    }

    @Test
    void epochsBelowZeroAreRefused() {
      PlanChecks.epochsBelowZeroAreRefused(example().build());
    }
  }
}
