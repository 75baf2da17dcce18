// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.rows.BatchOutput;
import io.torchfeed.spark.rows.ModelSchema;
import io.torchfeed.spark.rows.RowEncoder;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.LongStream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import scala.Function1;

/** The rows of a partition, each with the output of the model: computed a batch ahead. */
public final class ModelRows implements Iterator<Row>, AutoCloseable {
  private static final int NONE = -1;

  private final Iterator<Row> rows;
  private final RankModel model;
  private final RowEncoder.Buffer encoder;
  private final Function1<Object, Object> toInternal;
  private final RankModel.Forward forward;
  private final ByteBuffer[] columns;
  private final ArrayDeque<Row> ready = new ArrayDeque<>();
  private long number;

  private ModelRows(Iterator<Row> rows, StructType schema, RankModel model, RowEncoder encoder) {
    this.rows = rows;
    this.model = model;
    this.encoder = encoder.new Buffer();
    toInternal = CatalystTypeConverters.createToCatalystConverter(schema);
    forward = model.open();
    columns =
        model.inputs().stream()
            .map(
                column ->
                    ByteBuffer.allocateDirect(ModelSchema.batchBytes(column, model.batchSize())))
            .toArray(ByteBuffer[]::new);
  }

  /** Opens the model, until the task ends. */
  public static ModelRows open(
      Iterator<Row> rows, StructType schema, RankModel model, RowEncoder encoder) {
    NativeLibraries.load();
    ModelRows open = new ModelRows(rows, schema, model, encoder);
    TaskContext.get()
        .addTaskCompletionListener(
            (TaskContext ended) -> {
              open.close();
            });
    return open;
  }

  @Override
  public boolean hasNext() {
    while (ready.isEmpty() && rows.hasNext()) {
      compute();
    }
    return !ready.isEmpty();
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the partition has no more rows");
    }
    return ready.remove();
  }

  /**
   * A row of a batch.
   *
   * @param place its place in the tensors; NONE if it does not fit
   */
  private record Pending(Row row, int place) {}

  private void compute() {
    List<Pending> batch = new ArrayList<>();
    int fitting = 0;
    for (ByteBuffer column : columns) {
      column.clear();
    }
    while (batch.size() < model.batchSize() && rows.hasNext()) {
      Row row = rows.next();
      if (encoder.encode((InternalRow) requireNonNull(toInternal.apply(row)), number++)) {
        for (int i = 0; i < columns.length; i++) {
          columns[i].put(encoder.column(i));
        }
        batch.add(new Pending(row, fitting++));
      } else if (model.invalidRows() == InvalidRows.KEEP) {
        batch.add(new Pending(row, NONE));
      }
    }
    if (fitting == 0) {
      batch.forEach(each -> ready.add(with(each.row(), null)));
    } else {
      compute(batch, fitting);
    }
  }

  private void compute(List<Pending> batch, int fitting) {
    try (PointerScope scope = new PointerScope();
        NoGradGuard guard = new NoGradGuard()) {
      Tensor[] inputs = new Tensor[columns.length];
      for (int i = 0; i < inputs.length; i++) {
        inputs[i] = tensor(model.inputs().get(i).row(), columns[i].flip(), fitting);
      }
      BatchOutput output = BatchOutput.of(model.output(), forward.of(inputs), fitting);
      for (Pending each : batch) {
        ready.add(with(each.row(), each.place() == NONE ? null : output.value(each.place())));
      }
    }
  }

  private static Tensor tensor(RowSpec row, ByteBuffer bytes, int rows) {
    long[] shape =
        LongStream.concat(LongStream.of(rows), row.shape().stream().mapToLong(Long::longValue))
            .toArray();
    return torch.from_blob(
        new BytePointer(bytes), shape, new TensorOptions(row.dtype().scalarType()));
  }

  private static Row with(Row row, @Nullable Object value) {
    @Nullable Object[] values = new @Nullable Object[row.size() + 1];
    for (int i = 0; i < row.size(); i++) {
      values[i] = row.get(i);
    }
    values[row.size()] = value;
    return RowFactory.create(values);
  }

  @Override
  public void close() {
    forward.close();
    encoder.close();
  }
}
