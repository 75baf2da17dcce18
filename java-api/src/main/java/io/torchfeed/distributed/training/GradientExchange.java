// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.ExchangeOptions;
import java.util.function.Consumer;

/**
 * A way in which gradients are averaged over the ranks; chosen by {@link
 * DataParallelOptions#withExchange}. PyTorch calls it a communication hook.
 *
 * <p>All but {@link #allReduce} send less, and give the optimizer an approximation of the mean that
 * is the same on all ranks, bit for bit. They work in a thread of their own, over a sub-group that
 * wrapping creates. They take dense gradients of float32, float64, float16 and bfloat16; for
 * others, wrapping throws {@link IllegalArgumentException}. In a group of one rank, gradients
 * remain as they are.
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
 * <p>Immutable.
 */
public sealed class GradientExchange permits GradientExchange.PowerSgd {
  private static final GradientExchange ALL_REDUCE = of(ExchangeOptions.kAllReduce);
  private static final GradientExchange FLOAT16 = of(ExchangeOptions.kFloat16);
  private static final GradientExchange BFLOAT16 = of(ExchangeOptions.kBFloat16);
  private static final GradientExchange BYTE_GRAD = of(ExchangeOptions.kByteGrad);

  private final Consumer<ExchangeOptions> setter;

  private GradientExchange(Consumer<ExchangeOptions> setter) {
    this.setter = setter;
  }

  private static GradientExchange of(int kind) {
    return new GradientExchange(options -> options.kind(kind));
  }

  /**
   * Returns the exchange of gradients as they are; the default.
   *
   * @return the exchange
   */
  public static GradientExchange allReduce() {
    return ALL_REDUCE;
  }

  /**
   * Returns the exchange of gradients as float16: cast, divided by the number of ranks, and summed.
   * Gradients above 65504 become infinite.
   *
   * <p>Source: PyTorch 2.10.0, {@code fp16_compress_hook}.
   *
   * @return the exchange
   */
  public static GradientExchange float16() {
    return FLOAT16;
  }

  /**
   * Returns the exchange of gradients as bfloat16, which has the range of float32 and 8 significant
   * bits.
   *
   * <p>Source: PyTorch 2.10.0, {@code bf16_compress_hook}, which needs NCCL there.
   *
   * @return the exchange
   */
  public static GradientExchange bfloat16() {
    return BFLOAT16;
  }

  /**
   * Returns the exchange of gradients as bytes. Each bucket is divided into a chunk for each rank,
   * whose numbers are coded in 256 levels between the least and the largest of them; that rank
   * averages the chunk, and sends the mean to all, coded in the same way. The error of either
   * coding is at most half a level. A chunk that has a number that is not finite on any rank
   * becomes NaN on all of them.
   *
   * <p>Source: Bagua, {@code ByteGradAlgorithm}; but a code that would be -1 is 0 rather than 255,
   * and NaN does not become the largest number.
   *
   * @return the exchange
   */
  public static GradientExchange byteGrad() {
    return BYTE_GRAD;
  }

  /**
   * Returns the exchange of low-rank approximations of gradients, with PyTorch's default options.
   *
   * @return the exchange
   */
  public static PowerSgd powerSgd() {
    return new PowerSgd(options -> options.kind(ExchangeOptions.kPowerSgd).warmup_steps(1_000));
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
   * <pre>{@code
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
  public static GradientExchange qAdam(long warmupSteps, double beta1) {
    require(warmupSteps >= 1, "warmupSteps must be at least 1, got " + warmupSteps);
    require(beta1 >= 0 && beta1 < 1, "beta1 must be in [0, 1), got " + beta1);
    return new GradientExchange(
        options -> options.kind(ExchangeOptions.kQAdam).warmup_steps(warmupSteps).beta1(beta1));
  }

  /**
   * Returns this exchange between nodes, for example machines: gradients are summed within each
   * node, exchanged with other nodes by the first of its ranks, and copied to the others. So
   * traffic between nodes does not grow with the ranks of a node; the table above then holds for n
   * nodes. Not for {@link #powerSgd}; {@link #qAdam} averages the gradients of its warm-up over all
   * ranks. Even over {@link #allReduce}, gradients must be dense and of the dtypes above.
   *
   * <p>Source: Bagua, the hierarchical forms of its algorithms.
   *
   * @param ranks the number of consecutive ranks that form a node, at least 1; must divide the
   *     group's size, or wrapping throws {@link IllegalArgumentException}. By default 1
   * @return the exchange
   * @throws IllegalArgumentException if the number is below 1
   */
  public GradientExchange withRanksPerNode(int ranks) {
    require(ranks >= 1, "ranksPerNode must be at least 1, got " + ranks);
    return new GradientExchange(setter.andThen(options -> options.ranks_per_node(ranks)));
  }

  int ranksPerNode() {
    try (ExchangeOptions options = toNative()) {
      return (int) options.ranks_per_node();
    }
  }

  private static void require(boolean holds, String message) {
    if (!holds) {
      throw new IllegalArgumentException(message);
    }
  }

  Consumer<ExchangeOptions> setter() {
    return setter;
  }

  /** Returns the native options; owned by the caller's pointer scope. */
  ExchangeOptions toNative() {
    ExchangeOptions options = new ExchangeOptions();
    setter.accept(options);
    return options;
  }

  /**
   * The exchange of low-rank approximations: a gradient with n rows (its first dimension) and m
   * columns is sent as matrices of n + m rows and few columns, if that is small enough. Gradients
   * of float32 and float64 only.
   *
   * <p>Source: PyTorch 2.10.0, {@code powerSGD_hook}, with its values up to rounding; but the state
   * of each parameter survives the forming of new buckets after the first backward pass, and a
   * gradient of zeros remains so. All ranks must run on processors of one kind to get the same
   * bits.
   *
   * <p>Immutable: each {@code with} method returns a new exchange.
   */
  public static final class PowerSgd extends GradientExchange {
    private PowerSgd(Consumer<ExchangeOptions> setter) {
      super(setter);
    }

    private PowerSgd with(Consumer<ExchangeOptions> change) {
      return new PowerSgd(setter().andThen(change));
    }

    /**
     * Returns this exchange with a different number of columns.
     *
     * @param rank at least 1; by default 1
     * @return the exchange
     * @throws IllegalArgumentException if the rank is below 1
     */
    public PowerSgd withMatrixApproximationRank(int rank) {
      require(rank >= 1, "rank must be at least 1, got " + rank);
      return with(options -> options.matrix_rank(rank));
    }

    /**
     * Returns this exchange with a different start.
     *
     * @param passes how many backward passes average whole gradients before, at least 0; by default
     *     1000
     * @return the exchange
     * @throws IllegalArgumentException if the number is negative
     */
    public PowerSgd withStartIteration(long passes) {
      require(passes >= 0, "passes must be at least 0, got " + passes);
      return with(options -> options.warmup_steps(passes));
    }

    /**
     * Returns this exchange with a different threshold.
     *
     * @param rate the factor by which an approximation must be smaller than the gradient; others
     *     are sent whole. Above 0; by default 2
     * @return the exchange
     * @throws IllegalArgumentException if the rate is not above 0
     */
    public PowerSgd withMinCompressionRate(double rate) {
      require(rate > 0, "rate must be above 0, got " + rate);
      return with(options -> options.min_compression_rate(rate));
    }

    /**
     * Returns this exchange with or without error feedback, which takes memory for another copy of
     * the gradients.
     *
     * @param feedback whether the error of an approximation is added to the next gradient; by
     *     default it is
     * @return the exchange
     */
    public PowerSgd withErrorFeedback(boolean feedback) {
      return with(options -> options.error_feedback(feedback));
    }

    /**
     * Returns this exchange with or without a warm start.
     *
     * @param warm whether an approximation starts from the one before; by default it does. If not,
     *     each starts from random numbers
     * @return the exchange
     */
    public PowerSgd withWarmStart(boolean warm) {
      return with(options -> options.warm_start(warm));
    }

    /**
     * Returns this exchange with a different summand.
     *
     * @param epsilon a summand of the norm of a column before a division by it, at least 0; by
     *     default 0
     * @return the exchange
     * @throws IllegalArgumentException if it is negative
     */
    public PowerSgd withOrthogonalizationEpsilon(double epsilon) {
      require(epsilon >= 0, "epsilon must be at least 0, got " + epsilon);
      return with(options -> options.orthogonalization_epsilon(epsilon));
    }

    /**
     * Returns this exchange with or without one computation for gradients of equal shape.
     *
     * @param batch whether such gradients of a bucket are approximated together; by default each is
     *     by itself
     * @return the exchange
     */
    public PowerSgd withBatchTensorsWithSameShape(boolean batch) {
      return with(options -> options.batch_same_shapes(batch));
    }

    /**
     * Returns this exchange with a different seed of the random numbers.
     *
     * @param seed in [0, 2<sup>32</sup>); by default 0
     * @return the exchange
     * @throws IllegalArgumentException if it is out of range
     */
    public PowerSgd withRandomSeed(long seed) {
      require(seed >= 0 && seed < 1L << 32, "seed must be in [0, 2^32), got " + seed);
      return with(options -> options.seed(seed));
    }
  }
}
