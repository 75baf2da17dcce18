// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Tensors of a state at one moment. */
sealed interface StateCopy extends AutoCloseable {
  char SEPARATOR = '/';

  @Override
  void close();

  /** Returns the tensors whose memory belongs to objects, by part and name. */
  Map<String, Tensor> shared();

  /**
   * Puts copies in their places.
   *
   * @param copies of all of {@link #shared}; this closes them
   */
  void own(Map<String, Tensor> copies);

  /** An object with tensors that only a step of the optimizer changes. */
  interface Held extends Stateful {
    /**
     * Returns the object's state: those tensors may be the object's own, and all else is copied.
     */
    StateDict heldStateDict();
  }

  /**
   * Returns the states of the parts that {@link Copy#joined} joined.
   *
   * @param joined borrowed; has their tensors
   * @throws IllegalArgumentException if it is malformed
   */
  static Map<String, StateDict> parts(StateDict joined) {
    Map<String, String> saved = JsonObject.parse("state of a training", joined.json()).texts();
    Map<String, Map<String, Tensor>> tensors = new LinkedHashMap<>();
    joined
        .tensors()
        .forEach(
            (name, tensor) -> {
              int end = name.indexOf(SEPARATOR);
              tensors
                  .computeIfAbsent(name.substring(0, Math.max(0, end)), part -> new TreeMap<>())
                  .put(name.substring(end + 1), tensor);
            });
    if (!saved.keySet().containsAll(tensors.keySet())) {
      throw new IllegalArgumentException(
          "the state has tensors of the parts %s, but the parts %s"
              .formatted(tensors.keySet(), saved.keySet()));
    }
    Map<String, StateDict> parts = new LinkedHashMap<>();
    saved.forEach(
        (name, json) ->
            parts.put(name, StateDict.owning(json, tensors.getOrDefault(name, Map.of()))));
    return parts;
  }

  /**
   * The states of all parts at one moment.
   *
   * @param parts by name
   * @param metric of the state; null if it has none
   */
  record Copy(Map<String, StateDict> parts, @Nullable Metric metric) implements StateCopy {
    Copy(@Nullable Metric metric) {
      this(new LinkedHashMap<>(), metric);
    }

    /** Returns all states as one, which has the tensors. */
    StateDict joined() {
      Map<String, Tensor> tensors = new LinkedHashMap<>();
      StringWriter json = new StringWriter();
      try (JsonGenerator out = JsonObject.FACTORY.createGenerator(json)) {
        out.writeStartObject();
        for (Map.Entry<String, StateDict> part : parts.entrySet()) {
          out.writeStringField(part.getKey(), part.getValue().json());
          part.getValue()
              .tensors()
              .forEach((name, tensor) -> tensors.put(part.getKey() + SEPARATOR + name, tensor));
        }
        out.writeEndObject();
      } catch (IOException e) {
        close();
        throw new UncheckedIOException(e); // a string takes anything
      }
      StateDict joined = StateDict.owning(json.toString(), tensors);
      joined.share(shared().keySet());
      return joined;
    }

    @Override
    public Map<String, Tensor> shared() {
      Map<String, Tensor> shared = new LinkedHashMap<>();
      parts.forEach(
          (part, state) ->
              state.shared().forEach((name, tensor) -> shared.put(joined(part, name), tensor)));
      return shared;
    }

    @Override
    public void own(Map<String, Tensor> copies) {
      parts.forEach(
          (part, state) ->
              state
                  .shared()
                  .keySet()
                  .forEach(
                      name -> state.own(name, requireNonNull(copies.get(joined(part, name))))));
    }

    private static String joined(String part, String name) {
      return part + SEPARATOR + name;
    }

    @Override
    public void close() {
      parts.values().forEach(StateDict::close);
    }
  }

  /**
   * The share of a rank in the states of all parts at one moment.
   *
   * @param fileNames the files of the parts
   * @param layout of all states
   */
  record Share(Copy copy, Map<String, String> fileNames, ShardLayout layout) implements StateCopy {
    /**
     * Takes the share of a rank.
     *
     * @param isHeld whether tensors may be shared that only the optimizer changes; else all may
     */
    static Share of(TrainingState state, Part rank, boolean isHeld) {
      Copy chosen = new Copy(state.metric().orElse(null));
      Map<String, String> fileNames = new HashMap<>();
      Set<String> own = state.namesOfEachRank();
      try (Copy all = state.copy(part -> shared(part, isHeld))) {
        all.parts()
            .forEach(
                (name, part) -> {
                  Set<String> names = new LinkedHashSet<>(part.tensors().keySet());
                  if (own.contains(name)) {
                    fileNames.put(name, Manifest.ownName(name, rank.rank(), rank.worldSize()));
                  } else {
                    ShardDivision division = ShardDivision.of(part.tensors(), rank.worldSize());
                    names.retainAll(division.tensors(rank.rank()));
                    fileNames.put(name, division.fileName(name, rank.rank()));
                  }
                  StateDict some = part.only(names);
                  chosen.parts().put(name, some);
                  if (isHeld && !state.isHeld(name)) {
                    some.shared().forEach((each, tensor) -> some.own(each, copied(tensor)));
                  }
                });
        return new Share(chosen, fileNames, ShardLayout.of(rank.worldSize(), all.parts(), own));
      } catch (RuntimeException | Error e) {
        chosen.close();
        throw e;
      }
    }

    private static StateDict shared(Stateful part, boolean isHeld) {
      return isHeld && part instanceof Held held ? held.heldStateDict() : part.sharedStateDict();
    }

    private static Tensor copied(Tensor tensor) {
      return NativeHandle.outsideOfScopes(tensor::clone);
    }

    @Override
    public Map<String, Tensor> shared() {
      return copy.shared();
    }

    @Override
    public void own(Map<String, Tensor> copies) {
      copy.own(copies);
    }

    @Override
    public void close() {
      copy.close();
    }
  }
}
