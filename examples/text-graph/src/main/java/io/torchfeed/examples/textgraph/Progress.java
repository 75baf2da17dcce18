// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import java.io.PrintStream;
import java.util.function.LongConsumer;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** Shows how far a part of the work is: a bar on a terminal, a plain line each quarter in a log. */
interface Progress extends AutoCloseable {
  /** So much of the whole is done. */
  void at(long done);

  @Override
  void close();

  /** What ranks other than the first show, and nobody sees. */
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

  /** Shows it in the way that the settings say. */
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
