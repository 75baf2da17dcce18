// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.RoundingMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumbersTest {
  private static double weight(String text) {
    byte[] bytes = ("<" + text + ">").getBytes(UTF_8);
    return Numbers.weight(bytes, 1, bytes.length - 1);
  }

  private static long id(String text) {
    byte[] bytes = ("<" + text + ">").getBytes(UTF_8);
    return Numbers.id(bytes, 1, bytes.length - 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0",
        "-0",
        "1",
        "0.5",
        ".5",
        "5.",
        "-2.25",
        "1e3",
        "1E-3",
        "+4",
        "123456789012345678",
        "1234567890123456789",
        "9223372036854775807",
        "99999999999999999999",
        "0.1",
        "0.30000000000000004",
        "9007199254740993",
        "0.0000000000000000001",
        "123456789.123456789",
        "1.7976931348623157e308",
        "4.9e-324",
        "0.000000000000000001",
        "999999999999999999.",
        "9.99999999999999999"
      })
  void weightsAreCorrectlyRounded(String text) {
    assertThat(weight(text)).isEqualTo(Double.parseDouble(text));
  }

  @Property(tries = 2000)
  void everyDoubleSurvivesARoundTrip(@ForAll double value) {
    assertThat(weight(Double.toString(value))).isEqualTo(value);
  }

  @Property(tries = 2000)
  void decimalsAreCorrectlyRounded(
      @ForAll @DoubleRange(min = -1e6, max = 1e6) double value,
      @ForAll @IntRange(min = 0, max = 17) int digits) {
    String text = new BigDecimal(value).setScale(digits, RoundingMode.DOWN).toPlainString();
    assertThat(weight(text)).isEqualTo(Double.parseDouble(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-",
        ".",
        "1d",
        "0x1p3",
        "NaN",
        "Infinity",
        "1e999",
        " 1",
        "1 ",
        "1.2.3",
        "--1",
        "1-"
      })
  void invalidWeightsAreRefused(String text) {
    assertThatThrownBy(() -> weight(text))
        .isInstanceOf(LineParser.MalformedLineException.class)
        .hasMessageContaining("got \"" + text + "\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0",
        "7",
        "007",
        "999999999999999999",
        "9223372036854775808",
        "18446744073709551615"
      })
  void idsAreUnsigned64BitNumbers(String text) {
    assertThat(id(text)).isEqualTo(Long.parseUnsignedLong(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-1",
        "+1",
        "1.0",
        "18446744073709551616",
        "a",
        "12345678901234567x",
        "+1234567890123456789",
        "1٣٣٣٣٣٣٣٣٣",
        "1２３４５６７"
      })
  void invalidIdsAreRefused(String text) {
    assertThatThrownBy(() -> id(text))
        .isInstanceOf(LineParser.MalformedLineException.class)
        .hasMessageContaining("whole number in [0, 18446744073709551615], got \"" + text + "\"");
  }
}
