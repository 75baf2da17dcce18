// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.image.ImageException;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.parquet.ParquetException.Problem;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/** A column of images, decoded by a plan. */
record ImageSource(ParquetColumn column, ImagePlan plan) implements ColumnSource {
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
    if (leaves.get(0).kind() != LeafKind.BYTES || leaves.get(0).lists() > 0) {
      throw new ParquetException(
          Problem.SCHEMA,
          "%s: images must be binary values, got %s in column %s"
              .formatted(file, leaves.get(0).type(), column.path()));
    }
  }

  @Override
  public Filler filler() {
    return new Decoding();
  }

  private final class Decoding implements Filler {
    private final Slab slab = Slab.allocate(List.of(plan.row()), 1);
    private final byte[] pixels = new byte[(int) row().bytes()];

    @Override
    public void fill(List<LeafBatch> leaves, int count, ByteBuffer into, BatchPlace place) {
      LeafBatch leaf = leaves.get(0);
      for (int record = 0; record < count; record++) {
        if (leaf.isNull(record)) {
          place.refuse(record, place.unfit(record, column.path(), "the image must not be null"));
          continue;
        }
        int from = leaf.byteOffset(record);
        byte[] image =
            Arrays.copyOfRange((byte[]) leaf.values(), from, from + leaf.byteCount(record));
        try {
          plan.write(image, slab, 0, 0, 0, 0, 0);
        } catch (ImageException e) {
          place.refuse(record, place.unfit(record, column.path(), ParquetException.reason(e)));
          continue;
        }
        try (Tensor tensor = slab.view(0, 1);
            BytePointer bytes = new BytePointer(tensor.data_ptr())) {
          bytes.get(pixels);
        }
        into.put(record * pixels.length, pixels);
      }
    }

    @Override
    public void close() {
      slab.close();
    }
  }
}
