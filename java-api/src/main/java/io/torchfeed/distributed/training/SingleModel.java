// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeBytes;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Sha256;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A module that one process trains alone, so that the loop of {@link ReplicatedModel} trains it,
 * too. It has no group, and no state beside the module's. Closing it has no effect.
 */
public final class SingleModel implements ReplicatedModel {
  private static final String STATE = "{}";

  private final Module module;
  private final WeightedGradients weights;

  private SingleModel(Module module) {
    this.module = module;
    weights = new WeightedGradients(module);
  }

  /**
   * Wraps a module.
   *
   * @param module borrowed
   * @return the model
   */
  public static SingleModel wrap(Module module) {
    return new SingleModel(requireNonNull(module, "module"));
  }

  @Override
  public Module module() {
    return module;
  }

  @Override
  public void step(Supplier<Tensor> loss, Runnable update) {
    requireNonNull(update, "update");
    accumulate(loss);
    stepAccumulated(update);
  }

  @Override
  public void step(Supplier<Tensor> loss, double weight, Runnable update) {
    requireNonNull(update, "update");
    accumulate(loss, weight);
    stepAccumulated(update);
  }

  @Override
  public void accumulate(Supplier<Tensor> loss) {
    weights.add(requireNonNull(loss, "loss"));
  }

  @Override
  public void accumulate(Supplier<Tensor> loss, double weight) {
    weights.add(requireNonNull(loss, "loss"), weight);
  }

  @Override
  public void stepAccumulated(Runnable update) {
    requireNonNull(update, "update");
    weights.divide();
    update.run();
  }

  @Override
  public double clipGradNorm(double maxNorm) {
    return Losses.clip(module, maxNorm);
  }

  /** Does nothing: there are no other ranks. */
  @Override
  public void average() {}

  @Override
  public String verifyReplicas() {
    MessageDigest digest = Sha256.start();
    try (PointerScope scope = new PointerScope()) {
      ModuleTensors parameters = ModuleTensors.parameters(module, Set.of());
      for (int i = 0; i < parameters.names().size(); i++) {
        Tensor bytes =
            parameters
                .tensors()
                .get(i)
                .detach()
                .cpu()
                .contiguous()
                .flatten()
                .view(torch.ScalarType.Byte);
        String name = parameters.names().get(i) + '\n' + bytes.numel() + '\n';
        digest.update(name.getBytes(StandardCharsets.UTF_8));
        NativeBytes.forEach(bytes.data_ptr(), bytes.numel(), digest::update);
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  /**
   * Refuses: there is no group.
   *
   * @param group the ranks
   * @throws IllegalStateException in each case; wrap the module by {@link DistributedDataParallel}
   */
  @Override
  public void rebind(ProcessGroup group) {
    requireNonNull(group, "group");
    throw new IllegalStateException(
        "a SingleModel has no group; wrap the module by DistributedDataParallel");
  }

  /** Returns a state without content, since the module and the optimizer hold everything. */
  @Override
  public StateDict stateDict() {
    return StateDict.of(STATE, Map.of());
  }

  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state").requireFit(Map.of());
    if (!state.json().equals(STATE)) {
      throw new IllegalArgumentException(
          "the state must be one of a module that a process trains alone");
    }
  }

  @Override
  public void close() {}
}
