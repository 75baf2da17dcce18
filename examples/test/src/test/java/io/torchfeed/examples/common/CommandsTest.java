// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class CommandsTest {
  private final StringWriter output = new StringWriter();
  private final StringWriter errors = new StringWriter();

  /** Ends in the way that its option names. */
  @Command(name = "work", subcommands = Other.class)
  private static final class Work implements Callable<Integer> {
    @Option(names = "--ranks")
    private int ranks = 1;

    @Option(names = "--progress")
    private ProgressMode progress = ProgressMode.AUTO;

    @Option(names = "--end")
    private String end = "well";

    @Override
    public Integer call() {
      switch (end) {
        case "wrong" -> throw CommandException.wrongUse("--end must be better, got wrong");
        case "argument" -> throw new IllegalArgumentException("bad argument");
        case "failed" -> throw new CommandException("the disk is full");
        case "state" -> throw new IllegalStateException("a rank is lost");
        case "bug" -> throw new UnsupportedOperationException("a bug");
        default -> {
          return ranks == 3 && progress == ProgressMode.BAR ? 0 : 7;
        }
      }
    }
  }

  /** Does nothing. */
  @Command(name = "other")
  private static final class Other implements Callable<Integer> {
    @Override
    public Integer call() {
      return 0;
    }
  }

  private int execute(String... arguments) {
    return Commands.of(
            new Work(),
            List.of(IllegalArgumentException.class),
            List.of(IllegalStateException.class))
        .setOut(new PrintWriter(output, true))
        .setErr(new PrintWriter(errors, true))
        .execute(arguments);
  }

  @ParameterizedTest
  @ValueSource(strings = {"--ranks=3 --progress=bar", "--ranks 3 --progress BAR"})
  void aValueFollowsAnEqualsSignOrABlank(String arguments) {
    assertThat(execute(arguments.split(" "))).isZero();
    assertThat(errors.toString()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "--rank=3, Unknown option: '--rank=3', work",
    "--ranks, Missing required parameter for option '--ranks' (<ranks>), work",
    "--ranks=many, Invalid value for option '--ranks': 'many' is not an int, work",
    "--end=wrong, '--end must be better, got wrong', work",
    "--end=argument, bad argument, work",
    "other --ranks=3, Unknown option: '--ranks=3', other"
  })
  void wrongUseIsOneLineAndStatusTwo(String arguments, String message, String command) {
    assertThat(execute(arguments.split(" "))).isEqualTo(2);
    assertThat(errors.toString().lines())
        .containsExactly("error: " + message + " (" + command + " --help lists the options)");
    assertThat(output.toString()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"failed, the disk is full", "state, a rank is lost"})
  void anExpectedFailureIsOneLineAndStatusOne(String end, String message) {
    assertThat(execute("--end", end)).isEqualTo(1);
    assertThat(errors.toString().lines()).containsExactly("error: " + message);
  }

  @Test
  void aBugHasItsStackTrace() {
    assertThat(execute("--end=bug")).isEqualTo(1);
    assertThat(errors.toString()).contains("a bug", "\tat ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "-h"})
  void helpListsTheOptionsInTheirOrder(String option) {
    assertThat(execute(option)).isZero();
    assertThat(output.toString())
        .containsSubsequence("--ranks", "--progress", "--end", "Show this help and exit.");
    assertThat(execute("other", option)).isZero();
    assertThat(errors.toString()).isEmpty();
  }
}
