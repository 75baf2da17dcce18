// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the shutdown hook of the README lets the step in progress end. */
class EndingTrainingTest {
  @RepeatedTest(3)
  void aSignalEndsTheProcessBetweenSteps(@TempDir Path folder) throws Exception {
    try (TestJvm training =
        TestJvm.start(folder, Map.of(), List.of("-Xmx64m"), EndingTraining.class.getName())) {
      training.await(lines -> Collections.frequency(lines, "begin") > 1);
      training.signal("TERM");
      assertThat(training.exitCode()).as("%s", training.output()).isEqualTo(128 + 15);
      List<String> lines = training.output();
      assertThat(lines).endsWith("end");
      assertThat(Collections.frequency(lines, "end"))
          .isEqualTo(Collections.frequency(lines, "begin"));
    }
  }
}
