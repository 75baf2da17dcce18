// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A process that speaks the protocol of {@link ContestantProgram}. */
final class PeerProcess implements AutoCloseable {
  /** Thrown if a contestant cannot take part. */
  static final class MissingException extends Exception {
    private static final long serialVersionUID = 1;

    private final String why;

    MissingException(String why) {
      super(why);
      this.why = why;
    }

    String why() {
      return why;
    }
  }

  private static final long SECONDS = 300;
  private static final long SECONDS_TO_END = 10;

  private final Path log;
  private final Process process;
  private final BufferedWriter requests;
  private final BufferedReader answers;
  private final ExecutorService reader =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread thread = new Thread(task, "answers");
            thread.setDaemon(true);
            return thread;
          });

  /** Starts a process and waits until it is ready. */
  PeerProcess(List<String> command, Map<String, String> environment, Path log)
      throws IOException, InterruptedException, MissingException {
    this.log = log;
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
    builder.environment().putAll(environment);
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new MissingException(e.toString());
    }
    requests = process.outputWriter(StandardCharsets.UTF_8);
    answers = process.inputReader(StandardCharsets.UTF_8);
    boolean ready = false;
    try {
      String first = answer();
      if (!"ready".equals(first)) {
        throw new MissingException(first.replaceFirst("^missing ", ""));
      }
      ready = true;
    } finally {
      if (!ready) {
        close();
      }
    }
  }

  /** Sends a line and returns the numbers in the answer. */
  double[] ask(String request) throws IOException, InterruptedException, MissingException {
    requests.write(request);
    requests.newLine();
    requests.flush();
    String[] words = answer().split(" ", -1);
    double[] numbers = new double[words.length];
    for (int i = 0; i < words.length; i++) {
      try {
        numbers[i] = Double.parseDouble(words[i]);
      } catch (NumberFormatException e) {
        throw new IOException(
            "'%s' was answered with '%s'; see %s"
                .formatted(request, String.join(" ", words), log.toAbsolutePath()),
            e);
      }
    }
    return numbers;
  }

  private String answer() throws InterruptedException, IOException, MissingException {
    String line;
    try {
      line = reader.submit(answers::readLine).get(SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      process.destroyForcibly();
      throw new IOException(
          "no answer within %d s; see %s".formatted(SECONDS, log.toAbsolutePath()), e);
    }
    if (line == null) {
      throw new MissingException("its process ended; see " + log.toAbsolutePath());
    }
    return line;
  }

  /** Ends the process by closing its standard input; kills it if it does not exit. */
  @Override
  public void close() {
    try {
      requests.close();
      if (!process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      process.destroyForcibly(); // it has exited, or no longer reads
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    reader.shutdownNow();
  }
}
