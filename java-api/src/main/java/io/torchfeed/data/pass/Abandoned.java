// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A watcher for objects that are dropped without being closed: it closes their resources and logs a
 * warning to the logger {@code io.torchfeed.data}.
 */
public final class Abandoned {
  /** The cleaner, whose thread starts when the first loader is built. */
  private static final class Holder {
    static final Cleaner CLEANER = Cleaner.create(Holder::thread);

    private static Thread thread(Runnable body) {
      Thread thread = new Thread(body, "torchfeed-cleaner");
      thread.setDaemon(true);
      return thread;
    }
  }

  private Abandoned() {}

  /** The watch over an object, which ends with the object or before. */
  public interface Watch {
    /** Notes that the object was closed. */
    void end();
  }

  /**
   * Watches an object.
   *
   * @param object the object that users hold; none of the other arguments may refer to it
   * @param close closes the object's resources, on another thread
   * @param report supplies the text of the warning; null for none
   * @param reported whether such a warning was already logged; shared by objects that are to report
   *     only once
   */
  public static Watch watch(
      Object object, Runnable close, Supplier<@Nullable String> report, AtomicBoolean reported) {
    Action action = new Action(close, report, reported);
    Cleaner.Cleanable cleanable = Holder.CLEANER.register(object, action);
    return () -> {
      action.closed = true;
      cleanable.clean();
    };
  }

  private static final class Action implements Runnable {
    private final Runnable close;
    private final Supplier<@Nullable String> report;
    private final AtomicBoolean reported;
    private volatile boolean closed;

    Action(Runnable close, Supplier<@Nullable String> report, AtomicBoolean reported) {
      this.close = close;
      this.report = report;
      this.reported = reported;
    }

    @Override
    public void run() {
      if (closed) {
        return;
      }
      String text = report.get();
      if (text != null && !reported.getAndSet(true)) {
        warn(text, null);
      }
      try {
        close.run();
      } catch (RuntimeException | Error e) {
        warn("a dropped object could not be closed", e);
      }
    }

    /** Looks up the logger only now, since that loads the logging of the JDK. */
    private static void warn(String text, @Nullable Throwable thrown) {
      System.getLogger("io.torchfeed.data").log(System.Logger.Level.WARNING, text, thrown);
    }
  }
}
