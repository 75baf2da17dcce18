// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.Libtorch;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Properties;

/**
 * The library itself: its version, and a self-check that it works on this machine.
 *
 * <p>Run as a main class, it runs the self-check and prints the findings, with a hint for each
 * failure; with arguments, it starts ranks, lists the generations of an elastic job, or writes or
 * verifies files of image records. See {@link #main}.
 */
public final class Torchfeed {
  private static final int WRONG_USAGE = 2;

  private Torchfeed() {}

  /**
   * Returns the version of torchfeed.
   *
   * @return the version, for example {@code 0.1.0}
   */
  public static String version() {
    try (InputStream in = Torchfeed.class.getResourceAsStream("build.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the version of libtorch that the {@code torchfeed-native} of this process is built for.
   *
   * @return the version, for example {@code 2.10.0}
   */
  public static String libtorchVersion() {
    return Libtorch.version();
  }

  /**
   * Loads libtorch and torchfeed's native library, as the first use of either does. A program that
   * uses the presets' classes before torchfeed's, such as a tensor, calls this method first: where
   * they throw {@code no jniopenblas_nolapack in java.library.path}, its error names the reason.
   *
   * @throws UnsatisfiedLinkError if a library is missing or cannot be loaded, in each call, with
   *     the reason and the remedy; or if another libtorch is on {@code LD_LIBRARY_PATH} or {@code
   *     java.library.path}, since two in one process abort it
   */
  public static void load() {
    Facade.load();
  }

  /**
   * Runs the self-check, or a command, and prints its findings to the standard output. Exits with 0
   * if all is well, 1 if something is wrong, or 2 for other arguments; a launch exits with the
   * status of the process that failed first.
   *
   * @param args empty for the self-check; {@code images pack FOLDER FILE}, which writes the images
   *     in the folders of the classes as {@link io.torchfeed.data.source.ImageRecords}; {@code
   *     images verify FILE}; {@code generations FOLDER}, which lists generations of an elastic job;
   *     {@code report FOLDER}, which writes a page about the run that has left its files there;
   *     {@code trace FOLDER}, which merges the dumps of {@link io.torchfeed.trace.Trace}; or {@code
   *     launch OPTIONS MAIN ARGUMENTS}, which starts ranks by {@link
   *     io.torchfeed.distributed.launch.Launcher}; {@code --help} lists the commands, and behind
   *     the name of a command its arguments
   */
  public static void main(String[] args) {
    requireNonNull(args, "args");
    if (args.length == 0) {
      System.exit(SelfCheck.run(System.out) ? 0 : 1);
    }
    List<String> rest = List.of(args).subList(1, args.length);
    if (rest.isEmpty() && LaunchCommand.isHelp(List.of(args))) {
      System.out.println(help());
      System.exit(0);
    }
    System.exit(
        switch (args[0]) {
          case "generations" -> GenerationsCommand.run(rest, System.out, System.err);
          case "images" -> ImageCommand.run(rest, System.out, System.err);
          case "trace" -> TraceCommand.run(rest, System.out, System.err);
          case "launch" -> LaunchCommand.run(rest, System.out, System.err);
          case "report" -> ReportCommand.run(rest, System.out, System.err);
          default -> {
            System.err.printf(
                "error: the commands are %s, %s, %s, %s and launch --help, and the self-check has no"
                    + " arguments; got %s%n",
                GenerationsCommand.USAGE,
                ImageCommand.USAGE.replace(" | ", ", "),
                ReportCommand.USAGE,
                TraceCommand.USAGE,
                String.join(" ", args));
            yield WRONG_USAGE;
          }
        });
  }

  /** Not a constant, since formatting it would be part of the start of each program. */
  private static String help() {
    return """
        without arguments: checks that the library works on this machine
        %s: lists the generations of an elastic job
        %s: writes or checks image records
        %s: writes a page about a run
        %s: merges the traces of all ranks
        launch --help: lists the options for starting ranks"""
        .formatted(
            GenerationsCommand.USAGE, ImageCommand.USAGE, ReportCommand.USAGE, TraceCommand.USAGE);
  }
}
