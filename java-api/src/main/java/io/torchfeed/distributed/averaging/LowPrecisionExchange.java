// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.bindings.MinMaxCode;
import io.torchfeed.distributed.AsyncCollectives;
import io.torchfeed.distributed.ProcessGroup;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * Mixes the weights of a rank with its two neighbours' in a ring, by sending their difference from
 * the neighbours' copies, in 8 bits a value ({@link MinMaxCode}). Between nodes, the neighbours are
 * nodes, with the average of their ranks.
 *
 * <p>Each rank keeps its neighbours' copy of its weights, and its copies of theirs; these copies
 * stay equal bit for bit, since both ends add the same decoded messages.
 *
 * <p>Source: Bagua, {@code LowPrecisionDecentralizedAlgorithm}.
 */
public final class LowPrecisionExchange implements WeightExchange {
  private static final int TO_LEFT = 0;
  private static final int TO_RIGHT = 1;

  private final Nodes nodes;
  private final FlatTensors weights;
  private final long interval;
  private final Tensor known;
  private final Tensor left;
  private final Tensor right;
  private final Tensor difference;
  private final Tensor sent;
  private final Tensor fromLeft;
  private final Tensor fromRight;
  private long exchanges;

  /**
   * Creates an exchange; a collective operation.
   *
   * @param nodes owned
   * @param weights borrowed
   */
  public LowPrecisionExchange(Nodes nodes, FlatTensors weights, long interval) {
    this.nodes = nodes;
    this.weights = weights;
    this.interval = interval;
    try (PointerScope scope = new PointerScope()) {
      Tensor values = weights.values();
      known = values.clone().retainReference();
      left = values.clone().retainReference();
      right = values.clone().retainReference();
      difference = values.clone().retainReference();
      sent = MinMaxCode.buffer(values.numel()).retainReference();
      fromLeft = MinMaxCode.buffer(values.numel()).retainReference();
      fromRight = MinMaxCode.buffer(values.numel()).retainReference();
    }
  }

  @Override
  public void step(long step, Runnable pass, Runnable update) {
    pass.run();
    update.run();
    if (step % interval == 0 && (nodes.count() > 1 || nodes.node() != null)) {
      weights.load();
      nodes.averageAtLeader(weights.values());
      ProcessGroup leaders = nodes.leaders();
      if (leaders != null && nodes.count() > 1) {
        encodeDifference();
        exchange(leaders);
        mix();
      }
      nodes.copyFromLeader(weights.values());
      weights.store();
      exchanges++;
    }
  }

  private void encodeDifference() {
    try (PointerScope scope = new PointerScope()) {
      Scalar third = new Scalar(1 / 3f);
      difference.copy_(weights.values()).add_(left, third).add_(right, third);
      difference.add_(known, new Scalar(-5 / 3f));
      MinMaxCode.encode(difference, sent);
    }
  }

  private void exchange(ProcessGroup leaders) {
    AsyncCollectives ranks = leaders.unchecked().async();
    int leftRank = Math.floorMod(leaders.rank() - 1, leaders.size());
    int rightRank = Math.floorMod(leaders.rank() + 1, leaders.size());
    WeightExchange.awaitAll(
        List.of(
            ranks.send(sent, leftRank, TO_LEFT),
            ranks.send(sent, rightRank, TO_RIGHT),
            ranks.recv(fromLeft, leftRank, TO_RIGHT),
            ranks.recv(fromRight, rightRank, TO_LEFT)));
  }

  private void mix() {
    try (PointerScope scope = new PointerScope()) {
      MinMaxCode.decode_onto(fromLeft, left);
      MinMaxCode.decode_onto(fromRight, right);
      MinMaxCode.decode_onto(sent, known);
      weights.values().copy_(known);
    }
  }

  @Override
  public void restart() {
    weights.load();
    try (PointerScope scope = new PointerScope()) {
      for (Tensor copy : List.of(known, left, right)) {
        copy.copy_(weights.values());
      }
    }
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
  public Map<String, Tensor> kept() {
    return nodes.leaders() != null && nodes.count() > 1
        ? Map.of("known", known, "left", left, "right", right)
        : Map.of();
  }

  @Override
  public void abandon() {
    nodes.abandon();
  }

  @Override
  public void close() {
    nodes.close();
    for (Tensor each : List.of(known, left, right, difference, sent, fromLeft, fromRight)) {
      each.close();
    }
  }
}
