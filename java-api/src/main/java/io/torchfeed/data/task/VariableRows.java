// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.data.VariableLength;
import io.torchfeed.data.VariableLength.Form;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;

/** The samples of one column of variable length in the batch that is being written. */
public final class VariableRows {
  private final VariableLength rule;
  private final RowSpec row;
  private final int lengthsColumn;
  private final int elements; // of a row
  private final int inner; // elements per unit of length
  private final int most; // declared length
  private final Padding padding;
  private final Padding yes;
  private final Padding no;
  private int[] lengths = new int[0]; // by row
  private int packed; // elements of all rows so far

  public VariableRows(VariableLength rule, RowSpec row, int lengthsColumn) {
    this.rule = rule;
    this.row = row;
    this.lengthsColumn = lengthsColumn;
    most = row.shape().get(0).intValue();
    elements = (int) row.elements();
    inner = elements / most;
    padding = Padding.of(row, rule.padding());
    boolean masks = rule.form() == Form.MASK;
    yes = Padding.ofMask(masks ? most : 0, true);
    no = Padding.ofMask(masks ? most : 0, false);
  }

  public int column() {
    return rule.column();
  }

  public void beginBatch(int rows) {
    packed = 0;
    if (lengths.length < rows) {
      lengths = new int[rows];
    }
  }

  /** Returns the offset of a row from the start of the column in the slab. */
  public int start(int number) {
    return rule.form() == Form.OFFSETS ? packed : number * elements;
  }

  /**
   * Returns how many of the next {@code count} elements fit into a sample that has {@code written}.
   */
  public int fitting(int count, int written) {
    int left = elements - written;
    if (count > left && !rule.truncate()) {
      throw new IllegalArgumentException(
          "column %d takes at most %d elements of a sample (%s of variable length), got %d after %d"
              .formatted(rule.column(), elements, row, count, written));
    }
    return Math.min(count, left);
  }

  public void requireWhole(int written) {
    if (written % inner != 0) {
      throw new IllegalStateException(
          "column %d takes a multiple of %d elements of a sample (%s of variable length), got %d"
              .formatted(rule.column(), inner, row, written));
    }
  }

  public void endSample(int number, int written) {
    lengths[number] = written / inner;
    packed += written;
  }

  /** Pads the rows and writes their lengths; returns the length of the batch. */
  public int endBatch(Slab slab, int rows) {
    if (rule.form() == Form.OFFSETS) {
      writeOffsets(slab, rows);
      return packed / inner;
    }
    int longest = rule.padToMax() ? most : 0;
    for (int i = 0; i < rows; i++) {
      longest = Math.max(longest, lengths[i]);
    }
    for (int i = 0; i < rows; i++) {
      int missing = longest - lengths[i];
      int end = i * elements + lengths[i] * inner;
      padding.put(slab, rule.column(), end, missing * inner);
      if (rule.form() == Form.MASK) {
        yes.put(slab, lengthsColumn, i * most, lengths[i]);
        no.put(slab, lengthsColumn, i * most + lengths[i], missing);
      } else {
        slab.put(lengthsColumn, i, new long[] {lengths[i]}, 0, 1);
      }
    }
    return longest;
  }

  private void writeOffsets(Slab slab, int rows) {
    long[] offsets = new long[rows + 1];
    for (int i = 0; i < rows; i++) {
      offsets[i + 1] = offsets[i] + lengths[i];
    }
    slab.put(lengthsColumn, 0, offsets, 0, offsets.length);
  }
}
