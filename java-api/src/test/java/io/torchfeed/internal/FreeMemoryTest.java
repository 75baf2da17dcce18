// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FreeMemoryTest {
  private final Path root;

  FreeMemoryTest(@TempDir Path root) {
    this.root = root;
  }

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  private void machine() throws IOException {
    write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    1000 kB\n");
  }

  @Test
  void withoutLimitsItIsWhatTheMachineHas() throws IOException {
    machine();
    assertThat(FreeMemory.bytes(root)).hasValue(1024_000);
  }

  @ParameterizedTest
  @CsvSource({"max, 1024000", "300000, 120000", "90000, 0", "90000000, 1024000"})
  void aLimitOfTheContainerCounts(String limit, long available) throws IOException {
    machine();
    write("sys/fs/cgroup/memory.max", limit + "\n");
    write("sys/fs/cgroup/memory.current", "200000\n");
    write("sys/fs/cgroup/memory.stat", "anon 150000\ninactive_file 20000\nactive_file 30000\n");
    assertThat(FreeMemory.bytes(root)).hasValue(available);
  }

  @Test
  void theTightestOfNestedGroupsCounts() throws IOException {
    machine();
    write("proc/self/cgroup", "1:name=systemd:/x\n0::/user/shell\n");
    write("sys/fs/cgroup/user/memory.max", "500\n");
    write("sys/fs/cgroup/user/memory.current", "200\n");
    write("sys/fs/cgroup/user/shell/memory.max", "700\n");
    write("sys/fs/cgroup/user/shell/memory.current", "100\n");
    assertThat(FreeMemory.bytes(root)).hasValue(300);
  }

  @ParameterizedTest
  @CsvSource({"MemTotal: 1 kB", "MemAvailable: many kB"})
  void whereItCannotBeReadItIsUnknown(String line) throws IOException {
    assertThat(FreeMemory.bytes(root)).isEmpty();
    write("proc/meminfo", line + "\n");
    assertThat(FreeMemory.bytes(root)).isEmpty();
  }
}
