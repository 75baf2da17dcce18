// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.metric.ClassScore.Average;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MetricRulesTest {
  private static final double NAN = Double.NaN;

  static Stream<Supplier<Metric>> all() {
    return Stream.of(
        Mean::create,
        Accuracy::create,
        () -> Accuracy.top(2),
        () -> ConfusionMatrix.of(2),
        () -> ClassScore.precision(2, Average.BINARY),
        () -> ClassScore.recall(2, Average.MACRO),
        () -> ClassScore.f1(2, Average.MICRO),
        LogLoss::create,
        LogLoss::perplexity,
        RegressionScore::rmse,
        RegressionScore::r2,
        RankingScore::auc,
        RankingScore::averagePrecision,
        () -> RetrievalScore.recall(2),
        () -> RetrievalScore.ndcg(2));
  }

  /** Two samples of classes 0 and 1, the second one wrong; or one query of two candidates. */
  private static void update(Metric metric) {
    update(metric, scores(2, 1, 3, 0.5), classes(0, 1));
  }

  private static void update(Metric metric, Tensor output, Tensor target) {
    if (metric instanceof Mean mean) {
      mean.update(output);
    } else if (metric instanceof Accuracy accuracy) {
      accuracy.update(output, target);
    } else if (metric instanceof ConfusionMatrix confusion) {
      confusion.update(output, target);
    } else if (metric instanceof ClassScore score) {
      score.update(output, target);
    } else if (metric instanceof LogLoss loss) {
      loss.update(output, target);
    } else if (metric instanceof RegressionScore regression) {
      regression.update(output.select(1, 0), target);
    } else if (metric instanceof RankingScore ranking) {
      ranking.update(output.select(1, 0), target);
    } else if (metric instanceof RetrievalScore retrieval) {
      retrieval.update(output, target.unsqueeze(1).expand(target.shape()[0], 2));
    }
  }

  private static Tensor scores(double... rows) {
    return Tensor.create(rows).view(-1, 2).to(torch.ScalarType.Float);
  }

  private static Tensor classes(long... classes) {
    return Tensor.create(classes);
  }

  @ParameterizedTest
  @MethodSource("all")
  void aMetricWithoutSamplesIsNan(Supplier<Metric> make) {
    Metric metric = make.get();
    assertThat(metric.compute()).isNaN();
    update(metric, scores(), classes());
    assertThat(metric.compute()).isNaN();
    update(metric);
    metric.reset();
    assertThat(metric.compute()).isNaN();
  }

  @ParameterizedTest
  @MethodSource("all")
  void itContinuesFromItsState(Supplier<Metric> make) {
    Metric metric = make.get();
    update(metric);
    metric.take(metric.all()); // merged, by a rank alone
    update(metric, scores(0, 1), classes(1));
    Metric next = make.get();
    update(next); // is forgotten
    try (StateDict state = metric.stateDict()) {
      next.loadStateDict(state);
    }
    assertThat(next.compute()).isEqualTo(metric.compute());
    assertThat(next.own.toBytes()).isEqualTo(metric.own.toBytes());
    assertThat(next.mergedBytes()).isEqualTo(metric.mergedBytes());
  }

  @ParameterizedTest
  @MethodSource("all")
  void aStateThatIsRefusedChangesNothing(Supplier<Metric> make) {
    Metric metric = make.get();
    update(metric);
    double before = metric.compute();
    Metric other = metric instanceof Mean ? Accuracy.create() : Mean.create();
    byte[] bytes = metric.own.toBytes();
    Tensor cut = torch.tensor(Arrays.copyOf(bytes, bytes.length - 1)).to(torch.ScalarType.Byte);
    try (StateDict state = metric.stateDict();
        StateDict ofOther = other.stateDict();
        StateDict withoutMerged = StateDict.of(state.json(), Map.of());
        StateDict broken = StateDict.of(state.json(), Map.of("merged", cut, "own", cut));
        StateDict floats =
            StateDict.of(state.json(), Map.of("merged", cut.to(torch.ScalarType.Float)))) {
      for (StateDict wrong : List.of(ofOther, withoutMerged, broken, floats)) {
        assertThatIllegalArgumentException().isThrownBy(() -> metric.loadStateDict(wrong));
      }
    }
    assertThat(metric.compute()).isEqualTo(before);
  }

  @ParameterizedTest
  @MethodSource("all")
  void wrongShapesAndClassesAreRefusedAndChangeNothing(Supplier<Metric> make) {
    Metric metric = make.get();
    update(metric);
    byte[] before = metric.own.toBytes();
    if (metric instanceof Mean) {
      return;
    }
    refuses(metric, () -> update(metric, scores(1, 2, 3, 4), classes(0, 1, 1)));
    if (!(metric instanceof RegressionScore || metric instanceof RetrievalScore)) {
      refuses(metric, () -> update(metric, scores(1, 2, 3, 4), classes(0, 2)));
      refuses(metric, () -> update(metric, scores(1, 2, 3, 4), classes(-1, 1)));
      refuses(metric, () -> update(metric, scores(1, 2), scores(1, 2).select(1, 0)));
    }
    assertThat(metric.own.toBytes()).isEqualTo(before);
  }

  private static void refuses(Metric metric, ThrowingCallable call) {
    assertThatIllegalArgumentException().as(metric.toString()).isThrownBy(call);
  }

  @Test
  void samplesOfTheIgnoredClassDoNotCount() {
    Tensor output = scores(2, 1, 3, 0.5, NAN, 1);
    Stream<Supplier<Metric>> ofClasses =
        all().filter(make -> !(make.get() instanceof Mean || make.get() instanceof RetrievalScore));
    ofClasses
        .filter(make -> !(make.get() instanceof RegressionScore))
        .filter(make -> !(make.get() instanceof RankingScore)) // checks all scores
        .forEach(
            make -> {
              Metric expected = make.get();
              update(expected);
              Metric metric = make.get();
              update(metric, output, classes(0, 1, -100));
              assertThat(metric.compute()).as("%s", metric).isEqualTo(expected.compute());
            });
    RankingScore auc = RankingScore.auc();
    auc.update(Tensor.create(1.0, 2, 3), classes(0, 1, -100));
    assertThat(auc.compute()).isEqualTo(1);
  }

  @Test
  void aNanIsWrongOrNanOrRefused() {
    Tensor output = scores(NAN, 1, 2, NAN);
    Accuracy accuracy = Accuracy.top(2);
    accuracy.update(output, classes(0, 0));
    assertThat(accuracy.compute()).isZero();
    LogLoss loss = LogLoss.create();
    loss.update(output, classes(0, 0));
    assertThat(loss.compute()).isNaN();
    Mean mean = Mean.create();
    mean.update(output);
    assertThat(mean.compute()).isNaN();
    all()
        .map(Supplier::get)
        .filter(
            metric ->
                metric instanceof ConfusionMatrix
                    || metric instanceof RankingScore
                    || metric instanceof RetrievalScore)
        .forEach(
            metric ->
                assertThatIllegalArgumentException()
                    .isThrownBy(() -> update(metric, output, classes(0, 0)))
                    .withMessageContaining("must not have NaN"));
  }

  @Test
  void ofEqualScoresTheLowerClassComesFirst() {
    for (long target : new long[] {0, 1}) {
      Accuracy first = Accuracy.create();
      first.update(scores(1, 1), classes(target));
      assertThat(first.compute()).isEqualTo(target == 0 ? 1 : 0);
      Accuracy second = Accuracy.top(2);
      second.update(scores(1, 1), classes(target));
      assertThat(second.compute()).isEqualTo(1);
    }
  }

  @Test
  void textsHaveAClassForEachTokenAndBooleansAreClasses() {
    Accuracy accuracy = Accuracy.create();
    accuracy.update(scores(1, 2, 2, 1, 0, 1, 1, 0).view(2, 2, 2), classes(1, 0, 0, 0).view(2, 2));
    assertThat(accuracy.compute()).isEqualTo(0.75);
    ClassScore recall = ClassScore.recall(2, Average.BINARY);
    Tensor probability = Tensor.create(0.2, 0.7, 0.6);
    recall.update(probability.gt(new Scalar(0.5)), classes(1, 1, 0));
    assertThat(recall.compute()).isEqualTo(0.5);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> recall.update(probability, classes(1, 1, 0)))
        .withMessageContaining("output.gt(new Scalar(0.5))");
  }

  @Test
  void scoresOfOneClassAreRefusedWithTheRemedy() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Accuracy.create().update(scores(1, -1).view(2, 1), classes(0, 0)))
        .withMessageContaining(
            "at least 2 classes, got Float [2, 1]; of a model with one logit pass")
        .withMessageContaining("output.squeeze(-1).gt(new Scalar(0))");
  }

  /** Of these numbers a float64 has only the even ones. */
  @Test
  void wholeScoresThatAFloat64HasNotAreRefused() {
    long exact = 1L << 53;
    RankingScore auc = RankingScore.auc();
    auc.update(classes(-exact, exact - 1, exact), classes(0, 0, 1));
    assertThat(auc.compute()).isEqualTo(1);
    for (long score : new long[] {exact + 1, -exact - 1, Long.MIN_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> auc.update(classes(score, 0), classes(0, 1)))
          .withMessageContaining("at most 2^53 in magnitude, got " + score + "; subtract");
    }
    assertThat(auc.compute()).isEqualTo(1);
  }

  @Test
  void countsGoBeyondTwoToTheThirtySecond() {
    for (Supplier<Metric> make : all().toList()) {
      Metric metric = make.get();
      update(metric);
      update(metric, scores(0, 1, 5, 2), classes(1, 0));
      double expected = metric.compute();
      for (int i = 0; i < 40; i++) {
        metric.own.add(metric.all());
      }
      assertThat(metric.compute()).as("%s", metric).isCloseTo(expected, within(1e-12));
    }
    ConfusionMatrix confusion = ConfusionMatrix.of(2);
    update(confusion);
    for (int i = 0; i < 40; i++) {
      confusion.own.add(confusion.all());
    }
    assertThat(confusion.counts()).isDeepEqualTo(new long[][] {{1L << 40, 0}, {1L << 40, 0}});
  }

  @Test
  void moreScoresThanTheLimitAreRefusedWithTheRemedy() {
    RankingScore auc = RankingScore.auc(3);
    auc.update(Tensor.create(1.0, 2, 2, 3), classes(0, 1, 0, 1));
    auc.update(Tensor.create(1.0, 3), classes(0, 1));
    double before = auc.compute();
    assertThatIllegalStateException()
        .isThrownBy(() -> auc.update(Tensor.create(3.0, 4, 5), classes(0, 1, 1)))
        .withMessageContaining("at most 3 different scores, got 5; raise its limit, or round");
    assertThat(auc.compute()).isEqualTo(before);
  }

  @Test
  void aTableOfManyScoresIsExact() {
    RankingScore auc = RankingScore.auc();
    Tensor output = torch.arange(new Scalar(100_000)).remainder(new Scalar(50_021));
    Tensor target = output.remainder(new Scalar(2));
    auc.update(output.to(torch.ScalarType.Float), target);
    RankingScore inParts = RankingScore.auc();
    for (int part = 0; part < 10; part++) {
      inParts.update(
          output.narrow(0, part * 10_000L, 10_000), target.narrow(0, part * 10_000L, 10_000));
    }
    assertThat(inParts.own.toBytes()).isEqualTo(auc.own.toBytes());
    assertThat(inParts.compute()).isEqualTo(auc.compute());
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    List<ThrowingCallable> wrong =
        List.of(
            () -> Accuracy.top(0),
            () -> ConfusionMatrix.of(0),
            () -> ConfusionMatrix.of(5000),
            () -> ClassScore.f1(-1, Average.MACRO),
            () -> ClassScore.f1(3, Average.BINARY),
            () -> RankingScore.auc(0),
            () -> RetrievalScore.ndcg(0),
            () -> Mean.create().update(1, -1),
            () -> Mean.create().update(1, NAN),
            () -> RetrievalScore.ndcg(1).update(classes(1), classes(1)));
    for (ThrowingCallable each : wrong) {
      assertThatIllegalArgumentException().isThrownBy(each);
    }
  }

  @Test
  void paddingOfAListIsNoCandidate() {
    for (Supplier<RetrievalScore> make :
        List.<Supplier<RetrievalScore>>of(
            () -> RetrievalScore.ndcg(2), () -> RetrievalScore.recall(2))) {
      RetrievalScore expected = make.get();
      expected.update(scores(1, 2), classes(1, 0).view(1, 2));
      RetrievalScore padded = make.get();
      padded.update(
          Tensor.create(9.0, 1, 2, 7, 8, 9).view(2, 3), classes(-1, 1, 0, -1, -1, -1).view(2, 3));
      assertThat(padded.compute()).isEqualTo(expected.compute());
    }
  }

  @Test
  void moreValuesThanAnArrayHasAreRefused() {
    Tensor values = torch.zeros(1).expand(1L << 32);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Mean.create().update(values))
        .withMessageContaining("must have less than 2^31 - 8 values, got Float [4294967296]");
  }
}
