// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import java.io.PrintStream;
import java.util.function.LongConsumer;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/**
 * The progress of a part of the work: a bar on a terminal, or a plain line per quarter in a log.
 */
interface Progress extends AutoCloseable {
  /** Records the amount of work done. */
  void at(long done);

  @Override
  void close();

  /** Returns a progress that shows nothing, for every rank but the first. */
  static Progress silent() {
    return of(done -> {}, () -> {});
  }

  static Progress of(LongConsumer at, Runnable close) {
    return new Progress() {
      @Override
      public void at(long done) {
        at.accept(done);
      }

      @Override
      public void close() {
        close.run();
      }
    };
  }

  /** Returns a bar, or lines if {@code isBar} is false. */
  static Progress show(boolean isBar, String title, long whole) {
    PrintStream out = System.err;
    if (!isBar) {
      long[] quarters = new long[1];
      return of(
          done -> {
            long now = whole == 0 ? 4 : 4 * done / whole;
            if (now > quarters[0]) {
              quarters[0] = now;
              out.println(title + ": " + 25 * now + " %");
            }
          },
          () -> {});
    }
    ProgressBar bar =
        new ProgressBarBuilder()
            .setTaskName(title)
            .setInitialMax(whole)
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(250)
            .setConsumer(new ConsoleProgressBarConsumer(out))
            .build();
    return of(bar::stepTo, bar::close);
  }
}
