// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.torchfeed.text.LineOptions;
import java.util.Arrays;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FastEdgeParserTest {
  private static final int BEFORE = 3;

  private static EdgeRules rules(
      LinePattern pattern, IdMap.Kind ids, String separators, String value) {
    return new EdgeRules(
        pattern,
        pattern == LinePattern.ADJACENCY,
        ids,
        IdMap.Hash.FNV_MIX,
        LineParser.separatedBy(separators),
        0,
        new ByteSet("valueSeparators", value),
        new ByteSet("comments", "#"),
        ErrorPolicy.FAIL,
        LineOptions.defaults(),
        1);
  }

  private static final EdgeRules RULES =
      rules(LinePattern.EDGES_BY_SOURCE, IdMap.Kind.NUMBER, ",", ":| ");

  /** Returns the line surrounded by digits that are not part of it. */
  private static byte[] amidDigits(String line) {
    byte[] bytes = new byte[BEFORE + line.length() + 20];
    Arrays.fill(bytes, (byte) '7');
    System.arraycopy(line.getBytes(US_ASCII), 0, bytes, BEFORE, line.length());
    return bytes;
  }

  private static @Nullable FastEdgeParser read(String line) {
    FastEdgeParser plain = FastEdgeParser.of(RULES);
    assertThat(plain).isNotNull();
    boolean isPlain =
        plain != null && plain.parse(amidDigits(line), BEFORE, BEFORE + line.length());
    return isPlain ? plain : null;
  }

  private static void assertSameAsParser(String line, FastEdgeParser plain) {
    EdgeParser parser = new EdgeParser(RULES);
    assertThat(parser.parse(amidDigits(line), BEFORE, BEFORE + line.length())).isEqualTo(1);
    assertThat(plain.first()).isEqualTo(parser.firstHash());
    assertThat(plain.second()).isEqualTo(parser.secondHash(0));
    assertThat(Double.doubleToRawLongBits(plain.weight()))
        .isEqualTo(Double.doubleToRawLongBits(parser.weight(0)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1,2",
        "0,0",
        "12345678,87654321",
        "123456789,2,3",
        "1234567890123456,9999999999999999,0.5",
        "3,7,-0.25",
        "3,7,.5",
        "3,7,5.",
        "3,7,-0",
        "3,7,123456.7890123456",
        "007,08,09.10"
      })
  void theCommonFormIsParsed(String line) {
    FastEdgeParser plain = read(line);
    assertThat(plain).isNotNull();
    if (plain != null) {
      assertSameAsParser(line, plain);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "1",
        ",",
        "1,",
        ",1",
        "1,2,",
        "1,2,.",
        "1,2,-",
        "1,2,1e5",
        "1,2,3,4",
        "1,2:3",
        "a,2",
        "1,b",
        "-1,2",
        "12345678901234567,2",
        "1,2,12345678901234567",
        "1,2,9007199254740993",
        "1,2,1.2.3",
        "1,2 ",
        "1, 2"
      })
  void otherLinesAreLeftToTheParser(String line) {
    assertThat(read(line)).isNull();
  }

  @Test
  void aLineAtTheEndOfItsArrayIsLeftToTheParser() {
    byte[] line = "1,2".getBytes(US_ASCII);
    FastEdgeParser plain = FastEdgeParser.of(RULES);
    assertThatCode(() -> assertThat(plain != null && plain.parse(line, 0, 3)).isFalse())
        .doesNotThrowAnyException();
  }

  @Test
  void onlySomeRulesAreSupported() {
    assertThat(FastEdgeParser.of(rules(LinePattern.EDGES_BY_TARGET, IdMap.Kind.NUMBER, "\t", ":")))
        .isNotNull();
    assertThat(FastEdgeParser.of(rules(LinePattern.EDGES_BY_SOURCE, IdMap.Kind.NUMBER, ",;", ":")))
        .isNull();
    assertThat(FastEdgeParser.of(rules(LinePattern.EDGES_BY_SOURCE, IdMap.Kind.NUMBER, ".", ":")))
        .isNull();
    assertThat(FastEdgeParser.of(rules(LinePattern.EDGES_BY_SOURCE, IdMap.Kind.NUMBER, ",", "0")))
        .isNull();
    assertThat(FastEdgeParser.of(rules(LinePattern.EDGES_BY_SOURCE, IdMap.Kind.TEXT, ",", ":")))
        .isNull();
    assertThat(FastEdgeParser.of(rules(LinePattern.ADJACENCY, IdMap.Kind.NUMBER, ",", ":")))
        .isNull();
  }

  @Provide
  Arbitrary<String> edges() {
    Arbitrary<String> digits = Arbitraries.strings().withChars("0123456789").ofMaxLength(19);
    Arbitrary<String> odd = Arbitraries.strings().withChars("019.-+e:, ").ofMaxLength(6);
    Arbitrary<String> field = Arbitraries.oneOf(digits, digits, digits, odd);
    return field.list().ofMinSize(1).ofMaxSize(4).map(fields -> String.join(",", fields));
  }

  @Property(tries = 20_000)
  void theResultEqualsThatOfTheParser(@ForAll @From("edges") String line) {
    FastEdgeParser plain = read(line);
    if (plain != null) {
      assertSameAsParser(line, plain);
    }
  }
}
