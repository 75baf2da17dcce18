// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.bytedeco.pytorch.global.torch.cross_entropy;
import static org.bytedeco.pytorch.global.torch.relu;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.LogLoss;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.split.StratifiedSplit;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.SavedColumns;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import io.torchfeed.training.EvaluationOptions;
import io.torchfeed.training.TrainingLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.DropoutImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java code of FROM_PYTORCH.md on tables; see {@link GuideTest}. */
class GuideTableTest {
  private final List<Long> seen = new ArrayList<>();

  private void train(Tensor labels) {
    for (long i = 0; i < labels.numel(); i++) {
      seen.add(labels.select(0, i).item_long());
    }
  }

  @Test
  void aCsvFileIsRead(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("flowers.csv");
    Files.writeString(file, "length,width,kind\n5.1,3.5,rose\n6.2,NA,lily\n7.7,3.8,rose\n");
    // guide: csv
    TableColumns columns =
        TableColumns.of(
            TableTensor.features("x", NumberColumn.of("length", "width").withMissingMean()),
            TableTensor.categories("kind", CategoryColumn.of("kind")));
    TableRows rows = CsvFile.of(file).withMissingWords("NA").read(columns);
    FittedColumns fitted = rows.fit(); // or of the training rows alone
    try (TensorDataset data = rows.dataset(fitted);
        DataLoader loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), 42))
                .batchSize(2)
                .build()) {
      for (Batch batch : loader.epoch(0)) {
        train(batch.tensor("kind")); // 0 is "lily", 1 "rose"; the sizes are batch.tensor("x")
      }
    }
    // guide: end
    assertThat(seen).containsExactlyInAnyOrder(0L, 1L, 1L);
  }

  // guide: net
  static final class Net extends Module {
    private final LinearImpl first;
    private final DropoutImpl dropout; // in a field, since libtorch does not own it: see below
    private final LinearImpl last;

    Net(long inputs, long classes) {
      first = register_module("first", new LinearImpl(inputs, 32));
      dropout = register_module("dropout", new DropoutImpl(0.1));
      last = register_module("last", new LinearImpl(32, classes));
    }

    Tensor forward(Tensor input) {
      return last.forward(dropout.forward(relu(first.forward(input))));
    }
  }

  // guide: end

  private static void train(Path file, Path folder) throws InterruptedException {
    // guide: table
    TableColumns columns =
        TableColumns.of(
            TableTensor.features(
                "x", NumberColumn.of("length", "width").withMissingMean().withStandardization()),
            TableTensor.categories("kind", CategoryColumn.of("kind")));
    TableRows rows = CsvFile.of(file).withMissingWords("NA").read(columns);
    List<long[]> parts =
        StratifiedSplit.byFractions(rows.labels("kind"), new double[] {0.8, 0.2}, 42);
    FittedColumns fitted = rows.fit(parts.get(0)); // learns from the training rows alone
    int classes = fitted.indexCount("kind");
    int[] labels = rows.labels(fitted, "kind", parts.get(0)); // of the training rows
    Net net = new Net(fitted.width("x"), classes);
    Adam optimizer = new Adam(net.parameters(), new AdamOptions(0.01));
    LogLoss loss = LogLoss.create(); // the mean of cross_entropy
    Evaluation evaluation = Evaluation.of(net, MetricCollection.of(Map.of("loss", loss)));
    try (TensorDataset data = rows.dataset(fitted);
        NativeDataset training = data.subset(parts.get(0)); // row 0 is the first training row
        NativeDataset validation = data.subset(parts.get(1));
        DataLoader loader =
            DataLoader.over(training)
                .sampler(ClassBalancedSampler.ofLabels(classes, labels).seed(42).build())
                .batchSize(4)
                .build();
        Checkpoints checkpoints = Checkpoints.open(folder)) { // with this folder, a run resumes
      TrainingLoop.alone(net)
          .state(
              all ->
                  all.module("net", net)
                      .optimizer("optimizer", optimizer, net)
                      .part("columns", fitted))
          .loader(loader)
          .epochs(20)
          .checkpoints(checkpoints, 100) // also after each evaluation; the best one is kept
          .evaluation(
              (model, step) -> {
                evaluation.run(
                    DataLoader.over(validation).batchSize(500),
                    batch -> loss.update(net.forward(batch.tensor("x")), batch.tensor("kind")));
                return loss.compute();
              },
              EvaluationOptions.ofLoss().withPatience(3))
          .build()
          .run(
              (step, model, batch) ->
                  cross_entropy(net.forward(batch.tensor("x")), batch.tensor("kind")),
              optimizer::step);
    }
    // guide: end
  }

  private void score(Path file, Path folder) {
    // guide: score
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      SavedColumns saved = SavedColumns.empty();
      checkpoints.loadBest(TrainingState.builder().part("columns", saved).build());
      FittedColumns fitted = saved.get();
      Net net = new Net(fitted.width("x"), fitted.indexCount("kind")); // as wide as the columns
      checkpoints.loadBest(TrainingState.builder().module("net", net).build());
      net.eval();
      FittedColumns inputs = fitted.only("x"); // new rows have no label
      TableRows rows = CsvFile.of(file).withMissingWords("NA").read(inputs.columns());
      try (TensorDataset data = rows.dataset(inputs);
          DataLoader loader = DataLoader.over(data).batchSize(500).build()) {
        for (Batch batch : loader.epoch(0)) {
          Tensor scores = net.forward(batch.tensor("x")); // [n, classes]
          train(scores.argmax(new LongOptional(1), false)); // of fitted.categories("kind")
        }
      }
    }
    // guide: end
  }

  @Test
  void aTableIsTrainedOnAndNewRowsAreScored(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("flowers.csv");
    StringBuilder text = new StringBuilder("length,width,kind\n");
    for (int i = 0; i < 40; i++) {
      text.append(i % 4 == 0 ? "9.%d,1.%d,lily\n".formatted(i % 10, i % 7) : "");
      text.append(i % 4 == 0 ? "" : "4.%d,%s,rose\n".formatted(i % 10, i == 5 ? "NA" : "3.1"));
    }
    Files.writeString(file, text);
    Path unknown = folder.resolve("new.csv");
    Files.writeString(unknown, "length,width\n9.5,1.2\n4.2,NA\n4.4,3.2\n");
    Path run = folder.resolve("run");
    torch.manual_seed(1);
    train(file, run);
    score(unknown, run);
    assertThat(seen).containsExactly(0L, 1L, 1L);
    seen.clear();
    train(file, run);
    score(unknown, run);
    assertThat(seen).containsExactly(0L, 1L, 1L);
  }

  @Test
  void theNetOutlivesCollections() throws InterruptedException {
    Net net = new Net(2, 2);
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(10); // for the thread that frees objects of the presets
      net.zero_grad(true);
      net.train(true);
      net.forward(torch.ones(1, 2)).sum().backward();
    }
    assertThat(net.parameters().size()).isEqualTo(4);
  }
}
