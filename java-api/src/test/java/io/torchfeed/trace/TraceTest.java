// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(LeakCheck.class)
class TraceTest {
  private final Path folder;

  TraceTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static String text(Path dump) throws Exception {
    return new String(Files.readAllBytes(dump), StandardCharsets.ISO_8859_1);
  }

  @Test
  void aDumpHasTheGroupsAndTheirOperations() throws Exception {
    Path dump;
    assertThat(Trace.isOn()).isFalse();
    try (Trace trace = Trace.start(TraceOptions.to(folder.resolve("new")))) {
      assertThat(Trace.isOn()).isTrue();
      RankThreads.run(2, group -> group.barrier());
      try (Trace.Section section = Trace.section("validation")) {
        Trace.step(3);
      }
      dump = trace.dump();
      assertThat(text(dump))
          .contains("\"barrier\"", "\"validation\"", "\"ranks\":2", "the program asked for it");
    }
    assertThat(Trace.isOn()).isFalse();
    assertThat(text(dump)).contains("the trace ends");
    assertThat(folder.resolve("new")).isDirectoryContaining(dump::equals);
  }

  @Test
  void aProcessHasOneTraceAtATime() {
    TraceOptions options = TraceOptions.to(folder).withEvents(3);
    Trace trace = Trace.start(options);
    try (trace) {
      assertThatIllegalStateException()
          .isThrownBy(() -> Trace.start(options))
          .withMessage("this process records a trace already, for the folder " + folder);
    }
    trace.close();
    Trace.start(options).close();
    assertThat(options).hasToString("TraceOptions[folder=%s, events=4]".formatted(folder));
  }

  @Test
  void wrongArgumentsAreRefused() throws Exception {
    TraceOptions options = TraceOptions.to(folder);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withEvents(0))
        .withMessage("the events of a trace must be in [1, 16777216], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withEvents((1 << 24) + 1))
        .withMessageContaining("got 16777217");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Trace.step(-1))
        .withMessage("the step must be at least 0, got -1");
    Path file = Files.createFile(folder.resolve("file"));
    assertThatThrownBy(() -> Trace.start(TraceOptions.to(file.resolve("inside"))))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageContaining("inside for traces cannot be created");
    assertThatIllegalStateException()
        .isThrownBy(() -> Trace.start(options.withSignal("NONE")))
        .withMessageContaining("SIGNONE cannot be handled");
    assertThat(Trace.isOn()).isFalse();
  }

  @Test
  void theNewestEventsAreKept() throws Exception {
    try (Trace trace = Trace.start(TraceOptions.to(folder).withEvents(16))) {
      for (int i = 0; i < 100; i++) {
        Trace.section("one").close();
      }
      assertThat(text(trace.dump())).contains("\"forgotten\":84");
    }
  }
}
