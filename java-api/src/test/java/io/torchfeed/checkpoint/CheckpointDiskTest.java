// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests saves on a file system that is full or read-only. It is mounted in a mount namespace, which
 * ends with the program; where this is not allowed, as in most containers, the tests are skipped.
 */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CheckpointDiskTest {
  private static final String MOUNT = "mount -t tmpfs -o size=256k tmpfs \"$0\"";

  private final Path folder;

  CheckpointDiskTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static int status(String... command) throws Exception {
    try {
      return new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    } catch (IOException e) {
      return -1; // there is no such program
    }
  }

  /** Returns the lines of {@link CheckpointDiskProgram} on a file system of its own. */
  private List<String> run(String mode) throws Exception {
    Path mounted = Files.createDirectory(folder.resolve("mounted"));
    assumeTrue(
        status("unshare", "-m", "sh", "-c", MOUNT, mounted.toString()) == 0,
        "a file system can be mounted here");
    List<String> command = new ArrayList<>(List.of("unshare", "-m", "sh", "-c"));
    command.add(MOUNT + " && exec \"$@\"");
    command.add(mounted.toString());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(TestJvm.SHORT_LIVED);
    command.addAll(List.of(CheckpointDiskProgram.class.getName(), mounted.toString(), mode));
    try (TestJvm jvm = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(jvm.exitCode()).as("%s", jvm.output()).isZero();
      return jvm.output();
    }
  }

  /**
   * The disk is full at the first file of the checkpoint, at the second, ..., at {@code LATEST}.
   */
  @Test
  void onAFullDiskTheLastCheckpointIsKeptWhereverTheSaveFails() throws Exception {
    List<String> lines = run("full");
    assertThat(lines.subList(0, 2)).containsExactly("saved 1", "full: No space left on device");
    List<String> tries = lines.subList(2, lines.size() - 3);
    assertThat(tries).hasSizeGreaterThanOrEqualTo(6);
    for (int i = 0; i < tries.size(); i += 2) {
      assertThat(tries.get(i))
          .startsWith("UNWRITABLE " + folder.resolve("mounted/run/step-00000" + (2 + i / 2)))
          .endsWith("it cannot be written: No space left on device");
      assertThat(tries.get(i + 1)).isEqualTo("loaded 1");
    }
    int last = 2 + tries.size() / 2;
    assertThat(lines)
        .endsWith(
            "saved " + last,
            "loaded " + last,
            "[LATEST, step-000001, step-00000%d]".formatted(last)); // tries that failed leave none
  }

  @Test
  void inAReadOnlyFolderTheLastCheckpointIsLoaded() throws Exception {
    List<String> lines = run("read-only");
    assertThat(lines).hasSize(3).first().isEqualTo("saved 1");
    assertThat(lines.get(1))
        .startsWith("UNWRITABLE " + folder.resolve("mounted/run/step-000002"))
        .contains("Read-only file system");
    assertThat(lines.get(2)).isEqualTo("loaded 1");
  }
}
