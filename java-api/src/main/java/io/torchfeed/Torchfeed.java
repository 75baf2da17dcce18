// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * The library itself: its version, and a check that it works on this machine.
 *
 * <p>As a main class it runs the check, prints what it finds, and exits with 1 and a hint when
 * something is wrong.
 */
public final class Torchfeed {
  private Torchfeed() {}

  /**
   * The version of torchfeed.
   *
   * @return for example {@code 0.1.0}
   */
  public static String version() {
    return build("version");
  }

  /**
   * The version of libtorch that torchfeed is built for.
   *
   * @return for example {@code 2.10.0}
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
   * Runs the self-check and prints its findings.
   *
   * @param args none are taken
   */
  public static void main(String[] args) {
    System.exit(SelfCheck.run(System.out) ? 0 : 1);
  }
}
