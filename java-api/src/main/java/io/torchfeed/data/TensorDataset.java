// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A dataset of tensor columns: sample {@code i} is row {@code i} of each of them.
 *
 * <p>The dataset refers to the tensors' memory without copying it, except that a column that is not
 * contiguous, or is lazily conjugated or negated, is copied once. It stays usable after the caller
 * closes or drops the tensors; writes to them are visible in batches gathered later. Thread-safe.
 */
public final class TensorDataset extends NativeDataset {
  private TensorDataset(NativeHandle<RowSet> rows, List<RowSpec> columns) {
    super(rows, columns);
  }

  /**
   * Returns a dataset over columns {@code [size, ...]}.
   *
   * @param columns dense CPU tensors with at least one dimension and equal first dimension; the
   *     caller keeps ownership
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no column, or one is undefined, not dense, not on
   *     the CPU, without dimensions, of a dtype that {@link DType} lacks, or of another length than
   *     the first
   */
  public static TensorDataset of(Tensor... columns) {
    requireNonNull(columns, "columns");
    if (columns.length == 0) {
      throw new IllegalArgumentException("a TensorDataset needs at least one column");
    }
    List<RowSpec> rows = new ArrayList<>();
    for (int i = 0; i < columns.length; i++) {
      requireColumn(i, columns[i]);
      if (columns[i].size(0) != columns[0].size(0)) {
        throw new IllegalArgumentException(
            "column %d must have as many rows as column 0 (%d), got %d"
                .formatted(i, columns[0].size(0), columns[i].size(0)));
      }
      rows.add(rowOf(columns[i]));
    }
    return new TensorDataset(NativeHandle.create("TensorDataset", () -> rows(columns)), rows);
  }

  @Override
  public TensorDataset withNames(String... names) {
    return new TensorDataset(rows(this), named(names));
  }

  private static RowSpec rowOf(Tensor tensor) {
    long[] sizes = tensor.sizes().vec().get();
    return RowSpec.of(DType.of(tensor.scalar_type()), Arrays.copyOfRange(sizes, 1, sizes.length));
  }

  private static void requireColumn(int column, Tensor tensor) {
    requireNonNull(tensor, () -> "column " + column);
    String wrong = null;
    if (tensor.isNull() || !tensor.defined()) {
      wrong = "an undefined tensor";
    } else if (!tensor.device().is_cpu()) {
      wrong = "a tensor on " + tensor.device().str().getString();
    } else if (tensor.is_sparse() || tensor.is_quantized()) {
      wrong = "a sparse or quantized tensor";
    } else if (tensor.dim() == 0) {
      wrong = "a tensor without dimensions";
    }
    if (wrong != null) {
      throw new IllegalArgumentException(
          "column %d must be a dense CPU tensor with rows, got %s".formatted(column, wrong));
    }
  }

  /** Creates the rows in the {@code PointerScope} of the caller, which frees the temporaries. */
  private static RowSet rows(Tensor... columns) {
    Tensor[] dense =
        Arrays.stream(columns)
            .map(tensor -> tensor.detach().resolve_conj().resolve_neg().contiguous())
            .toArray(Tensor[]::new);
    return RowSet.of_tensors(new TensorVector(dense));
  }
}
