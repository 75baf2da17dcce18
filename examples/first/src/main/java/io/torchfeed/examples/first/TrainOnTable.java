// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.metric.ClassScore;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.sampler.order.ClassBalancedSampler;
import io.torchfeed.sampler.split.StratifiedSplit;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableTensor;
import io.torchfeed.training.EvaluationOptions;
import io.torchfeed.training.TrainingLoop;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.global.torch;

/** {@code TrainOnTable FOLDER [FILE]} trains on a CSV file; if it is stopped, it resumes. */
final class TrainOnTable {
  public static void main(String[] args) throws Exception {
    var numbers = NumberColumn.of("age", "income").withMissingMean().withStandardization();
    var colour = CategoryColumn.of("colour").withMissingCategory();
    var label = TableTensor.categories("label", CategoryColumn.of("class"));
    var table = TableColumns.of(TableTensor.features("x", numbers, colour), label);
    var rows = CsvFile.of(SampleFiles.table(args)).withMissingWords("NA").read(table);
    var parts = StratifiedSplit.byFractions(rows.labels("label"), new double[] {0.8, 0.2}, 42);
    var columns = rows.fit(parts.get(0)); // learns from the training rows alone
    int[] labels = rows.labels(columns, "label", parts.get(0));
    var drawn = ClassBalancedSampler.ofLabels(columns.indexCount("label"), labels).build();
    LinearImpl net = new LinearImpl(columns.width("x"), columns.indexCount("label"));
    Adam adam = new Adam(net.parameters());
    var f1 = ClassScore.f1(columns.indexCount("label"), ClassScore.Average.MACRO);
    var all = Evaluation.of(net, MetricCollection.of(Map.of("f1", f1)));
    try (var data = rows.dataset(columns);
        var training = data.subset(parts.get(0));
        var loader = DataLoader.over(training).sampler(drawn).batchSize(4).build();
        var validation = data.subset(parts.get(1));
        var saved = Checkpoints.open(Path.of(args[0]))) {
      var test = DataLoader.over(validation).batchSize(64);
      TrainingLoop.alone(net)
          .state(to -> to.module("net", net).optimizer("adam", adam, net).part("table", columns))
          .loader(loader)
          .epochs(50)
          .events(System.out::println)
          .afterEpoch(
              (m, s) -> all.run(test, b -> f1.update(net.forward(b.tensor(0)), b.tensor(1))))
          .evaluation((m, s) -> f1.compute(), EvaluationOptions.ofScore().withPatience(5))
          .checkpoints(saved, 10) // also the best one
          .build()
          .run((s, m, b) -> torch.cross_entropy(net.forward(b.tensor(0)), b.tensor(1)), adam::step);
    }
  }
}
