// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.LogLoss;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.EvaluationOptions;
import io.torchfeed.training.TrainingLoop;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.FlattenImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.ReLUImpl;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** {@code TrainOnTokens [FILE]} trains a language model on the bytes of a text file. */
final class TrainOnTokens {
  private static final int CONTEXT = 16;

  public static void main(String[] args) throws Exception {
    SequentialImpl net = new SequentialImpl();
    net.push_back(new EmbeddingImpl(256, 16)); // a token is a byte
    net.push_back(new FlattenImpl());
    net.push_back(new LinearImpl(16 * CONTEXT, 128));
    net.push_back(new ReLUImpl());
    net.push_back(new LinearImpl(128, 256));
    Adam adam = new Adam(net.parameters());
    LogLoss score = LogLoss.perplexity();
    var all = Evaluation.of(net, MetricCollection.of(Map.of("perplexity", score)));
    try (var windows = SampleFiles.tokens(args).windows(CONTEXT + 1, 1);
        var first = windows.subset(LongStream.range(0, 500).toArray());
        var rest = windows.subset(LongStream.range(500 + CONTEXT, windows.size()).toArray())) {
      var drawn = ShuffledSampler.of(rest.size(), 42);
      var test = DataLoader.over(first).batchSize(64);
      TrainingLoop.alone(net)
          .state(to -> to.module("net", net).optimizer("adam", adam, net))
          .loader(part -> DataLoader.over(rest).sampler(drawn).batchSize(64).build())
          .epochs(3)
          .events(System.out::println)
          .afterEpoch(
              (m, s) -> all.run(test, b -> score.update(scores(b, net), b.tensor(0).select(1, -1))))
          .evaluation((m, s) -> score.compute(), EvaluationOptions.ofLoss())
          .build()
          .run(
              (s, m, b) -> torch.cross_entropy(scores(b, net), b.tensor(0).select(1, -1)),
              adam::step);
    }
  }

  private static Tensor scores(Batch batch, SequentialImpl net) {
    return net.forward(batch.tensor("tokens").narrow(1, 0, CONTEXT));
  }
}
