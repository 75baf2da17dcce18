// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TextStateTest {
  private final Path folder;

  TextStateTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private final TextState state =
      new TextState(-5, List.of(new ByteRange(1L << 40, 1L << 41, 7), new ByteRange(3, 3)));

  /** The state as bytes, as they were written before 0.1. */
  private final byte[] bytes =
      HexFormat.of()
          .parseHex(
              "01fffffffffffffffb00000002000001000000000000000200000000000000000000000007000000"
                  + "000000000300000000000000030000000000000000");

  @Test
  void bytesThatWereSavedBeforeAreRead() {
    assertThat(TextState.fromBytes(bytes)).isEqualTo(state);
  }

  @Test
  void invalidBytesAreRefused() {
    byte[] other = bytes.clone();
    other[0] = 9;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TextState.fromBytes(other))
        .withMessage("the version of a text state must be 1, got 9");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TextState.fromBytes(Arrays.copyOf(bytes, 50)))
        .withMessage("a text state of 2 ranges must have 61 bytes, got 50");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TextState.fromBytes(new byte[] {1, 2}))
        .withMessage("a text state must have at least 13 bytes, got 2");
  }

  @Test
  void jsonRoundTrips() {
    assertThat(state.toJson())
        .isEqualTo(
            "{\"version\":1,\"filesDigest\":\"fffffffffffffffb\",\"rest\":["
                + "{\"start\":1099511627776,\"end\":2199023255552,\"textOffset\":7},"
                + "{\"start\":3,\"end\":3,\"textOffset\":0}]}");
    assertThat(TextState.fromJson(state.toJson())).isEqualTo(state);
    assertThat(
            TextState.fromJson(
                "{\"rest\": [], \"filesDigest\": \"0000000000000010\", \"version\": 1}"))
        .isEqualTo(new TextState(16, List.of()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"version\":2} | the version of a text state must be 1, got 2",
        "{\"version\":1} | the text state lacks the field filesDigest",
        "{\"version\":1,\"version\":1} | Duplicate field",
        "{\"other\":1} | the text state has the unknown field other",
        "{\"version\":1,\"filesDigest\":\"12\"} | 16 hexadecimal digits",
        "{\"version\":1,\"filesDigest\":\"0123456789abcdef\",\"rest\":[{\"start\":1}]} | lacks the field rest.end",
        "{\"version\":1,\"filesDigest\":\"0123456789abcdef\",\"rest\":[{\"start\":1.5}]} | must have a whole number",
        "{\"version\":1,\"filesDigest\":\"0123456789abcdef\",\"rest\":[{\"start\":2,\"end\":1,\"textOffset\":0}]} | 0 <= start <= end",
        "{\"version\":1 | the text is not a text state in JSON",
        "[] | must have an object"
      })
  void invalidJsonIsRefused(String json, String problem) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TextState.fromJson(json))
        .withMessageContaining(problem);
  }

  @Test
  void aStateOfOtherFilesIsRefused() {
    List<String> one = Lines.names(Lines.file(folder, "a", "1\n2\n"));
    List<String> other = Lines.names(Lines.file(folder, "b", "1\n2\n"));
    try (LineCursor cursor = TextPartition.plan(one, 1).open(0)) {
      TextPartition plan = TextPartition.plan(other, 1);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(List.of(cursor.state()), 1))
          .withMessageContaining("states must belong to the files of the plan");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(List.of(), 1))
          .withMessageContaining("got none");
    }
  }
}
