// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.rows.ModelSchema;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;

/**
 * A network and the columns that it takes and gives.
 *
 * @param net the network
 * @param output the column that is added
 * @param label the column that the loss compares with
 * @param inputs the columns that the network takes, as an unmodifiable list
 */
record NetColumns(TorchfeedNet<?> net, RowColumn output, RowColumn label, List<RowColumn> inputs)
    implements Serializable {
  /**
   * Returns the columns of a training: the inputs, the label, and the others.
   *
   * @param weight the column of weights; empty for none
   * @param validation the column that is true for rows of the validation; empty for none
   */
  RowColumn[] ofTraining(String weight, String validation) {
    List<RowColumn> all = new ArrayList<>(inputs);
    all.add(label);
    if (!weight.isEmpty()) {
      all.add(RowColumn.of(weight, DType.FLOAT32));
    }
    if (!validation.isEmpty()) {
      all.add(RowColumn.of(validation, DType.BOOL));
    }
    return all.toArray(RowColumn[]::new);
  }

  /** Returns the columns of a DataFrame that columns of tensors need, each once. */
  static Dataset<Row> select(Dataset<?> dataset, RowColumn... columns) {
    return dataset.select(
        Arrays.stream(columns)
            .flatMap(column -> column.sources().stream())
            .distinct()
            .map(functions::col)
            .toArray(Column[]::new));
  }

  RankModel model(byte[] trained, InvalidRows invalid) {
    return RankModel.of(trained, NetForward.factory(net), output, inputs.toArray(RowColumn[]::new))
        .withInvalidRows(invalid);
  }

  /** Returns the schema with the output; checks the inputs. */
  StructType extended(StructType schema, InvalidRows invalid) {
    RowEncoder.of(schema, inputs);
    return ModelSchema.extended(schema, output, invalid);
  }
}
