// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.Libtorch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibtorchTest {
  private static final String ENTRY = "7f21e2a28000-7f21e2a4e000 r--p 00000000 fe:01 1234    ";

  private final Path folder;

  LibtorchTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void nothingIsWrongWithTheSystemOfTheTests() {
    assertThat(Libtorch.obstacle()).isEmpty();
  }

  @Test
  void anOlderGlibcIsNamed() throws IOException {
    assertThat(obstacleWith("libc.so.6", "2.34"))
        .isEqualTo(
            "libtorch needs glibc 2.35 or later, as in Debian 12 and Ubuntu 22.04, but this system"
                + " has 2.34");
    assertThat(obstacleWith("libc-2.31.so", "2.31")).endsWith("has 2.31");
    assertThat(obstacleWith("libc.so.6", "1.99")).endsWith("has 1.99");
  }

  @Test
  void aGlibcThatIsNewEnoughIsNot() throws IOException {
    assertThat(obstacleWith("libc.so.6", "2.35")).isEmpty();
    assertThat(obstacleWith("libc.so.6", "2.100")).isEmpty();
    assertThat(obstacleWith("libc.so.6", "3.0")).isEmpty();
  }

  @Test
  void muslIsNamed() throws IOException {
    assertThat(obstacle("/lib/ld-musl-x86_64.so.1"))
        .isEqualTo("libtorch needs glibc 2.35 or later, but this system has musl");
  }

  @Test
  void whatCannotBeIdentifiedIsLeftToTheLinker() throws IOException {
    assertThat(obstacle("/usr/lib/libz.so.1")).isEmpty();
    assertThat(Libtorch.obstacle(folder.resolve("missing"))).isEmpty();
  }

  private String obstacleWith(String library, String version) throws IOException {
    Path file = folder.resolve(library);
    Files.writeString(
        file, "\0ELF\0GNU C Library (Debian GLIBC) stable release version " + version + ".\0");
    return obstacle(file.toString());
  }

  private String obstacle(String mapped) throws IOException {
    Path maps = folder.resolve("maps");
    Files.writeString(maps, ENTRY + "/usr/bin/java\n" + ENTRY + mapped + "\n" + ENTRY + "[heap]\n");
    return Libtorch.obstacle(maps);
  }
}
