// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.AsyncCollectives;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.distributed.Work;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * Averages weights with all ranks, or with one that changes from exchange to exchange, while the
 * gradients are computed from the weights before: {@code x := average(x) - step(gradient at x)}.
 * Between nodes, x is the average of a node.
 *
 * <p>Source: Bagua, {@code DecentralizedAlgorithm}.
 */
public final class DecentralizedExchange implements WeightExchange {
  private final Nodes nodes;
  private final FlatTensors weights;
  private final boolean withAll;
  private final long interval;
  private final Tensor received;
  private long exchanges;

  /**
   * Creates an exchange; a collective operation.
   *
   * @param nodes owned
   * @param weights borrowed
   */
  public DecentralizedExchange(Nodes nodes, FlatTensors weights, boolean withAll, long interval) {
    this.nodes = nodes;
    this.weights = weights;
    this.withAll = withAll;
    this.interval = interval;
    try (PointerScope scope = new PointerScope()) {
      Tensor values = weights.values();
      this.received = (withAll ? values.narrow(0, 0, 0) : values.clone()).retainReference();
    }
  }

  /**
   * Returns the rank with which a rank exchanges weights: each rank of the lower half with one of
   * the upper half.
   *
   * @param worldSize an even number
   */
  public static int peer(int rank, int worldSize, long exchange) {
    int half = worldSize / 2;
    return rank < half
        ? (int) Math.floorMod(exchange + rank, (long) half) + half
        : (int) Math.floorMod(rank - half - exchange, (long) half);
  }

  @Override
  public void step(long step, Runnable pass, Runnable update) {
    if (step % interval != 0) {
      pass.run();
      update.run();
      return;
    }
    weights.load();
    nodes.averageAtLeader(weights.values());
    ProcessGroup leaders = nodes.leaders();
    List<Work<Void>> works = leaders == null ? List.of() : start(leaders);
    try {
      pass.run();
    } finally {
      WeightExchange.awaitAll(works);
    }
    if (!withAll && leaders != null) {
      try (PointerScope scope = new PointerScope()) {
        weights.values().add_(received).div_(new Scalar(2f));
      }
    }
    nodes.copyFromLeader(weights.values());
    weights.store();
    exchanges++;
    update.run();
  }

  private List<Work<Void>> start(ProcessGroup leaders) {
    AsyncCollectives ranks = leaders.unchecked().async();
    if (withAll) {
      return List.of(ranks.allReduce(weights.values(), ReduceOp.MEAN));
    }
    int peer = peer(leaders.rank(), leaders.size(), exchanges);
    return List.of(ranks.send(weights.values(), peer, 0), ranks.recv(received, peer, 0));
  }

  @Override
  public long exchanges() {
    return exchanges;
  }

  @Override
  public void resume(long exchanges) {
    this.exchanges = exchanges;
  }

  @Override
  public void abandon() {
    nodes.abandon();
  }

  @Override
  public void close() {
    nodes.close();
    received.close();
  }
}
