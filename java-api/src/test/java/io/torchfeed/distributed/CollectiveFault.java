// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.distributed.rendezvous.MeetingPoint;
import io.torchfeed.sampler.Part;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The calls of {@link CollectiveFaultTest}, and the program of the ranks that fail there and in
 * {@link StoreFaultTest}.
 */
public final class CollectiveFault {
  /** The operations; those before {@link #BROADCAST} have no root. */
  enum Call {
    BARRIER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    ALL_TO_ALL,
    ALL_GATHER_BYTES,
    SUBGROUP,
    BROADCAST,
    BROADCAST_BYTES,
    REDUCE,
    SCATTER,
    GATHER;

    boolean hasRoot() {
      return compareTo(BROADCAST) >= 0;
    }

    void run(ProcessGroup group, boolean isChecked, int root) {
      Collectives ranks = isChecked ? group : group.unchecked();
      int size = group.size();
      try (PointerScope scope = new PointerScope()) {
        Tensor one = torch.ones(2);
        Tensor all = torch.ones(2L * size);
        Tensor[] inputs =
            IntStream.range(0, group.rank() == root ? size : 0)
                .mapToObj(i -> torch.ones(2))
                .toArray(Tensor[]::new);
        switch (this) {
          case BARRIER -> ranks.barrier();
          case ALL_REDUCE -> ranks.allReduce(one, ReduceOp.SUM);
          case REDUCE_SCATTER -> ranks.reduceScatterTensor(one, all, ReduceOp.SUM);
          case ALL_GATHER -> ranks.allGather(one);
          case ALL_TO_ALL -> ranks.allToAllSingle(torch.ones(2L * size), all);
          case ALL_GATHER_BYTES -> ranks.allGatherBytes(new byte[2]);
          case SUBGROUP -> group.subgroup(IntStream.range(0, size).toArray()).close();
          case BROADCAST -> ranks.broadcast(one, root);
          case BROADCAST_BYTES -> ranks.broadcastBytes(new byte[2], root);
          case REDUCE -> ranks.reduce(one, ReduceOp.SUM, root);
          case SCATTER -> ranks.scatter(one, inputs, root);
          case GATHER -> ranks.gather(one, root);
        }
      }
    }
  }

  private CollectiveFault() {}

  /**
   * Joins each group as one of its ranks, once a file is there, and sends itself a signal, once
   * another one is: {@code signal goFile strikeFile rank=size=port...}.
   */
  public static void main(String[] args) throws Exception {
    List<String> groups = List.of(args).subList(3, args.length);
    MeetingPoint.load();
    torch.ones(2).close();
    System.out.println("ready");
    awaitFile(args[1]);
    CyclicBarrier reached = new CyclicBarrier(groups.size(), () -> signal(args[0], args[2]));
    for (String group : groups) {
      String[] words = group.split("=", -1);
      Part part = new Part(Integer.parseInt(words[1]), Integer.parseInt(words[0]));
      Master master = Master.at("127.0.0.1", Integer.parseInt(words[2]));
      new Thread(() -> joinAndWait(master, part, reached)).start();
    }
  }

  private static void joinAndWait(Master master, Part part, CyclicBarrier reached) {
    try (ProcessGroup group =
        ProcessGroup.join(master, part, GroupOptions.ofTimeout(Duration.ofMinutes(2)))) {
      reached.await();
      Thread.sleep(60_000);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void awaitFile(String file) throws InterruptedException {
    while (!Files.exists(Path.of(file))) {
      Thread.sleep(5);
    }
  }

  private static void signal(String name, String strikeFile) {
    try {
      awaitFile(strikeFile);
      String self = Long.toString(ProcessHandle.current().pid());
      System.out.println("strike " + System.nanoTime()); // the clock of all processes of a machine
      new ProcessBuilder("sh", "-c", "kill -" + name + " " + self).start().waitFor();
      Thread.sleep(60_000);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
