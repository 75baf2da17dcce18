// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import static io.torchfeed.summary.SummaryGoldenTest.eventFiles;
import static io.torchfeed.summary.SummaryGoldenTest.records;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SummaryWriterTest {
  private final Path folder;
  private Instant now = Instant.ofEpochSecond(1_764_288_000);

  private final InstantSource clock =
      new InstantSource() {
        @Override
        public Instant instant() {
          return now;
        }
      };

  SummaryWriterTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private SummaryWriter open() throws IOException {
    return SummaryWriter.open(folder, Long.MAX_VALUE, clock);
  }

  @Test
  void scalarsAreRowsOfATable() throws IOException {
    try (SummaryWriter writer = open()) {
      writer.scalar("loss, \"mean\"", 0.1, 3);
      now = now.plusMillis(1500);
      writer.scalar("rate", Double.NaN, 1L << 40);
    }
    assertThat(folder.resolve("scalars.csv"))
        .hasContent(
            """
            step,tag,value,seconds
            3,"loss, ""mean""\",0.1,1764288000.000
            1099511627776,"rate",NaN,1764288001.500
            """);
  }

  @Test
  void aRunThatContinuesTakesItsStepsAgain() throws IOException {
    try (SummaryWriter writer = open()) {
      for (int step = 0; step < 5; step++) {
        writer.scalar("loss", step, step);
      }
    }
    String torn = "7,\"loss\",7";
    Files.writeString(
        folder.resolve("scalars.csv"), Files.readString(folder.resolve("scalars.csv")) + torn);
    try (SummaryWriter writer = SummaryWriter.open(folder, 3, clock)) {
      writer.scalar("loss", 30, 3);
    }
    assertThat(Files.readAllLines(folder.resolve("scalars.csv")))
        .extracting(line -> line.split(",", -1)[2])
        .containsExactly("value", "0.0", "1.0", "2.0", "30.0");
    assertThat(eventFiles(folder)).hasSize(2);
    assertThat(records(eventFiles(folder).get(1))).hasSize(3);
  }

  @Test
  void anotherRunInTheFolderAppendsToTheTable() throws IOException {
    open().close();
    try (SummaryWriter writer = open()) {
      writer.scalar("loss", 1, 0);
    }
    assertThat(Files.readAllLines(folder.resolve("scalars.csv"))).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"epoch,loss\n1,2\n", "step,tag,value,seconds\nx,\"loss\",1,1\n"})
  void aTableOfOthersStaysAsItIs(String table) throws IOException {
    Files.writeString(folder.resolve("scalars.csv"), table);
    assertThatThrownBy(() -> SummaryWriter.resume(folder, 1))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("scalars.csv");
    assertThat(folder.resolve("scalars.csv")).hasContent(table);
  }

  @Test
  void valuesAreWrittenAfterTenSecondsAndByAFlush() throws IOException {
    try (SummaryWriter writer = open()) {
      Path events = eventFiles(folder).get(0);
      assertThat(records(events)).hasSize(1);
      writer.scalar("loss", 1, 1);
      assertThat(records(events)).hasSize(1);
      now = now.plusSeconds(10);
      writer.scalar("loss", 2, 2);
      assertThat(records(events)).hasSize(2);
      writer.flush();
      assertThat(records(events)).hasSize(3);
    }
  }

  @Test
  void whatCannotBeWrittenIsWrittenLater() throws IOException {
    try (SummaryWriter writer = open()) {
      Path events = eventFiles(folder).get(0);
      Path away = folder.resolve("away");
      writer.scalar("loss", 1, 1);
      Files.move(events, away);
      assertThatThrownBy(writer::flush)
          .isInstanceOf(UncheckedIOException.class)
          .hasMessageContaining(events.toString());
      now = now.plusSeconds(10);
      assertThatThrownBy(() -> writer.scalar("loss", 2, 2))
          .isInstanceOf(UncheckedIOException.class);
      Files.move(away, events);
      writer.scalar("loss", 3, 3);
      writer.flush();
      assertThat(records(events)).hasSize(3);
      assertThat(Files.readAllLines(folder.resolve("scalars.csv"))).hasSize(3);
    }
  }

  @Test
  void aThreadThatIsInterruptedWrites() throws IOException {
    SummaryWriter writer = open();
    writer.scalar("loss", 1, 1);
    Thread.currentThread().interrupt();
    writer.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(Files.readAllLines(folder.resolve("scalars.csv"))).hasSize(2);
  }

  @Test
  void aFolderHasOneWriter() throws IOException {
    try (SummaryWriter writer = open()) {
      assertThatThrownBy(this::open)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("another writer has " + folder);
      writer.scalar("loss", 1, 1);
    }
    open().close();
  }

  @Test
  void aFolderInAnArchiveIsRefused() throws IOException {
    Map<String, String> isNew = Map.of("create", "true");
    try (FileSystem zip = FileSystems.newFileSystem(folder.resolve("a.zip"), isNew)) {
      assertThatThrownBy(() -> SummaryWriter.open(zip.getPath("run")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("not in the default file system");
    }
  }

  @Test
  void aClosedWriterRefusesValues() throws IOException {
    SummaryWriter writer = open();
    writer.close();
    writer.close();
    assertThatThrownBy(() -> writer.scalar("loss", 1, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is closed");
    assertThatThrownBy(writer::flush).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void wrongArgumentsAreNamed() throws IOException {
    try (SummaryWriter writer = open()) {
      assertThatThrownBy(() -> writer.scalar(" ", 1, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a tag must");
      assertThatThrownBy(() -> writer.scalar("a\nb", 1, 1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> writer.histogram("a", torch.zeros(1), -1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("step must be at least 0, got -1");
      assertThatThrownBy(() -> writer.image("a", torch.zeros(2, 4, 4), 0))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("got Float [2, 4, 4]");
      assertThatThrownBy(() -> writer.image("a", torch.zeros(3, 4, 4).to(torch.ScalarType.Long), 0))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(
              () -> writer.histogram("a", torch.zeros(1).to(torch.ScalarType.ComplexFloat), 0))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> SummaryWriter.resume(folder, -1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void valuesThatAreNotFiniteAreCounted() throws IOException {
    float[] values = {1, Float.NaN, 2, Float.POSITIVE_INFINITY};
    try (SummaryWriter writer = open()) {
      writer.histogram("gradient", Tensor.create(values), 0);
      writer.histogram("empty", torch.zeros(0), 0);
      writer.histogram("none", torch.full(new long[] {2}, new Scalar(Double.NaN)), 1);
    }
    assertThat(Files.readString(folder.resolve("scalars.csv")))
        .contains("0,\"gradient/not finite\",2.0")
        .contains("1,\"none/not finite\",2.0");
    assertThat(records(eventFiles(folder).get(0))).hasSize(4);
    Histogram finite = Histogram.of(Tensor.create(values));
    assertThat(finite.count()).isEqualTo(2);
    assertThat(finite.max()).isEqualTo(2);
  }

  @Test
  void valuesBeyondAllLimitsAreInTheOutermostBuckets() {
    Histogram counted = Histogram.of(Tensor.create(new double[] {-1e30, 1e30, 1e30}));
    assertThat(counted.counts()[1]).isEqualTo(1);
    assertThat(counted.counts()[counted.counts().length - 1]).isEqualTo(2);
  }

  @Test
  @Tag("long")
  void valuesBeyondTwoToThe31AreCounted() {
    long size = (1L << 31) + 5;
    Tensor zeros = torch.zeros(new long[] {1}).to(torch.ScalarType.Byte).expand(size);
    assertThat(Histogram.of(zeros).count()).isEqualTo((double) size);
  }

  @Test
  void tensorBoardReadsIt() throws IOException, InterruptedException {
    TestPython.assumePackage("tensorboard");
    try (SummaryWriter writer = open()) {
      writer.scalar("loss/train", 0.5, 1);
      writer.scalar("loss/train", 0.25, 2);
      writer.scalar("loss/train", 0.125, 3);
    }
    try (SummaryWriter writer = SummaryWriter.open(folder, 3, clock)) {
      writer.scalar("loss/train", 2, 3);
      writer.histogram("weight", Tensor.create(new float[] {-1, 1, 4}), 3);
      writer.image("sample", torch.rand(3, 5, 7), 3);
    }
    Path script = Path.of("src", "test", "python", "read_summary.py").toAbsolutePath();
    try (TestJvm python = TestPython.start(folder, Map.of(), script, folder.toString())) {
      assertThat(python.exitCode()).as("%s", python.output()).isZero();
      assertThat(python.output())
          .filteredOn(line -> line.matches("(scalar|histogram|image) .*"))
          .containsExactly(
              "scalar loss/train 1 0.5",
              "scalar loss/train 2 0.25",
              "scalar loss/train 3 2.0",
              "histogram weight 3 3 -1.0 4.0",
              "image sample 3 5x7");
    }
  }
}
