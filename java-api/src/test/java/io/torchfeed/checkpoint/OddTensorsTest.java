// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of names and tensors that a file cannot have, and of unusual ones that it can. */
@ExtendWith(LeakCheck.class)
class OddTensorsTest {
  private static final List<BiConsumer<Path, Map<String, Tensor>>> WRITERS =
      List.of(TorchFile::write, (path, tensors) -> SafetensorsFile.write(path, tensors, Map.of()));

  private final Path path;

  OddTensorsTest(@TempDir Path folder) {
    path = folder.resolve("file.safetensors");
  }

  @Test
  void halfAPairInANameIsRefusedInsteadOfReplaced() {
    for (var writer : WRITERS) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> writer.accept(path, Map.of("a\ud800", torch.ones(1))))
          .withMessageContaining("name")
          .withMessageContaining("must not have half of a surrogate pair");
      assertThat(path).doesNotExist();
    }
  }

  @Test
  void aTensorWithoutValuesIsRefusedByName() {
    Tensor meta = torch.ones(2).to(new Device("meta"), torch.ScalarType.Float);
    for (var writer : WRITERS) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> writer.accept(path, Map.of("w", meta)))
          .withMessage("tensor w has no values, since its device is meta");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StateDict.of("{}", Map.of("w", meta)).close())
        .withMessage("tensor w has no values, since its device is meta");
  }

  @Test
  void aMissingTensorOrNameIsNamed() {
    Map<String, Tensor> noTensor = new HashMap<>(Collections.singletonMap("w", null));
    Map<String, Tensor> noName = new HashMap<>(Collections.singletonMap(null, torch.ones(1)));
    for (var writer : WRITERS) {
      assertThatNullPointerException()
          .isThrownBy(() -> writer.accept(path, noTensor))
          .withMessage("tensor w");
      assertThatNullPointerException()
          .isThrownBy(() -> writer.accept(path, noName))
          .withMessage("name of a tensor");
    }
  }

  @Test
  void namesAndTextsOfAnyLengthAreReadAgain() {
    String name = "n".repeat(60_000);
    String text = "t".repeat(20_100_000);
    SafetensorsFile.write(path, Map.of(name, torch.ones(1)), Map.of(name, text));
    try (SafetensorsFile saved = SafetensorsFile.open(path)) {
      assertThat(saved.names()).containsExactly(name);
      assertThat(saved.metadata()).isEqualTo(Map.of(name, text));
    }
  }

  @Test
  void anIndexWhoseFileNameIsNoneIsDamaged() throws IOException {
    Files.writeString(path, "{\"weight_map\": {\"a\": \"b\\u0000c\"}}");
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> IndexedTensors.open(path).close())
        .withMessageEndingWith("it must name files beside it, got \"b\\u0000c\"")
        .returns(Problem.DAMAGED, CheckpointException::problem);
  }

  @Test
  void aStateSharesOnlyTensorsWhoseElementsAreInOrder() {
    Tensor whole = torch.arange(new Scalar(6)).view(2, 3);
    Tensor transposed = whole.t();
    try (StateDict state =
        StateDict.sharing("{}", Map.of("whole", whole, "transposed", transposed))) {
      assertThat(requireNonNull(state.tensors().get("whole")).is_alias_of(whole)).isTrue();
      Tensor copied = requireNonNull(state.tensors().get("transposed"));
      assertThat(copied.is_contiguous()).isTrue();
      assertThat(copied.equal(transposed)).isTrue();
    }
  }

  @Test
  void aLongListOfDifferencesIsCounted() {
    Map<String, Tensor> saved = new LinkedHashMap<>();
    IntStream.range(0, 1000).forEach(i -> saved.put("a" + i, torch.ones(2)));
    Map<String, Tensor> others =
        saved.keySet().stream()
            .collect(Collectors.toMap(name -> name.replace("a", "b"), name -> torch.ones(3)));
    Map<String, Tensor> shapes =
        saved.keySet().stream().collect(Collectors.toMap(name -> name, name -> torch.ones(3)));
    try (StateDict state = StateDict.sharing("{}", saved)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> state.requireFit(others))
          .withMessageMatching(
              "the state does not fit: missing names: (b\\d+, ){9}b\\d+ and 990 more; "
                  + "unexpected names: (a\\d+, ){9}a\\d+ and 990 more");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> state.requireFit(shapes))
          .withMessageEndingWith(" and 990 more");
    }
  }
}
