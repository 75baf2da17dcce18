// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.parquet;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetColumn;
import io.torchfeed.parquet.ParquetFiles;
import io.torchfeed.storage.HttpSource;
import io.torchfeed.storage.S3Bucket;
import io.torchfeed.storage.S3Object;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** {@code TrainFromS3 BUCKET PREFIX} trains a net on the Parquet files of a bucket. */
final class TrainFromS3 {
  public static void main(String[] args) throws Exception {
    S3Bucket bucket = S3Bucket.of(args[0]); // endpoint, region and keys are variables
    List<HttpSource> files = new ArrayList<>();
    for (S3Object object : bucket.list(args[1])) {
      files.add(bucket.source(object.key()));
    }
    var rows =
        ParquetFiles.of(files)
            .rows(
                ParquetColumn.of("features", DType.FLOAT32, 4),
                ParquetColumn.of("label", DType.INT64))
            .stream(4) // row groups at a time
            .shuffled(10_000, 42);
    torch.manual_seed(42); // of the parameters
    LinearImpl hidden = new LinearImpl(4, 16);
    LinearImpl head = new LinearImpl(16, 3);
    var parameters = hidden.parameters().push_back(head.weight()).push_back(head.bias());
    Adam optimizer = new Adam(parameters, new AdamOptions(0.02));
    try (DataLoader loader = DataLoader.over(rows).batchSize(32).workers(2).build()) {
      for (int epoch = 0; epoch < 8; epoch++) {
        double sum = 0;
        long seen = 0;
        for (Batch batch : loader.epoch(epoch)) { // in another order in each epoch
          try (var scope = new PointerScope()) { // frees the tensors of this step
            optimizer.zero_grad();
            Tensor scores = head.forward(torch.relu(hidden.forward(batch.tensor("features"))));
            Tensor loss = torch.cross_entropy(scores, batch.tensor("label"));
            loss.backward();
            optimizer.step();
            sum += loss.item_float() * batch.size();
            seen += batch.size();
          }
        }
        System.out.printf("epoch %d loss %.3f%n", epoch, sum / seen);
      }
    }
  }
}
