// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.internal.Quotes;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * The commands for record files: {@code images pack FOLDER FILE} and {@code images verify FILE}.
 */
final class ImageCommand {
  static final String USAGE = "images pack FOLDER FILE | images verify FILE";

  private static final String HELP =
      """
      images pack FOLDER FILE: writes the images of a folder of class folders into one file
      images verify FILE: reads a written file and lists damaged images
      exit status: 0 all is well; 1 something is wrong; 2 other arguments""";

  private static final int WRONG_USAGE = 2;
  private static final long NANOS_PER_LINE = 1_000_000_000L;

  private ImageCommand() {}

  /**
   * Runs a command.
   *
   * @param args from behind {@code images} on
   * @param out receives the progress and the result
   * @param err receives errors
   * @return the exit status: 0 if all is well, 1 if something is wrong, 2 for other arguments
   */
  static int run(List<String> args, PrintStream out, PrintStream err) {
    if (LaunchCommand.isHelp(args)) {
      out.println(HELP);
      return 0;
    }
    try {
      if (args.size() == 3 && args.get(0).equals("pack")) {
        return pack(Path.of(args.get(1)), Path.of(args.get(2)), out);
      } else if (args.size() == 2 && args.get(0).equals("verify")) {
        return verify(Path.of(args.get(1)), out);
      }
    } catch (IllegalArgumentException | IllegalStateException | UncheckedIOException e) {
      if (!(e instanceof InvalidPathException)) {
        err.println("error: " + Quotes.printable(String.valueOf(e.getMessage())));
        return 1;
      }
    }
    err.println("error: the arguments must be " + USAGE);
    return WRONG_USAGE;
  }

  private static int pack(Path root, Path file, PrintStream out) {
    ImageList list = ImageList.of(root);
    ImageRecords.write(list, file, progress(list.size(), out));
    list.leftOut().forEach(line -> out.println("left out " + line));
    out.printf(
        "wrote %d images of %d classes to %s%n", list.size(), list.classes().size(), name(file));
    return 0;
  }

  private static int verify(Path file, PrintStream out) {
    long[] images = {0};
    List<String> problems = ImageRecords.verify(file, done -> images[0] = done);
    problems.forEach(out::println);
    out.printf("%s: %d images, %d of them damaged%n", name(file), images[0], problems.size());
    return problems.isEmpty() ? 0 : 1;
  }

  private static String name(Path file) {
    return Quotes.printable(file.toString());
  }

  /** Prints a line now and then. */
  private static LongConsumer progress(long size, PrintStream out) {
    long[] due = {System.nanoTime() + NANOS_PER_LINE};
    return done -> {
      if (System.nanoTime() - due[0] >= 0) {
        due[0] = System.nanoTime() + NANOS_PER_LINE;
        out.printf("%d of %d images%n", done, size);
      }
    };
  }
}
