// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.StateCopy.Held;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of folders that others have changed, and of failures in the background. */
@ExtendWith(LeakCheck.class)
class CheckpointFolderTest {
  private static final CheckpointOptions LATER =
      CheckpointOptions.defaults().withCopyInBackground(true);

  private final Path folder;
  private final Path latest;
  private long epoch;
  private final TrainingState state =
      TrainingState.builder().number("epoch", () -> epoch, saved -> epoch = saved).build();

  CheckpointFolderTest(@TempDir Path temporary) {
    folder = temporary.resolve("run");
    latest = folder.resolve("LATEST");
  }

  private void save(long... steps) {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      for (long step : steps) {
        epoch = step;
        checkpoints.save(step, state);
      }
    }
    epoch = -1;
  }

  private List<String> names() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }

  private Checkpoint load(long expected) {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      Checkpoint loaded = checkpoints.load(state).orElseThrow();
      assertThat(loaded.step()).isEqualTo(expected);
      assertThat(epoch).isEqualTo(expected);
      return loaded;
    }
  }

  @Test
  void aRenamedCheckpointIsNotTakenForAnotherStep() throws IOException {
    save(1, 2);
    Path renamed = Files.move(folder.resolve("step-000002"), folder.resolve("step-000009"));
    Files.delete(latest);
    String message =
        renamed + ": it has the state after 2 steps; give the folder its name step-000002 back";
    assertThat(load(1).skipped().get(0)).hasMessageStartingWith(message);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      List<BiConsumer<Checkpoints, Long>> calls =
          List.of(Checkpoints::verify, (all, step) -> all.load(state, Part.whole(), step));
      for (BiConsumer<Checkpoints, Long> call : calls) {
        assertThatExceptionOfType(CheckpointException.class)
            .isThrownBy(() -> call.accept(checkpoints, 9L))
            .withMessageStartingWith(message)
            .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED));
      }
    }
    Files.move(renamed, folder.resolve("step-000002"));
    assertThat(load(2).skipped()).isEmpty();
  }

  @Test
  void aFileInThePlaceOfTheFolderIsNamed() throws IOException {
    Files.writeString(folder, "a file");
    String message = "it is not a folder; move it away, or name another folder";
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state))
          .withMessage(folder + ": it cannot be read: " + message);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(checkpoints::steps)
          .withMessageEndingWith(message);
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.save(1, state))
          .withMessage(folder.resolve("step-000001") + ": it cannot be written: " + message);
    }
    assertThat(folder).hasContent("a file");
  }

  @Test
  void aNegativeStepIsNoNameToGiveBack() throws IOException {
    save(1, 2);
    Path manifest = folder.resolve("step-000002").resolve("manifest.json");
    ChangedFiles.rewriteManifest(
        manifest, text -> text.replaceFirst("\"step\"(\\s*):(\\s*)2", "\"step\":-2"));
    assertThat(load(1).skipped())
        .singleElement()
        .satisfies(
            e ->
                assertThat(e)
                    .hasMessageStartingWith(
                        manifest
                            + ": step must be at least 0, got -2; it was damaged or replaced"));
  }

  /** Reading this file fails for every user. */
  @Test
  void aLatestThatCannotBeReadIsSkipped() throws IOException {
    save(1, 2);
    Files.delete(latest);
    Files.createSymbolicLink(latest, Path.of("/proc/self/mem"));
    assertThat(load(2).skipped())
        .singleElement()
        .satisfies(e -> assertThat(e).hasMessageStartingWith(latest + ": it cannot be read: "));
  }

  @Test
  void aFolderInThePlaceOfLatestIsReported() throws IOException {
    save(1, 2);
    Files.delete(latest);
    Files.createDirectories(latest.resolve("within"));
    assertThat(load(2).skipped())
        .singleElement()
        .satisfies(
            e ->
                assertThat(e)
                    .hasMessage(
                        latest
                            + ": it must name a checkpoint, got a directory; delete it, or write"
                            + " the name of one into it"));
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.save(3, state))
          .withMessageEndingWith(latest + " must be a file, got a directory; delete it")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE));
    }
    assertThat(names()).containsExactly("LATEST", "step-000001", "step-000002");
  }

  @Test
  void aLongLatestIsReported() throws IOException {
    save(1);
    Files.writeString(latest, "step-000001".repeat(100_000));
    assertThat(load(1).skipped()).singleElement().asString().contains("must name a checkpoint");
  }

  /** A part whose tensor only the optimizer changes. */
  private record HeldTensor(Tensor tensor) implements Held {
    @Override
    public StateDict heldStateDict() {
      StateDict held = StateDict.owning("{}", new TreeMap<>(Map.of("tensor", tensor.detach())));
      held.share(Set.of("tensor"));
      return held;
    }

    @Override
    public StateDict stateDict() {
      return heldStateDict();
    }

    @Override
    public void loadStateDict(StateDict state) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void aCopyInTheBackgroundWithoutMemoryFailsAsACheckpoint() throws IOException {
    save(1);
    TrainingState huge =
        TrainingState.builder()
            .part("huge", new HeldTensor(torch.ones(1).expand(1L << 48)))
            .build();
    try (Checkpoints checkpoints = Checkpoints.open(folder, LATER)) {
      checkpoints.saveInBackground(2, huge);
      checkpoints.awaitCopied();
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(checkpoints::await)
          .withMessageStartingWith(folder.resolve("step-000002") + ": the state cannot be copied: ")
          .withMessageContaining("memory")
          .withCauseInstanceOf(NativeException.class)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE));
      epoch = 3;
      checkpoints.saveInBackground(3, state);
    }
    assertThat(names()).containsExactly("LATEST", "step-000001", "step-000003");
    load(3);
  }

  /** Tensors at which a heap is full. */
  private static final class FullHeap extends TreeMap<String, Tensor> {
    private static final long serialVersionUID = 1L;

    @Override
    public void forEach(BiConsumer<? super String, ? super Tensor> use) {
      throw new OutOfMemoryError("for a test");
    }
  }

  private record WithoutMemory() implements Stateful {
    @Override
    public StateDict stateDict() {
      Map<String, Tensor> tensors = new FullHeap();
      tensors.put("tensor", torch.ones(1));
      return StateDict.owning("{}", tensors);
    }

    @Override
    public void loadStateDict(StateDict state) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void aFullHeapInTheBackgroundLeavesTheCheckpointBefore() throws IOException {
    save(1);
    TrainingState full = TrainingState.builder().part("full", new WithoutMemory()).build();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.saveInBackground(2, full);
      assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(checkpoints::await);
      assertThat(names()).containsExactly("LATEST", "step-000001");
      assertThat(checkpoints.load(state)).isPresent();
      epoch = 3;
      checkpoints.saveInBackground(3, state);
    }
    load(3);
  }
}
