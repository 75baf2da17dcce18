// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

/** The ways to show progress, values of the option {@code --progress}. */
public enum ProgressMode {
  /** A bar on a terminal, otherwise lines. */
  AUTO,

  /** A bar that is drawn again and again. */
  BAR,

  /** A line for each report, for logs. */
  LINES;

  /**
   * Returns whether to draw a bar. The start script knows whether this is a terminal; the JDK's
   * answer differs by version.
   *
   * @return false to print lines
   */
  public boolean isBar() {
    return this == AUTO ? Boolean.getBoolean("torchfeed.example.terminal") : this == BAR;
  }
}
