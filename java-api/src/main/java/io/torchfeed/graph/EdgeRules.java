// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.internal.Hash64;
import io.torchfeed.text.LineOptions;

/**
 * The rules by which lines become edges.
 *
 * @param pattern the content of the lines
 * @param mixed whether a line may hold several edges
 * @param ids the kind of ids
 * @param hash determines the owner of an id that is a text
 * @param parser splits lines into fields
 * @param fields the number of fields of a line; 0 if the number of its edges decides
 * @param valueSeparators the separators between an id and its weight
 * @param comments the characters that make a line a comment
 * @param errors how to treat a malformed line
 * @param lines how to read lines
 * @param roundBytes the number of bytes that a rank sends in one round
 */
record EdgeRules(
    LinePattern pattern,
    boolean mixed,
    IdMap.Kind ids,
    IdMap.Hash hash,
    LineParser parser,
    int fields,
    ByteSet valueSeparators,
    ByteSet comments,
    ErrorPolicy errors,
    LineOptions lines,
    int roundBytes) {

  /** Returns a digest of the rules that all ranks must share; parsers cannot be compared. */
  long digest() {
    String text =
        "%s %s %s %s %s %s".formatted(pattern, mixed, ids, hash, valueSeparators, comments);
    return Hash64.mix(Hash64.fnv1a(text));
  }
}
