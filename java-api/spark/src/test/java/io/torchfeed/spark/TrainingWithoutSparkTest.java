// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

class TrainingWithoutSparkTest {
  private static final int ROWS = 301;

  @Test
  void theSameRowsInTheSameOrderGiveTheSameParameters() throws Exception {
    Dataset<Row> points = TestSpark.points(TestSpark.local(), ROWS, 2);
    List<Row> rows = points.collectAsList();
    List<byte[]> ofSpark =
        LineTask.ranks(points).rowOrder(RowOrder.AS_DELIVERED).train(LineTask.of(null, null));

    byte[] initial;
    try (LineNet net = new LineNet()) {
      initial = ModelBytes.of(net);
    }
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try (Master master = Master.listen("127.0.0.1")) {
      Future<byte[]> first =
          threads.submit(() -> train(master, 0, initial, rows.subList(0, ROWS / 2)));
      Future<byte[]> second =
          threads.submit(
              () ->
                  train(
                      Master.at("127.0.0.1", master.port()),
                      1,
                      initial,
                      rows.subList(ROWS / 2, ROWS)));
      assertThat(List.of(first.get(), second.get())).containsExactlyElementsOf(ofSpark);
    } finally {
      threads.shutdown();
    }
  }

  private static byte[] train(Master master, int rank, byte[] initial, List<Row> rows) {
    GroupOptions options = GroupOptions.ofTimeout(Duration.ofMinutes(1));
    try (PointerScope scope = new PointerScope();
        ProcessGroup group = ProcessGroup.join(master, new Part(2, rank), options);
        TensorDataset data = data(rows);
        LineNet net = new LineNet()) {
      ModelBytes.load(initial, net);
      try (SGD optimizer = LineTask.optimizer(net);
          DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
          DataLoader loader =
              DataLoader.over(data)
                  .batchSize(LineTask.BATCH)
                  .sampler(ShuffledSampler.of(data.size(), 42))
                  .build()) {
        for (int epoch = 0; epoch < 2; epoch++) {
          try (UnevenInputs inputs = model.unevenInputs(Uneven.passes(loader.batches(epoch)))) {
            for (Batch batch : loader.epoch(epoch)) {
              optimizer.zero_grad();
              model.backward(net.loss(batch, 0, 1));
              optimizer.step();
            }
            inputs.shadow(optimizer::step);
          }
        }
        return ModelBytes.of(net);
      }
    }
  }

  private static TensorDataset data(List<Row> rows) {
    int count = rows.size();
    float[] x = new float[count * 3];
    float[] y = new float[count];
    for (int i = 0; i < count; i++) {
      List<Float> three = rows.get(i).getList(1);
      for (int j = 0; j < 3; j++) {
        x[i * 3 + j] = three.get(j);
      }
      y[i] = rows.get(i).getFloat(2);
    }
    try (Tensor flat = torch.tensor(x);
        Tensor inputs = flat.view(count, 3);
        Tensor targets = torch.tensor(y)) {
      return TensorDataset.of(inputs, targets);
    }
  }
}
