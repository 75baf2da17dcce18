// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.LoaderWorkerException;
import io.torchfeed.data.SampleException;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.examples.common.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the example. */
@Command(
    name = "image-classifier",
    subcommands = {Train.class, Evaluate.class, Classify.class},
    description =
        "Trains a small ResNet on folders of images, evaluates it, or names the classes of images.")
public final class Main {
  private static final List<Class<? extends Exception>> EXPECTED =
      List.of(
          IOException.class,
          UncheckedIOException.class,
          PeerLostException.class,
          SampleException.class,
          LoaderWorkerException.class);

  private Main() {}

  /**
   * Runs {@code train}, {@code evaluate} or {@code classify} and ends the process: with status 1
   * after a failure, and 2 after a wrong option.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return Commands.of(new Main(), List.of(IllegalArgumentException.class), EXPECTED);
  }
}
