// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.internal.Folders;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.TestSpark;
import io.torchfeed.spark.checkpoint.HadoopFolder;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract for the ranks of a barrier stage. One job serves all tests, since its start takes a
 * second: its ranks are threads of this JVM, and take the bodies of the contract from a queue.
 * {@code RepeatedLoopTest} loses ranks.
 */
class BarrierLoopTest extends TrainingLoopContract {
  private static final int RANKS = 2;
  private static final Body END = source -> {};
  private static final List<BlockingQueue<Body>> WORK =
      List.of(new LinkedBlockingQueue<>(), new LinkedBlockingQueue<>());
  private static final BlockingQueue<End> DONE = new LinkedBlockingQueue<>();
  private static final Thread[] THREADS = new Thread[RANKS];
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int FRAMES = 25;

  /** The end of a body on a rank. */
  private record End(int rank, Optional<Throwable> failure) {}

  private static Path checkpoints = Path.of("");
  private static FutureTask<List<String>> job = new FutureTask<>(List::of);

  private final TensorDataset data = LoopNet.data();

  BarrierLoopTest(@TempDir Path temporary) {
    super(temporary);
  }

  @BeforeAll
  static void start() throws InterruptedException {
    checkpoints = TestSpark.folder("checkpoints");
    SparkRanks ranks =
        SparkRanks.on(TestSpark.points(TestSpark.local(), RANKS, RANKS).select("id"))
            .keptCheckpoints(1)
            .checkpoints(checkpoints.toUri().toString());
    job =
        new FutureTask<>(() -> ranks.train((context, rows) -> serve(context))) {
          @Override
          protected void setException(Throwable e) {
            super.setException(e);
            for (int rank = 0; rank < RANKS; rank++) {
              DONE.add(new End(rank, Optional.of(e)));
            }
          }
        };
    new Thread(job, "ranks of Spark").start();
    run(source -> {}); // ranks set libtorch's threads, which the sums of the loop by hand depend on
  }

  /** Runs in a rank. */
  private static String serve(RankContext context) throws InterruptedException {
    THREADS[context.rank()] = Thread.currentThread();
    while (true) {
      Body body = WORK.get(context.rank()).take();
      if (body.equals(END)) {
        return "";
      }
      Optional<Throwable> failure = Optional.empty();
      try {
        body.run(
            net ->
                TrainingLoop.over(
                    context.ranks(), group -> DistributedDataParallel.wrap(net, group)));
      } catch (Throwable e) {
        failure = Optional.of(e);
      }
      DONE.add(new End(context.rank(), failure));
    }
  }

  @AfterAll
  static void end() throws ExecutionException, InterruptedException, TimeoutException {
    WORK.forEach(each -> each.add(END));
    job.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void allRanksStopAfterTheSameStepIfOneAsksForIt() throws Exception {
    requirePlannedStops(uneven(), 4, 14);
    requirePlannedStops(indices(data), 0);
  }

  @AfterEach
  void close() {
    data.close();
  }

  @Override
  int ranks() {
    return RANKS;
  }

  @Override
  void onEachRank(Body body) throws Exception {
    run(body);
  }

  private static void run(Body body) throws InterruptedException {
    if (job.isDone()) {
      throw new AssertionError("the job has ended with an earlier test");
    }
    WORK.forEach(each -> each.add(body));
    Set<Integer> running = new TreeSet<>(Set.of(0, 1));
    Throwable first = null;
    while (!running.isEmpty()) {
      End next = DONE.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
      if (next == null) {
        throw hung(running);
      }
      running.remove(next.rank());
      first = first == null ? next.failure().orElse(null) : first;
    }
    if (first != null) {
      throw new AssertionError("a rank has failed", first);
    }
  }

  /** Returns the failure that names where ranks hang, after it has ended the job. */
  private static AssertionError hung(Set<Integer> ranks) {
    StringBuilder text = new StringBuilder();
    for (int rank : ranks) {
      text.append("rank %d has not ended within %d s:\n".formatted(rank, LIMIT.toSeconds()));
      Arrays.stream(THREADS[rank].getStackTrace())
          .limit(FRAMES)
          .forEach(frame -> text.append("  at ").append(frame).append('\n'));
    }
    TestSpark.local().sparkContext().cancelAllJobs();
    return new AssertionError(text.toString());
  }

  @Override
  void keep(TrainingLoopBuilder<?> builder, Checkpoints none) {
    builder.checkpointEvery(isAsked() ? 1000 : 1);
  }

  @Override
  void forget() throws IOException {
    Folders.delete(checkpoints);
    Files.createDirectory(checkpoints);
  }

  @Override
  List<Long> kept(Path none) throws IOException {
    HadoopFolder folder =
        new HadoopFolder(
            checkpoints.toUri().toString(), TestSpark.local().sparkContext().hadoopConfiguration());
    List<Long> all =
        new ArrayList<>(folder.complete().stream().map(BarrierLoopTest::stepOf).toList());
    all.add(stepOf(folder.best().get(0)));
    return all;
  }

  private static long stepOf(String name) {
    return Long.parseLong(name.substring(5, 11)); // after "step-"
  }

  @Override
  Program uneven() {
    return new Program(
        part ->
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(part.rank() == 0 ? 20 : LoopNet.SAMPLES, 42))
                .batchSize(4)
                .build(),
        Stop.UPDATE,
        1,
        false,
        0);
  }

  @Override
  long[] stops(int steps) {
    return LongStream.range(1, steps).toArray();
  }
}
