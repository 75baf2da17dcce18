// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One running rank, its output, and the end of what it wrote to its standard error. */
final class RankProcess {
  private static final int TAIL_LINES = 50;

  private final int rank;
  private final Process process;
  private final boolean inherited;
  private final Deque<String> tail = new ArrayDeque<>();
  private final List<Thread> pumps = new ArrayList<>();

  private RankProcess(int rank, Process process, boolean inherited) {
    this.rank = rank;
    this.process = process;
    this.inherited = inherited;
  }

  static RankProcess start(int rank, ProcessBuilder builder, boolean inherited) throws IOException {
    if (inherited) {
      builder.inheritIO();
    }
    RankProcess started = new RankProcess(rank, builder.start(), inherited);
    if (!inherited) {
      started.process.getOutputStream().close();
      started.pump(started.process.getInputStream(), System.out, false);
      started.pump(started.process.getErrorStream(), System.err, true);
    }
    return started;
  }

  int rank() {
    return rank;
  }

  Process process() {
    return process;
  }

  /** The last lines of standard error; waits shortly for those that are under way. */
  String errorTail() throws InterruptedException {
    for (Thread pump : pumps) {
      pump.join(1_000); // a grandchild may keep the pipe open for ever
    }
    synchronized (tail) {
      return inherited ? "" : String.join("\n", tail);
    }
  }

  private void pump(InputStream in, PrintStream out, boolean keep) {
    Thread thread = new Thread(() -> copy(in, out, keep), "torchfeed-rank-" + rank + "-output");
    thread.setDaemon(true);
    thread.start();
    pumps.add(thread);
  }

  private void copy(InputStream in, PrintStream out, boolean keep) {
    String prefix = "[rank " + rank + "] ";
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(in, Charset.defaultCharset()))) {
      for (@Nullable String line = reader.readLine(); line != null; line = reader.readLine()) {
        out.println(prefix + line);
        if (keep) {
          remember(line);
        }
      }
    } catch (IOException e) {
      remember("(its output broke off: " + e.getMessage() + ")");
    }
  }

  private void remember(String line) {
    synchronized (tail) {
      if (tail.size() == TAIL_LINES) {
        tail.removeFirst();
      }
      tail.addLast(line);
    }
  }
}
