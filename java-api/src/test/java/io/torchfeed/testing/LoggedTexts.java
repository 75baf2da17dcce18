// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The texts that a logger gets while this object is open, in place of the standard error. */
public final class LoggedTexts implements AutoCloseable {
  private final Logger logger;
  private final List<String> texts = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord entry) {
          texts.add(entry.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  /** Opens the log of a name, for example {@code io.torchfeed.data}. */
  public LoggedTexts(String name) {
    logger = Logger.getLogger(name);
    logger.setUseParentHandlers(false);
    logger.addHandler(handler);
  }

  public List<String> all() {
    return texts;
  }

  @Override
  public void close() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }
}
