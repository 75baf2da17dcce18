// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Python with PyTorch 2.10, 2.13 or 2.15, where a machine has it. */
public final class TestPython {
  private static final String VARIABLE = "TORCHFEED_PEER_PYTHON";
  private static final boolean IS_THERE = version().matches("(?s)2\\.1[035]\\..*");

  private TestPython() {}

  /** Skips the test if there is none. */
  public static void assume() {
    assumeTrue(
        IS_THERE,
        () ->
            interpreter()
                + " has no torch 2.10, 2.13 or 2.15; set "
                + VARIABLE
                + " to an interpreter with the packages of examples/benchmarks/peers/"
                + "requirements.txt, or run examples/benchmarks/peers/compare once to create one");
  }

  /** Skips the test if Python lacks a package. */
  public static void assumePackage(String name) throws IOException, InterruptedException {
    assume();
    Process process = new ProcessBuilder(interpreter(), "-c", "import " + name).start();
    assumeTrue(process.waitFor() == 0, () -> interpreter() + " has no package " + name);
  }

  public static TestJvm start(
      Path folder, Map<String, String> variables, Path script, String... arguments)
      throws IOException {
    assertThat(script).exists();
    List<String> command = new ArrayList<>(List.of(interpreter(), script.toString()));
    command.addAll(List.of(arguments));
    return TestJvm.launch(folder, variables, command);
  }

  private static String interpreter() {
    String cache =
        Optional.ofNullable(System.getenv("XDG_CACHE_HOME"))
            .filter(folder -> Path.of(folder).isAbsolute())
            .orElse(System.getProperty("user.home") + "/.cache");
    return Optional.ofNullable(System.getenv(VARIABLE))
        .orElse(cache + "/torchfeed/peer-venv/bin/python");
  }

  private static String version() {
    try {
      Process process =
          new ProcessBuilder(interpreter(), "-c", "import torch; print(torch.__version__)")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      byte[] output = process.getInputStream().readAllBytes();
      return process.waitFor() == 0 ? new String(output, StandardCharsets.UTF_8) : "";
    } catch (IOException e) {
      return ""; // there is no interpreter
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }
}
