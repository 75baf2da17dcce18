// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JvmCommandTest {
  private final Path note;

  JvmCommandTest(@TempDir Path folder) {
    note = folder.resolve("note");
  }

  /** Prints JavaCPP's limit on the size of the process, in bytes. */
  public static final class LimitRank {
    private LimitRank() {}

    public static void main(String[] args) {
      System.out.print(Pointer.maxPhysicalBytes());
    }
  }

  private String limitWith(String... options) throws IOException {
    LaunchSettings settings =
        new LaunchSettings(
            1,
            LimitRank.class.getName(),
            List.of(),
            List.of(options),
            Map.of(),
            false,
            false,
            Duration.ofSeconds(1),
            null,
            RankOutput.Shown.ALL,
            List.of(),
            null);
    Process rank =
        JvmCommand.of(settings, "job", note).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (InputStream output = rank.getInputStream()) {
      return new String(output.readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  @Test
  void theSizeOfARankIsNotLimitedByItsHeap() throws IOException {
    assertThat(limitWith("-Xmx64m")).isEqualTo("0");
  }

  @Test
  void anotherLimitOnTheSizeOfARankCounts() throws IOException {
    assertThat(limitWith("-Xmx64m", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=3g"))
        .isEqualTo(Long.toString(3L << 30));
  }
}
