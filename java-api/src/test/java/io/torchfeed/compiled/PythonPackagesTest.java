// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests packages that Python compiles for this processor. */
@ExtendWith(LeakCheck.class)
class PythonPackagesTest {
  private static final Path SCRIPT = Path.of("src", "test", "golden", "python_packages.py");

  private static final Duration COMPILATION = Duration.ofMinutes(15);

  @Test
  void theOutputsEqualPythonsAndOtherFilesAreNamed(@TempDir Path folder) throws Exception {
    TestPython.assume();
    try (TestJvm python = TestPython.start(folder, Map.of(), SCRIPT, "make", folder.toString())) {
      assertThat(python.exitCode(COMPILATION)).as("%s", python.output()).isZero();
    }

    List<Packages.Run> runs = Packages.runs(Files.readAllLines(folder.resolve("random.txt")));
    assertThat(runs).hasSize(3);
    try (CompiledModel model = CompiledModel.open(folder.resolve("random.pt2"))) {
      for (Packages.Run run : runs) {
        assertThat(Packages.run(model, run)).isEqualTo(run.outputs());
      }
    }
    for (String other : List.of("exported.pt2", "traced.pt", "saved.pt")) {
      assertThatExceptionOfType(CompiledModelException.class)
          .isThrownBy(() -> CompiledModel.open(folder.resolve(other)))
          .withMessageMatching(
              ".*: it is a (program of torch.export.save, which is not compiled; "
                  + "compile|TorchScript archive; export|file of torch.save; open) .*");
    }
  }
}
