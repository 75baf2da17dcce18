// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import java.util.Objects;

/**
 * A way in which gradients are averaged over the ranks; chosen by {@link
 * DataParallelOptions#withExchange}. PyTorch calls it a <i>communication hook</i>, set by {@code
 * register_comm_hook}. The list is closed: programs cannot add their own.
 *
 * <p>All but {@link #allReduce} send less, and give the optimizer an approximation of the mean that
 * is the same on all ranks, bit for bit. They work in a thread of their own, over a sub-group that
 * wrapping creates. They take dense gradients of float32, float64, float16 and bfloat16; for
 * others, wrapping throws {@link IllegalArgumentException}. A number that is not finite on any rank
 * gives all ranks one, in the same bucket. In a group of one rank, gradients remain as they are.
 *
 * <p>Bytes that each of n ranks sends for N gradients in float32:
 *
 * <table>
 *   <caption>Bytes per gradient</caption>
 *   <tr><th>exchange</th><th>n = 2</th><th>n = 4</th><th>n = 8</th></tr>
 *   <tr><td>{@link #allReduce}</td><td>4</td><td>6</td><td>7</td></tr>
 *   <tr><td>{@link #float16}, {@link #bfloat16}</td><td>2</td><td>3</td><td>3.5</td></tr>
 *   <tr><td>{@link #byteGrad}, {@link #qAdam} after its warm-up</td>
 *     <td>1</td><td>1.5</td><td>1.75</td></tr>
 * </table>
 *
 * <p>Values: exchanges with the same options are equal. Each {@code with} method returns a new one.
 */
public sealed interface GradientExchange permits GradientExchange.Nodal, PowerSgd {
  /**
   * Returns the exchange of gradients as they are; the default.
   *
   * @return the exchange
   */
  static Mean allReduce() {
    return new Mean(Format.PLAIN, 1);
  }

  /**
   * Returns the exchange of gradients as float16: cast, divided by the number of ranks, and summed.
   * Gradients above 65504 become infinite.
   *
   * <p>Source: PyTorch 2.10.0, {@code fp16_compress_hook}.
   *
   * @return the exchange
   */
  static Mean float16() {
    return new Mean(Format.FLOAT16, 1);
  }

  /**
   * Returns the exchange of gradients as bfloat16, which has the range of float32 and 8 significant
   * bits.
   *
   * <p>Source: PyTorch 2.10.0, {@code bf16_compress_hook}, which needs NCCL there.
   *
   * @return the exchange
   */
  static Mean bfloat16() {
    return new Mean(Format.BFLOAT16, 1);
  }

  /**
   * Returns the exchange of gradients as bytes. Each bucket is divided into one chunk per rank,
   * quantized to 256 levels between its minimum and maximum; that rank averages the chunk, and
   * sends the mean to all, coded in the same way. The error of either coding is at most half a
   * level. A chunk that has a number that is not finite on any rank becomes NaN on all of them.
   *
   * <p>Source: Bagua, {@code ByteGradAlgorithm}; but a code that would be -1 is 0 rather than 255,
   * and NaN does not become the largest number.
   *
   * @return the exchange
   */
  static Mean byteGrad() {
    return new Mean(Format.BYTE_GRAD, 1);
  }

  /**
   * Returns the exchange of low-rank approximations of gradients, with PyTorch's default options.
   *
   * @return the exchange
   */
  static PowerSgd powerSgd() {
    return PowerSgd.DEFAULTS;
  }

  /**
   * Returns the exchange for Adam whose second moments are fixed after a warm-up. Backward passes
   * 1, 2, ..., w = {@code warmupSteps} average the gradients. From pass w + 1 on, each rank updates
   * the first moments by its own gradients, m := beta1 m + (1 - beta1) g; these are averaged as
   * {@link #byteGrad} averages gradients, and given to the optimizer <i>in place of the
   * gradients</i>.
   *
   * <p>With k the number of the pass, starting from m = v = 0, the optimizer is to compute
   *
   * <pre>{@literal
   * if (k <= w) {
   *   m = beta1 * m + (1 - beta1) * grad;
   *   v = beta2 * v + (1 - beta2) * grad * grad;
   * } else {
   *   m = grad;
   * }
   * x -= lr * (m / (1 - pow(beta1, k)) / (sqrt(v / (1 - pow(beta2, min(k, w)))) + eps)
   *     + weightDecay * x);
   * }</pre>
   *
   * <p>and to clear the gradients before each pass. In a group of one rank, it gets gradients in
   * all passes, and updates m by itself. {@link QAdam} does that.
   *
   * <p>Source: Bagua, {@code QAdamAlgorithm}; but the moments take in the gradient of pass w, which
   * is dropped there, and the correction of v stops with v, so that the steps do not grow.
   *
   * @param warmupSteps w, at least 1
   * @param beta1 the decay of the first moments, in [0, 1)
   * @return the exchange
   * @throws IllegalArgumentException if an argument is out of range
   */
  static Momenta qAdam(long warmupSteps, double beta1) {
    return new Momenta(warmupSteps, beta1, 1);
  }

  /**
   * Returns the number of consecutive ranks that form a node.
   *
   * @return 1 unless {@link Nodal#withRanksPerNode} has set another
   */
  int ranksPerNode();

  /** An exchange that has a form between nodes, for example machines. */
  sealed interface Nodal extends GradientExchange {
    /**
     * Returns this exchange between nodes: gradients are summed within each node, exchanged with
     * other nodes by the first of its ranks, and copied to the others. Traffic between nodes does
     * not grow with the ranks of a node; the table above then holds for n nodes. {@link #qAdam}
     * averages the gradients of its warm-up over all ranks. Even over {@link #allReduce}, gradients
     * must be dense and of the dtypes above.
     *
     * <p>Source: Bagua, the hierarchical forms of its algorithms.
     *
     * @param ranks the number of consecutive ranks that form a node, at least 1; must divide the
     *     group's size, or wrapping throws {@link IllegalArgumentException}. By default 1
     * @return the exchange
     * @throws IllegalArgumentException if the number is below 1
     */
    Nodal withRanksPerNode(int ranks);
  }

  /** The forms in which a {@link Mean} is exchanged. */
  enum Format {
    /** As they are. */
    PLAIN,

    /** As float16. */
    FLOAT16,

    /** As bfloat16. */
    BFLOAT16,

    /** As bytes. */
    BYTE_GRAD
  }

  /**
   * The exchange of the mean of the gradients.
   *
   * @param format the form of the gradients in messages
   * @param ranksPerNode the number of consecutive ranks that form a node, at least 1
   */
  record Mean(Format format, int ranksPerNode) implements Nodal {
    /**
     * Creates an exchange.
     *
     * @param format the form of the gradients in messages
     * @param ranksPerNode the number of consecutive ranks that form a node
     * @throws IllegalArgumentException if {@code ranksPerNode} is below 1
     */
    public Mean {
      Objects.requireNonNull(format, "format");
      requireNode(ranksPerNode);
    }

    @Override
    public Mean withRanksPerNode(int ranks) {
      return new Mean(format, ranks);
    }
  }

  /**
   * The exchange of {@link #qAdam}.
   *
   * @param warmupSteps the backward passes that average gradients, at least 1
   * @param beta1 the decay of the first moments, in [0, 1)
   * @param ranksPerNode the number of consecutive ranks that form a node, at least 1
   */
  record Momenta(long warmupSteps, double beta1, int ranksPerNode) implements Nodal {
    /**
     * Creates an exchange.
     *
     * @param warmupSteps the backward passes that average gradients
     * @param beta1 the decay of the first moments
     * @param ranksPerNode the number of consecutive ranks that form a node
     * @throws IllegalArgumentException if an argument is out of range
     */
    public Momenta {
      NativeExchange.require(
          warmupSteps >= 1, "warmupSteps must be at least 1, got " + warmupSteps);
      NativeExchange.require(beta1 >= 0 && beta1 < 1, "beta1 must be in [0, 1), got " + beta1);
      requireNode(ranksPerNode);
    }

    @Override
    public Momenta withRanksPerNode(int ranks) {
      return new Momenta(warmupSteps, beta1, ranks);
    }
  }

  private static void requireNode(int ranks) {
    NativeExchange.require(ranks >= 1, "ranksPerNode must be at least 1, got " + ranks);
  }
}
