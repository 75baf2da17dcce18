// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.rows.ModelSchema;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.Serializable;
import java.util.Arrays;
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
  RowColumn[] ofTraining() {
    RowColumn[] all = Arrays.copyOf(inputs.toArray(RowColumn[]::new), inputs.size() + 1);
    all[inputs.size()] = label;
    return all;
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
