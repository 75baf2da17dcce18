// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Windows of one batch and of several, of decoded arrays and of bytes, in each dtype. */
class WindowColumnTest {
  private static final BatchPlace PLACE = new BatchPlace("a file", 0, 0);

  /** Rows whose elements count up from a number. */
  private record Counting(RowSpec row, boolean isWhole, AtomicInteger next)
      implements ColumnSource {
    @Override
    public String describe() {
      return row.toString();
    }

    @Override
    public List<String> paths() {
      return List.of("x");
    }

    @Override
    public void require(String file, List<Leaf> leaves) {}

    @Override
    public Filler filler() {
      return new Filler() {
        @Override
        public void fill(List<LeafBatch> leaves, int count, ByteBuffer into, BatchPlace place) {
          NumberBytes bytes = new NumberBytes(row.dtype(), into);
          for (int i = 0; i < count * row.elements(); i++) {
            if (NumberBytes.isFloating(row.dtype())) {
              bytes.put(i, (double) next.getAndIncrement());
            } else {
              assertThat(bytes.put(i, (long) next.getAndIncrement())).isNull();
            }
          }
        }

        @Override
        public @Nullable Object whole(List<LeafBatch> leaves, int count) {
          return isWhole ? decoded(count) : null;
        }
      };
    }

    private Object decoded(int count) {
      Class<?> type =
          switch (row.dtype()) {
            case INT32 -> int.class;
            case INT64 -> long.class;
            case FLOAT32 -> float.class;
            default -> double.class;
          };
      Object array = Array.newInstance(type, 2 + count * (int) row.elements()); // and more
      for (int i = 0; i < count * row.elements(); i++) {
        switch (array) {
          case int[] ints -> ints[i] = next.getAndIncrement();
          case long[] longs -> longs[i] = next.getAndIncrement();
          case float[] floats -> floats[i] = next.getAndIncrement();
          default -> ((double[]) array)[i] = next.getAndIncrement();
        }
      }
      return array;
    }
  }

  private static List<Integer> put(WindowColumn column, int from, int count) {
    List<Integer> elements = new ArrayList<>();
    SampleWriter writer =
        (SampleWriter)
            Proxy.newProxyInstance(
                SampleWriter.class.getClassLoader(),
                new Class<?>[] {SampleWriter.class},
                (proxy, method, arguments) -> {
                  assertThat(arguments).hasSize(4).startsWith(7);
                  int first = (int) arguments[2];
                  for (int i = first; i < first + (int) arguments[3]; i++) {
                    elements.add(((Number) Array.get(arguments[1], i)).intValue());
                  }
                  return null;
                });
    column.put(from, count, writer);
    return elements;
  }

  @ParameterizedTest
  @CsvSource({
    "INT8, false",
    "UINT8, false",
    "INT16, false",
    "INT32, false",
    "INT64, false",
    "FLOAT32, false",
    "FLOAT64, false",
    "INT32, true",
    "INT64, true",
    "FLOAT32, true",
    "FLOAT64, true"
  })
  void rowsOfAWindowAreWrittenInItsOrder(DType dtype, boolean isWhole) {
    Counting numbers = new Counting(RowSpec.of(dtype), isWhole, new AtomicInteger());
    try (WindowColumn column = new WindowColumn(7, numbers, 6, 3)) {
      column.fill(List.of(), 0, 3, PLACE);
      column.fill(List.of(), 3, 2, PLACE);

      assertThat(put(column, 1, 4)).containsExactly(1, 2, 3, 4);
      column.shuffle(new long[] {4, 0, 3, 1, 2}, 5);
      assertThat(put(column, 0, 2)).containsExactly(4, 0);
      assertThat(put(column, 1, 4)).containsExactly(0, 3, 1, 2);

      column.fill(List.of(), 0, 1, PLACE); // the next window

      assertThat(put(column, 0, 1)).containsExactly(5);
    }
    Counting pairs = new Counting(RowSpec.of(dtype, 2), isWhole, new AtomicInteger());
    try (WindowColumn column = new WindowColumn(7, pairs, 3, 3)) {
      column.fill(List.of(), 0, 3, PLACE);

      assertThat(put(column, 1, 2)).containsExactly(2, 3, 4, 5);
      column.shuffle(new long[] {2, 0, 1}, 3);
      assertThat(put(column, 0, 3)).containsExactly(4, 5, 0, 1, 2, 3);
    }
  }
}
