// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.imageio.ImageIO;
import org.bytedeco.pytorch.OutputArchive;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ClassifierTest {
  private static final int TRAINING = 24;
  private static final int TEST = 7;
  private static final Duration COMPILATION = Duration.ofMinutes(15);

  private final Path folder;
  private final StringWriter errors = new StringWriter();

  ClassifierTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** Warm and cold images with a disk. */
  private Path data() throws IOException {
    Random random = new Random(1);
    for (String part : new String[] {"train", "val"}) {
      for (String kind : new String[] {"warm", "cold"}) {
        Path images = Files.createDirectories(folder.resolve("data").resolve(part).resolve(kind));
        for (int i = 0; i < (part.equals("train") ? TRAINING : TEST); i++) {
          BufferedImage image = new BufferedImage(60, 48, BufferedImage.TYPE_INT_RGB);
          Graphics2D graphics = image.createGraphics();
          float hue = (kind.equals("warm") ? 0 : 0.5f) + 0.15f * random.nextFloat();
          graphics.setColor(Color.getHSBColor(hue, 1, 1));
          graphics.fillRect(0, 0, 60, 48);
          graphics.setColor(Color.GRAY);
          graphics.fillOval(random.nextInt(40), random.nextInt(30), 20, 20);
          graphics.dispose();
          ImageIO.write(image, "jpg", images.resolve(i + ".jpg").toFile());
        }
      }
    }
    return folder.resolve("data");
  }

  private int run(String... arguments) {
    CommandLine command = Main.commandLine().setErr(new PrintWriter(errors, true));
    return command.execute(arguments);
  }

  private String printedBy(String... arguments) {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      assertThat(run(arguments)).as("%s", errors).isZero();
    } finally {
      System.setOut(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  @Test
  void twoRanksLearnClassesAndTheSavedNetKnowsThem() throws Exception {
    String data = "--data=" + data();
    Path out = folder.resolve("run");
    String[] train = {
      "train",
      data,
      "--out=" + out,
      "--ranks=2",
      "--size=32",
      "--batch-size=4",
      "--augment=NONE",
      "--lr=0.01",
      "--epochs=8"
    };
    assertThat(run(train)).as("%s", errors).isZero();
    assertThat(Files.readAllLines(out.resolve("metrics.csv"))).hasSize(9);
    assertThat(ImageIO.read(out.resolve("samples.png").toFile()).getWidth()).isEqualTo(8 * 32);
    assertThat(out.resolve("metrics.png")).isNotEmptyFile();
    String evaluation = printedBy("evaluate", data, "--model=" + out.resolve("model.pt"));
    assertThat(evaluation).contains(" of 14 images, ");
    assertThat(Integer.parseInt(evaluation.substring(0, evaluation.indexOf(" "))))
        .isGreaterThanOrEqualTo(12);
    Path warm = folder.resolve("data/val/warm");
    String[] images = {warm.resolve("0.jpg").toString(), warm.resolve("1.jpg").toString()};
    String model = "--model=" + out.resolve("model.pt");
    assertThat(printedBy("classify", model, images[0], images[1]).lines())
        .satisfiesExactly(
            line -> assertThat(line).startsWith(images[0] + ": warm, "),
            line -> assertThat(line).startsWith(images[1] + ": warm, "));
    Path cold = folder.resolve("data/val/cold");
    Files.move(cold, cold.resolveSibling("icy"));
    assertThat(run("evaluate", data, model)).isEqualTo(2);
    assertThat(errors.toString())
        .contains("--data: val has the classes [icy, warm], the net in " + out)
        .contains("model.pt [cold, warm]");
  }

  @Test
  void recordsTrainAsTheirFilesDo() throws Exception {
    Path data = data();
    Path packed = Files.createDirectories(folder.resolve("packed"));
    for (String part : new String[] {"train", "val"}) {
      ImageList list = ImageList.of(data.resolve(part));
      ImageRecords.write(list, packed.resolve(part + ".records"), done -> {});
    }
    List<String> metrics = new ArrayList<>();
    for (Path from : List.of(data, packed)) {
      Path out = folder.resolve("run " + from.getFileName());
      String[] train = {
        "train", "--data=" + from, "--out=" + out, "--size=32", "--batch-size=8", "--epochs=1"
      };
      assertThat(run(train)).as("%s", errors).isZero();
      String line = Files.readAllLines(out.resolve("metrics.csv")).get(1);
      metrics.add(line.replaceFirst("(,[^,]*){3}$", "")); // without the times
      String model = "--model=" + out.resolve("model.pt");
      metrics.add(printedBy("evaluate", "--data=" + from, model));
    }
    assertThat(metrics.subList(2, 4)).isEqualTo(metrics.subList(0, 2));
  }

  @ParameterizedTest
  @CsvSource({
    "--size=8, '--size must be in [32, 1024], got 8'",
    "--ranks=0, '--ranks must be in [1, 1024], got 0'",
    "--lr=0, '--lr must be above 0, got 0.0'",
    "--epochs=many, many",
    "--augment=MORE, 'expected one of [NONE, COLOR, RAND, TRIVIAL]'"
  })
  void aWrongOptionIsAUsageError(String option, String message) throws Exception {
    assertThat(run("train", "--data=" + data(), option)).isEqualTo(2);
    assertThat(errors.toString()).contains(message);
  }

  @Test
  void missingFilesAreNamed() throws Exception {
    assertThat(run("train", "--data=" + folder)).isEqualTo(2);
    assertThat(errors.toString()).contains(folder.resolve("train") + " is missing");
    Path empty = Files.createDirectory(data().resolve("train/empty"));
    assertThat(run("train", "--data=" + data(), "--out=" + folder.resolve("run"))).isEqualTo(2);
    assertThat(errors.toString()).contains("got none in " + empty + "; add files ");
    Files.delete(empty);
    Files.createDirectory(data().resolve("val/icy"));
    Files.copy(data().resolve("val/cold/1.jpg"), data().resolve("val/icy/1.jpg"));
    assertThat(run("train", "--data=" + data(), "--out=" + folder.resolve("run"))).isEqualTo(2);
    assertThat(errors.toString())
        .contains("--data: train has the classes [cold, warm], val [cold, icy, warm]");
    assertThat(folder.resolve("run")).doesNotExist();
    Path broken = Files.writeString(folder.resolve("broken.pt"), "no archive");
    assertThat(run("evaluate", "--data=" + data(), "--model=" + broken)).isEqualTo(2);
    assertThat(errors.toString()).contains("broken.pt is no net that train has written: ");
    assertThat(run("evaluate", "--data=" + data(), "--model=" + folder.resolve("none.pt")))
        .isEqualTo(2);
    assertThat(errors.toString()).contains("--model: there is no file ", "none.pt");
    assertThat(run("classify", "--model=" + broken)).isEqualTo(2);
    assertThat(errors.toString()).contains("IMAGE");
  }

  @Test
  void aNetWithoutItsSizeIsRefused() throws Exception {
    Path file = folder.resolve("old.pt");
    try (ResNet net = new ResNet(2);
        OutputArchive archive = new OutputArchive()) {
      net.save(archive);
      archive.save_to(file.toString());
    }
    assertThat(run("classify", "--model=" + file, "image.jpg")).isEqualTo(2);
    assertThat(errors.toString())
        .contains("old.pt is no net that train has written: it does not name the size and classes");
  }

  @Test
  void aPackageThatIsNoClassifierIsRefused() throws Exception {
    Path golden = Path.of("../../java-api/src/test/resources/golden/packages/2.10.pt2");
    assertThat(run("classify", "--model=" + golden, "image.jpg")).isEqualTo(2);
    assertThat(errors.toString())
        .contains("2.10.pt2 is no net that peers/train.py has compiled: it does not name the size");
    Path broken = Files.writeString(folder.resolve("broken.pt2"), "no archive");
    assertThat(run("evaluate", "--data=" + data(), "--model=" + broken)).isEqualTo(2);
    assertThat(errors.toString())
        .contains("--model: " + broken + ": it is no whole package of torch._inductor");
  }

  @Test
  void aNetThatPythonCompiledGivesPythonsClasses() throws Exception {
    Path data = data();
    Path net = folder.resolve("net.pt2");
    List<String> expected = python(data, net);
    assertThat(expected).hasSize(2 * TEST);
    for (String images : List.of("32", "1")) {
      List<String> arguments =
          new ArrayList<>(List.of("classify", "--model=" + net, "--batch-size=" + images));
      expected.forEach(line -> arguments.add(line.substring(0, line.indexOf(": "))));
      List<String> lines = printedBy(arguments.toArray(String[]::new)).lines().toList();
      assertThat(lines.stream().map(ClassifierTest::withoutShare))
          .containsExactlyElementsOf(expected.stream().map(ClassifierTest::withoutShare).toList());
      for (int i = 0; i < lines.size(); i++) {
        assertThat(share(lines.get(i))).isCloseTo(share(expected.get(i)), within(1));
      }
    }
    long correct =
        expected.stream().filter(line -> line.matches(".*/(\\w+)/\\d+\\.jpg: \\1, .*")).count();
    assertThat(printedBy("evaluate", "--data=" + data, "--model=" + net))
        .startsWith(correct + " of 14 images, ");
  }

  private static String withoutShare(String line) {
    return line.substring(0, line.lastIndexOf(", "));
  }

  private static int share(String line) {
    return Integer.parseInt(line.substring(line.lastIndexOf(", ") + 2).replace(" %", ""));
  }

  /** Trains and compiles a net, which takes minutes, and returns the lines of its test images. */
  private List<String> python(Path data, Path net) throws Exception {
    TestPython.assumePackage("torchvision");
    try (TestJvm python =
        TestPython.start(
            folder,
            Map.of(),
            Path.of("../image-classifier/peers/train.py"),
            data.toString(),
            "--size=32",
            "--batch-size=8",
            "--epochs=4",
            "--package=" + net)) {
      assertThat(python.exitCode(COMPILATION)).as("%s", python.output()).isZero();
      return python.output().stream().filter(line -> line.contains(".jpg: ")).toList();
    }
  }

  @Test
  void aFolderThatCannotBeWrittenIsAUsageError() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "");
    for (Path out : List.of(file, file.resolve("run"))) {
      assertThat(run("train", "--data=" + data(), "--out=" + out)).isEqualTo(2);
      assertThat(errors.toString())
          .contains("--out must be a folder that can be created and written, got " + out + " (");
    }
  }

  @Test
  void aTrainingThatFailsAtOnceLeavesNoFolder() throws Exception {
    Path data = data();
    for (int i = 0; i < TRAINING; i++) {
      Files.writeString(data.resolve("train/warm/" + i + ".jpg"), "no image");
    }
    Path out = folder.resolve("runs/first");
    String[] train = {"train", "--data=" + data, "--out=" + out};
    assertThat(run(train)).isEqualTo(1);
    assertThat(errors.toString()).contains("rank 0 was the first to fail");
    assertThat(folder.resolve("runs")).doesNotExist();
    Path mine = Files.createDirectory(folder.resolve("runs"));
    assertThat(run(train)).isEqualTo(1);
    assertThat(mine).isEmptyDirectory();
    Path note = Files.writeString(Files.createDirectory(out).resolve("note"), "");
    assertThat(run(train)).isEqualTo(1);
    assertThat(note).exists();
  }

  @Test
  void moreRanksThanTheMachineHasRoomForAreRefused() throws Exception {
    int many = 4 * Runtime.getRuntime().availableProcessors() + 1;
    Path out = folder.resolve("run");
    assertThat(run("train", "--data=" + data(), "--ranks=" + many, "--out=" + out)).isEqualTo(2);
    assertThat(errors.toString()).contains("got " + many + "; start fewer, or set oversubscribe");
    assertThat(out).doesNotExist();
  }
}
