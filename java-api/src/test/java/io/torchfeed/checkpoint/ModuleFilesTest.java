// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of whole modules to and from files of tensors. */
@ExtendWith(LeakCheck.class)
class ModuleFilesTest {
  private final Path folder;
  private final Path path;

  ModuleFilesTest(@TempDir Path folder) {
    this.folder = folder;
    path = folder.resolve("file");
  }

  private static SmallNet trained() {
    SmallNet net = new SmallNet();
    net.train(new SGD(net.all(), new SGDOptions(0.1)), 0, 3);
    return net;
  }

  @Test
  void aModuleIsWrittenWithItsRunningStatistics() {
    SmallNet net = trained();
    assertThat(net.values()).contains("norm.running_mean").contains("norm.num_batches_tracked 3.0");
    SmallNet fromTorch = new SmallNet();
    TorchFile.write(path, net);
    try (TorchFile saved = TorchFile.open(path)) {
      saved.copyTo("", fromTorch);
    }
    assertThat(fromTorch.values()).isEqualTo(net.values());
    SmallNet fromSafetensors = new SmallNet();
    SafetensorsFile.write(path, net);
    try (SafetensorsFile saved = SafetensorsFile.open(path)) {
      assertThat(saved.metadata()).isEqualTo(Map.of("format", "pt"));
      saved.copyTo("", fromSafetensors);
    }
    assertThat(fromSafetensors.values()).isEqualTo(net.values());
  }

  @Test
  void namesThatDifferAreReturnedIfTheyNeedNotMatch() {
    SmallNet net = trained();
    TorchFile.write(path, net);
    SmallNet other = new SmallNet();
    other.unregister_module("last");
    other.register_buffer("seen", torch.ones(1));
    try (TorchFile saved = TorchFile.open(path)) {
      assertThatIllegalArgumentException().isThrownBy(() -> saved.copyTo("", other));
      IncompatibleKeys keys = saved.copyMatchingTo("", other);
      assertThat(keys.missingKeys()).containsExactly("seen");
      assertThat(keys.unexpectedKeys()).containsExactly("last.weight", "last.bias");
    }
    assertThat(other.values().replaceAll("(?m)^seen.*\n", ""))
        .isEqualTo(net.values().replaceAll("(?m)^last.*\n", ""));
  }

  @Test
  void aPrefixThatFitsNoNameIsRefusedWithTheNamesOfTheFile() throws IOException {
    SmallNet net = trained();
    SmallNet loaded = new SmallNet();
    String before = loaded.values();
    Path torch = folder.resolve("net.pt");
    TorchFile.write(torch, net);
    Path safetensors = folder.resolve("net.safetensors");
    SafetensorsFile.write(safetensors, net);
    Path index = indexed(net);
    try (TorchFile first = TorchFile.open(torch);
        SafetensorsFile second = SafetensorsFile.open(safetensors);
        IndexedTensors third = IndexedTensors.open(index)) {
      assertNamesGiven(torch, () -> first.copyTo("model/", loaded));
      assertNamesGiven(torch, () -> first.copyMatchingTo("model/", loaded));
      assertNamesGiven(safetensors, () -> second.copyTo("model/", loaded));
      assertNamesGiven(safetensors, () -> second.copyMatchingTo("model/", loaded));
      assertNamesGiven(index, () -> third.copyTo("model/", loaded));
      assertNamesGiven(index, () -> third.copyMatchingTo("model/", loaded));
    }
    assertThat(loaded.values()).isEqualTo(before);
    SafetensorsFile.write(path, Map.of(), Map.of());
    try (SafetensorsFile empty = SafetensorsFile.open(path)) {
      assertThat(empty.copyMatchingTo("model/", loaded).missingKeys()).isNotEmpty();
    }
  }

  private static void assertNamesGiven(Path file, ThrowingCallable call) {
    assertThatIllegalArgumentException()
        .isThrownBy(call)
        .withMessageStartingWith("no name in " + file + " begins with the prefix \"model/\"; the ")
        .withMessageContaining("first.weight");
  }

  @Test
  void nothingIsCopiedIfAMatchingTensorHasAnotherShape() {
    SafetensorsFile.write(path, trained());
    SmallNet wide = new SmallNet(9, 0);
    String before = wide.values();
    try (SafetensorsFile saved = SafetensorsFile.open(path)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> saved.copyMatchingTo("", wide))
          .withMessageContaining("first.weight must be Float [9, 4] as here, but the state has");
    }
    assertThat(wide.values()).isEqualTo(before);
  }

  /** Writes the tensors of a net into two files of different formats, and their index. */
  private Path indexed(SmallNet net) throws IOException {
    StringBuilder map = new StringBuilder();
    try (PointerScope scope = new PointerScope()) {
      Map<String, Tensor> torch = ModuleState.tensors(net);
      Map<String, Tensor> safetensors = ModuleState.tensors(net);
      torch.keySet().removeIf(name -> name.startsWith("last"));
      safetensors.keySet().removeAll(torch.keySet());
      TorchFile.write(folder.resolve("model-1.bin"), torch);
      SafetensorsFile.write(folder.resolve("model-2.safetensors"), safetensors, Map.of());
      torch.keySet().forEach(name -> map.append(",\"%s\":\"model-1.bin\"".formatted(name)));
      safetensors
          .keySet()
          .forEach(name -> map.append(",\"%s\":\"model-2.safetensors\"".formatted(name)));
    }
    return index(map.substring(1));
  }

  private Path index(String map) throws IOException {
    return Files.writeString(
        folder.resolve("model.safetensors.index.json"),
        "{\"metadata\":{\"total_size\":1.5},\"weight_map\":{%s}}".formatted(map));
  }

  @Test
  void severalFilesWithAnIndexAreOneModel() throws IOException {
    SmallNet net = trained();
    SmallNet loaded = new SmallNet();
    Path index = indexed(net);
    IndexedTensors saved = IndexedTensors.open(index);
    saved.copyTo("", loaded);
    assertThat(loaded.values()).isEqualTo(net.values());
    assertThat(saved.copyMatchingTo("", loaded).missingKeys()).isEmpty();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> saved.read("x"))
        .withMessageContaining("has no tensor x");
    saved.close();
    saved.close();
  }

  @Test
  void anIndexThatDoesNotFitItsFilesIsNamed() throws IOException {
    Path index = indexed(trained());
    index("\"x\":\"model-1.bin\"");
    assertRefused(index, Problem.DAMAGED, "model-1.bin: it lacks the tensor x");
    for (String outside : new String[] {"../model-1.bin", "/model-1.bin", "", ".."}) {
      index("\"x\":\"%s\"".formatted(outside));
      assertRefused(index, Problem.DAMAGED, "must name files beside it, got \"" + outside);
    }
    index("\"x\":\"model-3.bin\"");
    assertRefused(index, Problem.MISSING, "model-3.bin: there is no such file");
    index("\"x\":3");
    assertRefused(index, Problem.DAMAGED, "must have a string, got 3");
    Files.writeString(index, "{}");
    assertRefused(index, Problem.DAMAGED, "lacks the field weight_map");
    Files.writeString(index, "version https://git-lfs.github.com/spec/v1");
    assertRefused(index, Problem.DAMAGED, "it is no index, but a Git LFS pointer");
    assertRefused(folder.resolve("none"), Problem.MISSING, "no such file");
  }

  private static void assertRefused(Path index, Problem problem, String message) {
    assertThatExceptionOfType(CheckpointException.class)
        .isThrownBy(() -> IndexedTensors.open(index).close())
        .withMessageContaining(message)
        .satisfies(thrown -> assertThat(thrown.problem()).isEqualTo(problem));
  }
}
