// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.token.TokenFile;
import io.torchfeed.memory.DType;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import javax.imageio.ImageIO;

/** Small files for programs that are started without files of yours; deleted when they end. */
final class SampleFiles {
  private static final int SIZE = 48;
  private static final int STRIPE = 6;
  private static final int IMAGES = 40;
  private static final int PEOPLE = 400;
  private static final int SENTENCES = 300;

  private SampleFiles() {}

  /** Returns a new folder with a folder of images for each of two classes: ways of stripes. */
  static Path images() throws IOException {
    Path folder = folder();
    Random random = new Random(1);
    for (boolean upright : new boolean[] {false, true}) {
      Path ofClass = Files.createDirectory(folder.resolve(upright ? "upright" : "level"));
      ofClass.toFile().deleteOnExit();
      for (int i = 0; i < IMAGES; i++) {
        Path file = ofClass.resolve(i + ".png");
        ImageIO.write(stripes(upright, random), "png", file.toFile());
        file.toFile().deleteOnExit();
      }
    }
    return folder;
  }

  private static BufferedImage stripes(boolean upright, Random random) {
    BufferedImage image = new BufferedImage(SIZE, SIZE, BufferedImage.TYPE_INT_RGB);
    Graphics2D pen = image.createGraphics();
    for (int at = 0; at < SIZE; at += STRIPE) {
      pen.setColor(new Color(random.nextInt(1 << 24)));
      pen.fillRect(upright ? at : 0, upright ? 0 : at, SIZE, SIZE);
    }
    pen.dispose();
    return image;
  }

  /** Returns a new text file. */
  static Path text() throws IOException {
    Path file = folder().resolve("lines.txt");
    file.toFile().deleteOnExit();
    return Files.write(
        file,
        List.of(
            "the quick fox jumps over the lazy dog",
            "the dog sleeps",
            "a fox runs",
            "over the hill runs the quick dog",
            "sleeps a lazy fox"));
  }

  /** Returns the bytes of the file of the argument, or of a new text of random sentences. */
  static TokenFile tokens(String... args) throws IOException {
    if (args.length > 0) {
      return TokenFile.raw(DType.UINT8, Path.of(args[0]));
    }
    Path file = folder().resolve("sentences.txt");
    file.toFile().deleteOnExit();
    Random random = new Random(1);
    List<String> lines = new ArrayList<>();
    for (int i = 0; i < SENTENCES; i++) {
      String who = List.of("a fox", "the dog", "a lazy cat").get(random.nextInt(3));
      String does = List.of("sleeps", "runs", "jumps").get(random.nextInt(3));
      String where = List.of("over the hill", "at night", "").get(random.nextInt(3));
      lines.add(String.join(" ", who, does, where));
    }
    return TokenFile.raw(DType.UINT8, Files.write(file, lines));
  }

  /** Returns the file of the second argument, or a new CSV file of people of two classes. */
  static Path table(String... args) throws IOException {
    if (args.length > 1) {
      return Path.of(args[1]);
    }
    Path file = folder().resolve("people.csv");
    file.toFile().deleteOnExit();
    Random random = new Random(1);
    List<String> lines = new ArrayList<>(List.of("age,income,colour,class"));
    for (int i = 0; i < PEOPLE; i++) {
      boolean buys = random.nextInt(4) == 0;
      String age = random.nextInt(9) == 0 ? "NA" : "" + (20 + random.nextInt(buys ? 30 : 60));
      String income = random.nextInt(9) == 0 ? "" : "" + random.nextInt(buys ? 90_000 : 50_000);
      String colour = List.of("red", "blue", "").get(random.nextInt(buys ? 2 : 3));
      lines.add(String.join(",", age, income, colour, buys ? "buyer" : "visitor"));
    }
    return Files.write(file, lines);
  }

  /** Returns a new empty folder. */
  static Path folder() throws IOException {
    Path folder = Files.createTempDirectory("torchfeed-first");
    folder.toFile().deleteOnExit();
    return folder;
  }
}
