// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.amp.TrainingOptimizer;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.internal.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * The optimizer for {@link GradientExchange#qAdam}: Adam whose second moments are fixed after a
 * warm-up, so that ranks need to exchange only its first moments, as bytes.
 *
 * <pre>{@code
 * QAdam.Options adam = QAdam.Options.defaults().withWarmupSteps(500);
 * var options = DataParallelOptions.defaults().withExchange(adam.exchange());
 * try (var model = DistributedDataParallel.wrap(net, group, options);
 *     QAdam optimizer = QAdam.of(model, adam)) {
 *   for (Batch batch : batches) {
 *     optimizer.zeroGrad();
 *     model.backward(loss(batch));
 *     optimizer.step();
 *   }
 * }
 * }</pre>
 *
 * <p>During the warm-up, it takes the steps of Adam, with decoupled weight decay. The warm-up must
 * be long enough for the second moments to be meaningful. Later, a weight without gradients in the
 * warm-up only decays, and no step is longer than Adam's longest, which is {@code (1 - beta1) /
 * sqrt(1 - beta2)} learning rates. Bagua has neither limit, and so divides the rounding errors of
 * the bytes by second moments near zero. Each step must follow one backward pass that averages. To
 * resume, restore {@link #stateDict} and {@link DistributedDataParallel#stateDict}.
 *
 * <p>Losses may be scaled by {@link io.torchfeed.amp.GradScaler}, whose {@code step} and {@code
 * update} take this optimizer: the moments that the exchange keeps are multiplied whenever the
 * scale changes, and neither they nor this object count a pass whose gradients overflow. A scaler
 * that is first used later, or no longer, needs {@link #setLossScale} before; so does a change of
 * the scale by an {@code update} before which this optimizer made no {@code step}.
 *
 * <p>Not thread-safe.
 *
 * <p>Source: Bagua, {@code QAdamOptimizer}; {@link GradientExchange#qAdam} lists the differences.
 */
public final class QAdam implements TrainingOptimizer, Stateful {
  /**
   * The options of the optimizer, the same on all ranks.
   *
   * <p>Immutable: each {@code with} method returns new options.
   */
  public static final class Options {
    private static final Options DEFAULTS = new Options(1e-3, 100, 0.9, 0.999, 1e-8, 0);

    private final double learningRate;
    private final long warmupSteps;
    private final double beta1;
    private final double beta2;
    private final double epsilon;
    private final double weightDecay;

    private Options(
        double learningRate,
        long warmupSteps,
        double beta1,
        double beta2,
        double epsilon,
        double weightDecay) {
      this.learningRate = learningRate;
      this.warmupSteps = warmupSteps;
      this.beta1 = beta1;
      this.beta2 = beta2;
      this.epsilon = epsilon;
      this.weightDecay = weightDecay;
    }

    /**
     * Returns the options of Bagua.
     *
     * @return learning rate 0.001, 100 steps of warm-up, betas 0.9 and 0.999, epsilon
     *     10<sup>-8</sup>, no weight decay
     */
    public static Options defaults() {
      return DEFAULTS;
    }

    /**
     * Returns these options with a different learning rate.
     *
     * @param rate at least 0
     * @return the options
     * @throws IllegalArgumentException if it is negative or not a number
     */
    public Options withLearningRate(double rate) {
      require(rate >= 0, "learning rate must be at least 0, got " + rate);
      return new Options(rate, warmupSteps, beta1, beta2, epsilon, weightDecay);
    }

    /**
     * Returns these options with a different warm-up.
     *
     * @param steps how many steps average gradients before the second moments are fixed, at least 1
     * @return the options
     * @throws IllegalArgumentException if it is below 1
     */
    public Options withWarmupSteps(long steps) {
      require(steps >= 1, "warm-up must be at least 1 step, got " + steps);
      return new Options(learningRate, steps, beta1, beta2, epsilon, weightDecay);
    }

    /**
     * Returns these options with different decays of the moments.
     *
     * @param beta1 of the first moments, in [0, 1)
     * @param beta2 of the second moments, in [0, 1)
     * @return the options
     * @throws IllegalArgumentException if one is out of range
     */
    public Options withBetas(double beta1, double beta2) {
      require(beta1 >= 0 && beta1 < 1, "beta1 must be in [0, 1), got " + beta1);
      require(beta2 >= 0 && beta2 < 1, "beta2 must be in [0, 1), got " + beta2);
      return new Options(learningRate, warmupSteps, beta1, beta2, epsilon, weightDecay);
    }

    /**
     * Returns these options with a different summand of the denominator.
     *
     * @param epsilon at least 0
     * @return the options
     * @throws IllegalArgumentException if it is negative or not a number
     */
    public Options withEpsilon(double epsilon) {
      require(epsilon >= 0, "epsilon must be at least 0, got " + epsilon);
      return new Options(learningRate, warmupSteps, beta1, beta2, epsilon, weightDecay);
    }

    /**
     * Returns these options with a different decay of the weights.
     *
     * @param decay the factor of the weights that each step subtracts, times the learning rate; at
     *     least 0
     * @return the options
     * @throws IllegalArgumentException if it is negative or not a number
     */
    public Options withWeightDecay(double decay) {
      require(decay >= 0, "weight decay must be at least 0, got " + decay);
      return new Options(learningRate, warmupSteps, beta1, beta2, epsilon, decay);
    }

    /**
     * Returns the exchange of gradients that belongs to these options.
     *
     * @return the exchange, for {@link DataParallelOptions#withExchange}
     */
    public GradientExchange.Momenta exchange() {
      return GradientExchange.qAdam(warmupSteps, beta1);
    }

    private static void require(boolean holds, String message) {
      if (!holds) {
        throw new IllegalArgumentException(message);
      }
    }
  }

  private static final String KIND = "QAdam";

  private final Options options;
  private final DistributedDataParallel model;
  private final List<String> names;
  private final Tensor[] parameters; // without history
  private final Tensor[] sources;
  private final Tensor[] firstMoments;
  private final Tensor[] secondMoments;
  private long steps;
  private double lossScale = 1;

  private QAdam(
      Options options, DistributedDataParallel model, List<String> names, Tensor[] sources) {
    this.options = options;
    this.model = model;
    this.names = names;
    this.sources = sources;
    parameters = new Tensor[sources.length];
    firstMoments = new Tensor[sources.length];
    secondMoments = new Tensor[sources.length];
    for (int i = 0; i < sources.length; i++) {
      parameters[i] = sources[i].detach().retainReference();
      firstMoments[i] = parameters[i].clone().zero_().retainReference();
      secondMoments[i] = parameters[i].clone().zero_().retainReference();
    }
  }

  /**
   * Creates an optimizer of a model's parameters.
   *
   * @param model wrapped with {@link Options#exchange} of the same options; borrowed
   * @param options the same on all ranks
   * @return the optimizer; the caller closes it
   */
  public static QAdam of(DistributedDataParallel model, Options options) {
    requireNonNull(model, "model");
    requireNonNull(options, "options");
    try (PointerScope scope = new PointerScope()) {
      ModuleTensors all = ModuleTensors.parameters(model.module(), Set.of());
      Tensor[] sources = new Tensor[all.names().size()];
      for (int i = 0; i < sources.length; i++) {
        sources[i] = new Tensor(all.tensors().get(i)).retainReference(); // outlives the vector
      }
      return new QAdam(options, model, all.names(), sources);
    }
  }

  @Override
  public void zeroGrad() {
    try (PointerScope scope = new PointerScope()) {
      for (Tensor source : sources) {
        source.mutable_grad().reset();
      }
    }
  }

  @Override
  public TensorVector parameters() {
    return new TensorVector(sources);
  }

  @Override
  public void requireLossScale(double scale) {
    if (steps > 0 && scale != lossScale) {
      throw new IllegalStateException(
          "the moments are of losses multiplied by %s, but this one by %s; call setLossScale before"
                  .formatted(lossScale, scale)
              + " the backward pass");
    }
    lossScale = scale;
  }

  @Override
  public void setLossScale(double scale) {
    if (!(scale > 0)) {
      throw new IllegalArgumentException("scale must be above 0, got " + scale);
    }
    if (scale != lossScale) {
      model.rescaleExchange(scale / lossScale);
      lossScale = scale;
    }
  }

  /** Changes the parameters by the gradients of the last backward pass. */
  @Override
  public void step() {
    steps++;
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < sources.length; i++) {
        Tensor gradient = sources[i].grad();
        if (gradient.defined()) {
          update(i, gradient);
        }
      }
    }
  }

  private void update(int i, Tensor gradient) {
    Tensor first = firstMoments[i];
    Tensor second = secondMoments[i];
    boolean isWarmingUp = steps <= options.warmupSteps;
    if (isWarmingUp || model.group().size() == 1) {
      first.mul_(new Scalar(options.beta1)).add_(gradient, new Scalar(1 - options.beta1));
    } else {
      first.copy_(gradient);
    }
    if (isWarmingUp) {
      second
          .mul_(new Scalar(options.beta2))
          .addcmul_(gradient, gradient, new Scalar(1 - options.beta2));
    }
    long averaged = Math.min(steps, options.warmupSteps);
    double correction1 = 1 - Math.pow(options.beta1, (double) steps);
    double correction2 = 1 - Math.pow(options.beta2, (double) averaged);
    Tensor denominator =
        second.sqrt().div_(new Scalar(Math.sqrt(correction2))).add_(new Scalar(options.epsilon));
    parameters[i].mul_(new Scalar(1 - options.learningRate * options.weightDecay));
    Tensor ratio = first.div(denominator);
    if (!isWarmingUp) {
      ratio.masked_fill_(second.eq(new Scalar(0)), new Scalar(0));
      double longest = (1 - options.beta1) / Math.sqrt(1 - options.beta2);
      ratio.clamp_(
          new ScalarOptional(new Scalar(-longest)), new ScalarOptional(new Scalar(longest)));
    }
    parameters[i].add_(ratio, new Scalar(-options.learningRate / correction1));
  }

  /**
   * Returns the number of steps so far.
   *
   * @return at least 0
   */
  public long steps() {
    return steps;
  }

  /**
   * Returns the number of steps, the scale of losses, and both moments of each parameter. They are
   * the same on all ranks, so that one of them may store them. The exchange has a state of its own
   * on each rank, which is part of {@link DistributedDataParallel#stateDict}.
   *
   * @return the state; the caller closes it
   */
  @Override
  public StateDict stateDict() {
    return StateDict.of(json(), moments());
  }

  @Override
  public StateDict sharedStateDict() {
    return StateDict.sharing(json(), moments());
  }

  private String json() {
    return DistributedStateJson.write(
        KIND,
        layout(),
        out -> {
          out.writeNumberField("steps", steps);
          out.writeNumberField("lossScale", lossScale);
        });
  }

  /** Returns the options on which the meaning of the moments depends. */
  private List<String> layout() {
    return List.of(
        "warmupSteps " + options.warmupSteps, "betas " + options.beta1 + " and " + options.beta2);
  }

  private Map<String, Tensor> moments() {
    Map<String, Tensor> moments = new LinkedHashMap<>();
    for (int i = 0; i < names.size(); i++) {
      moments.put("exp_avg." + names.get(i), firstMoments[i]);
      moments.put("exp_avg_sq." + names.get(i), secondMoments[i]);
    }
    return moments;
  }

  /**
   * Continues from a state of an optimizer with the same warm-up, betas and parameters; learning
   * rate, epsilon and weight decay of this object remain.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if the state is of another optimizer, or malformed; the
   *     message names the first difference
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state");
    JsonObject json = DistributedStateJson.read(state, KIND, layout(), "steps", "lossScale");
    long restored = json.number("steps");
    if (restored < 0) {
      throw new IllegalArgumentException("steps must be at least 0, got " + restored);
    }
    double scale = json.real("lossScale");
    if (!(scale > 0)) {
      throw new IllegalArgumentException("lossScale must be above 0, got " + scale);
    }
    state.copyTo(moments());
    steps = restored;
    lossScale = scale;
  }

  @Override
  public void close() {
    for (Tensor[] tensors : new Tensor[][] {sources, parameters, firstMoments, secondMoments}) {
      for (Tensor tensor : tensors) {
        tensor.close();
      }
    }
  }
}
