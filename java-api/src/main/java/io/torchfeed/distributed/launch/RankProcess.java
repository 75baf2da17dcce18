// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.FinishNote;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A running rank, its output, and the tail of its standard error. */
final class RankProcess {
  private static final int TAIL_LINES = 50;
  private static final long TAIL_NANOS = 1_000_000_000;

  /** Exit codes above this are 128 plus a signal number. */
  private static final int SIGNALS = 128;

  private final String name;
  private final int rank;
  private final Process process;
  private final Path lossNote;
  private final boolean inherited;
  private final Deque<String> tail = new ArrayDeque<>();
  private final List<Thread> pumps = new ArrayList<>();
  private volatile @Nullable Throwable outputFailure;

  private RankProcess(String name, int rank, Process process, Path lossNote, boolean inherited) {
    this.name = name;
    this.rank = rank;
    this.process = process;
    this.lossNote = lossNote;
    this.inherited = inherited;
  }

  /** Starts a process as a rank that inherits standard input and output. */
  static RankProcess inheriting(int rank, ProcessBuilder builder, Path lossNote)
      throws IOException {
    return new RankProcess(nameOf(rank), rank, builder.inheritIO().start(), lossNote, true);
  }

  /**
   * Adopts a process as a rank whose output is prefixed; see {@link #adopt}.
   *
   * @param onOutputFailure called in another thread when the output can no longer be forwarded
   */
  static RankProcess prefixed(
      int rank, Process process, Path lossNote, Consumer<RankProcess> onOutputFailure)
      throws IOException {
    RankOutput output = new RankOutput(nameOf(rank), rank, RankOutput.Shown.ALL, null);
    return adopt(nameOf(rank), rank, process, lossNote, output, onOutputFailure);
  }

  static String nameOf(int rank) {
    return "rank " + rank;
  }

  /**
   * Adopts a process; kills it if that fails.
   *
   * @param output takes its lines, and is closed after the last one
   * @param onOutputFailure called in another thread when the output can no longer be forwarded
   */
  static RankProcess adopt(
      String name,
      int rank,
      Process process,
      Path lossNote,
      RankOutput output,
      Consumer<RankProcess> onOutputFailure)
      throws IOException {
    boolean started = false;
    try {
      RankProcess taken = new RankProcess(name, rank, process, lossNote, false);
      process.getOutputStream().close();
      AtomicInteger open = new AtomicInteger(2);
      Runnable atEnd =
          () -> {
            if (open.decrementAndGet() == 0) {
              output.close();
            }
          };
      taken.pump(process.getInputStream(), output, false, atEnd, onOutputFailure);
      taken.pump(process.getErrorStream(), output, true, atEnd, onOutputFailure);
      started = true;
      return taken;
    } finally {
      if (!started) {
        process.destroyForcibly();
      }
    }
  }

  String name() {
    return name;
  }

  int rank() {
    return rank;
  }

  Process process() {
    return process;
  }

  /** Asks the process to end. Its last lines are still read, unlike by {@link Process#destroy}. */
  void terminate() {
    try {
      process.toHandle().destroy();
    } catch (UnsupportedOperationException e) {
      process.destroy(); // a process without a handle
    }
  }

  /**
   * Kills the process if it still runs. Its last lines are still read, unlike by {@link
   * Process#destroyForcibly}, which closes the streams also of a process that has exited.
   */
  void kill() {
    if (!process.isAlive()) {
      return;
    }
    try {
      process.toHandle().destroyForcibly();
    } catch (UnsupportedOperationException e) {
      process.destroyForcibly(); // a process without a handle
    }
  }

  /** Sends a signal, whose name has no SIG: Java itself can only terminate and kill. */
  void signal(String signal) {
    if (!process.isAlive()) {
      return;
    }
    try {
      String command = "kill -" + signal + " \"$0\"";
      new ProcessBuilder("sh", "-c", command, Long.toString(process.pid())).inheritIO().start();
    } catch (IOException e) {
      System.err.println("SIG" + signal + " cannot be sent to " + name + ": " + e.getMessage());
    }
  }

  /** Returns the failure that ended the forwarding of output, or null. */
  @Nullable Throwable outputFailure() {
    return outputFailure;
  }

  /** Returns whether the rank, which must have exited, failed. */
  boolean hasFailed() {
    return process.exitValue() != 0;
  }

  /** Returns whether the rank reported that it lost a peer. */
  boolean hasLostPeer() {
    return Files.exists(lossNote);
  }

  /** Returns whether the process has said that it knows of the completed training. */
  boolean hasFinished() {
    return Files.exists(FinishNote.beside(lossNote));
  }

  /** Returns whether a signal ended the rank. */
  boolean wasKilled() {
    return process.exitValue() > SIGNALS;
  }

  /** Returns the last lines of standard error, after a short wait for lines not yet forwarded. */
  String errorTail() throws InterruptedException {
    awaitOutput(System.nanoTime() + TAIL_NANOS);
    synchronized (tail) {
      return inherited ? "" : String.join("\n", tail);
    }
  }

  /**
   * Waits until the last lines are forwarded, or a time has come: a grandchild may keep the pipe
   * open indefinitely.
   *
   * @param deadline a value of {@link System#nanoTime}
   */
  void awaitOutput(long deadline) throws InterruptedException {
    for (Thread pump : pumps) {
      pump.join(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
    }
  }

  /** Returns its error file; empty if it wrote none. */
  Optional<String> errorFile() {
    return ErrorFile.read(LossNotes.errorFile(lossNote));
  }

  private void pump(
      InputStream in,
      RankOutput output,
      boolean isError,
      Runnable atEnd,
      Consumer<RankProcess> onOutputFailure) {
    Thread thread =
        new Thread(
            () -> {
              copy(in, output, isError);
              atEnd.run();
            },
            "torchfeed-" + name.replace(' ', '-') + "-output");
    thread.setDaemon(true);
    // A rank whose output is not read blocks when the pipe is full, and a launcher unaware of this
    // would wait for it indefinitely. The handler is called wherever the thread dies.
    thread.setUncaughtExceptionHandler(
        (dead, failure) -> {
          outputFailure = failure;
          onOutputFailure.accept(this);
        });
    thread.start();
    pumps.add(thread);
  }

  private void copy(InputStream in, RankOutput output, boolean isError) {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(in, Charset.defaultCharset()))) {
      for (@Nullable String line = reader.readLine(); line != null; line = reader.readLine()) {
        output.line(line, isError);
        if (isError) {
          remember(line);
        }
      }
    } catch (IOException e) {
      remember("(reading its output failed: " + e.getMessage() + ")");
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
