// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the names of texts; the tests of the readers have the formats. */
class FileContentTest {
  private static String of(String text) {
    return String.valueOf(FileContent.of(text.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void aTextIsQuotedByItsFirstLine() {
    assertThat(of("\n  Entry not found\nat all\n"))
        .startsWith("a text that begins with \"Entry not found\", for example");
    assertThat(of("\ufeffKein Zutritt für Gäste")).contains("\"Kein Zutritt für Gäste\"");
    assertThat(of("x".repeat(500))).contains("\"" + "x".repeat(60) + "... (500 characters)\"");
    assertThat(of("a\u202eb")).contains("\"a\\u202eb\"");
    assertThat(FileContent.isText(of("a"))).isTrue();
  }

  @Test
  void aLetterThatIsCutAtTheEndIsOfAText() {
    byte[] text = "naïf".repeat(200).getBytes(StandardCharsets.UTF_8);
    assertThat(FileContent.of(Arrays.copyOf(text, 498))).startsWith("a text that begins");
    assertThat(FileContent.of(Arrays.copyOf(text, 499))).startsWith("a text that begins");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\0", "a\0b", "ab\7", "\u007f", " \n", "\u001b[31mred"})
  void otherBytesAreNoText(String content) {
    assertThat(of(content)).isEqualTo("null");
  }

  @Test
  void otherBytesThanThoseOfUtf8AreTextInLatin1() {
    assertThat(FileContent.of(new byte[] {'a', (byte) 0xE9, 'b', 'c'})).contains("\"aébc\"");
    assertThat(FileContent.of(new byte[] {'a', (byte) 0x81, 'b', 'c'})).isNull();
    assertThat(FileContent.of(new byte[] {-1, -1, 'a', 'b'})).isNull();
  }

  @Test
  void jsonIsNamedAlsoWithBlanks() {
    assertThat(of("{\n  \"error\": \"x\"}")).startsWith("a JSON text");
  }
}
