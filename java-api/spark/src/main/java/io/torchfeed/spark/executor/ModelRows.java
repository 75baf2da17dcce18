// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
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
import scala.Function1;

/** The rows of a partition, each with the output of the model: computed a batch ahead. */
public final class ModelRows implements Iterator<Row>, AutoCloseable {
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
    if (ready.isEmpty() && rows.hasNext()) {
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

  private void compute() {
    List<Row> batch = new ArrayList<>();
    for (ByteBuffer column : columns) {
      column.clear();
    }
    while (batch.size() < model.batchSize() && rows.hasNext()) {
      Row row = rows.next();
      encoder.encode((InternalRow) requireNonNull(toInternal.apply(row)), number++);
      for (int i = 0; i < columns.length; i++) {
        columns[i].put(encoder.column(i));
      }
      batch.add(row);
    }
    try (PointerScope scope = new PointerScope();
        NoGradGuard guard = new NoGradGuard()) {
      Tensor[] inputs = new Tensor[columns.length];
      for (int i = 0; i < inputs.length; i++) {
        inputs[i] = tensor(model.inputs().get(i).row(), columns[i].flip(), batch.size());
      }
      BatchOutput output = BatchOutput.of(model.output(), forward.of(inputs), batch.size());
      for (int i = 0; i < batch.size(); i++) {
        ready.add(with(batch.get(i), output.value(i)));
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

  private static Row with(Row row, Object value) {
    Object[] values = new Object[row.size() + 1];
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
