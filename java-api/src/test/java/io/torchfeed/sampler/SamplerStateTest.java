// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the saved state of a sampler. */
class SamplerStateTest {
  private static final String JSON =
      "{\"version\":1,\"kind\":\"libtorch.DistributedRandomSampler\","
          + "\"parameters\":{\"datasetSize\":\"10\",\"tail\":\"PAD\"},\"epoch\":4,"
          + "\"segments\":[{\"worldSize\":3,\"deliveredByEachRank\":2},"
          + "{\"worldSize\":2,\"deliveredByEachRank\":1}],\"finished\":false,"
          + "\"orderDigest\":\"00000000000000ff\"}";

  private static final SamplerState STATE =
      new SamplerState(
          DistributedRandomSampler.of(10, new Part(3, 0)).order(),
          4,
          List.of(new EpochSegment(3, 2), new EpochSegment(2, 1)),
          false,
          255);

  static Stream<Sampler> samplersOfManySamples() {
    long n = 1L << 60;
    return Stream.of(
        DistributedRandomSampler.of(n - (1 << 20), new Part(1 << 20, 7)),
        DistributedSequentialSampler.of(n, new Part(Integer.MAX_VALUE, 7)).withTail(Tail.DROP),
        RandomSampler.of(n - 1, Long.MIN_VALUE),
        SequentialSampler.of(n),
        StridedSampler.of(RandomSampler.of(n - 1, Long.MIN_VALUE), new Part(1 << 20, 7))
            .withTail(Tail.UNEVEN));
  }

  @Nested
  class Forms {
    @Test
    void jsonContainsEverything() {
      assertThat(STATE.toJson()).isEqualTo(JSON);
      assertThat(SamplerState.fromJson(JSON)).isEqualTo(STATE);
    }

    @Test
    void loadingAndSavingYieldsTheSameState() {
      for (SamplerState state : List.of(STATE, STATE.asFinished())) {
        assertThat(SamplerState.fromJson(state.toJson()).toJson()).isEqualTo(state.toJson());
      }
    }

    @Test
    void anyTextAndNumberSurvives() {
      PlanParameters odd =
          PlanParameters.of("k\"\\\n\u00e4\u0000\ud83d\ude00").with("", "").with("=\u2028", "'{}");
      SamplerState state =
          new SamplerState(
              odd,
              Long.MAX_VALUE,
              List.of(new EpochSegment(Integer.MAX_VALUE, Long.MAX_VALUE)),
              false,
              Long.MIN_VALUE);
      assertThat(SamplerState.fromJson(state.toJson())).isEqualTo(state);
    }

    @ParameterizedTest
    @MethodSource("io.torchfeed.sampler.SamplerStateTest#samplersOfManySamples")
    void aStateFitsOneKilobyteForAnyDatasetSize(Sampler sampler) {
      SamplerState state = SamplerState.of(sampler, Long.MAX_VALUE, sampler.size());
      assertThat(state.toJson().getBytes(UTF_8)).hasSizeLessThan(1024);
    }
  }

  @Nested
  class Json {
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '`',
        value = {
          "\"version\":1,|``|lacks the field version",
          "\"version\":1|\"version\":2|the version of a sampler state must be 1, got 2",
          "\"version\":1|\"version\":\"1\"|must have a whole number, got",
          "\"epoch\":4,|``|lacks the field epoch",
          "\"epoch\":4|\"epoch\":-1|epoch must be at least 0, got -1",
          "\"epoch\":4|\"epoch\":4.0|must have a whole number, got",
          "\"epoch\":4|\"epoch\":9223372036854775808|out of range of long",
          "\"epoch\":4|\"epoch\":4,\"epoch\":4|Duplicate field 'epoch'",
          "\"epoch\":4|\"epoch\":4,\"rank\":0|has the unknown field rank",
          "\"kind\"|\"Kind\"|has the unknown field Kind",
          "\"10\"|10|must have a string, got",
          "{\"datasetSize\":\"10\",\"tail\":\"PAD\"}|[]|must have an object, got",
          "\"worldSize\":3,|``|lacks the field segments.worldSize",
          "\"worldSize\":3|\"worldSize\":0|worldSize must be at least 1, got 0",
          "\"worldSize\":3|\"worldSize\":2|must differ in worldSize",
          "\"worldSize\":3|\"worldSize\":2147483648|must have an int, got 2147483648",
          "\"worldSize\":3|\"ranks\":3|the sampler state has the unknown field segments.ranks",
          "Rank\":2|Rank\":-1|deliveredByEachRank must be at least 0, got -1",
          "Rank\":2|Rank\":0|segments must not be empty",
          "false|true|a finished epoch must be below",
          "false|0|must have true or false, got",
          "00ff|00fg|the field orderDigest of a sampler state must have 16 hexadecimal digits",
          "00ff|00f|16 hexadecimal digits",
          "00ff|00\uff11\uff11|16 hexadecimal digits",
          "}]|}|the text is not a sampler state in JSON",
        })
    void invalidJsonIsRefusedWithTheReason(String part, String instead, String reason) {
      String json = JSON.replaceFirst(Pattern.quote(part), instead);
      assertThat(json).isNotEqualTo(JSON);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> SamplerState.fromJson(json))
          .withMessageContaining(reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "[]", "1", "null", "{", "{}", "{} {}", "\u0000"})
    void jsonThatIsNotAStateIsRefused(String json) {
      assertThatIllegalArgumentException().isThrownBy(() -> SamplerState.fromJson(json));
    }

    @Test
    void truncatedJsonIsRefused() {
      for (int length = 0; length < JSON.length(); length++) {
        String json = JSON.substring(0, length);
        assertThatIllegalArgumentException().isThrownBy(() -> SamplerState.fromJson(json));
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> SamplerState.fromJson(JSON + "1"))
          .withMessageContaining("nothing after the object");
    }

    @Test
    void jsonMayContainWhitespaceAndBeInAnyOrder() {
      String json = JSON.replace(",", " ,\n ").replace("\"version\":1 ,", "");
      assertThat(SamplerState.fromJson(json.substring(0, json.length() - 1) + ",\"version\": 1}"))
          .isEqualTo(STATE);
    }
  }

  @Nested
  class Mismatch {
    @ParameterizedTest
    @CsvSource({
      "11, 5, PAD, datasetSize, 10, 11",
      "10, 6, PAD, seed, 5, 6",
      "10, 5, DROP, tail, PAD, DROP"
    })
    void aMismatchReportsTheParameterAndBothValues(
        long datasetSize, long seed, Tail tail, String name, String saved, String present) {
      SamplerState state =
          SamplerState.of(StridedSampler.of(RandomSampler.of(10, 5), new Part(2, 0)), 1, 3);
      Sampler other =
          StridedSampler.of(RandomSampler.of(datasetSize, seed), new Part(2, 0)).withTail(tail);
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> state.resume(other))
          .withMessageStartingWith(
              "the state was saved with %s %s, but the plan has %s", name, saved, present)
          .satisfies(
              e -> assertThat(e.parameter()).isEqualTo(name),
              e -> assertThat(e.saved()).isEqualTo(saved),
              e -> assertThat(e.present()).isEqualTo(present));
    }

    @Test
    void aMismatchReportsTheKindFirst() {
      SamplerState state = SamplerState.of(SequentialSampler.of(10), 1, 3);
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> state.resume(RandomSampler.of(11, 0)))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("kind"));
    }

    @Test
    void aMismatchReportsAParameterThatOnlyOnePlanHas() {
      Sampler whole = SequentialSampler.of(10);
      PlanParameters more = whole.parameters().with("more", 1);
      PlanParameters fewer = PlanParameters.of(whole.parameters().kind());
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> new SamplerState(more, 1, List.of(), false, 0).resume(whole))
          .withMessageContaining("more 1, but the plan has none");
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> new SamplerState(fewer, 1, List.of(), false, 0).resume(whole))
          .withMessageContaining("datasetSize none, but the plan has 10");
    }

    @Test
    void aMismatchReportsAPlanThatDividesTheOther() {
      Sampler whole = SequentialSampler.of(10);
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(
              () -> SamplerState.of(whole, 1, 3).resume(StridedSampler.of(whole, Part.whole())))
          .withMessageContaining("libtorch.SequentialSampler/strided");
    }

    @Test
    void aMismatchOfTheOrderAloneIsDetected() {
      SamplerState good = SamplerState.of(RandomSampler.of(10, 5), 1, 3);
      SamplerState other =
          new SamplerState(
              good.plan(),
              1,
              good.segments(),
              false,
              SamplerState.of(RandomSampler.of(10, 5), 2, 3).orderDigest());
      assertThatExceptionOfType(ResumeMismatchException.class)
          .isThrownBy(() -> other.resume(RandomSampler.of(10, 5)))
          .satisfies(e -> assertThat(e.parameter()).isEqualTo("order digest"));
    }

    @Test
    void aPlanInJavaHasTheSameStateAsItsNativePlan() {
      DistributedRandomSampler plan = DistributedRandomSampler.of(10, new Part(3, 0));
      assertThat(SamplerState.of(plan.inJava(), 1, 2)).isEqualTo(SamplerState.of(plan, 1, 2));
    }
  }

  @Nested
  class Limits {
    @ParameterizedTest
    @ValueSource(longs = {-1, 5, Long.MIN_VALUE, Long.MAX_VALUE})
    void positionsOutsideTheEpochAreRefused(long position) {
      Sampler sampler = DistributedRandomSampler.of(10, new Part(3, 1));
      String message = "position must be in [0, 4], got " + position;
      assertThatIllegalArgumentException()
          .isThrownBy(() -> SamplerState.of(sampler, 0, position))
          .withMessage(message);
      try (ResumableCursor.OfIndices cursor = ResumableCursor.open(sampler, 0)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> cursor.stateAt(position))
            .withMessage(message);
      }
    }

    @Test
    void negativeEpochsAreRefused() {
      Sampler sampler = SequentialSampler.of(10);
      assertThatIllegalArgumentException().isThrownBy(() -> SamplerState.of(sampler, -1, 0));
      assertThatIllegalArgumentException().isThrownBy(() -> ResumableCursor.open(sampler, -1));
    }

    @Test
    void aStateBeyondTheEndOfThePlanIsRefused() {
      Sampler plan = DistributedRandomSampler.of(10, new Part(3, 1));
      SamplerState state = SamplerState.of(plan, 0, 4);
      for (int worldSize : new int[] {3, 2}) {
        SamplerState more =
            new SamplerState(
                state.plan(), 0, List.of(new EpochSegment(3, 5)), false, state.orderDigest());
        assertThatIllegalArgumentException()
            .isThrownBy(() -> more.resume(DistributedRandomSampler.of(10, new Part(worldSize, 1))));
      }
    }

    @Test
    void segmentsOfSeveralRanksAreRefusedByAnUndividedPlan() {
      SamplerState state = SamplerState.of(SequentialSampler.of(10), 0, 4);
      SamplerState divided =
          new SamplerState(
              state.plan(), 0, List.of(new EpochSegment(3, 2)), false, state.orderDigest());
      assertThatIllegalArgumentException()
          .isThrownBy(() -> divided.resume(SequentialSampler.of(10)))
          .withMessageContaining("must have worldSize 1");
    }

    @Test
    void theLastEpochCannotBeFinished() {
      PlanParameters plan = SequentialSampler.of(10).parameters();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new SamplerState(plan, Long.MAX_VALUE, List.of(), true, 0));
    }

    @Test
    void ranksOfUnequalSizeShareAStateAtTheEnd() {
      Sampler longer =
          StridedSampler.of(SequentialSampler.of(10), new Part(3, 0)).withTail(Tail.UNEVEN);
      Sampler shorter =
          StridedSampler.of(SequentialSampler.of(10), new Part(3, 2)).withTail(Tail.UNEVEN);
      try (ResumableCursor.OfIndices cursor = SamplerState.of(longer, 0, 4).resume(shorter)) {
        assertThat(cursor.remaining()).isZero();
      }
    }
  }
}
