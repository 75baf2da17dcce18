// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsTest {
  private static final Path BENCHMARKS = Path.of("../benchmarks");
  private static final Entry ONE = entry(Entry.COPY, Setting.ONE_WORKER, Entry.Kind.LIMIT);
  private static final Entry NATIVE = entry(Entry.NATIVE, Setting.NO_WORKER, Entry.Kind.OURS);
  private static final Entry NATIVE_2 = entry(Entry.NATIVE, Setting.TWO_WORKERS, Entry.Kind.OURS);
  private static final Entry PYTHON = entry(Entry.PYTHON, Setting.NO_WORKER, Entry.Kind.PEER);

  private static Entry entry(String contestant, Setting setting, Entry.Kind kind) {
    return new Entry(contestant, "program", "variant", setting, kind);
  }

  /**
   * Results of a machine that halves its speed in turn two, and of workers that help in turn three.
   */
  private static Results results() {
    Results results = new Results(Row.A);
    double[] speed = {1, 0.5, 2};
    for (double each : speed) {
      results.add(ONE, 2e6 * each, 2e6 * each, -1);
      results.add(NATIVE, 1.9e6 * each, 2e6 * each, 500);
      results.add(NATIVE_2, (each == 2 ? 3e6 : 1e6) * each, 2e6 * each, 3000);
      results.add(PYTHON, 1e5 * each, 2e6 * each, -1);
      results.addInTurn(Entry.NATIVE, 10 / each, 11 / each, (each == 2 ? 20 : 16) / each);
    }
    return results;
  }

  @Test
  void aSpreadIsTheMedianWithLowestAndHighest() {
    assertThat(Spread.of(3, 1, 2)).isEqualTo(new Spread(2, 1, 3));
    assertThat(Spread.of(4, 1, 2, 3)).isEqualTo(new Spread(2.5, 1, 4));
    assertThatIllegalArgumentException().isThrownBy(Spread::of);
  }

  @Test
  void ratiosWithinTurnsCancelMachineDrift() {
    Results results = results();
    assertThat(results.times(NATIVE, PYTHON)).isEqualTo(new Spread(19, 19, 19));
    assertThat(results.ofLimit(NATIVE)).isEqualTo(new Spread(0.95, 0.95, 0.95));
    assertThat(results.rate(NATIVE)).isEqualTo(new Spread(1.9e6, 0.95e6, 3.8e6));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Spread.ofRatios(new double[] {1}, new double[] {1, 2}))
        .withMessageContaining("got 1 and 2");
  }

  @Test
  void numbersOfWorkersAreComparedByAlternatingEpochs() {
    assertThat(results().timesInTurn(Entry.NATIVE, 1, 0)).contains(Spread.of(10 / 11.0));
    assertThat(results().timesInTurn(Entry.NATIVE, 2, 1))
        .contains(Spread.of(11 / 16.0, 11 / 16.0, 11 / 20.0));
    assertThat(results().timesInTurn(Entry.JAVA, 1, 0)).isEmpty();
  }

  @Test
  void theBestSettingHasTheHighestMedian() {
    assertThat(results().best(Entry.NATIVE)).contains(NATIVE);
    assertThat(results().ours()).contains(NATIVE);
    assertThat(results().best(Entry.DJL_BATCH)).isEmpty();
  }

  @Test
  void theTableHasARatioForEachEntryAndListsMissingPrograms() {
    Results results = results();
    results.missing("djl", "it failed to build");
    assertThat(ResultTable.of(results).lines())
        .anyMatch(line -> line.matches("memcpy, reused buffer +1 thread +2000 \\(1000, 4000\\).*"))
        .anyMatch(
            line ->
                line.matches(
                    "Python DataLoader, per sample +0 workers +100 \\(50, 200\\)"
                        + " +0\\.05 \\(0\\.05, 0\\.05\\) +19\\.0 \\(19\\.0, 19\\.0\\)"))
        .anyMatch("left out: djl: it failed to build"::equals);
  }

  @Test
  void markdownHasTheBestFormOfEachLoaderAndEverySetting() {
    Results results = results();
    results.add(
        entry(Entry.PYTHON_TENSORS, Setting.TWO_THREADS, Entry.Kind.WHOLE_BATCH), 4e5, 1, -1);
    assertThat(ResultMarkdown.of(List.of(results, new Results(Row.B))).lines())
        .contains(
            "| | torchfeed | C++ loop, reused buffer | libtorch's C++ loader | presets' loader"
                + " | DJL | Python's DataLoader |",
            "|---|---|---|---|---|---|---|",
            "| MNIST as float 1x28x28 and a label, batch 256 | 1900 | 2000 | | | | 400 |",
            "| A | 0 workers | 1 worker | 2 workers | 0 workers, 2 threads per operation |",
            "| Python DataLoader, per sample | 100 (50, 200) | | | |",
            "| the same, relative to the limit of its turn | 0.95 (0.95, 0.95) | |"
                + " 0.50 (0.50, 1.50) | |")
        .noneMatch(line -> line.startsWith("| B"));
  }

  @Test
  void markdownSeparatesPerSampleCodeFromWholeBatches() {
    Results results = new Results(Row.C);
    results.add(entry(Entry.CONVERSION, Setting.TWO_WORKERS, Entry.Kind.LIMIT), 3e6, 3e6, -1);
    results.add(entry(Entry.JAVA, Setting.TWO_WORKERS, Entry.Kind.OURS), 2e6, 3e6, -1);
    results.add(entry(Entry.PYTHON, Setting.NO_WORKER, Entry.Kind.PEER), 9e3, 3e6, -1);
    results.add(entry(Entry.PYTHON_ITEMS, Setting.NO_WORKER, Entry.Kind.WHOLE_BATCH), 6e5, 3e6, -1);
    assertThat(ResultMarkdown.of(List.of(results)))
        .contains("| 2000 | 3000 | | | | 9.00 (600 in whole batches) |");
  }

  @Test
  void theVariantNameIncludesTheSetting() {
    assertThat(Setting.TWO_THREADS.variant("batch")).isEqualTo("batch-2-threads");
    assertThat(Setting.operationThreads("batch-2-threads")).isEqualTo(2);
    assertThat(Setting.operationThreads(Setting.TWO_WORKERS.variant("batch"))).isEqualTo(1);
    assertThat(Setting.TWO_THREADS.threads()).isEqualTo(2);
  }

  @Test
  void aBarIsMetByTheMedian() {
    List<Bar> bars = Bar.of(results());
    assertThat(bars)
        .filteredOn(bar -> bar.text().equals("A: torchfeed, native engine, 0 workers, of memcpy"))
        .singleElement()
        .matches(Bar::met);
    assertThat(bars)
        .filteredOn(bar -> bar.text().contains("2 workers, times as fast as 0 workers"))
        .singleElement()
        .matches(bar -> !bar.met());
    assertThat(bars)
        .filteredOn(bar -> bar.text().endsWith("heap bytes per batch"))
        .extracting(Bar::met)
        .containsExactly(true, false);
    assertThat(ResultTable.of(bars)).contains(">=    0.90", "<=    1024", "yes", "NO");
  }

  @Test
  void differentRowsAreRejected() {
    Expected expected = new Expected(3, 6, 1.5, 1e-3);
    expected.require(PYTHON, 3, 6, 1.5001);
    assertThatIllegalStateException()
        .isThrownBy(() -> expected.require(PYTHON, 3, 6, 1.6))
        .withMessageContaining("Python DataLoader, per sample with 0 workers loads other rows");
    assertThatIllegalStateException().isThrownBy(() -> expected.require(PYTHON, 2, 6, 1.5));
    assertThatIllegalStateException().isThrownBy(() -> expected.require(PYTHON, 3, 5, 1.5));
  }

  @Test
  void jsonAndChartAreWritten(@TempDir Path folder) throws Exception {
    Results results = results();
    Path json = folder.resolve("loaders.json");
    StepTime step = new StepTime("A: engine", 0.25, Spread.of(1000), Spread.of(1.01));
    ResultJson.write(
        json,
        "command",
        "machine",
        List.of(0.5),
        List.of(results, new Results(Row.B)),
        List.of(step),
        List.of());
    assertThat(json)
        .content()
        .contains("\"torchfeedIsTimes\" : [ 19.0, 19.0, 19.0 ]", "\"heapBytesABatch\" : 500")
        .contains("\"inTurn\"", "\"nanosAnEpoch\" : [ [ 10.0, 11.0, 16.0 ]")
        .contains("\"turns\" : [ 1900000.0, 950000.0, 3800000.0 ]", "\"computeOverLoad\" : 0.25");
    assertThat(chart(json, folder))
        .containsSubsequence(
            "A: MNIST as float",
            "limit: memcpy into one reused buffer, 1 thread: 2,000",
            "torchfeed, native engine",
            ">1,900<",
            "no worker",
            "Python's DataLoader",
            ">100<",
            "per sample, no worker")
        .doesNotContain("B: ");
  }

  @Test
  void theChartIsThatOfTheResults(@TempDir Path folder) throws Exception {
    Path results = BENCHMARKS.resolve("results");
    assertThat(results.resolve("loaders.svg"))
        .as("redraw it by chart.py results/loaders.json results/loaders.svg")
        .content()
        .isEqualTo(chart(results.resolve("loaders.json"), folder));
  }

  private static String chart(Path json, Path folder) throws Exception {
    Path svg = folder.resolve("loaders.svg");
    Process python =
        new ProcessBuilder("python3", BENCHMARKS + "/chart.py", json.toString(), svg.toString())
            .redirectErrorStream(true)
            .start();
    String output = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(python.waitFor()).as(output).isZero();
    return Files.readString(svg);
  }
}
