// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ObjectStreamDataset;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextState;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * States saved by the commit 9842441 resume and deliver the same rest as then. The header of
 * golden/states_9842441.txt describes its fields.
 */
class LegacyStatesTest {
  private static final int CASES = 1364;

  private final Path folder;

  LegacyStatesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A line "state" and one of the lines "follow" after it. */
  private record Case(List<String> state, List<String> follow) {
    String kind() {
      return state.get(1);
    }

    String json() {
      return state.get(4);
    }

    byte[] bytes() {
      return HexFormat.of().parseHex(state.get(5));
    }

    long[] ahead() {
      return state.get(6).equals("-")
          ? new long[0]
          : Arrays.stream(state.get(6).split(" ", -1)).mapToLong(Long::parseLong).toArray();
    }

    String plan() {
      return follow.get(1);
    }

    int worldSize() {
      return Integer.parseInt(follow.get(2));
    }

    int rank() {
      return Integer.parseInt(follow.get(3));
    }

    Part part() {
      return new Part(worldSize(), rank());
    }

    void assertFollows(Object epoch, String delivered) {
      assertThat(delivered).isEqualTo(follow.get(5));
      assertThat(epoch).hasToString(follow.get(4));
    }

    @Override
    public String toString() {
      return "%s %s, %s, resumed with %s of rank %s of %s"
          .formatted(
              state.get(1),
              state.get(2),
              state.get(3),
              follow.get(1),
              follow.get(3),
              follow.get(2));
    }
  }

  static List<Case> cases() throws IOException {
    List<Case> cases = new ArrayList<>();
    try (InputStream in =
            requireNonNull(
                LegacyStatesTest.class.getResourceAsStream("/golden/states_9842441.txt"));
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, UTF_8))) {
      List<String> state = List.of();
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        List<String> fields = List.of(line.split("\t", -1));
        if (fields.get(0).equals("state")) {
          state = fields;
        } else if (fields.get(0).equals("follow")) {
          cases.add(new Case(state, fields));
        }
      }
    }
    return cases;
  }

  @Test
  void noCaseIsMissing() throws IOException {
    assertThat(cases()).hasSize(CASES);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aStateDeliversWhatFollowedThen(Case recorded) throws Exception {
    switch (recorded.kind()) {
      case "sampler" -> samplerStates(recorded).forEach(state -> resumeSampler(recorded, state));
      case "batches" -> samplerStates(recorded).forEach(state -> resumeBatches(recorded, state));
      case "loader" -> samplerStates(recorded).forEach(state -> resumeLoader(recorded, state));
      case "stream" -> {
        LegacyTexts.writeFiles(folder);
        resumeStream(recorded);
      }
      case "objects" -> {
        LegacyTexts.writeFiles(folder);
        resumeObjects(recorded);
      }
      case "text" -> {
        LegacyTexts.writeFiles(folder);
        List<TextState> states = states(recorded.json(), TextState::fromJson);
        assertThat(states)
            .isEqualTo(
                states(
                    recorded.state().get(5),
                    hex -> TextState.fromBytes(HexFormat.of().parseHex(hex))));
        resumeText(recorded, states);
      }
      default -> throw new IllegalArgumentException(recorded.kind());
    }
  }

  /** Returns the state parsed from JSON, and from bytes. */
  private static Stream<SamplerState> samplerStates(Case recorded) {
    SamplerState ofJson = SamplerState.fromJson(recorded.json());
    SamplerState ofBytes = SamplerState.fromBytes(recorded.bytes());
    assertThat(ofBytes).isEqualTo(ofJson);
    return Stream.of(ofJson, ofBytes);
  }

  private static <T> List<T> states(String texts, Function<String, T> reader) {
    return Arrays.stream(texts.split(" ", -1)).map(reader).toList();
  }

  private static void resumeSampler(Case recorded, SamplerState state) {
    try (ResumableCursor.OfIndices cursor =
        state.resume(LegacyPlans.sampler(recorded.plan(), recorded.part()))) {
      recorded.assertFollows(cursor.epoch(), LegacyNotation.follows(cursor));
    }
  }

  private static void resumeBatches(Case recorded, SamplerState state) {
    BatchSampler plan = LegacyPlans.batches(recorded.plan(), recorded.part());
    try (ResumableCursor.OfBatches cursor = state.resume(plan)) {
      recorded.assertFollows(cursor.epoch(), LegacyNotation.follows(cursor, plan.maxBatchSize()));
    }
  }

  private static void resumeLoader(Case recorded, SamplerState state) {
    try (DataLoader loader = LegacyLoaders.loader(recorded.plan(), recorded.part());
        Batches pass = loader.resume(new LoaderState.IndexState(state, recorded.ahead()))) {
      long epoch = pass.state().epoch();
      recorded.assertFollows(epoch, LegacyNotation.follows(pass));
    }
  }

  private void resumeStream(Case recorded) {
    List<LoaderState.StreamState> states =
        states(recorded.json(), LoaderState.StreamState::fromJson);
    try (DataLoader loader = LegacyLoaders.stream(recorded.plan(), folder, recorded.part());
        Batches pass = loader.resume(states)) {
      long epoch = pass.state().epoch();
      recorded.assertFollows(epoch, LegacyNotation.follows(pass));
    }
  }

  private void resumeObjects(Case recorded) throws Exception {
    long epoch = Long.parseLong(recorded.follow().get(4));
    try (ObjectStreamDataset.ObjectStream<String> stream =
        LegacyLoaders.objects(recorded.plan(), folder)
            .open(epoch, recorded.rank(), recorded.json())) {
      recorded.assertFollows(epoch, LegacyNotation.follows(stream));
    }
  }

  private void resumeText(Case recorded, List<TextState> states) {
    try (LineCursor cursor =
        LegacyTexts.rest(recorded.plan(), folder, states, recorded.worldSize())
            .open(recorded.rank(), LegacyTexts.lineOptions(recorded.plan()))) {
      recorded.assertFollows("-", LegacyNotation.follows(cursor));
    }
  }
}
