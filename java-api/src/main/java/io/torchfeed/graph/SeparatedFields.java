// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/**
 * A parser of fields separated by any one of several characters. If a space is one of them, blanks
 * are no separators of their own at the ends of a line and beside another separator.
 */
final class SeparatedFields implements LineParser {
  private final ByteSet separators;
  private final boolean mergesBlanks;

  SeparatedFields(String separators) {
    this.separators = new ByteSet("separators", separators);
    mergesBlanks = this.separators.contains((byte) ' ');
  }

  /** Returns the separators. */
  String separators() {
    return separators.toString();
  }

  @Override
  public void parse(byte[] line, int start, int end, LineParser.Fields fields) {
    int from = afterBlanks(line, start, end);
    int last = end;
    while (last > from && isBlank(line[last - 1])) {
      last--;
    }
    if (from == last) {
      return;
    }
    int i = from;
    while (i < last) {
      if (separators.contains(line[i])) {
        fields.add(from, i);
        i = afterSeparator(line, i, last);
        from = i;
      } else {
        i++;
      }
    }
    fields.add(from, last);
  }

  /** Returns the position behind a separator and the blanks around it. */
  private int afterSeparator(byte[] line, int at, int end) {
    int next = afterBlanks(line, at, end);
    boolean isOther = next < end && separators.contains(line[next]);
    return isOther ? afterBlanks(line, next + 1, end) : next;
  }

  private int afterBlanks(byte[] line, int at, int end) {
    int next = at;
    while (next < end && isBlank(line[next])) {
      next++;
    }
    return next;
  }

  private boolean isBlank(byte b) {
    return mergesBlanks && ByteSet.isBlank(b) && separators.contains(b);
  }
}
