// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.LargeTensors;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that Python reads files with a tensor of more than 2 GiB, and the reverse. */
@Tag("large")
class LargePythonFilesTest {
  private static final Path SCRIPT = Path.of("src", "test", "golden", "python_large_files.py");
  private static final List<String> PLACES =
      Arrays.stream(LargeTensors.places(ABOVE_2_GIB)).mapToObj(String::valueOf).toList();

  private final Path folder;

  LargePythonFilesTest(@TempDir Path folder) throws IOException, InterruptedException {
    TestPython.assumePackage("safetensors");
    LargeTensors.assumeMemory(3 * ABOVE_2_GIB); // the pages of the file, too
    LargeTensors.assumeDisk(folder, ABOVE_2_GIB);
    this.folder = folder;
  }

  private List<String> python(String mode, Path file, String... more) throws Exception {
    List<String> arguments = new ArrayList<>(List.of(mode, file.toString()));
    arguments.addAll(List.of(more));
    arguments.addAll(PLACES);
    try (TestJvm python =
        TestPython.start(folder, Map.of(), SCRIPT, arguments.toArray(String[]::new))) {
      assertThat(python.exitCode()).as("%s", python.output()).isZero();
      return python.output();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"file.safetensors", "file.pt"})
  void pythonReadsAllBytes(String name) throws Exception {
    Path file = folder.resolve(name);
    Map<String, Tensor> tensors = Map.of("large", LargeTensors.marked(ABOVE_2_GIB));
    if (name.endsWith(".pt")) {
      TorchFile.write(file, tensors);
    } else {
      SafetensorsFile.write(file, tensors, Map.of("format", "pt"));
    }
    String marks =
        String.join(
            " ", IntStream.rangeClosed(1, PLACES.size()).mapToObj(String::valueOf).toList());
    assertThat(python("read", file)).containsExactly(ABOVE_2_GIB + " " + marks);
  }

  @ParameterizedTest
  @ValueSource(strings = {"file.safetensors", "file.pt"})
  void allBytesOfPythonAreRead(String name) throws Exception {
    Path file = folder.resolve(name);
    python("write", file, String.valueOf(ABOVE_2_GIB));
    if (name.endsWith(".pt")) {
      try (TorchFile saved = TorchFile.open(file);
          Tensor large = saved.read("large")) {
        LargeTensors.assertMarked(large);
      }
    } else {
      try (SafetensorsFile saved = SafetensorsFile.open(file);
          Tensor large = saved.read("large")) {
        LargeTensors.assertMarked(large);
      }
    }
  }
}
