// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.testing.RankThreads;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

class MetricCollectionTest {
  private static void load(Stateful from, Stateful to) {
    try (StateDict state = from.stateDict()) {
      to.loadStateDict(state);
    }
  }

  @Test
  void aSecondMergeAddsOnlyTheSamplesSinceTheFirst() throws Exception {
    RankThreads.run(
        3,
        group -> {
          Mean mean = Mean.create();
          MetricCollection all = MetricCollection.of(Map.of("mean", mean));
          mean.update(group.rank(), 1);
          all.merge(group);
          assertThat(mean.compute()).isEqualTo(1);
          all.merge(group);
          assertThat(mean.compute()).isEqualTo(1);
          mean.update(1 + 6 * group.rank(), 1);
          all.merge(group);
          assertThat(mean.compute()).isEqualTo((0 + 1 + 2 + 1 + 7 + 13) / 6.0);
        });
  }

  /** As in an elastic training: one rank is lost, and another one joins. */
  @Test
  void theMergedCountsOutliveARankAndANewOneContinuesThem() throws Exception {
    Queue<StateDict> saved = new ConcurrentLinkedQueue<>();
    RankThreads.run(
        3,
        group -> {
          Mean mean = Mean.create();
          MetricCollection all = MetricCollection.of(Map.of("mean", mean));
          mean.update(group.rank(), 1);
          all.merge(group);
          mean.update(100, 1); // of a step that fails
          if (group.rank() == 0) {
            saved.add(all.merged().stateDict());
          }
        });
    try (StateDict state = saved.remove()) {
      RankThreads.run(
          2,
          group -> {
            Mean mean = Mean.create();
            MetricCollection all = MetricCollection.of(Map.of("mean", mean));
            mean.update(100, 1);
            all.merged().loadStateDict(state);
            assertThat(all.compute()).isEqualTo(Map.of("mean", 1.0));
            mean.update(5 + group.rank(), 1);
            all.merge(group);
            assertThat(mean.compute()).isEqualTo((0 + 1 + 2 + 5 + 6) / 5.0);
          });
    }
  }

  @Test
  void theStateOfARankHasItsOwnCounts() {
    Mean mean = Mean.create();
    MetricCollection all = MetricCollection.of(Map.of("mean", mean, "other", Accuracy.create()));
    mean.update(4, 1);
    MetricCollection next =
        MetricCollection.of(Map.of("mean", Mean.create(), "other", Accuracy.create()));
    load(all.merged(), next.merged());
    assertThat(next.compute().get("mean")).isNaN();
    load(all, next);
    assertThat(next.compute().get("mean")).isEqualTo(4);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> load(all, MetricCollection.of(Map.of("mean", Mean.create()))));
  }

  @Test
  void otherMetricsOnARankAreRefusedOnAllRanks() throws Exception {
    RankThreads.run(
        2,
        group -> {
          Metric one = group.rank() == 0 ? Accuracy.create() : Accuracy.top(5);
          assertThatIllegalArgumentException()
              .isThrownBy(() -> MetricCollection.of(Map.of("it", one)).merge(group))
              .withMessageContaining("the same metrics, got {it=accuracy of top 1} on rank 0");
        });
  }

  @Test
  void aMetricThatARankLacksIsNamedOnAllRanks() throws Exception {
    RankThreads.run(
        2,
        group -> {
          Map<String, Metric> metrics = new TreeMap<>(Map.of("mean", Mean.create()));
          if (group.rank() == 0) {
            metrics.put("accuracy", Accuracy.create());
          }
          assertThatIllegalArgumentException()
              .isThrownBy(() -> MetricCollection.of(metrics).merge(group))
              .withMessageEndingWith(
                  "got {accuracy=accuracy of top 1, mean=mean} on rank 0 and {mean=mean} on rank 1");
        });
  }

  @Test
  void otherMergedCountsOnARankAreRefusedOnAllRanks() throws Exception {
    RankThreads.run(
        2,
        group -> {
          Mean mean = Mean.create();
          MetricCollection all = MetricCollection.of(Map.of("mean", mean));
          mean.update(2, 1);
          all.merge(group);
          if (group.rank() == 1) {
            all.reset();
          }
          assertThatIllegalStateException()
              .isThrownBy(() -> all.merge(group))
              .withMessageContaining("rank 1 has merged other counts than rank 0");
        });
  }

  @Test
  void moreScoresThanTheLimitOnAllRanksAreRefusedAndTheCountsStay() throws Exception {
    RankThreads.run(
        2,
        group -> {
          RankingScore auc = RankingScore.auc(3);
          auc.own.scores().add(new double[] {group.rank(), 5}, new long[] {0, 1});
          auc.own.scores().add(new double[] {10 + group.rank()}, new long[] {1});
          double before = auc.compute();
          assertThatIllegalStateException()
              .isThrownBy(() -> MetricCollection.of(Map.of("auc", auc)).merge(group))
              .withMessageContaining("at most 3 different scores, got 5");
          assertThat(auc.compute()).isEqualTo(before);
        });
  }

  @Test
  void namesThatAreNoPartsAndMetricsWithTwoNamesAreRefused() {
    Mean mean = Mean.create();
    assertThatIllegalArgumentException().isThrownBy(() -> MetricCollection.of(Map.of()));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MetricCollection.of(Map.of("a", mean, "b", mean)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MetricCollection.of(Map.of("recall@5", mean)));
  }

  @Test
  void theResultsAreInTheOrderOfTheNames() {
    Map<String, Metric> metrics = new LinkedHashMap<>();
    metrics.put("loss", Mean.create());
    metrics.put("accuracy", Accuracy.create());
    assertThat(MetricCollection.of(metrics).compute().keySet()).containsExactly("accuracy", "loss");
  }
}
