// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.data.source.GraphTensors;
import io.torchfeed.distributed.rendezvous.ParentWatchdog;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.Edges;
import io.torchfeed.graph.LinePattern;
import io.torchfeed.graph.SparseMatrix;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The ranks of {@link DistributedTest}: threads, or processes whose first argument selects the
 * part.
 */
public final class TestRank {
  /** Held while numbers are drawn: a process has one generator. */
  private static final Object DRAWING = new Object();

  private static final int BATCH = 8;
  private static final int LOST = 3;

  private TestRank() {}

  /** Two layers without buffers, with rank-dependent initial values. */
  static final class Net extends Module {
    final LinearImpl first;
    final LinearImpl second;

    Net(long seed, long hidden) {
      synchronized (DRAWING) {
        torch.manual_seed(seed);
        first = register_module("first", new LinearImpl(20, hidden));
        second = register_module("second", new LinearImpl(hidden, 5));
      }
    }

    Tensor forward(Tensor input) {
      return second.forward(torch.tanh(first.forward(input)));
    }

    Tensor loss(Tensor rows) {
      return forward(rows).pow(new Scalar(2)).mean();
    }
  }

  /** Returns rows {@code [from, from + count)} of data that is the same in every rank. */
  static Tensor rows(int from, int count) {
    synchronized (DRAWING) {
      torch.manual_seed(99);
      return torch.randn(new long[] {96, 20}, new TensorOptions()).narrow(0, from, count);
    }
  }

  public static void main(String[] args) throws Exception {
    GroupOptions options =
        GroupOptions.ofTimeout(Duration.ofMillis(Long.getLong("timeout", 60_000)));
    switch (args[0]) {
      case "gradients" -> gradients(ProcessGroup.join(options), new Device(args[1]));
      case "aborted" -> aborted(ProcessGroup.join(options), Path.of(args[1]));
      case "train" -> train(ProcessGroup.join(options), Boolean.getBoolean("plain"));
      case "exit-open" -> exitOpen(ProcessGroup.join(options), args[1]);
      case "graph" -> graph(ProcessGroup.join(options), args[1]);
      case "fail" -> fail();
      case "sleep" -> sleep();
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  static void collectives(ProcessGroup group) {
    int rank = group.rank();
    expect("part", group.part().equals(new Part(group.size(), rank)));
    Tensor sum = Tensor.create(new float[] {1 + rank, 2, 3, 4}, 2, 2);
    group.allReduce(sum.t(), ReduceOp.SUM);
    check("sum", floats(sum), group.size() * (group.size() + 1) / 2f, 2f * group.size());
    Tensor mean = Tensor.create(new float[] {rank}, 1);
    group.allReduce(mean, ReduceOp.MEAN);
    check("mean", floats(mean), (group.size() - 1) / 2f);
    Tensor most = Tensor.create(new long[] {rank}, 1);
    group.allReduce(most, ReduceOp.MAX);
    expect("max", most.item_long() == group.size() - 1);
    Tensor sent = Tensor.create(new float[] {rank, rank}, 2);
    group.broadcast(sent, group.size() - 1);
    check("broadcast", floats(sent), group.size() - 1, group.size() - 1);
    Tensor[] all = group.allGather(Tensor.create(new long[] {10L + rank}, 1));
    for (int i = 0; i < all.length; i++) {
      expect("gather " + i, all[i].item_long() == 10L + i);
    }
    refused(() -> group.broadcast(sent, group.size()), "root must be in [0, ");
    refused(() -> group.allReduce(new Tensor(), ReduceOp.SUM), "must be defined");
    if (group.size() > 1) {
      Tensor odd = torch.ones(new long[] {2 + rank}, new TensorOptions());
      refused(() -> group.allReduce(odd, ReduceOp.SUM), "all ranks must make the same");
    }
    asynchronous(group);
    try (ProcessGroup half = group.split(rank / 2, rank)) {
      expect("split", half.size() == (rank / 2 * 2 + 1 < group.size() ? 2 : 1));
      half.barrier();
    }
    group.store().set("of " + rank, "value");
    group.barrier();
    expect("keys", group.store().size() == group.size());
    group.monitoredBarrier(Duration.ofMinutes(1));
    group.close();
    group.close();
    broken(group::barrier, "ProcessGroup is closed");
  }

  private static void asynchronous(ProcessGroup group) {
    Tensor sum = Tensor.create(new float[] {group.rank()}, 1);
    Work<Void> work = group.async().allReduce(sum, ReduceOp.SUM);
    Work<String[]> names = group.unchecked().async().allGatherStrings("rank " + group.rank());
    expect("names", names.await()[group.size() - 1].equals("rank " + (group.size() - 1)));
    expect("order", work.isDone());
    work.await();
    check("sum", floats(sum), group.size() * (group.size() - 1) / 2f);
  }

  /** Rank 1 hangs, rank 0 gives up, and rank 1 finds the group ended when it returns. */
  /** Rank 1 hangs until rank 0 has ended, which would fail the test by the time limit otherwise. */
  private static void aborted(ProcessGroup group, Path ended) throws Exception {
    if (group.rank() == 1) {
      while (!Files.exists(ended)) {
        Thread.sleep(5);
      }
      try {
        group.barrier();
      } catch (PeerLostException e) {
        expect("rank", e.rank().getAsInt() == 0);
        group.close();
        return;
      }
      throw new AssertionError("a group without rank 0 works");
    }
    Thread main = Thread.currentThread();
    CompletableFuture<Void> aborting =
        CompletableFuture.runAsync(
            () -> {
              try {
                NativeWait.await(main);
                group.abort();
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    broken(group::barrier, "ProcessGroup was aborted");
    Files.createFile(ended);
    aborting.join();
    group.close();
  }

  static void plans(ProcessGroup group) {
    int rank = group.rank();
    long[][] all = group.allGatherLongs(new long[] {rank, Long.MIN_VALUE + rank, -1});
    for (int i = 0; i < group.size(); i++) {
      expect("longs " + i, Arrays.equals(all[i], new long[] {i, Long.MIN_VALUE + i, -1}));
    }
    refused(() -> group.allGatherLongs(new long[0]), "at least 1 number");
    refused(() -> group.allGatherLongs(new long[1 + rank]), "all ranks must make the same");

    RankConsistency.beforeEpoch(plan(5, group, rank), 3, BATCH, group::allGatherLongs);
    SamplerState state = SamplerState.of(plan(5, group, rank), 3, BATCH);
    RankConsistency.ofState(state, group::allGatherLongs);
    broken(
        () ->
            RankConsistency.beforeEpoch(
                plan(5 + rank, group, rank), 3, BATCH, group::allGatherLongs),
        "differ in seed: rank 0 has 5, rank 1 has 6");
    broken(
        () -> RankConsistency.beforeEpoch(plan(5, group, 1), 3, BATCH, group::allGatherLongs),
        "processes 0 and 1 deliver the same samples: both have the plan of rank 1");
    SamplerState ahead = SamplerState.of(plan(5, group, rank), 3, BATCH + rank);
    broken(
        () -> RankConsistency.ofState(ahead, group::allGatherLongs), "states differ in segments");
    group.close();
  }

  private static Sampler plan(long seed, ProcessGroup group, int rank) {
    return StridedSampler.of(RandomSampler.of(1_000, seed), new Part(group.size(), rank));
  }

  @SuppressWarnings("try") // guard is not referenced
  static void gradients(ProcessGroup group, Device device) {
    Net net = new Net(group.rank(), 16);
    net.to(device, false);
    try (group;
        var model =
            DistributedDataParallel.wrap(
                net, group, DataParallelOptions.defaults().withBucketBytes(256, 512))) {
      SGD sgd = new SGD(net.parameters(), new SGDOptions(0.1));
      for (int step = 0; step < 5; step++) {
        sgd.zero_grad();
        Tensor rows = rows(step * 2 * BATCH + group.rank() * BATCH, BATCH);
        Tensor loss = net.loss(rows.to(device, torch.ScalarType.Float));
        if (step % 2 == 0) {
          model.backward(loss);
        } else {
          loss.backward();
        }
        sgd.step();
      }
      expect("reductions", model.reductions() == 5);
      expect("nanos", model.reductionNanos() > 0);
      String digest = model.verifyReplicas();
      expect("digest", digest.equals(model.digest()));
      joinedBatchIsEqual(group, net);
      if (group.rank() == 1) {
        try (var guard = new NoGradGuard()) {
          net.second.bias().add_(new Scalar(1f));
        }
      }
      broken(model::verifyReplicas, "parameters of rank 1 differ");
    }
  }

  private static void joinedBatchIsEqual(ProcessGroup group, Net trained) {
    Net alone = new Net(0, 16);
    SGD sgd = new SGD(alone.parameters(), new SGDOptions(0.1));
    for (int step = 0; step < 5; step++) {
      sgd.zero_grad();
      alone.loss(rows(step * 2 * BATCH, 2 * BATCH)).backward();
      sgd.step();
    }
    expect("joined batch", group.size() == 2);
    expect(
        "joined batch, first layer",
        torch.allclose(alone.first.weight(), trained.first.weight().cpu(), 1.3e-6, 5e-5, false));
    expect(
        "joined batch, second layer",
        torch.allclose(alone.second.bias(), trained.second.bias().cpu(), 1.3e-6, 5e-5, false));
  }

  static void shapes(ProcessGroup group) {
    Net net = new Net(1, 16 + group.rank());
    refused(
        () -> DistributedDataParallel.wrap(net, group),
        "rank 0 has parameter first.weight: Float [16, 20]; "
            + "rank 1 has parameter first.weight: Float [17, 20]");
    // The group is still usable, and a module of equal shapes is accepted.
    DistributedDataParallel.wrap(new Net(1, 8), group).close();
    group.close();
  }

  static void unused(ProcessGroup group) {
    Net net = new Net(1, 16);
    var model = DistributedDataParallel.wrap(net, group);
    Tensor partial = net.first.forward(rows(0, BATCH)).mean();
    broken(
        () -> model.backward(partial), "parameter second.weight (2 in total) received no gradient");
    broken(
        () -> model.backward(net.loss(rows(0, BATCH))),
        "an earlier backward pass failed: parameter second.weight");
    long start = System.nanoTime();
    model.close();
    group.close();
    expect("closed in time", System.nanoTime() - start < 4_000_000_000L);
  }

  private static void train(ProcessGroup group, boolean plain) {
    Net net = new Net(1, 512);
    var model = DistributedDataParallel.wrap(net, group);
    System.out.println("training pid " + ProcessHandle.current().pid());
    long last = System.nanoTime();
    try {
      for (int step = 0; ; step++) {
        last = System.nanoTime();
        Tensor loss = net.loss(rows(0, BATCH));
        if (plain) {
          loss.backward();
        } else {
          model.backward(loss);
        }
        if (step == 20) {
          System.out.println("steady");
        }
      }
    } catch (PeerLostException e) {
      long now = System.currentTimeMillis();
      System.out.println("lost at " + now + " waited " + e.waited().toMillis());
      System.out.println(e.getMessage());
      expect("rank", e.rank().getAsInt() == 1 - group.rank());
      expect("backtrace", !message(e).contains("Exception raised from"));
    } catch (RuntimeException e) {
      long waited = (System.nanoTime() - last) / 1_000_000;
      System.out.println("lost at " + System.currentTimeMillis() + " waited " + waited);
      System.out.println("plain: " + message(e).lines().findFirst().orElse(""));
    }
    try {
      model.backward(net.loss(rows(0, BATCH)));
      throw new AssertionError("a failed wrapper continued");
    } catch (IllegalStateException e) {
      System.out.println(e.getMessage());
    }
    long start = System.nanoTime();
    model.close();
    group.close();
    System.out.println("closed after " + (System.nanoTime() - start) / 1_000_000 + " ms");
    System.exit(LOST);
  }

  private static void exitOpen(ProcessGroup group, String how) {
    var model = DistributedDataParallel.wrap(new Net(1, 16), group);
    model.backward(((Net) model.module()).loss(rows(0, BATCH)));
    group.barrier();
    if (how.equals("exit")) {
      System.exit(0);
    }
  }

  private static void graph(ProcessGroup group, String file) throws IOException {
    TextPartition plan =
        TextPartition.plan(List.of(file), 1, LinePattern.EDGES_BY_SOURCE.blocksPerRank());
    Edges edges = EdgeLoader.over(plan).build().load(0, AllToAll.alone());
    GraphTensors.csr(SparseMatrix.of(edges, AllToAll.alone()).cells()).close();
    group.barrier();
    group.close();
    System.out.println("done");
  }

  private static void fail() throws InterruptedException {
    if (System.getenv("RANK").equals("1")) {
      System.err.println("the reason");
      System.exit(7);
    }
    sleep();
  }

  private static void sleep() throws InterruptedException {
    ParentWatchdog.start(System.getenv());
    System.out.println("sleeping pid " + ProcessHandle.current().pid());
    Thread.sleep(600_000);
  }

  private static void refused(Runnable body, String text) {
    fails(IllegalArgumentException.class, body, text);
  }

  private static void broken(Runnable body, String text) {
    fails(IllegalStateException.class, body, text);
  }

  private static void fails(Class<? extends RuntimeException> type, Runnable body, String text) {
    try {
      body.run();
    } catch (RuntimeException e) {
      expect(e.toString(), type.isInstance(e) && message(e).contains(text));
      return;
    }
    throw new AssertionError("did not throw: " + text);
  }

  private static String message(Throwable failure) {
    return String.valueOf(failure.getMessage());
  }

  private static float[] floats(Tensor tensor) {
    float[] values = new float[Math.toIntExact(tensor.numel())];
    new FloatPointer(tensor.data_ptr()).get(values);
    return values;
  }

  private static void check(String what, float[] got, float... expected) {
    expect(
        what + " " + Arrays.toString(got),
        Arrays.equals(Arrays.copyOf(got, expected.length), expected));
  }

  private static void expect(String what, boolean holds) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
