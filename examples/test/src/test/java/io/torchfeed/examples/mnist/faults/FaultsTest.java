// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class FaultsTest {
  private final StringWriter output = new StringWriter();

  private CommandLine commandLine() {
    return Faults.commandLine()
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(output, true));
  }

  private List<Fault> faults(String... arguments) {
    CommandLine command = commandLine();
    command.parseArgs(arguments);
    return command.<Faults>getCommand().faults();
  }

  @Test
  void theWholeCampaignHas255Faults() {
    assertThat(faults()).hasSize(255).contains(Fault.values());
  }

  @Test
  void theShortFormHasEachKindOnce() {
    assertThat(faults("--short")).containsExactlyElementsOf(EnumSet.allOf(Fault.class));
    assertThat(faults("--short", "--times=2"))
        .hasSize(2 * Fault.values().length)
        .contains(Fault.values());
  }

  @Test
  void oneKindIsRepeated() {
    assertThat(faults("--only=all-killed", "--times=3"))
        .isEqualTo(Collections.nCopies(3, Fault.ALL_KILLED));
    assertThat(faults("--only=killed")).hasSize(5);
  }

  @Test
  void theFolderOfAnotherCampaignIsRefused(@TempDir Path out) throws IOException {
    Files.createDirectory(out.resolve("job-1"));
    assertThat(commandLine().execute("--short", "--out=" + out)).isEqualTo(2);
    assertThat(output.toString()).contains("--out " + out + " has the files of another campaign");
  }

  @ParameterizedTest
  @CsvSource({
    "--short --only=killed, --short and --only exclude each other",
    "--times=3, --times needs --short or --only",
    "--only=killed --times=0, '--times must be at least 1, got 0'",
    "--epochs=3, --epochs needs --short or --only",
    "--short --epochs=0, '--epochs must be at least 1, got 0'",
    "--only=bored, bored",
    "--many, Unknown option",
    "--short --data=/no/such/folder, --data /no/such/folder has no file"
  })
  void anInvalidOptionIsAUsageError(String arguments, String message) {
    assertThat(commandLine().execute(arguments.split(" "))).isEqualTo(2);
    assertThat(output.toString()).contains(message).contains("faults --help");
    assertThat(output.toString()).doesNotContain("Exception", "io.torchfeed");
  }
}
