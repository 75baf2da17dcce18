// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.parquet.ParquetException.Problem;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** A column of numbers, lists of numbers or binary values. */
record NumberSource(ParquetColumn column) implements ColumnSource {
  @Override
  public RowSpec row() {
    return column.row();
  }

  @Override
  public String describe() {
    return column.toString();
  }

  @Override
  public List<String> paths() {
    return List.of(column.path());
  }

  @Override
  public void require(String file, List<Leaf> leaves) {
    Leaf leaf = leaves.get(0);
    int dimensions = column.row().shape().size();
    boolean fits =
        switch (leaf.kind()) {
          case TEXT -> false;
          case BYTES -> leaf.lists() == 0;
          default ->
              (!leaf.kind().isFloating() || NumberBytes.isFloating(column.row().dtype()))
                  && (leaf.lists() > 0 || column.row().elements() == 1)
                  && (leaf.lists() < 2 || leaf.lists() == dimensions);
        };
    if (!fits) {
      throw new ParquetException(
          Problem.SCHEMA,
          "%s: the column %s cannot be made from %s%s"
              .formatted(
                  file,
                  column,
                  leaf.type(),
                  leaf.kind() == LeafKind.TEXT
                      ? "; make a FittedColumns with a CategoryColumn of it"
                      : ""));
    }
  }

  @Override
  public Filler filler() {
    return new Filler() {
      @Override
      public void fill(List<LeafBatch> leaves, int count, ByteBuffer into, BatchPlace place) {
        new Filling(leaves.get(0), new NumberBytes(row().dtype(), into), place).run(count);
      }

      @Override
      public @Nullable Object whole(List<LeafBatch> leaves, int count) {
        LeafBatch leaf = leaves.get(0);
        boolean isWhole = NumberBytes.isOf(row().dtype(), leaf.values()) && isWhole(leaf, count);
        return isWhole ? leaf.values() : null;
      }
    };
  }

  /** Returns whether the values of a leaf are the elements of the rows, all of them. */
  private boolean isWhole(LeafBatch leaf, int count) {
    return leaf.kind().isPlain() && !leaf.hasNulls() && areListsWhole(leaf, count);
  }

  private boolean areListsWhole(LeafBatch leaf, int count) {
    int items = count;
    for (int layer = 0, list = 0; layer < leaf.layers(); layer++) {
      if (leaf.isList(layer)) {
        int[] offsets = leaf.listOffsets(layer);
        int length = length(leaf, list++);
        for (int i = 0; i < items; i++) {
          if (offsets[i + 1] - offsets[i] != length) {
            return false;
          }
        }
        items *= length;
      }
    }
    return true;
  }

  /** Returns how many items a list has, the outermost is 0. */
  private int length(LeafBatch leaf, int list) {
    return leaf.lists() == 1
        ? Math.toIntExact(row().elements())
        : Math.toIntExact(row().shape().get(list));
  }

  /** The filling of a batch. */
  private final class Filling {
    private final LeafBatch leaf;
    private final NumberBytes into;
    private final BatchPlace place;
    private final int elements = (int) row().elements();
    private final OptionalDouble missing = column.missingValue();

    Filling(LeafBatch leaf, NumberBytes into, BatchPlace place) {
      this.leaf = leaf;
      this.into = into;
      this.place = place;
    }

    void run(int count) {
      boolean isBytes = leaf.kind() == LeafKind.BYTES;
      if (isWhole(leaf, count) && into.putAll(leaf.values(), count * elements)) {
        return;
      }
      for (int record = 0; record < count; record++) {
        String problem = isBytes ? bytes(record) : numbers(record);
        if (problem != null) {
          place.refuse(record, place.unfit(record, column.toString(), problem));
        }
      }
    }

    private @Nullable String bytes(int record) {
      int size = (int) row().bytes();
      if (leaf.isNull(record)) {
        return missing(record * elements, elements);
      } else if (leaf.byteCount(record) != size) {
        return "the value must have %d bytes, got %d".formatted(size, leaf.byteCount(record));
      }
      into.put(record * size, (byte[]) leaf.values(), leaf.byteOffset(record), size);
      return null;
    }

    private @Nullable String numbers(int record) {
      if (leaf.lists() > 0) {
        return items(0, 0, record, record * elements);
      }
      return leaf.isNull(record) ? missing(record, 1) : number(record, record);
    }

    /** Writes the item of a layer, with all of its elements. */
    private @Nullable String items(int layer, int list, int item, int element) {
      if (layer == leaf.layers()) {
        return leaf.isNull(item) ? missing(element, 1) : number(item, element);
      } else if (leaf.isNull(layer, item)) {
        return missing(element, elementsIn(list));
      } else if (!leaf.isList(layer)) {
        return items(layer + 1, list, item, element);
      }
      int[] offsets = leaf.listOffsets(layer);
      int length = length(leaf, list);
      int found = offsets[item + 1] - offsets[item];
      if (found != length) {
        return "the list must have %d elements, got %d".formatted(length, found);
      }
      int each = elementsIn(list + 1);
      for (int i = 0; i < length; i++) {
        String problem = items(layer + 1, list + 1, offsets[item] + i, element + i * each);
        if (problem != null) {
          return problem;
        }
      }
      return null;
    }

    /** Returns the elements in a list, the outermost is 0; the last is a number. */
    private int elementsIn(int list) {
      int left = 1;
      for (int i = list; i < leaf.lists(); i++) {
        left *= length(leaf, i);
      }
      return left;
    }

    private @Nullable String missing(int element, int count) {
      if (missing.isEmpty()) {
        return "the value must not be null without withMissingValue";
      }
      for (int i = 0; i < count; i++) {
        into.putMissing(element + i, missing.getAsDouble());
      }
      return null;
    }

    private @Nullable String number(int at, int element) {
      if (leaf.kind().isFloating()) {
        into.put(element, leaf.decimal(at));
        return null;
      }
      try {
        return into.put(element, leaf.integer(at));
      } catch (UnfitValueException e) {
        return e.problem();
      }
    }
  }
}
