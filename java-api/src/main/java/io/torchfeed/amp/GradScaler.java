// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.LossScale;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.internal.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A factor that multiplies losses, so that small gradients of float16 do not become zero, and
 * divides gradients before an optimizer uses them. If a gradient overflows, the optimizer's step is
 * skipped, and the factor shrinks; after a number of steps without overflow it grows.
 *
 * <p>After an exception between {@code unscale} and {@code step}, call {@link #update} before the
 * next batch: otherwise its gradients count as divided already. A scale of 0, after some 170
 * overflows in a row, means that the losses or the gradients are never finite.
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 *
 * <p>Source: torch 2.10.0, {@code torch/amp/grad_scaler.py}; golden/mixed_precision.
 */
public final class GradScaler implements Stateful, AutoCloseable {
  /** The rules by which the scale changes; {@link #defaults} are PyTorch's. Immutable. */
  public static final class Options {
    private final double initialScale;
    private final double growthFactor;
    private final double backoffFactor;
    private final int growthInterval;

    private Options(
        double initialScale, double growthFactor, double backoffFactor, int growthInterval) {
      this.initialScale = initialScale;
      this.growthFactor = growthFactor;
      this.backoffFactor = backoffFactor;
      this.growthInterval = growthInterval;
    }

    /**
     * Returns PyTorch's options.
     *
     * @return a scale of 65536 that is doubled after 2000 steps and halved after an overflow
     */
    public static Options defaults() {
      return new Options(65_536, 2, 0.5, 2000);
    }

    /**
     * Returns these options with another first scale.
     *
     * @param scale a positive float
     * @return the options
     * @throws IllegalArgumentException if it is out of range
     */
    public Options withInitialScale(double scale) {
      require(
          (float) scale > 0 && (float) scale < Float.POSITIVE_INFINITY,
          "initialScale must be a positive float, got " + scale);
      return new Options(scale, growthFactor, backoffFactor, growthInterval);
    }

    /**
     * Returns these options with another factor by which the scale grows.
     *
     * @param factor more than 1
     * @return the options
     * @throws IllegalArgumentException if it is out of range
     */
    public Options withGrowthFactor(double factor) {
      require(
          factor > 1 && factor < Double.POSITIVE_INFINITY,
          "growthFactor must be more than 1 and finite, got " + factor);
      return new Options(initialScale, factor, backoffFactor, growthInterval);
    }

    /**
     * Returns these options with another factor by which the scale shrinks.
     *
     * @param factor in (0, 1)
     * @return the options
     * @throws IllegalArgumentException if it is out of range
     */
    public Options withBackoffFactor(double factor) {
      require(factor > 0 && factor < 1, "backoffFactor must be in (0, 1), got " + factor);
      return new Options(initialScale, growthFactor, factor, growthInterval);
    }

    /**
     * Returns these options with another number of steps after which the scale grows.
     *
     * @param steps the number of steps without overflow, at least 1
     * @return the options
     * @throws IllegalArgumentException if it is out of range
     */
    public Options withGrowthInterval(int steps) {
      require(steps >= 1, "growthInterval must be at least 1, got " + steps);
      return new Options(initialScale, growthFactor, backoffFactor, steps);
    }

    /**
     * Returns the first scale.
     *
     * @return a positive float
     */
    public double initialScale() {
      return initialScale;
    }

    /**
     * Returns the factor by which the scale grows.
     *
     * @return more than 1
     */
    public double growthFactor() {
      return growthFactor;
    }

    /**
     * Returns the factor by which the scale shrinks.
     *
     * @return in (0, 1)
     */
    public double backoffFactor() {
      return backoffFactor;
    }

    /**
     * Returns the number of steps without overflow after which the scale grows.
     *
     * @return at least 1
     */
    public int growthInterval() {
      return growthInterval;
    }

    private static void require(boolean condition, String message) {
      if (!condition) {
        throw new IllegalArgumentException(message);
      }
    }
  }

  /**
   * The part of a scaler that belongs into a checkpoint.
   *
   * @param scale the scale
   * @param steps steps without overflow since it last changed
   */
  public record State(double scale, long steps) {}

  private static final String KIND = "GradScaler";
  private static final int VERSION = 1;

  /** The state of an optimizer's gradients since the last update. */
  private enum Stage {
    FINITE,
    OVERFLOWN,
    STEPPED_FINITE,
    STEPPED_OVERFLOWN
  }

  private final NativeHandle<LossScale> handle;
  private final Map<TrainingOptimizer, Stage> stages = new HashMap<>();

  private final int growthInterval;

  private GradScaler(NativeHandle<LossScale> handle, int growthInterval) {
    this.handle = handle;
    this.growthInterval = growthInterval;
  }

  /**
   * Creates a scaler with the {@linkplain Options#defaults default} options.
   *
   * @return the scaler; the caller closes it
   */
  public static GradScaler create() {
    return create(Options.defaults());
  }

  /**
   * Creates a scaler.
   *
   * @param options how the scale changes
   * @return the scaler; the caller closes it
   */
  public static GradScaler create(Options options) {
    requireNonNull(options, "options");
    return new GradScaler(
        NativeHandle.create(
            "GradScaler",
            () ->
                LossScale.create(
                    options.initialScale(),
                    options.growthFactor(),
                    options.backoffFactor(),
                    options.growthInterval())),
        options.growthInterval());
  }

  /**
   * Multiplies a loss by the scale.
   *
   * @param loss the loss, of any shape and on any device
   * @return the product, whose backward pass yields scaled gradients
   * @throws IllegalArgumentException if it is an undefined tensor
   */
  public Tensor scale(Tensor loss) {
    requireNonNull(loss, "loss");
    if (!loss.defined()) {
      throw new IllegalArgumentException("the loss is an undefined tensor");
    }
    return handle.call(scale -> scale.scaled(loss));
  }

  /**
   * Divides the gradients of an optimizer's parameters by the scale, so that they can be clipped
   * before {@link #step(Optimizer)}, which otherwise does it.
   *
   * @param optimizer the optimizer, whose parameters are not of float16
   * @throws IllegalStateException if this or {@code step} has been called for the optimizer since
   *     the last {@link #update}, or no parameter has a gradient
   * @throws IllegalArgumentException if a gradient is of float16, or the optimizer is closed
   */
  public void unscale(Optimizer optimizer) {
    unscale(new LibtorchOptimizer(requireNonNull(optimizer, "optimizer")));
  }

  /**
   * Like {@link #unscale(Optimizer)}.
   *
   * @param optimizer the optimizer, whose parameters are not of float16
   * @throws IllegalStateException as there, or if it keeps earlier gradients of another scale
   * @throws IllegalArgumentException if a gradient is of float16, or the optimizer is closed
   */
  public void unscale(TrainingOptimizer optimizer) {
    requireNonNull(optimizer, "optimizer");
    if (stages.containsKey(optimizer)) {
      throw new IllegalStateException(
          "unscale was called after unscale or step of this optimizer; call update first");
    }
    try (PointerScope scope = new PointerScope()) {
      TensorVector parameters = optimizer.parameters();
      optimizer.requireLossScale(state().scale());
      boolean isFinite = handle.call(scale -> scale.unscale(parameters));
      stages.put(optimizer, isFinite ? Stage.FINITE : Stage.OVERFLOWN);
    } catch (NativeException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /**
   * Divides the gradients by the scale, unless {@link #unscale(Optimizer)} has, and makes a step of
   * the optimizer, unless a gradient is infinite or not a number.
   *
   * @param optimizer the optimizer, whose parameters are not of float16 and whose step needs no
   *     closure (LBFGS's does)
   * @return whether the step was made
   * @throws IllegalStateException if this has been called for the optimizer since the last {@link
   *     #update}, or no parameter has a gradient
   * @throws IllegalArgumentException if a gradient is of float16, or the optimizer is closed
   */
  public boolean step(Optimizer optimizer) {
    return step(new LibtorchOptimizer(requireNonNull(optimizer, "optimizer")));
  }

  /**
   * Like {@link #step(Optimizer)}.
   *
   * @param optimizer the optimizer, whose parameters are not of float16
   * @return whether the step was made
   * @throws IllegalStateException as there, or if it keeps earlier gradients of another scale
   * @throws IllegalArgumentException if a gradient is of float16, or the optimizer is closed
   */
  public boolean step(TrainingOptimizer optimizer) {
    requireNonNull(optimizer, "optimizer");
    Stage stage = stages.get(optimizer);
    if (stage == Stage.STEPPED_FINITE || stage == Stage.STEPPED_OVERFLOWN) {
      throw new IllegalStateException(
          "step was called after step of this optimizer; call update first");
    }
    if (stage == null) {
      unscale(optimizer);
    }
    boolean isFinite = stages.get(optimizer) == Stage.FINITE;
    if (isFinite) {
      optimizer.step();
    }
    stages.put(optimizer, isFinite ? Stage.STEPPED_FINITE : Stage.STEPPED_OVERFLOWN);
    return isFinite;
  }

  /**
   * Changes the scale according to the optimizers' gradients; to be called once after the steps of
   * all optimizers.
   *
   * @throws IllegalStateException if neither {@code step} nor {@code unscale} has been called since
   *     the last update
   */
  public void update() {
    if (handle.isClosed()) {
      throw new IllegalStateException("GradScaler is closed");
    }
    if (stages.isEmpty()) {
      throw new IllegalStateException("update needs a step or an unscale before it");
    }
    boolean hasOverflown =
        stages.containsValue(Stage.OVERFLOWN) || stages.containsValue(Stage.STEPPED_OVERFLOWN);
    handle.run(scale -> scale.update(hasOverflown));
    List<TrainingOptimizer> optimizers = List.copyOf(stages.keySet());
    stages.clear();
    double scale = state().scale();
    if (scale > 0) {
      optimizers.forEach(optimizer -> optimizer.setLossScale(scale));
    }
  }

  /**
   * Returns the part that belongs into a checkpoint.
   *
   * @return the scale and the steps without overflow
   */
  public State state() {
    return handle.call(scale -> new State(scale.scale(), scale.steps()));
  }

  /**
   * Continues from a state.
   *
   * @param state a state of a scaler with the same options
   * @throws IllegalArgumentException if its scale is negative or no finite float, or its steps are
   *     not in [0, growthInterval)
   */
  public void restore(State state) {
    requireNonNull(state, "state");
    if (state.steps() < 0 || state.steps() >= growthInterval) {
      throw new IllegalArgumentException(
          "steps must be in [0, %d), got %d".formatted(growthInterval, state.steps()));
    }
    handle.run(scale -> scale.restore(state.scale(), state.steps()));
  }

  /**
   * Returns {@link #state} as a part of a checkpoint. The ranks of a model whose gradients are
   * averaged have the same one.
   *
   * @return the state; the caller closes it
   * @throws IllegalStateException if gradients have been unscaled since the last {@link #update}
   */
  @Override
  public StateDict stateDict() {
    requireUpdated();
    State now = state();
    return StateDict.of(
        "{\"version\":%s,\"kind\":\"%s\",\"scale\":%s,\"steps\":%s}"
            .formatted(VERSION, KIND, now.scale(), now.steps()),
        Map.of());
  }

  private void requireUpdated() {
    if (!stages.isEmpty()) {
      throw new IllegalStateException(
          "a state is taken and restored between steps; call update first");
    }
  }

  /**
   * Continues from a state of a scaler with the same options.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if it is of another object, or malformed
   * @throws IllegalStateException if gradients have been unscaled since the last {@link #update}
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state");
    requireUpdated();
    JsonObject json = JsonObject.parse("state of a " + KIND, state.json());
    json.requireKind(KIND);
    json.only("version", "kind", "scale", "steps").requireVersion(VERSION);
    state.requireFit(Map.of());
    restore(new State(json.real("scale"), json.number("steps")));
  }

  @Override
  public void close() {
    handle.close();
  }
}
