// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * How lines become edges.
 *
 * @param pattern what the lines hold
 * @param mixed whether a line may hold many edges
 * @param ids what the ids are
 * @param hash what says who owns an id that is a text
 * @param parser splits lines into fields
 * @param valueSeparators what stands between an id and its weight
 * @param errors what happens at a line that breaks a rule
 * @param lines how lines are read
 * @param roundBytes how much a rank sends at once
 */
record EdgeRules(
    LinePattern pattern,
    boolean mixed,
    IdKind ids,
    IdHash hash,
    LineParser parser,
    ByteSet valueSeparators,
    ErrorPolicy errors,
    LineOptions lines,
    int roundBytes) {

  /** What all ranks must have in common; a parser cannot be compared. */
  long digest() {
    String text = "%s %s %s %s %s".formatted(pattern, mixed, ids, hash, valueSeparators);
    return Mixing.mix64(Mixing.fnv1a(text));
  }
}
