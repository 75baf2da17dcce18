// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@link CompiledModel#open} where its library cannot be unpacked or loaded. */
class UnpackedFolderTest {
  private final Path folder;
  private final Path file;
  private final Path temporary;

  UnpackedFolderTest(@TempDir Path folder) throws IOException {
    this.folder = folder;
    file = Packages.golden(folder, "2.10");
    temporary = Files.createDirectory(folder.resolve("temporary"));
  }

  private List<String> open(List<String> before) throws Exception {
    List<String> command = new ArrayList<>(before);
    List<String> options = List.of("-XX:-UsePerfData", "-Djava.io.tmpdir=" + temporary);
    command.addAll(TestJvm.command(options, OpeningProgram.class.getName(), file.toString()));
    try (TestJvm java = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(java.exitCode()).as("%s", java.output()).isZero();
      return java.output();
    }
  }

  @Test
  void aFolderOfItsOwnServes() throws Exception {
    assertThat(open(List.of())).containsExactly("inputs 2");
    assertThat(temporary).isEmptyDirectory();
  }

  /** A limit of the file size refuses writes as a full disk does. */
  @Test
  void aFullFolderIsNamedAndNotThePackage() throws Exception {
    assertThat(open(TestJvm.after("ulimit -f 8")))
        .containsExactly(
            "java.io.UncheckedIOException: a model cannot be unpacked into the temporary folder "
                + temporary
                + ": File too large; make room in it, or name another one by"
                + " -Djava.io.tmpdir=FOLDER");
    assertThat(temporary).isEmptyDirectory();
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aFolderWithoutExecutionIsNamed() throws Exception {
    List<String> mount = new ArrayList<>(List.of("unshare", "-m"));
    mount.addAll(TestJvm.after("mount -t tmpfs -o noexec,size=99m none '" + temporary + "'"));
    List<String> attempt = new ArrayList<>(mount);
    attempt.add("true");
    try (TestJvm trial = TestJvm.launch(folder, Map.of(), attempt)) {
      assumeTrue(trial.exitCode() == 0, "mounting needs root, and a system that permits it");
    }

    assertThat(open(mount))
        .singleElement()
        .asString()
        .startsWith("UNREADABLE " + file + ": its library cannot be loaded: ")
        .endsWith(
            "; the temporary folder "
                + temporary
                + " is in a file system that is mounted with noexec; name another one by"
                + " -Djava.io.tmpdir=FOLDER");
  }

  @Test
  void anInterruptedThreadIsNoDamage() throws IOException {
    Thread.currentThread().interrupt();

    assertThatThrownBy(() -> CompiledModel.open(file).close())
        .hasMessageEndingWith(": the thread was interrupted");
    assertThat(Thread.interrupted()).isTrue();
    CompiledModel.open(file).close();
  }
}
