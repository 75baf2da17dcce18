// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a 1 GB line between two others; the file is sparse, so it takes no disk space. */
@Tag("huge")
@EnabledIfSystemProperty(
    named = "torchfeed.test.huge",
    matches = "true",
    disabledReason = "reads a line of 1 GB: -Dtorchfeed.test.huge=true, with -Xmx512m and -Xmx4g")
class HugeLineTest {
  private static final int MAX_SIZE = 1 << 30;
  private static final LineOptions OPTIONS = LineOptions.defaults().withMaxLineBytes(MAX_SIZE);
  private static final long HEAP_NEEDED = 3L << 30;

  private final Path file;

  HugeLineTest(@TempDir Path folder) {
    file = folder.resolve("huge");
  }

  private TextPartition plan(long length) throws IOException {
    try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
      out.write("a\n".getBytes(US_ASCII));
      out.seek(2 + length);
      out.write("\nb\n".getBytes(US_ASCII));
    }
    return TextPartition.plan(Lines.names(file), 3);
  }

  private static boolean hasRoom() {
    return Runtime.getRuntime().maxMemory() > HEAP_NEEDED;
  }

  @Test
  void aHugeLineIsReadCompletely() throws IOException {
    assumeTrue(hasRoom(), "needs -Xmx4g");
    TextPartition plan = plan(MAX_SIZE);
    try (LineCursor lines = plan.open(0, OPTIONS)) {
      assertThat(lines.next()).isTrue();
      assertThat(lines.text()).isEqualTo("a");
      assertThat(lines.next()).isTrue();
      assertThat(lines.length()).isEqualTo(MAX_SIZE);
      assertThat(lines.offset()).isEqualTo(2);
      assertThat(lines.next()).isFalse();
    }
    assertThat(Lines.of(plan, 1)).isEmpty();
    assertThat(Lines.of(plan, 2)).containsExactly("b");
  }

  @Test
  void aLineOneByteLongerIsRefused() throws IOException {
    assumeTrue(hasRoom(), "needs -Xmx4g");
    TextPartition plan = plan(MAX_SIZE + 1L);
    assertThatThrownBy(() -> Lines.of(plan, 0, OPTIONS))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("line 2, byte 2: a line must have at most 1073741824 bytes");
  }

  @Test
  void aHugeLineIsReportedIfTheHeapIsTooSmall() throws IOException {
    assumeFalse(hasRoom(), "needs a smaller heap, -Xmx512m");
    TextPartition plan = plan(MAX_SIZE);
    assertThatThrownBy(() -> Lines.of(plan, 0, OPTIONS))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("line 2, byte 2: a line of more than ")
        .hasMessageContaining("raise -Xmx");
  }
}
