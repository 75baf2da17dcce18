// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.LossScale;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A factor by which losses are multiplied, so that small gradients of float16 do not become zero,
 * and by which gradients are divided before an optimizer uses them. If a gradient overflows, the
 * optimizer's step is skipped, and the factor shrinks; after a number of steps without overflow it
 * grows.
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 *
 * <p>Source: torch 2.10.0, {@code torch/amp/grad_scaler.py}; golden/mixed_precision.
 */
public final class GradScaler implements AutoCloseable {
  /**
   * The rules by which the scale changes; {@link #defaults} are PyTorch's.
   *
   * @param initialScale the first scale, a positive float
   * @param growthFactor by which the scale grows, more than 1
   * @param backoffFactor by which the scale shrinks, in (0, 1)
   * @param growthInterval the number of steps without overflow after which it grows, at least 1
   */
  public record Options(
      double initialScale, double growthFactor, double backoffFactor, int growthInterval) {
    /**
     * Creates options.
     *
     * @param initialScale the first scale, a positive float
     * @param growthFactor by which the scale grows, more than 1
     * @param backoffFactor by which the scale shrinks, in (0, 1)
     * @param growthInterval the number of steps without overflow after which it grows, at least 1
     * @throws IllegalArgumentException if one is out of range
     */
    public Options {
      require(
          initialScale > 0 && (float) initialScale < Float.POSITIVE_INFINITY,
          "initialScale must be a positive float, got " + initialScale);
      require(growthFactor > 1, "growthFactor must be more than 1, got " + growthFactor);
      require(
          backoffFactor > 0 && backoffFactor < 1,
          "backoffFactor must be in (0, 1), got " + backoffFactor);
      require(growthInterval >= 1, "growthInterval must be at least 1, got " + growthInterval);
    }

    /**
     * Returns PyTorch's options.
     *
     * @return a scale of 65536 that is doubled after 2000 steps and halved after an overflow
     */
    public static Options defaults() {
      return new Options(65_536, 2, 0.5, 2000);
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

  /** The state of an optimizer's gradients since the last update. */
  private enum Stage {
    FINITE,
    OVERFLOWN,
    STEPPED_FINITE,
    STEPPED_OVERFLOWN
  }

  private final NativeHandle<LossScale> handle;
  private final Map<Long, Stage> stages = new HashMap<>();

  private GradScaler(NativeHandle<LossScale> handle) {
    this.handle = handle;
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
                    options.growthInterval())));
  }

  /**
   * Multiplies a loss by the scale.
   *
   * @param loss the loss, of any shape and on any device
   * @return the product, whose backward pass yields scaled gradients
   */
  public Tensor scale(Tensor loss) {
    return handle.call(scale -> scale.scaled(loss));
  }

  /**
   * Divides the gradients of an optimizer's parameters by the scale, so that they can be clipped
   * before {@link #step}, which otherwise does it.
   *
   * @param optimizer the optimizer, whose parameters are not of float16
   * @throws IllegalStateException if this or {@link #step} has been called for the optimizer since
   *     the last {@link #update}, or no parameter has a gradient
   * @throws IllegalArgumentException if a gradient is of float16
   */
  public void unscale(Optimizer optimizer) {
    Stage stage = stages.get(optimizer.address());
    if (stage != null) {
      throw new IllegalStateException(
          "unscale was called after unscale or step of this optimizer; call update first");
    }
    try (PointerScope scope = new PointerScope()) {
      TensorVector parameters = parameters(optimizer);
      boolean isFinite = handle.call(scale -> scale.unscale(parameters));
      stages.put(optimizer.address(), isFinite ? Stage.FINITE : Stage.OVERFLOWN);
    } catch (NativeException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  private static TensorVector parameters(Optimizer optimizer) {
    TensorVector all = new TensorVector();
    OptimizerParamGroupVector groups = optimizer.param_groups();
    for (long i = 0; i < groups.size(); i++) {
      TensorVector parameters = groups.get(i).params();
      for (long j = 0; j < parameters.size(); j++) {
        all.push_back(parameters.get(j));
      }
    }
    return all;
  }

  /**
   * Divides the gradients by the scale, unless {@link #unscale} has, and makes a step of the
   * optimizer, unless a gradient is infinite or not a number.
   *
   * @param optimizer the optimizer, whose parameters are not of float16
   * @return whether the step was made
   * @throws IllegalStateException if this has been called for the optimizer since the last {@link
   *     #update}, or no parameter has a gradient
   * @throws IllegalArgumentException if a gradient is of float16
   */
  public boolean step(Optimizer optimizer) {
    long key = optimizer.address();
    if (stages.get(key) == Stage.STEPPED_FINITE || stages.get(key) == Stage.STEPPED_OVERFLOWN) {
      throw new IllegalStateException(
          "step was called after step of this optimizer; call update first");
    }
    if (!stages.containsKey(key)) {
      unscale(optimizer);
    }
    boolean isFinite = stages.get(key) == Stage.FINITE;
    if (isFinite) {
      optimizer.step().close();
    }
    stages.put(key, isFinite ? Stage.STEPPED_FINITE : Stage.STEPPED_OVERFLOWN);
    return isFinite;
  }

  /**
   * Changes the scale by what the optimizers' gradients have shown; to be called once after the
   * steps of all optimizers.
   *
   * @throws IllegalStateException if neither {@link #step} nor {@link #unscale} has been called
   *     since the last update
   */
  public void update() {
    if (stages.isEmpty()) {
      throw new IllegalStateException("update needs a step or an unscale before it");
    }
    boolean hasOverflown =
        stages.containsValue(Stage.OVERFLOWN) || stages.containsValue(Stage.STEPPED_OVERFLOWN);
    handle.run(scale -> scale.update(hasOverflown));
    stages.clear();
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
   * @throws IllegalArgumentException if its scale is not a positive float
   */
  public void restore(State state) {
    handle.run(scale -> scale.restore(state.scale(), state.steps()));
  }

  @Override
  public void close() {
    handle.close();
  }
}
