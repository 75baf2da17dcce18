// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.io.BufferedWriter;
import java.io.IOException;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Where the lines of a process go: to the terminal with a prefix, if its rank is shown, and to its
 * log. Thread-safe.
 */
final class RankOutput {
  /**
   * The ranks whose output is shown on the terminal.
   *
   * @param ranks null for all processes, also those without a rank
   */
  record Shown(@Nullable Set<Integer> ranks) {
    static final Shown ALL = new Shown(null);
    static final Shown NONE = new Shown(Set.of());

    Shown {
      ranks = ranks == null ? null : Set.copyOf(ranks);
    }

    /** Requires that each rank is one of a launch. */
    void requireBelow(int count) {
      for (int rank : ranks == null ? Set.<Integer>of() : ranks) {
        if (rank >= count) {
          throw new IllegalArgumentException(
              "a shown rank must be in [0, %d], got %d".formatted(count - 1, rank));
        }
      }
    }

    boolean contains(int rank) {
      return ranks == null || ranks.contains(rank);
    }

    @Override
    public String toString() {
      return ranks == null ? "all" : new TreeSet<>(ranks).toString();
    }
  }

  private final String name;
  private final Shown shown;
  private volatile int rank;
  private @Nullable BufferedWriter log; // guarded by this

  /**
   * Creates the output of a process.
   *
   * @param name the prefix
   * @param rank -1 until it has one
   * @param log closed by this object; null for none
   */
  RankOutput(String name, int rank, Shown shown, @Nullable BufferedWriter log) {
    this.name = name;
    this.rank = rank;
    this.shown = shown;
    this.log = log;
  }

  /** Takes a line of standard output or standard error. */
  void line(String line, boolean isError) {
    write(line);
    if (shown.contains(rank)) {
      (isError ? System.err : System.out).println("[" + name + "] " + line);
    }
  }

  /** Sets the rank of the process, and notes it in the log. */
  void formed(int rank, int generation, int size) {
    this.rank = rank;
    write("torchfeed: rank %d of %d in generation %d".formatted(rank, size, generation));
  }

  /** Training continues when its log cannot be written, for example to a full disk. */
  private synchronized void write(String line) {
    if (log == null) {
      return;
    }
    try {
      log.write(line);
      log.newLine();
      log.flush();
    } catch (IOException e) {
      log = null;
      System.err.println("the log of " + name + " ends here: " + e.getMessage());
    }
  }

  /** Closes the log; later lines are only shown. */
  synchronized void close() {
    BufferedWriter closed = log;
    log = null;
    try {
      if (closed != null) {
        closed.close();
      }
    } catch (IOException e) {
      System.err.println("the log of " + name + " may lack its end: " + e.getMessage());
    }
  }
}
