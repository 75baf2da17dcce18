// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.elastic.ElasticGroup;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.global.torch;

/**
 * The pause of an elastic training while a process joins: {@code TIMES}. One rank trains in this
 * process; others are started, wait until they are asked, join and leave after some steps. A pause
 * is from the end of the last step alone to the end of the first together, and includes that step.
 */
public final class JoinBenchmark {
  private static final int STEPS_TOGETHER = 10;

  private final List<Double> pauses = new ArrayList<>();
  private final List<Double> steps = new ArrayList<>();
  private long lastEnd;
  private boolean isFirstTogether;

  private JoinBenchmark() {}

  /**
   * Measures and prints.
   *
   * @param args how many processes join, one after the other; in such a process the port
   */
  public static void main(String[] args) throws InterruptedException, IOException {
    torch.set_num_threads(1);
    if (args.length == 2) {
      join(Integer.parseInt(args[1]));
      return;
    }
    new JoinBenchmark().run(Integer.parseInt(args[0]));
    System.exit(0); // the rank here would train on
  }

  private void run(int times) throws InterruptedException, IOException {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, 2).withSilence(Duration.ofSeconds(30)).withStart(Duration.ZERO);
    try (Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options)) {
      Thread trainer = new Thread(() -> train(coordinator.port()), "trainer");
      trainer.setDaemon(true);
      trainer.start();
      for (int i = 0; i < times; i++) {
        letOneJoin(coordinator.port());
      }
      print();
    }
  }

  private synchronized void print() {
    pauses.sort(null);
    steps.sort(null);
    System.out.printf(
        Locale.ROOT,
        "%d joins: a pause of %.0f ms (%.0f to %.0f); a step takes %.0f ms%n",
        pauses.size(),
        pauses.get(pauses.size() / 2),
        pauses.get(0),
        pauses.get(pauses.size() - 1),
        steps.get(steps.size() / 2));
  }

  private static void letOneJoin(int port) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                JoinBenchmark.class.getName(),
                "join",
                Integer.toString(port))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out =
            new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
        Writer in = process.outputWriter(StandardCharsets.US_ASCII)) {
      if (out.readLine() == null) {
        throw new IllegalStateException("a process that was to join has ended");
      }
      in.write('\n');
      in.flush();
      if (!process.waitFor(1, TimeUnit.MINUTES) || process.exitValue() != 0) {
        throw new IllegalStateException("a process could not join, or did not leave again");
      }
    } finally {
      process.destroyForcibly();
    }
  }

  /** Joins as soon as there is a line of input. */
  private static void join(int port) throws InterruptedException {
    int[] done = {0};
    try (JoinRank rank = new JoinRank()) {
      rank.warmUp();
      ElasticGroup.rehearse();
      System.out.println("ready");
      try {
        System.in.read();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      try (Membership membership = Membership.join("127.0.0.1", port)) {
        rank.train(
            membership,
            world -> {},
            () -> {
              if (++done[0] == STEPS_TOGETHER) {
                membership.requestLeave();
              }
            });
      }
    }
  }

  private void train(int port) {
    try (JoinRank rank = new JoinRank();
        Membership membership = Membership.join("127.0.0.1", port)) {
      rank.train(membership, this::entered, this::ended);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private synchronized void entered(World world) {
    isFirstTogether = world.size() > 1;
  }

  private synchronized void ended() {
    long now = System.nanoTime();
    if (lastEnd > 0) {
      (isFirstTogether ? pauses : steps).add((now - lastEnd) / 1e6);
    }
    isFirstTogether = false;
    lastEnd = now;
  }
}
