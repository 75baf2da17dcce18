// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One process of a job. Its log is also written to a file. Thread-safe. */
final class RankHandle {
  private final String name;
  private final Process process;
  private final Object monitor;
  private final Thread reader;

  // Guarded by the monitor.
  private final List<RankLog.Event> events = new ArrayList<>();
  private @Nullable String wrongLine;
  private RankLog.@Nullable Entered entered;
  private RankLog.@Nullable Begun begun;
  private RankLog.@Nullable Done done;
  private boolean isReady;
  private boolean isWrapped;
  private boolean isKilled;

  /**
   * Starts a process.
   *
   * @param monitor notified of each line
   */
  RankHandle(String name, List<String> command, Path folder, Object monitor) throws IOException {
    this.name = name;
    this.monitor = monitor;
    Path file = folder.resolve(name + ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(folder.resolve(name + ".err").toFile());
    builder.environment().put("OMP_NUM_THREADS", "1");
    process = builder.start();
    reader = new Thread(() -> read(file), "log of " + name);
    reader.setDaemon(true);
    reader.start();
  }

  /** Reads lines until the process ends; one that a kill has cut off does not count. */
  private void read(Path file) {
    try (BufferedReader in =
            new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        BufferedWriter copy = Files.newBufferedWriter(file)) {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c >= 0; c = in.read()) {
        if (c == '\n') {
          received(line.toString());
          copy.append(line).append('\n').flush();
          line.setLength(0);
        } else {
          line.append((char) c);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void received(String line) {
    RankLog.Event event = null;
    try {
      event = RankLog.parse(line);
    } catch (IllegalArgumentException e) {
      // kept as it is, and found at the end
    }
    synchronized (monitor) {
      if (event == null) {
        wrongLine = line;
      } else {
        events.add(event);
        isReady |= event instanceof RankLog.Ready;
        isWrapped |= event instanceof RankLog.Wrapped;
        if (event instanceof RankLog.Entered e) {
          entered = e;
        } else if (event instanceof RankLog.Begun e) {
          begun = e;
        } else if (event instanceof RankLog.Done e) {
          done = e;
        }
      }
      monitor.notifyAll();
    }
  }

  String name() {
    return name;
  }

  long pid() {
    return process.pid();
  }

  /** Writes a command; one to a process that has died meanwhile is lost. */
  void say(String command) {
    try {
      OutputStream in = process.getOutputStream();
      in.write((command + "\n").getBytes(StandardCharsets.US_ASCII));
      in.flush();
    } catch (IOException e) {
      // dead: its exit status says why
    }
  }

  /** Kills it at once. */
  void kill() {
    synchronized (monitor) {
      isKilled = true;
    }
    process.toHandle().destroyForcibly(); // Process.destroyForcibly would drop the last lines
  }

  /** Sends a signal that does not kill. */
  void signal(String signal) throws InterruptedException {
    try {
      String command = "kill -" + signal + " " + process.pid();
      int status = new ProcessBuilder("sh", "-c", command).start().waitFor();
      if (status != 0) {
        throw new IllegalStateException("kill -" + signal + " failed for " + name);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Waits for the process and its last line; returns the status, or -1 if that takes too long. */
  int await(long seconds) throws InterruptedException {
    if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
      return -1;
    }
    reader.join(TimeUnit.SECONDS.toMillis(seconds));
    return process.exitValue();
  }

  /** Returns whether the campaign has killed it. */
  boolean isKilled() {
    synchronized (monitor) {
      return isKilled;
    }
  }

  boolean isReady() {
    synchronized (monitor) {
      return isReady;
    }
  }

  boolean isWrapped() {
    synchronized (monitor) {
      return isWrapped;
    }
  }

  /** Returns the last generation that it has entered. */
  RankLog.@Nullable Entered entered() {
    synchronized (monitor) {
      return entered;
    }
  }

  RankLog.@Nullable Begun begun() {
    synchronized (monitor) {
      return begun;
    }
  }

  RankLog.@Nullable Done done() {
    synchronized (monitor) {
      return done;
    }
  }

  /** Returns the generation in which it has completed a step, or 0. */
  int doneGeneration() {
    RankLog.Done last = done();
    return last == null ? 0 : last.generation();
  }

  /** Returns a line that is none of a log, if there was one. */
  @Nullable String wrongLine() {
    synchronized (monitor) {
      return wrongLine;
    }
  }

  RankLog log() {
    synchronized (monitor) {
      return new RankLog(name, events);
    }
  }
}
