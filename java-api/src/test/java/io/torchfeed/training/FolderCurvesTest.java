// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.summary.SummaryWriter;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the curves of {@link LoopMonitor#curves(Path, long)}, whose writer is the monitor's own.
 */
@ExtendWith(LeakCheck.class)
class FolderCurvesTest {
  private static final long NEVER = -1;

  private final Path folder;

  FolderCurvesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** The end of a process in a step. */
  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** Trains two epochs of five steps, with a checkpoint after each third step. */
  private static <M extends ReplicatedModel> void train(
      TrainingLoopBuilder<M> builder, LoopNet net, Path checkpoints, LoopMonitor monitor, long stop)
      throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data();
        Checkpoints saved = Checkpoints.open(checkpoints)) {
      builder
          .state(net::addTo)
          .loader(part -> LoopNet.loader(data, part))
          .epochs(2)
          .evaluation((model, step) -> step.number(), EvaluationOptions.ofScore())
          .checkpoints(saved, 3)
          .monitor(monitor)
          .build()
          .run(
              (step, model, batch) -> {
                if (step.number() == stop) {
                  throw new Stopped();
                }
                return net.loss(batch);
              },
              net.optimizer::step);
    }
  }

  private void trainAlone(String name, LoopMonitor monitor, long stop) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        LoopNet net = new LoopNet(0)) {
      train(TrainingLoop.alone(net), net, folder.resolve(name), monitor, stop);
    }
  }

  /** Returns the step, tag and value of the rows with one of some tags. */
  private static List<String> rows(Path run, String tags) throws IOException {
    return Files.readAllLines(run.resolve("scalars.csv")).stream()
        .skip(1)
        .map(row -> row.substring(0, row.lastIndexOf(',')))
        .filter(row -> row.matches("\\d+,\"(" + tags + ")\",.*"))
        .toList();
  }

  private static final String SAME = "train/loss|evaluation/.*";

  @Test
  void aRunThatIsStoppedAndResumedHasTheSameCurves() throws Exception {
    Path whole = folder.resolve("whole");
    trainAlone("a", LoopMonitor.curves(whole, 1), NEVER);
    List<String> expected = rows(whole, SAME);
    assertThat(expected).hasSize(12).contains("5,\"evaluation/score\",5.0");
    assertThat(rows(whole, "train/ranks")).containsExactly("1,\"train/ranks\",1.0");
    assertThat(rows(whole, "train/.*")).hasSize(1 + 4 * 10);

    Path parts = folder.resolve("parts");
    for (long stop : new long[] {2, 5, 8, NEVER}) {
      LoopMonitor monitor = LoopMonitor.curves(parts, 1);
      if (stop == NEVER) {
        trainAlone("b", monitor, stop);
      } else {
        assertThatThrownBy(() -> trainAlone("b", monitor, stop)).isInstanceOf(Stopped.class);
      }
    }
    assertThat(rows(parts, SAME)).containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void eachRankHasAFolder() throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope inside = new PointerScope();
              LoopNet net = new LoopNet(0);
              var model = DistributedDataParallel.wrap(net, group)) {
            train(
                TrainingLoop.of(Ranks.of(group), model),
                net,
                folder.resolve("c"),
                LoopMonitor.curves(folder.resolve("run"), 5).andThen(figures -> {}),
                NEVER);
          }
        });
    assertThat(rows(folder.resolve("run"), "train/(loss|ranks)"))
        .hasSize(3)
        .startsWith("1,\"train/ranks\",2.0");
    assertThat(rows(folder.resolve("run/rank-1"), "train/(loss|ranks)")).hasSize(2);
  }

  /** The process that was this rank before may live a little longer. */
  @Test
  void pointsAreLeftOutWhileAnotherWriterHasTheFolder() throws Exception {
    Path run = folder.resolve("run");
    SummaryWriter other = SummaryWriter.open(run);
    LoopMonitor free =
        figures -> {
          if (figures.step().number() == 6) {
            other.close();
          }
        };
    trainAlone("d", free.andThen(LoopMonitor.curves(run, 1)), NEVER);
    assertThat(rows(run, "train/loss")).hasSize(4).first().asString().startsWith("7,");
    assertThat(rows(run, "evaluation/.*")).containsExactly("10,\"evaluation/score\",10.0");
  }

  /** A monitor around the curves need not pass on the end of the ranks. */
  @Test
  void pointsBehindAStateThatHasGoneBackGo() throws Exception {
    Path run = folder.resolve("run");
    LoopMonitor curves = LoopMonitor.curves(run, 1);
    for (long step : new long[] {3, 5, 7, 5}) {
      curves.evaluated(new Step(step, 0, 0, 1), Metric.ofScore((double) step));
    }
    curves.leave();
    assertThat(rows(run, "evaluation/.*"))
        .containsExactly("3,\"evaluation/score\",3.0", "5,\"evaluation/score\",5.0");
  }

  @Test
  void aFolderThatCannotBeWrittenEndsTheRun() throws Exception {
    Path file = Files.createFile(folder.resolve("file"));
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> trainAlone("e", LoopMonitor.curves(file, 1), NEVER))
        .withMessage("cannot write the curves of the run");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LoopMonitor.curves(file, 0))
        .withMessageContaining("at least 1, got 0");
  }
}
