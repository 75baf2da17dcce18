// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.Sha256;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * The parameters that an order depends on: the kind of plan and its parameters by name. Immutable.
 *
 * <p>Two plans with equal parameters deliver the same order, on every machine and in every version.
 * Lists (weights, costs, indices) are represented by their hash, so parameters stay small at any
 * dataset size.
 *
 * @param kind dialect and class, such as {@code libtorch.DistributedRandomSampler}
 * @param values the parameters in the order of the plan's definition
 */
public record PlanParameters(String kind, Map<String, String> values) {
  private static final String SEPARATOR = "|";
  private static final String INNER = "inner.";

  /**
   * Creates parameters with the given names and values.
   *
   * @param kind dialect and class
   * @param values the parameters in the order of the plan's definition
   * @throws IllegalArgumentException if the kind, a name or a value contains a vertical bar or an
   *     unpaired surrogate
   */
  public PlanParameters {
    requireNonNull(kind, "kind");
    requireNonNull(values, "values");
    values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    requireText(kind);
    values.keySet().forEach(PlanParameters::requireText);
    values.values().forEach(PlanParameters::requireText);
  }

  /**
   * Creates parameters of a kind without any values; {@link #with} adds them.
   *
   * @param kind dialect and class
   * @return the parameters, empty so far
   */
  public static PlanParameters of(String kind) {
    requireNonNull(kind, "kind");
    return new PlanParameters(kind, Map.of());
  }

  /**
   * Returns these parameters with one added or replaced.
   *
   * @param name the name, as in the plan's constructor
   * @param value a number, an enum constant, a boolean or the hash of a list
   * @return the new parameters
   */
  public PlanParameters with(String name, Object value) {
    requireNonNull(value, "value");
    Map<String, String> more = new LinkedHashMap<>(values);
    more.put(requireNonNull(name, "name"), value.toString());
    return new PlanParameters(kind, more);
  }

  /**
   * Returns these parameters with a rank's part added or replaced: {@code worldSize} and {@code
   * rank}.
   *
   * @param part the part of the rank
   * @return the new parameters
   */
  public PlanParameters with(Part part) {
    requireNonNull(part, "part");
    return with("worldSize", part.worldSize()).with("rank", part.rank());
  }

  /**
   * Returns the parameters of a plan that wraps this one and adds names of its own.
   *
   * @param rule the rule of the wrapping plan; becomes part of the kind
   * @param ownNames the names that it adds; equal inner names get a prefix
   * @return the new parameters
   */
  public PlanParameters inside(String rule, String... ownNames) {
    requireNonNull(ownNames, "ownNames");
    requireNonNull(rule, "rule");
    Set<String> own = Set.copyOf(Checks.copyOf("ownNames", Arrays.asList(ownNames)));
    Map<String, String> inner = new LinkedHashMap<>();
    values.forEach(
        (name, value) ->
            inner.put(own.contains(name) || name.startsWith(INNER) ? INNER + name : name, value));
    return new PlanParameters(kind + "/" + rule, inner);
  }

  /**
   * Returns a digest of kind, names and values, to be stored with checkpoints.
   *
   * @return 64 hexadecimal digits
   */
  public String digest() {
    StringBuilder text = new StringBuilder(kind); // stored digests: this text must never change
    values.forEach((name, value) -> text.append(SEPARATOR).append(name).append('=').append(value));
    return Sha256.hex(text.toString());
  }

  /**
   * Checks that the plan or the data that continues a saved order has these parameters.
   *
   * @param present the parameters of today
   * @throws ResumeMismatchException if a parameter differs; it names the first one, or the kind
   */
  public void requireSame(PlanParameters present) {
    requireNonNull(present, "present");
    requireSame("kind", kind, present.kind);
    Set<String> names = new LinkedHashSet<>(values.keySet());
    names.addAll(present.values.keySet());
    for (String name : names) {
      requireSame(
          name, values.getOrDefault(name, "none"), present.values.getOrDefault(name, "none"));
    }
  }

  private static void requireSame(String parameter, String saved, String present) {
    if (!saved.equals(present)) {
      throw new ResumeMismatchException(parameter, saved, present);
    }
  }

  private static void requireText(String text) {
    if (text.contains(SEPARATOR)) {
      throw new IllegalArgumentException(
          "kind, names and values must not contain '|', got " + Quotes.shortened(text));
    }
    if (!UTF_8.newEncoder().canEncode(text)) { // a digest would be of a different text
      throw new IllegalArgumentException(
          "kind, names and values must not contain an unpaired surrogate, got "
              + Quotes.shortened(text));
    }
  }
}
