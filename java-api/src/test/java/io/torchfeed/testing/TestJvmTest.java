// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.Torchfeed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TestJvmTest {
  @Test
  void theClassesOfThePresetsComeFromTheArchive(@TempDir Path folder) throws Exception {
    assumeTrue(Files.exists(TestJvm.ARCHIVE), "Maven has archived the classes");
    List<String> options = List.of("-Xlog:class+load");
    try (TestJvm jvm = TestJvm.start(folder, Map.of(), options, Torchfeed.class.getName())) {
      jvm.exitCode();
      List<String> presets =
          jvm.output().stream().filter(line -> line.contains(" org.bytedeco.")).toList();
      assertThat(presets).filteredOn(line -> line.contains("shared objects file")).isNotEmpty();
      assertThat(presets).filteredOn(line -> line.contains(".jar")).isEmpty();
    }
  }
}
