// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the random numbers of samples, whose words native code draws from as well. */
class SampleRandomTest {
  @Test
  void wordsAreThoseOfNativeCode() throws IOException {
    List<String> lines;
    try (InputStream golden = getClass().getResourceAsStream("/golden/image_draws.txt")) {
      String text = new String(requireNonNull(golden).readAllBytes(), UTF_8);
      lines = text.lines().filter(line -> line.startsWith("words ")).toList();
    }
    assertThat(lines).isNotEmpty();
    for (String line : lines) {
      long[] fields = Arrays.stream(line.split(" ")).skip(1).mapToLong(Long::parseLong).toArray();
      SampleRandom random = new SampleRandom();
      random.begin(fields[0], fields[1], fields[2]);
      for (int i = 3; i < fields.length; i++) {
        assertThat(Integer.toUnsignedLong(random.nextInt())).describedAs(line).isEqualTo(fields[i]);
      }
    }
  }
}
