// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Tests that states which no plan saved are refused with a short, typed message. */
class HostileStateTest {
  private static final int MAX_MESSAGE_LENGTH = 1000;
  private static final String LONG = "x".repeat(10_000_000);
  private static final Sampler PLAN = ShuffledSampler.of(10, new Part(2, 1), 7);
  private static final SamplerState STATE = SamplerState.of(PLAN, 4, 3);
  private static final String JSON = STATE.toJson();

  private static final List<String> NUMBERS =
      List.of(
          "0",
          "-1",
          "1",
          "2",
          "00",
          "1e3",
          "0.5",
          "65537",
          "2147483647",
          "2147483648",
          "4611686018427387904",
          "9223372036854775807",
          "9223372036854775808",
          "null",
          "true");

  /** Returns states with a text of the longest accepted length in each possible place. */
  private static List<String> jsonWithALongText() {
    String name = LONG.substring(0, 40_000);
    return List.of(
        JSON.replace("seekable.ShuffledSampler", LONG),
        JSON.replace("seekable.ShuffledSampler", "|" + LONG),
        JSON.replace("\"7\"", "\"" + LONG + "\""),
        JSON.replace("\"7\"", "\"|" + LONG + "\""),
        JSON.replace("{\"datasetSize", "{\"" + name + "\":\"1\",\"datasetSize"),
        JSON.replace("{\"datasetSize", "{\"|" + name),
        JSON.replace("\"epoch\"", "\"" + name + "\""),
        JSON.replace("\"epoch\"", ("\"" + name + "\":1,").repeat(2) + "\"epoch\""),
        JSON.replace("\"epoch\":4", "\"epoch\":" + LONG),
        JSON.replace("\"epoch\":4", "\"epoch\":" + "9".repeat(900)),
        JSON.replace("\"epoch\":4", "\"epoch\":" + "9".repeat(10_000_000)),
        JSON.replace("\"epoch\":4", "\"epoch\":\"" + LONG + "\""),
        JSON.replace("\"worldSize\"", "\"" + name + "\""),
        JSON.replaceFirst("orderDigest\":\"", "orderDigest\":\"" + LONG),
        LONG);
  }

  /** Each level of nesting once kept a copy of the text inside of it. */
  @Test
  void deeplyNestedObjectsTakeTheMemoryOfTheirText() {
    String json = "{\"a\":".repeat(900) + '"' + "x".repeat(1_000_000) + '"' + "}".repeat(900);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SamplerState.fromJson(json))
        .withMessage("the sampler state has the unknown field a");
  }

  @Test
  void longTextsAreNotQuotedInFull() {
    for (String json : jsonWithALongText()) {
      Throwable refusal = catchThrowable(() -> SamplerState.fromJson(json).resume(PLAN));
      assertThat(refusal).isInstanceOf(IllegalArgumentException.class);
      assertThat(String.valueOf(refusal.getMessage()).length()).isLessThan(MAX_MESSAGE_LENGTH);
    }
  }

  @Test
  void moreSegmentsThanAnEpochCanHaveAreRefused() {
    String two =
        "{\"worldSize\":1,\"deliveredByEachRank\":1},{\"worldSize\":2,\"deliveredByEachRank\":1}";
    String many = (two + ",").repeat(50_000) + two;
    String json = JSON.replaceFirst("\\[.*]", "[" + many + "]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SamplerState.fromJson(json))
        .withMessage("an epoch must have at most 1000 segments, got 100002");
  }

  @Test
  void segmentsThatDoNotFitAreReportedOneByOne() {
    List<EpochSegment> segments = new ArrayList<>();
    for (int i = 0; i < 999; i++) {
      segments.add(new EpochSegment(1 + i % 2, 1));
    }
    PlanParameters plan = STATE.plan();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new SamplerState(plan, 0, segments, true, 0))
        .withMessageEndingWith("got epoch 0 and 999 segments");
    segments.add(segments.get(998));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new SamplerState(plan, 0, segments, false, 0))
        .withMessage(
            "segments that follow each other must differ in worldSize, got"
                + " EpochSegment[worldSize=1, deliveredByEachRank=1] followed by"
                + " EpochSegment[worldSize=1, deliveredByEachRank=1]");
  }

  @Test
  void undividedPlansReportOnlyOneSegment() {
    Sampler plan = SequentialSampler.of(10).inJava();
    SamplerState saved = SamplerState.of(plan, 0, 1);
    List<EpochSegment> segments = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      segments.add(new EpochSegment(1 + i % 2, 1));
    }
    SamplerState state = new SamplerState(saved.plan(), 0, segments, false, saved.orderDigest());
    for (BatchSampler batches : List.of(FixedSizeBatchSampler.of(plan, 2), new Undivided(plan))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> state.resume(batches))
          .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(MAX_MESSAGE_LENGTH));
    }
  }

  /** An unpaired surrogate has no UTF-8, so digests would contain a different text. */
  @Test
  void invalidUnicodeIsRefused() {
    for (String text : List.of("\ud83d", "a\ude00", "\ude00\ud83d")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PlanParameters.of(text))
          .withMessageContaining("surrogate");
      assertThatIllegalArgumentException().isThrownBy(() -> PlanParameters.of("k").with(text, 1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PlanParameters.of("k").with("name", text));
    }
  }

  /** Replaces, omits or doubles characters of a state, and exchanges numbers for others. */
  @Property(tries = 5_000)
  void anyTextIsAStateOrRefused(@ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int edits) {
    Random random = new Random(seed);
    StringBuilder text = new StringBuilder(JSON);
    for (int i = 0; i < edits; i++) {
      edit(text, random);
    }
    requireStateOrRefusal(() -> SamplerState.fromJson(text.toString()));
  }

  private static void edit(StringBuilder text, Random random) {
    int at = random.nextInt(text.length());
    switch (random.nextInt(5)) {
      case 0 -> text.setCharAt(at, (char) random.nextInt(128));
      case 1 -> text.deleteCharAt(at);
      case 2 -> text.insert(at, text.substring(at, Math.min(text.length(), at + 30)));
      case 3 -> text.setCharAt(at, (char) random.nextInt(1 << 16));
      default -> {
        int end = at;
        while (end < text.length() && Character.isDigit(text.charAt(end))) {
          end++;
        }
        text.replace(at, end, NUMBERS.get(random.nextInt(NUMBERS.size())));
      }
    }
  }

  private static void requireStateOrRefusal(Supplier<SamplerState> source) {
    try {
      SamplerState state = source.get();
      assertThat(SamplerState.fromJson(state.toJson())).isEqualTo(state);
      state.resume(PLAN).close();
    } catch (IllegalArgumentException e) {
      assertThat(e).isNotInstanceOf(NumberFormatException.class);
      assertThat(e.getMessage()).isNotBlank().hasSizeLessThan(MAX_MESSAGE_LENGTH);
    }
  }

  /** The batches of a plan, with only the methods that every batch sampler must implement. */
  private record Undivided(Sampler plan) implements BatchSampler {
    @Override
    public long batches(long epoch) {
      return FixedSizeBatchSampler.of(plan, 2).batches(epoch);
    }

    @Override
    public int maxBatchSize() {
      return 2;
    }

    @Override
    public BatchCursor epoch(long epoch) {
      return FixedSizeBatchSampler.of(plan, 2).epoch(epoch);
    }

    @Override
    public PlanParameters parameters() {
      return plan.parameters();
    }
  }
}
