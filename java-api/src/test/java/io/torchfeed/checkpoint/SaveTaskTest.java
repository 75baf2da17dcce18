// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.checkpoint.SaveTask.Copying;
import io.torchfeed.checkpoint.StateCopy.Copy;
import io.torchfeed.checkpoint.StateCopy.Share;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of changes of a state that is copied in the background. */
@ExtendWith(LeakCheck.class)
@Timeout(60)
class SaveTaskTest {
  private static final Path PATH = Path.of("checkpoint");

  private final Tensor tensor = torch.ones(1000);

  private Copy taken() {
    Copy copy = new Copy(null);
    copy.parts().put("part", StateDict.sharing("{}", Map.of("tensor", tensor)));
    return copy;
  }

  /** libtorch counts a change at its end, which may be after the copy. */
  @Test
  void aChangeThatIsCountedAfterTheCopyFailsTheSave() {
    try (SaveTask task = new SaveTask()) {
      task.start(
          PATH,
          this::taken,
          Copying.IN_BACKGROUND,
          (copy, check) -> {
            tensor.zero_();
            check.run();
          });
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(task::await)
          .withMessageStartingWith(
              "checkpoint: tensors changed while they were copied: part/tensor")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE));
    }
  }

  @Test
  void aChangeBeforeTheWaitForTheCopyFailsTheSaveAndOneAfterItDoesNot() {
    for (boolean isBefore : new boolean[] {true, false}) {
      CountDownLatch copied = new CountDownLatch(1);
      CountDownLatch waited = new CountDownLatch(1);
      boolean[] isChecked = {false};
      try (SaveTask task = new SaveTask()) {
        task.start(
            PATH,
            this::taken,
            Copying.IN_BACKGROUND,
            (copy, check) -> {
              copied.countDown();
              await(waited);
              check.run();
              isChecked[0] = true;
            });
        await(copied);
        if (isBefore) {
          tensor.zero_();
        }
        task.awaitCopied();
        if (!isBefore) {
          tensor.zero_();
        }
        waited.countDown();
        if (isBefore) {
          assertThatExceptionOfType(CheckpointException.class).isThrownBy(task::await);
        } else {
          task.await();
        }
      }
      assertThat(isChecked[0]).isNotEqualTo(isBefore);
    }
  }

  @Test
  void aStateThatChangedIsNotPublished(@TempDir Path folder) {
    CheckpointWriter writer =
        new CheckpointWriter(new CheckpointFolder(folder), CheckpointOptions.defaults());
    TrainingState state = TrainingState.builder().number("epoch", () -> 1, saved -> {}).build();
    Runnable changed =
        () -> {
          throw new IllegalStateException("for a test");
        };
    try (Copy copy = state.copy();
        Share share = Share.of(state, Part.whole(), false)) {
      Shards alone = Shards.of(Part.whole(), "run");
      assertThatIllegalStateException().isThrownBy(() -> writer.write(1, copy, Set.of(), changed));
      assertThatIllegalStateException()
          .isThrownBy(() -> writer.write(2, share, Set.of(), alone, changed));
      assertThat(folder.toFile().list()).noneMatch(name -> name.matches("LATEST|step-.*"));
      writer.write(3, copy, Set.of(), () -> {});
    }
    assertThat(folder.toFile().list()).contains("LATEST", "step-000003");
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
