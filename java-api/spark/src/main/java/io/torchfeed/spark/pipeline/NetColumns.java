// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.rows.ModelSchema;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
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

  RankModel model(byte[] trained) {
    return RankModel.of(trained, NetForward.factory(net), output, inputs.toArray(RowColumn[]::new));
  }

  /** Returns the schema with the output; checks the inputs. */
  StructType extended(StructType schema) {
    RowEncoder.of(schema, inputs);
    return ModelSchema.extended(schema, output);
  }
}
