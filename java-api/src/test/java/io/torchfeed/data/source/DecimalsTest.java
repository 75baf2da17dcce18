// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.net.URLDecoder;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecimalsTest {
  /** A text and the values that Python's float and int parse from it. */
  private record Golden(String text, String bits, String whole) {
    boolean isAscii() {
      return text.chars().allMatch(c -> c < 0x80);
    }

    boolean hasSeparator() {
      return text.contains("_");
    }
  }

  private static List<Golden> golden() throws IOException {
    try (InputStream golden = DecimalsTest.class.getResourceAsStream("/golden/decimals.txt")) {
      String lines = new String(requireNonNull(golden).readAllBytes(), UTF_8);
      return lines
          .lines()
          .filter(line -> !line.startsWith("#"))
          .map(line -> line.split("\t", -1))
          .map(parts -> new Golden(URLDecoder.decode(parts[0], UTF_8), parts[1], parts[2]))
          .toList();
    }
  }

  private static boolean overflows(Golden golden) {
    boolean isNamed = golden.text.toLowerCase(Locale.ROOT).contains("inf");
    return !isNamed && Double.isInfinite(value(golden));
  }

  private static double value(Golden golden) {
    return Double.longBitsToDouble(Long.parseUnsignedLong(golden.bits, 16));
  }

  private static void assertRefused(org.assertj.core.api.ThrowableAssert.ThrowingCallable read) {
    assertThatExceptionOfType(NumberFormatException.class).isThrownBy(read);
  }

  @Test
  void float64MatchesPython() throws IOException {
    int read = 0;
    for (Golden golden : golden()) {
      if (golden.bits.equals("error")
          || golden.hasSeparator()
          || !golden.isAscii()
          || overflows(golden)) {
        assertRefused(() -> Decimals.float64(Decimals.stripped(golden.text)));
      } else {
        assertThat(Decimals.float64(Decimals.stripped(golden.text)))
            .as(golden.text)
            .isEqualTo(Double.valueOf(value(golden)));
        read++;
      }
    }
    assertThat(read).isGreaterThan(250);
  }

  @Test
  void float32IsRoundedOnceOrRefused() throws IOException {
    for (Golden golden : golden()) {
      if (!golden.bits.equals("error") && !golden.hasSeparator() && golden.isAscii()) {
        String text = Decimals.stripped(golden.text);
        boolean isNamed = text.toLowerCase(Locale.ROOT).matches("[+-]?(inf|nan).*");
        if (isNamed) {
          assertThat(Decimals.float32(text)).isEqualTo(Float.valueOf((float) value(golden)));
        } else if (Float.isInfinite(Float.parseFloat(text))) {
          assertRefused(() -> Decimals.float32(text));
        } else {
          assertThat(Decimals.float32(text)).isEqualTo(Float.parseFloat(text));
        }
      }
    }
  }

  @Test
  void wholeNumbersMatchPython() throws IOException {
    BigInteger most = BigInteger.valueOf(Long.MAX_VALUE);
    for (Golden golden : golden()) {
      boolean fits =
          !golden.whole.equals("error") && new BigInteger(golden.whole).abs().compareTo(most) <= 0;
      boolean isLeast = golden.whole.equals(Long.toString(Long.MIN_VALUE));
      if ((fits || isLeast) && !golden.hasSeparator() && golden.isAscii()) {
        assertThat(Decimals.whole(Decimals.stripped(golden.text)))
            .isEqualTo(Long.parseLong(golden.whole));
      } else {
        assertRefused(() -> Decimals.whole(Decimals.stripped(golden.text)));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"3.4028236e38", "-1e39", "1e400"})
  void aNumberTooLargeForFloat32IsRefused(String text) {
    assertRefused(() -> Decimals.float32(text));
    assertThat(Decimals.float32("3.4028235e38")).isEqualTo(Float.MAX_VALUE);
    assertThat(Decimals.float32("-inf")).isEqualTo(Float.NEGATIVE_INFINITY);
  }

  /** Numbers of all lengths, and the ones around the middle of two float32. */
  @Test
  void shortNumbersAreReadAsByTheJdk() {
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 200_000; i++) {
      float near = Float.intBitsToFloat(random.nextInt(0x2000_0000, 0x6000_0000));
      BigDecimal middle =
          new BigDecimal(near).add(new BigDecimal(Math.nextUp(near))).divide(BigDecimal.valueOf(2));
      long digits = random.nextLong() >>> random.nextInt(1, Long.SIZE);
      BigDecimal number =
          i % 2 == 0
              ? BigDecimal.valueOf(digits, random.nextInt(20))
              : middle.round(new MathContext(random.nextInt(7, 18)));
      String text = (random.nextBoolean() ? "-" : "") + number.toPlainString();
      assertThat(Decimals.float64(text)).as(text).isEqualTo(Double.parseDouble(text));
      assertThat(Decimals.float32(text)).as(text).isEqualTo(Float.parseFloat(text));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-0", "+.5", "5.", "0.1", "16777217", "9007199254740993", "-.0"})
  void signsAndPointsAreReadAsByTheJdk(String text) {
    assertThat(Decimals.float64(text)).isEqualTo(Double.valueOf(Double.parseDouble(text)));
    assertThat(Decimals.float32(text)).isEqualTo(Float.valueOf(Float.parseFloat(text)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-", ".", "+.", "1.2.3", "--1", "1-", "1 2", "\u0661"})
  void whatIsNoNumberIsRefused(String text) {
    assertRefused(() -> Decimals.float64(text));
    assertRefused(() -> Decimals.float32(text));
  }
}
