// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CsvParseException;
import java.util.Arrays;

/**
 * The fields of a record, in memory that is used again for the next one, so that no object is made
 * for a number. Not thread-safe.
 */
final class CsvRow extends AbstractBaseCsvCallbackHandler<CsvRow> {
  private static final int MAX_FIELDS = 1 << 14;
  private static final int MAX_CHARS = 1 << 26;

  private char[] chars = new char[1 << 10];
  private int[] ends = new int[1 << 4];
  private Field[] views = {};
  private int fields;
  private long line;

  @Override
  protected void handleBegin(long startingLine) {
    fields = 0;
    line = startingLine;
  }

  @Override
  protected void handleField(int index, char[] buffer, int offset, int length, boolean isQuoted) {
    int start = start(index);
    if (index == MAX_FIELDS || length > MAX_CHARS - start) {
      throw new CsvParseException(
          "the record of line %d must have at most %d fields of %d characters in all"
              .formatted(line, MAX_FIELDS, MAX_CHARS));
    }
    int end = start + length;
    if (index == ends.length) {
      ends = Arrays.copyOf(ends, 2 * index);
    }
    if (end > chars.length) {
      chars = Arrays.copyOf(chars, Math.max(end, 2 * chars.length));
    }
    System.arraycopy(buffer, offset, chars, start, length);
    ends[index] = end;
    fields = index + 1;
  }

  @Override
  protected CsvRow buildRecord() {
    return this;
  }

  private int start(int field) {
    return field == 0 ? 0 : ends[field - 1];
  }

  /** Returns the line of the file in which the record begins, from 1. */
  long line() {
    return line;
  }

  /** Returns the number of fields. */
  int fields() {
    return fields;
  }

  /** Returns a field as in the file. */
  String text(int field) {
    return new String(chars, start(field), ends[field] - start(field));
  }

  /** Returns a field without white space around it; the same object in each record. */
  CharSequence field(int field) {
    for (int i = views.length; i <= field; i++) {
      views = Arrays.copyOf(views, i + 1);
      views[i] = new Field();
    }
    views[field].move(field);
    return views[field];
  }

  /** Returns all fields with a character between them. */
  String text(char separator) {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < fields; i++) {
      if (i > 0) {
        all.append(separator);
      }
      all.append(chars, start(i), ends[i] - start(i));
    }
    return all.toString();
  }

  /** Characters of the record. */
  private final class Field implements CharSequence {
    private int start;
    private int end;

    private void move(int field) {
      start = start(field);
      end = ends[field];
      while (start < end && Decimals.isWhite(chars[start])) {
        start++;
      }
      while (start < end && Decimals.isWhite(chars[end - 1])) {
        end--;
      }
    }

    @Override
    public int length() {
      return end - start;
    }

    @Override
    public char charAt(int index) {
      return chars[start + index];
    }

    @Override
    public CharSequence subSequence(int from, int to) {
      return toString().subSequence(from, to);
    }

    @Override
    public String toString() {
      return new String(chars, start, end - start);
    }
  }
}
