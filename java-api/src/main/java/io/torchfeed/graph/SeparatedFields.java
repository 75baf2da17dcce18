// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** A parser of fields separated by any one of several characters. */
final class SeparatedFields implements LineParser {
  private final ByteSet separators;

  SeparatedFields(String separators) {
    this.separators = new ByteSet("separators", separators);
  }

  /** Returns the separators. */
  String separators() {
    return separators.toString();
  }

  @Override
  public void parse(byte[] line, int start, int end, LineParser.Fields fields) {
    if (start == end) {
      return;
    }
    int from = start;
    for (int i = start; i < end; i++) {
      if (separators.contains(line[i])) {
        fields.add(from, i);
        from = i + 1;
      }
    }
    fields.add(from, end);
  }
}
