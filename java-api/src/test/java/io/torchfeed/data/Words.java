// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * The dataset of tests of variable lengths: sample i has the given number of values i·10, i·10 + 1,
 * ..., then its index.
 */
record Words(DType dtype, VariableLength rule, int most, List<Integer> counts) implements Dataset {
  @Override
  public long size() {
    return counts.size();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(dtype, most), RowSpec.of(DType.INT64));
  }

  @Override
  public List<VariableLength> variableLengths() {
    return List.of(rule);
  }

  @Override
  public void read(long index, SampleWriter sample) throws IOException {
    for (int i = 0; i < counts.get((int) index); i++) {
      if (i == 2 && counts.get((int) index) == 77) {
        throw new IOException("half way");
      }
      long value = index * 10 + i;
      switch (dtype) {
        case BOOL, UINT8, INT8 -> sample.putByte(0, (byte) value);
        case INT16, UINT16 -> sample.putShort(0, (short) value);
        case INT32, UINT32 -> sample.putInt(0, (int) value);
        case INT64, UINT64 -> sample.putLong(0, value);
        case FLOAT32 -> sample.putFloat(0, (float) value);
        case FLOAT64 -> sample.putDouble(0, (double) value);
        default -> throw new AssertionError(dtype);
      }
    }
    sample.putLong(1, index);
  }

  static Words words(VariableLength rule, int most, int... counts) {
    return words(DType.INT64, rule, most, counts);
  }

  static Words words(DType dtype, VariableLength rule, int most, int... counts) {
    return new Words(dtype, rule, most, Arrays.stream(counts).boxed().toList());
  }
}
