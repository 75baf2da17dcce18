// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.averaging.AsynchronousExchange;
import io.torchfeed.distributed.averaging.DecentralizedExchange;
import io.torchfeed.distributed.averaging.FlatTensors;
import io.torchfeed.distributed.averaging.LocalExchange;
import io.torchfeed.distributed.averaging.LowPrecisionExchange;
import io.torchfeed.distributed.averaging.Nodes;
import io.torchfeed.distributed.averaging.WeightExchange;
import java.time.Duration;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The values that the ranks of a {@link ModelAveraging} exchange, and the steps. Immutable: {@code
 * with} methods return new algorithms.
 */
public final class AveragingAlgorithm {
  private enum Kind {
    ALL,
    SHIFT_ONE,
    LOW_PRECISION,
    ASYNCHRONOUS,
    POST_LOCAL
  }

  private static final Duration MAX_PAUSE = Duration.ofDays(1);

  private final Kind kind;
  private final long interval;
  private final long start;
  private final Duration pause;
  private final int ranksPerNode;
  private final boolean allIfOdd;

  private AveragingAlgorithm(
      Kind kind, long interval, long start, Duration pause, int ranksPerNode, boolean allIfOdd) {
    this.kind = kind;
    this.interval = interval;
    this.start = start;
    this.pause = pause;
    this.ranksPerNode = ranksPerNode;
    this.allIfOdd = allIfOdd;
  }

  private AveragingAlgorithm(Kind kind, Duration pause) {
    this(kind, 1, 0, pause, 1, false);
  }

  /**
   * Returns decentralized SGD with all ranks: weights are averaged over all ranks while the
   * gradients are computed from the weights before. Sends as much per step as averaging gradients;
   * the exchange is hidden behind the whole forward and backward pass.
   *
   * @return the algorithm, with an exchange in each step
   */
  public static AveragingAlgorithm decentralized() {
    return new AveragingAlgorithm(Kind.ALL, Duration.ZERO);
  }

  /**
   * Returns decentralized SGD with one rank at a time: like {@link #decentralized}, but weights are
   * averaged with another rank's, which changes from exchange to exchange. Each step sends every
   * parameter once. The number of ranks must be even.
   *
   * @return the algorithm, with an exchange in each step
   */
  public static AveragingAlgorithm shiftOne() {
    return new AveragingAlgorithm(Kind.SHIFT_ONE, Duration.ZERO);
  }

  /**
   * Returns decentralized SGD in low precision: after each step, weights are mixed with the two
   * neighbours in a ring, by messages of one byte per parameter. Parameters must be float32. No
   * effect in a group of one rank.
   *
   * @return the algorithm, with an exchange after each step
   */
  public static AveragingAlgorithm lowPrecision() {
    return new AveragingAlgorithm(Kind.LOW_PRECISION, Duration.ZERO);
  }

  /**
   * Returns asynchronous averaging: a thread averages the weights of all ranks at intervals of
   * time, and no step waits for another rank. The ranks may run different numbers of steps.
   *
   * @param pause the time between two exchanges, at most a day
   * @return the algorithm, without warm-up
   * @throws IllegalArgumentException if the time is negative or longer
   */
  public static AveragingAlgorithm asynchronous(Duration pause) {
    if (requireNonNull(pause, "pause").isNegative() || pause.compareTo(MAX_PAUSE) > 0) {
      throw new IllegalArgumentException("pause must be from 0 to " + MAX_PAUSE + ", got " + pause);
    }
    return new AveragingAlgorithm(Kind.ASYNCHRONOUS, pause);
  }

  /**
   * Returns post-local SGD: gradients are averaged in the first steps; after them each rank trains
   * alone, and weights are averaged every few steps.
   *
   * @param start the number of steps in which gradients are averaged, at least 0
   * @param period the steps from one averaging of weights to the next, at least 1
   * @return the algorithm
   * @throws IllegalArgumentException if a number is below its minimum
   */
  public static AveragingAlgorithm postLocal(long start, long period) {
    return new AveragingAlgorithm(Kind.POST_LOCAL, Duration.ZERO)
        .withWarmup(start)
        .withInterval(period);
  }

  /**
   * Returns the algorithm with an exchange every few steps. Not for {@link #asynchronous}, whose
   * exchanges follow the time.
   *
   * @param steps the steps from one exchange to the next, at least 1
   * @return the algorithm
   * @throws IllegalArgumentException if the number is below 1
   * @throws IllegalStateException if the algorithm is asynchronous
   */
  public AveragingAlgorithm withInterval(long steps) {
    if (kind == Kind.ASYNCHRONOUS) {
      throw new IllegalStateException(this + " has no interval of steps");
    }
    if (steps < 1) {
      throw new IllegalArgumentException("interval must be at least 1, got " + steps);
    }
    return new AveragingAlgorithm(kind, steps, start, pause, ranksPerNode, allIfOdd);
  }

  /**
   * Returns the algorithm with steps in which gradients are averaged before the exchange of weights
   * begins; for {@link #asynchronous} and {@link #postLocal}.
   *
   * @param steps the number of these steps, at least 0
   * @return the algorithm
   * @throws IllegalArgumentException if the number is below 0
   * @throws IllegalStateException if the algorithm has no warm-up
   */
  public AveragingAlgorithm withWarmup(long steps) {
    if (kind != Kind.ASYNCHRONOUS && kind != Kind.POST_LOCAL) {
      throw new IllegalStateException(this + " has no warm-up");
    }
    if (steps < 0) {
      throw new IllegalArgumentException("warm-up must be at least 0 steps, got " + steps);
    }
    return new AveragingAlgorithm(kind, interval, steps, pause, ranksPerNode, allIfOdd);
  }

  /**
   * Returns the algorithm between nodes, for example machines: each time, the weights of a node's
   * ranks are averaged, exchanged with other nodes by the first of these ranks, and copied to the
   * others. Traffic between nodes is then independent of the ranks per node; read "rank" as "node"
   * in the description of the algorithm. Not for {@link #asynchronous} and {@link #postLocal}.
   *
   * @param ranks the number of consecutive ranks that form a node, at least 1; must divide the
   *     group's size. By default 1
   * @return the algorithm
   * @throws IllegalArgumentException if the number is below 1
   * @throws IllegalStateException if the algorithm has no form between nodes
   */
  public AveragingAlgorithm withRanksPerNode(int ranks) {
    if (kind == Kind.ASYNCHRONOUS || kind == Kind.POST_LOCAL) {
      throw new IllegalStateException(this + " has no form between nodes");
    }
    if (ranks < 1) {
      throw new IllegalArgumentException("ranksPerNode must be at least 1, got " + ranks);
    }
    return new AveragingAlgorithm(kind, interval, start, pause, ranks, allIfOdd);
  }

  /**
   * Returns {@link #shiftOne} for elastic ranks: while their number is odd, weights are averaged
   * over all of them.
   *
   * @return the algorithm
   * @throws IllegalStateException if the algorithm is another one, which takes any number of ranks
   */
  public AveragingAlgorithm withAllIfOdd() {
    if (kind != Kind.SHIFT_ONE) {
      throw new IllegalStateException(this + " takes an odd number of ranks");
    }
    return new AveragingAlgorithm(kind, interval, start, pause, ranksPerNode, true);
  }

  void check(int worldSize, Tensor[] weights) {
    if (worldSize % ranksPerNode != 0) {
      throw new IllegalArgumentException(
          "ranksPerNode must divide the number of ranks, %d, got %d"
              .formatted(worldSize, ranksPerNode));
    }
    int nodes = worldSize / ranksPerNode;
    if (kind == Kind.SHIFT_ONE && nodes % 2 == 1 && nodes > 1 && !allIfOdd) {
      throw new IllegalArgumentException(
          "%s needs an even number of %s, got %d"
              .formatted(this, ranksPerNode == 1 ? "ranks" : "nodes", nodes));
    }
    for (Tensor weight : weights) {
      if (kind == Kind.LOW_PRECISION && weight.scalar_type().intern() != ScalarType.Float) {
        throw new IllegalArgumentException(
            this + " needs float32 parameters, got " + weight.scalar_type());
      }
      if (weight.scalar_type().intern() != weights[0].scalar_type().intern()) {
        throw new IllegalArgumentException(
            "parameters must have one dtype, got "
                + weights[0].scalar_type()
                + " and "
                + weight.scalar_type());
      }
    }
  }

  WeightExchange start(ProcessGroup group, Tensor[] parameters, FlatTensors weights) {
    return switch (kind) {
      case ALL -> new DecentralizedExchange(nodes(group), weights, true, interval);
      case SHIFT_ONE ->
          new DecentralizedExchange(
              nodes(group), weights, group.size() / ranksPerNode % 2 == 1, interval);
      case LOW_PRECISION -> new LowPrecisionExchange(nodes(group), weights, interval);
      case ASYNCHRONOUS -> new AsynchronousExchange(group, parameters, weights, pause, start);
      case POST_LOCAL -> new LocalExchange(group, parameters, weights, start, interval);
    };
  }

  private Nodes nodes(ProcessGroup group) {
    return Nodes.of(group, ranksPerNode);
  }

  @Override
  public String toString() {
    return nameAndTimes()
        + (allIfOdd ? ", or with all if their number is odd" : "")
        + (ranksPerNode > 1 ? ", between nodes of " + ranksPerNode + " ranks" : "");
  }

  private String nameAndTimes() {
    return switch (kind) {
      case ALL -> "decentralized, every " + interval + " steps";
      case SHIFT_ONE -> "decentralized with one rank, every " + interval + " steps";
      case LOW_PRECISION -> "decentralized in low precision, every " + interval + " steps";
      case ASYNCHRONOUS -> "asynchronous, every " + pause + " after " + start + " steps";
      case POST_LOCAL -> "post-local, every " + interval + " steps after " + start;
    };
  }
}
