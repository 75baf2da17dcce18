// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.internal.JsonObject;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorFileTest {
  private static final String PYTHON =
      """
      {"message": {"message": "ValueError: no data", "extraInfo": {"py_callstack": "Traceback",
       "timestamp": "1700000000"}}}""";

  private static Launcher launcher(Path folder, String behavior) {
    return Launcher.builder()
        .ranks(1)
        .prefixRankZero(true)
        .mainClass(ComingRank.class)
        .arguments(folder.toString(), "none=" + behavior)
        .environment("TORCHFEED_PROCESS_NAME", "none")
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .oversubscribe(true)
        .build();
  }

  @Test
  void theExceptionOfARankIsQuoted(@TempDir Path folder) {
    LaunchException failure =
        catchThrowableOfType(LaunchException.class, () -> launcher(folder, "throw").run());
    assertThat(failure)
        .hasMessageStartingWith(
            "rank 0 was the first to fail, with exit code 1; its error file:"
                + " java.lang.IllegalStateException: the exception of 0; the end of its standard"
                + " error:\nException in thread \"main\" java.lang.IllegalStateException");
    JsonObject file = JsonObject.parse("error file", failure.errorFile()).object("message");
    assertThat(file.object("extraInfo").text("py_callstack")).contains("at ", "ComingRank.main");
    assertThat(file.object("extraInfo").text("timestamp")).containsOnlyDigits();
  }

  @Test
  void aFailureWithoutAFileIsWrittenAsItsMessage(@TempDir Path folder) {
    LaunchException failure =
        catchThrowableOfType(LaunchException.class, () -> launcher(folder, "fail").run());
    assertThat(ErrorFile.message(failure.errorFile())).isEqualTo(failure.getMessage());
    assertThat(failure).hasMessageNotContainingAny("error file");
  }

  @Test
  void aLauncherThatTorchrunHasStartedPassesTheFileOn(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("error.json");
    try (TestJvm launcher =
        TestJvm.start(
            folder,
            Map.of(ErrorFile.VARIABLE, file.toString()),
            List.of("-Xmx64m"),
            ComingLauncher.class.getName(),
            folder.toString(),
            "p.*=throw")) {
      assertThat(launcher.exitCode()).isEqualTo(1);
    }
    assertThat(ErrorFile.message(Files.readString(file)))
        .isEqualTo("java.lang.IllegalStateException: the exception of null");
  }

  @Test
  void theFirstFailureOfAProcessStays(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("error.json");
    Map<String, String> variables = Map.of(ErrorFile.VARIABLE, file.toString());
    ErrorFile.record(new IOException("first"), variables);
    ErrorFile.record(new IOException("second"), variables);
    assertThat(ErrorFile.message(Files.readString(file))).isEqualTo("java.io.IOException: first");
    ErrorFile.record(new IOException("without a file"), Map.of());
  }

  @Test
  void filesOfPythonAndOthersAreRead(@TempDir Path folder) throws IOException {
    assertThat(ErrorFile.message(PYTHON)).isEqualTo("ValueError: no data");
    assertThat(ErrorFile.message("{\"message\": \"old form\"}")).contains("old form");
    assertThat(ErrorFile.message("no JSON\n")).isEqualTo("no JSON");
    assertThat(ErrorFile.read(folder)).isEmpty();
    assertThat(ErrorFile.read(folder.resolve("none"))).isEmpty();
    Path large = folder.resolve("large");
    Files.write(large, new byte[(1 << 20) + 1]);
    assertThat(ErrorFile.read(large)).isEmpty();
  }
}
