// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * Splits lines into fields. Must be thread-safe if several ranks of one process use it.
 *
 * <p>{@link #separatedBy} is the usual one.
 */
@FunctionalInterface
public interface LineParser {
  /**
   * Finds the fields of a line.
   *
   * @param line holds the line; may not be changed or kept
   * @param start the position of its first byte
   * @param end the position behind its last byte
   * @param fields receives the fields, in their order; empty at the call
   * @throws MalformedLineException if the line breaks a rule of the parser
   */
  void parse(byte[] line, int start, int end, Fields fields);

  /**
   * Fields with one separator between them. A blank line has no field.
   *
   * @param separators ASCII characters, each of which separates fields; at least one
   * @return the parser, thread-safe
   * @throws IllegalArgumentException if there is none, or one is not ASCII
   */
  static LineParser separatedBy(String separators) {
    return new SeparatedFields(separators);
  }
}
