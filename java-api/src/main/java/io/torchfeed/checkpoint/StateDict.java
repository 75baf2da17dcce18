// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Quotes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The state of a {@link Stateful} object: named tensors on the CPU, and all else as JSON.
 *
 * <p>{@code close} frees the tensors; no effect the second time. Not thread-safe.
 */
public final class StateDict implements AutoCloseable {
  /** An object that tells, without a change, whether it takes a state. */
  interface Checked extends Stateful {
    /**
     * Checks that {@link #loadStateDict} takes a state.
     *
     * @throws IllegalArgumentException if it does not, as that throws it
     */
    void check(StateDict state);

    /** Returns the place of its load among others: 0 first, for objects that are not checked. */
    default int turn() {
      return 2;
    }
  }

  private final String json;
  private final Map<String, Tensor> tensors;

  /** The names of the tensors whose memory belongs to the object. */
  private final Set<String> shared = new TreeSet<>();

  private boolean isGiven;

  private StateDict(String json, Map<String, Tensor> tensors) {
    Checks.utf8("json", json);
    tensors.keySet().forEach(StateDict::requireUtf8);
    this.json = json;
    this.tensors = tensors;
  }

  /**
   * Creates a state.
   *
   * @param json all except tensors; its meaning is known to the object
   * @param tensors copied to the CPU
   * @return the state; the caller closes it
   * @throws IllegalArgumentException if a tensor is undefined or sparse, or the JSON or a name has
   *     half of a surrogate pair
   */
  public static StateDict of(String json, Map<String, Tensor> tensors) {
    requireNonNull(tensors, "tensors");
    requireNonNull(json, "json");
    return of(json, tensors, name -> true);
  }

  /**
   * Creates a state that shares the memory of those tensors that are contiguous and on the CPU, for
   * {@link Stateful#sharedStateDict}.
   *
   * @param json all except tensors; its meaning is known to the object
   * @param tensors not changed until the state is closed; others are copied
   * @return the state, whose tensors are only read; the caller closes it
   * @throws IllegalArgumentException if a tensor is undefined or sparse, or the JSON or a name has
   *     half of a surrogate pair
   */
  public static StateDict sharing(String json, Map<String, Tensor> tensors) {
    requireNonNull(tensors, "tensors");
    requireNonNull(json, "json");
    return of(json, tensors, name -> false);
  }

  /** Creates a state that shares the memory of some tensors, as {@link #sharing}. */
  static StateDict of(String json, Map<String, Tensor> tensors, Predicate<String> isCopied) {
    StateDict state = new StateDict(json, new TreeMap<>());
    try (PointerScope scope = new PointerScope()) {
      tensors.forEach(
          (name, tensor) -> {
            requireUtf8(name);
            TensorBytes.requireDense(name, tensor);
            Tensor plain = tensor.detach();
            boolean isOwn = !plain.is_cpu() || !plain.is_contiguous();
            if (isOwn) {
              plain = plain.cpu().contiguous();
            } else if (isCopied.test(name)) {
              plain = plain.clone();
            } else {
              state.shared.add(name);
            }
            state.tensors.put(name, plain.retainReference());
          });
      return state;
    } catch (RuntimeException | Error e) {
      state.close();
      throw e;
    }
  }

  private static void requireUtf8(String name) {
    Checks.utf8("the name of a tensor", name);
  }

  /**
   * Creates a state without copying.
   *
   * @param json all except tensors; its meaning is known to the object
   * @param tensors dense, contiguous and on the CPU; their owner is the state, which closes them
   * @return the state; the caller closes it
   * @throws IllegalArgumentException if the JSON or a name has half of a surrogate pair
   */
  public static StateDict owning(String json, Map<String, Tensor> tensors) {
    requireNonNull(json, "json");
    requireNonNull(tensors, "tensors");
    return new StateDict(json, tensors);
  }

  /**
   * Returns all except the tensors.
   *
   * @return JSON whose meaning is known to the object
   */
  public String json() {
    return json;
  }

  /**
   * Returns the tensors by name.
   *
   * @return an unmodifiable map in the order of the names; its tensors are valid until {@link
   *     #close}
   */
  public Map<String, Tensor> tensors() {
    return Collections.unmodifiableMap(tensors);
  }

  /** Allows one object that loads this state to keep its tensors in place of copies. */
  StateDict given() {
    isGiven = true;
    return this;
  }

  /** Returns whether the object that loads this state may keep its tensors. */
  boolean isGiven() {
    return isGiven;
  }

  /** Returns the tensors whose memory belongs to the object. */
  Map<String, Tensor> shared() {
    Map<String, Tensor> all = new TreeMap<>(tensors);
    all.keySet().retainAll(shared);
    return all;
  }

  /** Notes tensors whose memory belongs to the object. */
  void share(Set<String> names) {
    shared.addAll(names);
  }

  /** Puts a copy, which this state owns, in the place of a tensor. */
  void own(String name, Tensor copy) {
    Tensor before = tensors.put(name, copy);
    if (before != null) {
      before.close();
    }
    shared.remove(name);
  }

  /** Returns a state with some of the tensors, without copying; the caller closes it, too. */
  StateDict only(Set<String> names) {
    StateDict some = new StateDict(json, new TreeMap<>());
    try (PointerScope scope = new PointerScope()) {
      names.forEach(
          name ->
              some.tensors.put(name, requireNonNull(tensors.get(name)).detach().retainReference()));
      some.shared.addAll(shared);
      some.shared.retainAll(names);
      return some;
    } catch (RuntimeException | Error e) {
      some.close();
      throw e;
    }
  }

  /**
   * Returns a checksum of the JSON and the tensors' bytes, for comparing states between ranks.
   *
   * @return CRC-32C, of the tensors in the order of {@link #tensors}
   */
  public long checksum() {
    CRC32C sum = new CRC32C();
    sum.update(json.getBytes(StandardCharsets.UTF_8));
    tensors.values().forEach(tensor -> TensorBytes.forEach(tensor, sum::update));
    return sum.getValue();
  }

  /**
   * Checks that {@link #copyTo} can copy.
   *
   * @param targets where an object keeps the tensors, on any device
   * @throws IllegalArgumentException if names, dtypes or shapes differ, or elements of a target
   *     share memory; the message has the first differences of each kind, and how many more there
   *     are
   */
  public void requireFit(Map<String, Tensor> targets) {
    requireNonNull(targets, "targets");
    List<String> differences = new ArrayList<>();
    addNames("missing names: ", targets.keySet(), tensors.keySet(), differences);
    addNames("unexpected names: ", tensors.keySet(), targets.keySet(), differences);
    List<String> others = new ArrayList<>();
    try (PointerScope scope = new PointerScope()) {
      targets.forEach(
          (name, target) -> {
            Tensor tensor = tensors.get(name);
            if (tensor != null && !describe(tensor).equals(describe(target))) {
              others.add(
                  "tensor %s must be %s as here, but the state has %s"
                      .formatted(name, describe(target), describe(tensor)));
            } else if (tensor != null && isExpanded(target)) {
              others.add(
                  "tensor %s cannot be written to here, since it is expanded and its elements share"
                          .formatted(name)
                      + " memory; replace it by a copy, of contiguous()");
            }
          });
    }
    if (!others.isEmpty()) {
      differences.add(Quotes.listed("; ", others));
    }
    if (!differences.isEmpty()) {
      throw new IllegalArgumentException(
          "the state does not fit: " + String.join("; ", differences));
    }
  }

  private static boolean isExpanded(Tensor tensor) {
    if (tensor.layout().intern() == torch.Layout.Strided && !tensor.is_contiguous()) {
      for (long i = 0; i < tensor.dim(); i++) {
        if (tensor.size(i) > 1 && tensor.stride(i) == 0) {
          return true;
        }
      }
    }
    return false;
  }

  private static void addNames(
      String problem, Set<String> names, Set<String> others, List<String> differences) {
    List<String> lone = names.stream().filter(name -> !others.contains(name)).toList();
    if (!lone.isEmpty()) {
      differences.add(problem + Quotes.listed(", ", lone));
    }
  }

  /**
   * Copies all tensors to where an object keeps them, or none if one does not fit.
   *
   * @param targets tensors with the same names, dtypes and shapes, on any device
   * @throws IllegalArgumentException as {@link #requireFit}
   */
  public void copyTo(Map<String, Tensor> targets) {
    requireNonNull(targets, "targets");
    requireFit(targets);
    try (PointerScope scope = new PointerScope()) {
      targets.forEach((name, target) -> target.detach().copy_(requireNonNull(tensors.get(name))));
    }
  }

  static String describe(Tensor tensor) {
    return tensor.scalar_type() + " " + Arrays.toString(tensor.sizes().vec().get());
  }

  @Override
  public void close() {
    tensors.values().forEach(Tensor::close);
    tensors.clear();
  }
}
