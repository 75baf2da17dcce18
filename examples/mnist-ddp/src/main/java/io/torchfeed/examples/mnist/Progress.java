// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.PrintStream;
import java.util.Locale;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** The progress of an epoch: a bar on a terminal, or a plain line for each tenth in a log. */
interface Progress extends AutoCloseable {
  /** The number of plain lines per epoch. */
  int LINES = 10;

  /**
   * Records one completed step.
   *
   * @param rowsPerSecond samples per second over all ranks, since the start of the epoch
   * @param loss smoothed loss of this rank
   */
  void step(double rowsPerSecond, double loss);

  @Override
  void close();

  /** Returns a progress that prints nothing, for every rank but the first. */
  static Progress silent() {
    return new Progress() {
      @Override
      public void step(double rowsPerSecond, double loss) {}

      @Override
      public void close() {}
    };
  }

  static Progress bar(String title, long steps, PrintStream terminal) {
    ProgressBar bar =
        new ProgressBarBuilder()
            .setTaskName(title)
            .setInitialMax(steps)
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(250)
            .setConsumer(new ConsoleProgressBarConsumer(terminal))
            .build();
    return new Progress() {
      @Override
      public void step(double rowsPerSecond, double loss) {
        bar.setExtraMessage(text(rowsPerSecond, loss));
        bar.step();
      }

      @Override
      public void close() {
        bar.close();
      }
    };
  }

  static Progress lines(String title, long steps, PrintStream log) {
    return new Progress() {
      private long done;

      @Override
      public void step(double rowsPerSecond, double loss) {
        done++;
        if (done * LINES / steps != (done - 1) * LINES / steps) {
          log.printf(
              Locale.ROOT, "%s: step %d/%d,%s%n", title, done, steps, text(rowsPerSecond, loss));
        }
      }

      @Override
      public void close() {}
    };
  }

  private static String text(double rowsPerSecond, double loss) {
    return String.format(Locale.ROOT, " %.0f rows/s, loss %.4f", rowsPerSecond, loss);
  }
}
