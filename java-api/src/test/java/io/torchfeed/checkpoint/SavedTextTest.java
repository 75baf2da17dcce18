// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of texts in the state of a training. */
class SavedTextTest {
  private final Path folder;

  SavedTextTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void aTextIsSavedExactly() {
    String[] text = {"a \"quoted\" line\nof \u00e4 \ud83d\ude00 and half a pair \ud83d"};
    TrainingState state =
        TrainingState.builder().text("note", () -> text[0], saved -> text[0] = saved).build();
    String saved = text[0];
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, state);
      text[0] = "";
      checkpoints.load(state);
    }
    assertThat(text[0]).isEqualTo(saved);
  }

  @Test
  void aTextOf20MillionCharactersIsSaved() {
    String[] text = {"t".repeat(20_100_000)};
    TrainingState state =
        TrainingState.builder().text("note", () -> text[0], saved -> text[0] = saved).build();
    String saved = text[0];
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, state);
      text[0] = "";
      checkpoints.load(state);
    }
    assertThat(text[0].equals(saved)).isTrue();
  }

  @Test
  void aMissingTextIsNamed() {
    TrainingState missing = TrainingState.builder().text("note", () -> null, unused -> {}).build();
    assertThatNullPointerException()
        .isThrownBy(missing::stateDict)
        .withMessage("the text to save as note");
  }
}
