// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * The library itself: its version, and a self-check that it works on this machine.
 *
 * <p>Run as a main class, it runs the self-check and prints the findings, with a hint for each
 * failure; see {@link #main} for the exit status.
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
    return build("version");
  }

  /**
   * Returns the version of libtorch that torchfeed is built for.
   *
   * @return the version, for example {@code 2.10.0}
   */
  public static String libtorchVersion() {
    return build("libtorch");
  }

  private static String build(String key) {
    try (InputStream in = Torchfeed.class.getResourceAsStream("build.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty(key);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Runs the self-check and prints its findings to the standard output. Exits with 0 if all is
   * well, 1 if something is wrong, or 2 if there are arguments.
   *
   * @param args must be empty
   */
  public static void main(String[] args) {
    if (args.length > 0) {
      System.err.println("error: no arguments are expected, got " + String.join(" ", args));
      System.exit(WRONG_USAGE);
    }
    System.exit(SelfCheck.run(System.out) ? 0 : 1);
  }
}
