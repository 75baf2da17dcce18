// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import io.torchfeed.metric.ClassScore;
import io.torchfeed.metric.Metric;
import io.torchfeed.metric.RankingScore;
import io.torchfeed.metric.RegressionScore;
import io.torchfeed.metric.RetrievalScore;
import io.torchfeed.training.ProgressLine;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Makers of metrics and monitors for {@link SampleArguments}. */
final class SampleMetrics {
  private SampleMetrics() {}

  static void addTo(SampleArguments all) {
    all.put(ClassScore.class, () -> ClassScore.f1(2, ClassScore.Average.MICRO));
    all.put(Metric.class, RankingScore::auc);
    all.put(RankingScore.class, RankingScore::auc);
    all.put(RegressionScore.class, RegressionScore::r2);
    all.put(RetrievalScore.class, () -> RetrievalScore.ndcg(1));
    all.put(
        PrintStream.class, // whose first constructor would create a file
        () -> new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
    all.put(ProgressLine.class, () -> ProgressLine.to(System.out));
  }
}
