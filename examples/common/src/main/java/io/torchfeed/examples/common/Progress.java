// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.PrintStream;
import java.util.function.LongConsumer;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** The progress of a part of the work: a bar on a terminal, or some plain lines in a log. */
public interface Progress extends AutoCloseable {
  /**
   * Records the amount of work done.
   *
   * @param done so far
   * @param text to be shown beside it; may be empty
   */
  void at(long done, String text);

  /**
   * Records the amount of work done.
   *
   * @param done so far
   */
  default void at(long done) {
    at(done, "");
  }

  @Override
  void close();

  /**
   * Returns a progress that shows nothing, for every rank but the first.
   *
   * @return the progress
   */
  static Progress silent() {
    return of(done -> {}, () -> {});
  }

  /**
   * Returns a progress of two actions.
   *
   * @param at records an amount
   * @param close ends it
   * @return the progress
   */
  static Progress of(LongConsumer at, Runnable close) {
    return new Progress() {
      @Override
      public void at(long done, String text) {
        at.accept(done);
      }

      @Override
      public void close() {
        close.run();
      }
    };
  }

  /**
   * Returns a bar on the standard error, or lines.
   *
   * @param isBar whether to draw a bar
   * @param title of the work
   * @param whole the amount of it
   * @param log receives lines, if there is no bar
   * @param lines how many
   * @return the progress
   */
  static Progress show(boolean isBar, String title, long whole, PrintStream log, int lines) {
    return isBar ? bar(title, whole) : lines(title, whole, log, lines);
  }

  private static Progress lines(String title, long whole, PrintStream log, int lines) {
    return new Progress() {
      private long printed;

      @Override
      public void at(long done, String text) {
        long now = whole == 0 ? lines : lines * done / whole;
        if (now > printed) {
          printed = now;
          String percent = title + ": " + 100 * now / lines + " %";
          log.println(text.isEmpty() ? percent : percent + ", " + text);
        }
      }

      @Override
      public void close() {}
    };
  }

  private static Progress bar(String title, long whole) {
    ProgressBar bar =
        new ProgressBarBuilder()
            .setTaskName(title)
            .setInitialMax(whole)
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(250)
            .setConsumer(new ConsoleProgressBarConsumer(System.err))
            .build();
    return new Progress() {
      @Override
      public void at(long done, String text) {
        bar.setExtraMessage(text.isEmpty() ? text : " " + text);
        bar.stepTo(done);
      }

      @Override
      public void close() {
        bar.close();
      }
    };
  }
}
