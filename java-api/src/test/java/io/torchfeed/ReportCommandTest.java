// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportCommandTest {
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  private int run(String... args) {
    PrintStream out = new PrintStream(output, true, StandardCharsets.UTF_8);
    return ReportCommand.run(List.of(args), out, out);
  }

  private String printed() {
    return output.toString(StandardCharsets.UTF_8);
  }

  @Test
  void thePageIsWrittenIntoTheFolderOrElsewhere(@TempDir Path folder) throws IOException {
    Files.writeString(folder.resolve("scalars.csv"), "step,tag,value,seconds\n1,\"a\",2.0,3.0\n");
    assertThat(run(folder.toString())).isZero();
    assertThat(printed().trim()).isEqualTo(folder.resolve("report.html").toString());
    Path other = folder.resolve("other.html");
    assertThat(run(folder.toString(), other.toString())).isZero();
    assertThat(other).hasSameTextualContentAs(folder.resolve("report.html"));
    assertThat(other).content().startsWith("<!DOCTYPE html>").contains("<h3>a</h3>");
  }

  @Test
  void theArgumentsAreHelp() {
    assertThat(run("--help")).isZero();
    assertThat(printed()).startsWith("report FOLDER [FILE]: writes a page about the run");
  }

  @Test
  void otherArgumentsAndFoldersAreErrors(@TempDir Path folder) throws IOException {
    assertThat(run()).isEqualTo(2);
    assertThat(run("a", "b", "c")).isEqualTo(2);
    assertThat(run("a", "b", "c\u001b[2J")).isEqualTo(2);
    assertThat(run(folder.resolve("n\u001bo").toString())).isEqualTo(1);
    assertThat(run(folder.toString())).isEqualTo(1);
    Files.writeString(folder.resolve("scalars.csv"), "step,tag,value,seconds\n");
    assertThat(run(folder.toString(), folder.resolve("no/page.html").toString())).isEqualTo(1);
    assertThat(printed())
        .contains("error: report FOLDER [FILE] is expected, got a b c")
        .contains("got a b c\\u001b[2J")
        .contains("n\\u001bo is not a folder")
        .contains("has no scalars.csv, metrics.csv, trace or generation of a run")
        .contains("error: cannot write " + folder.resolve("no/page.html"))
        .contains("page.html: no such file or directory")
        .doesNotContain("Exception");
  }

  @Test
  void tablesNeedNotBeUtf8(@TempDir Path folder) throws IOException {
    byte[] latin1 = "epoch,Gr\u00f6\u00dfe\n1,2.5\n".getBytes(StandardCharsets.ISO_8859_1);
    Files.write(folder.resolve("metrics.csv"), latin1);
    assertThat(run(folder.toString())).isZero();
    assertThat(folder.resolve("report.html")).content().contains("<h3>Gr\ufffd\ufffde</h3>");
  }
}
