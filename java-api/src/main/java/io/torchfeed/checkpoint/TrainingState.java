// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.StateCopy.Copy;
import io.torchfeed.checkpoint.StateCopy.Held;
import io.torchfeed.checkpoint.StateDict.Checked;
import io.torchfeed.internal.Quotes;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;

/**
 * All that a training must have to continue as if it had not stopped, as named parts that {@link
 * Checkpoints} save and load.
 *
 * <pre>{@code
 * TrainingState state =
 *     TrainingState.builder()
 *         .module("model", net)
 *         .optimizer("optimizer", optimizer, net)
 *         .part("exchange", model) // a DistributedDataParallel, GradScaler, QAdam, ...
 *         .generator("dropout", torch.getDefaultCPUGenerator())
 *         .text("loader", () -> batches.state().toJson(), saved -> checkpoint = saved)
 *         .number("epoch", () -> epoch, saved -> epoch = saved)
 *         .build();
 * }</pre>
 *
 * <p>The modules, optimizers and other objects are borrowed and must be open whenever the state is
 * saved or loaded. Not thread-safe: save and load between two steps, on the thread that trains.
 */
public final class TrainingState implements Stateful {
  private final Map<String, Stateful> parts;
  private final Set<String> own;
  private final Supplier<Optional<Metric>> metric;

  private TrainingState(
      Map<String, Stateful> parts, Set<String> own, Supplier<Optional<Metric>> metric) {
    this.parts = parts;
    this.own = own;
    this.metric = metric;
  }

  /**
   * Starts a state without parts.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** The parts of a state. Names are unique and also name files. */
  public static final class Builder {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    private final Map<String, Stateful> parts = new LinkedHashMap<>();
    private final Set<String> own = new LinkedHashSet<>();
    private Supplier<Optional<Metric>> metric = Optional::empty;

    private Builder() {}

    /**
     * Adds the parameters and buffers of a module. Its file has the names of {@code state_dict} in
     * Python, which loads it by {@code safetensors.torch.load_file}.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param module borrowed
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder module(String name, Module module) {
      requireNonNull(name, "name");
      return part(name, new ModuleState(requireNonNull(module, "module")));
    }

    /**
     * Adds an optimizer of the presets: its tensors for each parameter, under the parameter's name,
     * and its options, among them the learning rate.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param optimizer an SGD, Adam, AdamW, RMSprop or Adagrad; borrowed
     * @param module the module that has all its parameters; borrowed
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken, the optimizer is of
     *     another class, or one of its parameters is not of the module
     */
    public Builder optimizer(String name, Optimizer optimizer, Module module) {
      requireNonNull(name, "name");
      return part(
          name,
          new OptimizerParts(
              requireNonNull(optimizer, "optimizer"), requireNonNull(module, "module")));
    }

    /**
     * Adds a generator of random numbers.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param generator borrowed
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder generator(String name, Generator generator) {
      requireNonNull(name, "name");
      return part(name, new GeneratorState(requireNonNull(generator, "generator")));
    }

    /**
     * Adds an object that has a state, for example a {@code DistributedDataParallel}, a {@code
     * ModelAveraging}, a {@code QAdam} or a {@code GradScaler}.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param part borrowed
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder part(String name, Stateful part) {
      requireNonNull(name, "name");
      requireNonNull(part, "part");
      if (!NAME.matcher(name).matches()) {
        throw new IllegalArgumentException(
            "the name of a part must have 1 to 64 letters, digits, hyphens and underscores, got "
                + Quotes.shortened(name));
      }
      if (parts.putIfAbsent(name, part) != null) {
        throw new IllegalArgumentException("there are two parts named " + name);
      }
      return this;
    }

    /**
     * Adds an object whose state differs between the ranks, for example a {@code
     * DistributedDataParallel} with an exchange that keeps unsent values. All ranks save it
     * together, by {@link Checkpoints#save(long, TrainingState, Shards)}. It is loaded by the same
     * rank of as many ranks; with another number it stays as it is.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param part borrowed
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder ofEachRank(String name, Stateful part) {
      part(name, part);
      own.add(name);
      return this;
    }

    /**
     * Adds a text, for example the position of a loader.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param save returns the text to save
     * @param load receives the text of a checkpoint
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder text(String name, Supplier<String> save, Consumer<String> load) {
      requireNonNull(name, "name");
      return part(
          name, new Value.Text(name, requireNonNull(save, "save"), requireNonNull(load, "load")));
    }

    /**
     * Adds a whole number, for example of an epoch.
     *
     * @param name 1 to 64 letters, digits, hyphens and underscores
     * @param save returns the number to save
     * @param load receives the number of a checkpoint
     * @return this builder
     * @throws IllegalArgumentException if the name is malformed or taken
     */
    public Builder number(String name, LongSupplier save, LongConsumer load) {
      requireNonNull(name, "name");
      return part(
          name, new Value.WholeNumber(requireNonNull(save, "save"), requireNonNull(load, "load")));
    }

    /**
     * Sets how good the state is: {@link Checkpoints} keep and load the best one. It is saved with
     * the state, and not loaded.
     *
     * @param metric called for each save; empty if the state has not been evaluated
     * @return this builder
     */
    public Builder metric(Supplier<Optional<Metric>> metric) {
      this.metric = requireNonNull(metric, "metric");
      return this;
    }

    /**
     * Returns the state.
     *
     * @return the state, with the parts added so far
     */
    public TrainingState build() {
      return new TrainingState(new LinkedHashMap<>(parts), new LinkedHashSet<>(own), metric);
    }
  }

  /**
   * Returns the names of the parts.
   *
   * @return an unmodifiable set, in the order in which they were added
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(parts.keySet());
  }

  /**
   * Returns the names of the parts that differ between the ranks.
   *
   * @return an unmodifiable set, in the order in which they were added
   */
  public Set<String> namesOfEachRank() {
    return Collections.unmodifiableSet(own);
  }

  /**
   * Returns how good the state is at this moment.
   *
   * @return the value of {@link Builder#metric}; empty by default
   */
  public Optional<Metric> metric() {
    return requireNonNull(metric.get(), "the metric of the state, empty if there is none");
  }

  /**
   * Returns the parts that are the same on all ranks, for a store that keeps them apart.
   *
   * @return a state of these parts
   */
  public TrainingState shared() {
    return only(name -> !own.contains(name));
  }

  /**
   * Returns the parts that differ between the ranks, for a store that keeps them apart.
   *
   * @return a state of these parts
   */
  public TrainingState own() {
    return only(own::contains);
  }

  private TrainingState only(Predicate<String> names) {
    Map<String, Stateful> chosen = new LinkedHashMap<>(parts);
    chosen.keySet().removeIf(names.negate());
    return new TrainingState(chosen, Set.of(), metric);
  }

  /**
   * Returns the states of all parts: the tensor {@code fc.weight} of the part {@code model} is
   * named {@code model/fc.weight}, and the JSON has the JSON of each part as a text.
   *
   * @return the state; the caller closes it
   * @throws IllegalStateException if a part has no state at this moment
   */
  @Override
  public StateDict stateDict() {
    return copy().joined();
  }

  /** Returns the states of all parts as {@link #stateDict}, by their {@code sharedStateDict}. */
  @Override
  public StateDict sharedStateDict() {
    return copy(Stateful::sharedStateDict).joined();
  }

  /**
   * Loads the states of all parts. Modules, optimizers, generators, texts and numbers are checked
   * before a part is changed; objects of {@link Builder#part} come first, texts and numbers last.
   *
   * @param state borrowed; of a training with the same parts
   * @throws IllegalArgumentException if the parts have other names, or a part refuses its state:
   *     then nothing has changed, except objects of {@link Builder#part} that came before another
   *     one that refuses, and all but later texts and numbers if the code for one of these throws
   * @throws IllegalStateException if a part cannot be loaded at this moment
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state");
    Map<String, StateDict> states = StateCopy.parts(state);
    requireNames(states.keySet());
    states.forEach(this::check);
    inOrder(states.keySet()).forEach(name -> load(name, requireNonNull(states.get(name))));
  }

  /** Returns a copy of all parts, which the caller closes. */
  Copy copy() {
    return copy(Stateful::stateDict);
  }

  /** Returns all parts, whose tensors that only the optimizer changes are not copied. */
  Copy held() {
    return copy(part -> part instanceof Held held ? held.heldStateDict() : part.stateDict());
  }

  /** Returns whether a part has tensors that only the optimizer changes. */
  boolean isHeld(String name) {
    return parts.get(name) instanceof Held;
  }

  /** Returns the states of all parts, which the caller closes. */
  Copy copy(Function<Stateful, StateDict> stateOf) {
    Copy copy = new Copy(metric().orElse(null));
    try {
      parts.forEach(
          (name, part) -> {
            StateDict state =
                requireNonNull(stateOf.apply(part), () -> "the state of the part " + name);
            copy.parts().put(name, state);
            Manifest.requireJson(name, state.json()); // goes into the manifest
          });
      return copy;
    } catch (RuntimeException | Error e) {
      copy.close();
      throw e;
    }
  }

  /**
   * Checks the names of saved parts.
   *
   * @throws IllegalArgumentException if one is missing or unexpected
   */
  void requireNames(Set<String> saved) {
    Set<String> missing = new TreeSet<>(names());
    missing.removeAll(saved);
    Set<String> unexpected = new TreeSet<>(saved);
    unexpected.removeAll(names());
    if (!missing.isEmpty() || !unexpected.isEmpty()) {
      throw new IllegalArgumentException(
          ("the checkpoint lacks the parts %s of this state and has %s in addition; name all parts"
                  + " as the training that saved it, or use another folder of checkpoints")
              .formatted(missing, unexpected));
    }
  }

  /**
   * Checks the state of a part, if it can be checked without a change.
   *
   * @throws IllegalArgumentException if the part refuses the state
   */
  void check(String name, StateDict state) {
    if (parts.get(name) instanceof Checked part) {
      part.check(state);
    }
  }

  /** Returns the names of parts in the order to load: first those that may refuse a state yet. */
  List<String> inOrder(Set<String> names) {
    Comparator<String> order =
        Comparator.comparingInt(name -> parts.get(name) instanceof Checked part ? part.turn() : 0);
    return parts.keySet().stream().filter(names::contains).sorted(order).toList();
  }

  /**
   * Loads a part.
   *
   * @throws IllegalArgumentException if the part refuses the state
   */
  void load(String name, StateDict state) {
    requireNonNull(parts.get(name), name).loadStateDict(state);
  }
}
