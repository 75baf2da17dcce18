// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JvmCommandTest {
  private final Path folder;
  private final Path note;

  JvmCommandTest(@TempDir Path folder) {
    this.folder = folder;
    note = folder.resolve("note");
  }

  /** Prints JavaCPP's limit on the size of the process, in bytes. */
  public static final class LimitRank {
    private LimitRank() {}

    public static void main(String[] args) {
      System.out.print(Pointer.maxPhysicalBytes());
    }
  }

  /** Prints whether this JVM has a module that nothing requires. */
  public static final class ModuleRank {
    static final String MODULE = "com.fasterxml.jackson.core";

    private ModuleRank() {}

    public static void main(String[] args) {
      System.out.print(ModuleLayer.boot().findModule(MODULE).isPresent());
    }
  }

  /** A launcher of {@link ModuleRank}: its arguments are the note and options. */
  public static final class ModuleLauncher {
    private ModuleLauncher() {}

    public static void main(String[] args) throws IOException {
      List<String> options = List.of(args).subList(1, args.length);
      System.out.print(output(settings(ModuleRank.class, options), Path.of(args[0])));
    }
  }

  private static LaunchSettings settings(Class<?> rank, List<String> options) {
    return new LaunchSettings(
        1,
        rank.getName(),
        List.of(),
        options,
        Map.of(),
        false,
        false,
        Duration.ofSeconds(1),
        null,
        RankOutput.Shown.ALL,
        List.of(),
        null);
  }

  private static String output(LaunchSettings settings, Path note) throws IOException {
    return output(JvmCommand.of(settings, "job", note));
  }

  private static String output(ProcessBuilder command) throws IOException {
    Process process = command.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (InputStream output = process.getInputStream()) {
      return new String(output.readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  private String limitWith(String... options) throws IOException {
    return output(settings(LimitRank.class, List.of(options)), note);
  }

  /** Returns the answer of a rank whose launcher has a module by {@code --add-modules} alone. */
  private String hasModule(String... rankOptions) throws IOException {
    String jar =
        Path.of(
                URI.create(
                    String.valueOf(
                        JsonFactory.class.getProtectionDomain().getCodeSource().getLocation())))
            .toString();
    List<String> options = List.of("--module-path", jar, "--add-modules", ModuleRank.MODULE);
    List<String> command =
        new ArrayList<>(TestJvm.command(options, ModuleLauncher.class.getName(), note.toString()));
    command.addAll(List.of(rankOptions));
    return output(new ProcessBuilder(command));
  }

  @Test
  void aRankHasTheModulesThatItsLauncherHasByAnOption() throws IOException {
    assertThat(hasModule()).isEqualTo("true");
  }

  @Test
  void aRankWithAModulePathOfItsOwnHasNoneOfItsLaunchers() throws IOException {
    assertThat(hasModule("--module-path", folder.toString())).isEqualTo("false");
  }

  @Test
  void theSizeOfARankIsNotLimitedByItsHeap() throws IOException {
    assertThat(limitWith("-Xmx64m")).isEqualTo("0");
  }

  @Test
  void anotherLimitOnTheSizeOfARankCounts() throws IOException {
    assertThat(limitWith("-Xmx64m", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=3g"))
        .isEqualTo(Long.toString(3L << 30));
  }
}
