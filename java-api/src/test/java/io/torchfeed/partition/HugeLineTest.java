// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

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

/** A line of 1 GB between two others; the file has holes, so it takes no room on the disk. */
@Tag("huge")
@EnabledIfSystemProperty(
    named = "torchfeed.test.huge",
    matches = "true",
    disabledReason = "reads a line of 1 GB: -Dtorchfeed.test.huge=true, with -Xmx512m and -Xmx4g")
class HugeLineTest {
  private static final int LONGEST = 1 << 30;
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
  void isReadWhole() throws IOException {
    assumeTrue(hasRoom(), "needs -Xmx4g");
    TextPartition plan = plan(LONGEST);
    try (LineCursor lines = plan.open(0)) {
      assertThat(lines.next()).isTrue();
      assertThat(lines.text()).isEqualTo("a");
      assertThat(lines.next()).isTrue();
      assertThat(lines.length()).isEqualTo(LONGEST);
      assertThat(lines.offset()).isEqualTo(2);
      assertThat(lines.next()).isFalse();
    }
    assertThat(Lines.of(plan, 1)).isEmpty();
    assertThat(Lines.of(plan, 2)).containsExactly("b");
  }

  @Test
  void aByteMoreIsRefused() throws IOException {
    assumeTrue(hasRoom(), "needs -Xmx4g");
    TextPartition plan = plan(LONGEST + 1L);
    assertThatThrownBy(() -> Lines.of(plan, 0))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("line 2, byte 2: a line must have 1073741824 bytes at most");
  }

  @Test
  void isNamedWhereTheHeapIsTooSmall() throws IOException {
    assumeFalse(hasRoom(), "needs a smaller heap, -Xmx512m");
    TextPartition plan = plan(LONGEST);
    assertThatThrownBy(() -> Lines.of(plan, 0))
        .isInstanceOf(LineException.class)
        .hasMessageContaining("line 2, byte 2: a line of more than ")
        .hasMessageContaining("raise -Xmx");
  }
}
