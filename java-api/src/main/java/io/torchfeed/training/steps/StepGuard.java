// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Undoes a step that has failed because a rank is lost. One that fails before the optimizer has
 * changed buffers only; one that fails after it has changed all that the other ranks change, and is
 * complete.
 */
public final class StepGuard implements AutoCloseable {
  private final List<Tensor> parameters;
  private final List<Tensor> buffers;
  private final List<Tensor> copies = new ArrayList<>();
  private long versions;

  /** Guards the steps of a module, which is borrowed. */
  public StepGuard(Module module) {
    try (PointerScope scope = new PointerScope()) {
      parameters = kept(module.parameters());
      buffers = kept(module.buffers());
      for (Tensor buffer : buffers) {
        copies.add(buffer.detach().clone().retainReference());
      }
    }
  }

  private static List<Tensor> kept(TensorVector all) {
    List<Tensor> kept = new ArrayList<>();
    for (long i = 0; i < all.size(); i++) {
      if (all.get(i).defined()) {
        kept.add(new Tensor(all.get(i)).retainReference());
      }
    }
    return kept;
  }

  /** Returns a number that each change of a parameter raises. */
  private long versions() {
    long sum = 0;
    for (Tensor parameter : parameters) {
      sum += parameter._version();
    }
    return sum;
  }

  private static void copy(List<Tensor> from, List<Tensor> to) {
    if (from.isEmpty()) {
      return;
    }
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < from.size(); i++) {
        to.get(i).detach().copy_(from.get(i));
      }
    }
  }

  /** Begins a step. */
  public void begin() {
    copy(buffers, copies);
    versions = versions();
  }

  /** Returns true if the step is complete; else returns to its start. */
  public boolean completesOrUndoes() {
    if (versions() != versions) {
      return true;
    }
    copy(copies, buffers);
    return false;
  }

  @Override
  public void close() {
    List.of(parameters, buffers, copies).forEach(all -> all.forEach(Tensor::close));
  }
}
