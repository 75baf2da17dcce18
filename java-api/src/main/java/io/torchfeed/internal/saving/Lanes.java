// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/** Numbered tasks on the calling thread and some others, all of which have ended afterwards. */
public final class Lanes {
  private static final int MOST = 4;

  private final IntConsumer task;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicReferenceArray<Throwable> failures;

  private Lanes(int tasks, IntConsumer task) {
    this.task = task;
    failures = new AtomicReferenceArray<>(tasks);
  }

  /** Returns how many threads reach the limit of the memory. */
  public static int most() {
    return Math.min(MOST, Runtime.getRuntime().availableProcessors());
  }

  /**
   * Runs tasks, which begin in order. After a failure no more begin.
   *
   * @param name of the other threads
   * @param threads how many run tasks, at least 1, the calling one among them
   * @param tasks their number
   * @param task runs one, from 0 on
   * @throws RuntimeException or an Error of the first task that failed
   */
  public static void run(String name, int threads, int tasks, IntConsumer task) {
    Lanes lanes = new Lanes(tasks, task);
    List<Aside<Boolean>> others = new ArrayList<>();
    try {
      for (int i = 1; i < Math.min(threads, tasks); i++) {
        others.add(Aside.start(name, lanes::take));
      }
      lanes.take(() -> false);
    } finally {
      others.forEach(Aside::close); // after their tasks
    }
    lanes.requireNone();
  }

  private Boolean take(BooleanSupplier isStopped) {
    while (!isStopped.getAsBoolean()) {
      int at = next.getAndIncrement();
      if (at >= failures.length()) {
        return true;
      }
      try {
        task.accept(at);
      } catch (RuntimeException | Error e) {
        failures.set(at, e);
        next.set(failures.length());
      }
    }
    return false;
  }

  private void requireNone() {
    for (int i = 0; i < failures.length(); i++) {
      Throwable failure = failures.get(i);
      if (failure instanceof RuntimeException e) {
        throw e;
      } else if (failure instanceof Error e) {
        throw e;
      }
    }
  }
}
