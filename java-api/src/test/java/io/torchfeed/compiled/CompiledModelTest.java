// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.testing.GoldenLine;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests against packages that Python has compiled for any x86-64 processor. */
@ExtendWith(LeakCheck.class)
class CompiledModelTest {
  private final Path folder;

  CompiledModelTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private CompiledModel open(String version) throws IOException {
    return CompiledModel.open(Packages.golden(folder, version));
  }

  private static Tensor kinds(int rows) {
    return torch.zeros(new long[] {rows}, new TensorOptions(torch.ScalarType.Long));
  }

  @ParameterizedTest
  @ValueSource(strings = {"2.10", "2.13"})
  void theOutputsEqualPythonsBitForBit(String version) throws IOException {
    List<Packages.Run> runs = Packages.runs(GoldenLine.read("packages/%s.txt".formatted(version)));
    assertThat(runs).hasSize(3);
    try (CompiledModel model = open(version)) {
      assertThat(model.inputs()).isEqualTo(2);
      for (Packages.Run run : runs) {
        assertThat(Packages.run(model, run)).isEqualTo(run.outputs());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"2.10", "2.13"})
  void theMetadataArePythons(String version) throws IOException {
    try (CompiledModel model = open(version)) {
      assertThat(model.metadata())
          .containsEntry("classes", "a,b,c,d")
          .containsEntry("AOTI_CPU_ISA", "INVALID_VEC_ISA");
      assertThat(model).hasToString(folder.resolve(version + ".pt2").toString());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "2.10, 'float[3, 2]', 'unmatched dim value at 1, expected: 3, but got: 2'",
    "2.13, 'float[3, 2]', 'unmatched dim value at 1, expected: 3, but got: 2'",
    "2.10, 'double[3, 3]', 'unmatched dtype, expected: 6(at::kFloat), but got: 7'",
    "2.13, 'double[3, 3]', 'unmatched dtype, expected: 6(at::kFloat), but got: 7'",
    "2.10, 'float[1, 3]', 'too small at 0, expected it to be >= 2, but got: 1'",
    "2.13, 'float[1, 3]', 'too small at 0, expected it to be >= 2, but got: 1'",
    "2.10, 'float[4097, 3]', 'too large at 0, expected to be <= 4096, but got: 4097'",
    "2.13, 'float[4097, 3]', 'too large at 0, expected to be <= 4096, but got: 4097'",
  })
  void otherInputsAreRefusedWithTheReason(String version, String input, String reason)
      throws IOException {
    long[] shape =
        Arrays.stream(input.replaceAll("[a-z\\[\\]]", "").split(", ", -1))
            .mapToLong(Long::parseLong)
            .toArray();
    Tensor wrong = torch.ones(shape);
    boolean isSize = input.startsWith("float");
    try (CompiledModel model = open(version)) {
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  model.run(
                      input.startsWith("d") ? wrong.to(torch.ScalarType.Double) : wrong,
                      kinds((int) shape[0])))
          .withMessageContaining(version + ".pt2 does not take (" + input + ", ")
          .withMessageContaining("input_handles[0]: ")
          .withMessageContaining(reason)
          .satisfies(e -> assertThat(e.toString().contains("dynamic_shapes")).isEqualTo(isSize));

      assertThat(model.run(torch.ones(2, 3), kinds(2))).hasSize(2);
    }
  }

  /** The library itself would take them: it reads as many sizes as it expects. */
  @ParameterizedTest
  @ValueSource(strings = {"2.10", "2.13"})
  void otherNumbersOfDimensionsAreRefused(String version) throws IOException {
    try (CompiledModel model = open(version)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(4, 3, 1), kinds(4)))
          .withMessageContaining("input 0 must have 2 dimensions, got 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(4, 3), kinds(4).view(4, 1)))
          .withMessageContaining("input 1 must have 1 dimensions, got 2");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(3), kinds(4)))
          .withMessageContaining("input 0 must have 2 dimensions, got 1");
    }
  }

  @Test
  void inputsInOtherOrdersOfMemoryAreRefused() throws IOException {
    try (CompiledModel model = open("2.10")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(3, 4).t(), kinds(4)))
          .withMessageContaining("unmatched stride value at 0, expected: 3, but got: 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(4, 3)))
          .withMessageContaining("the model takes 2 inputs, got 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(4, 3).to_sparse(), kinds(4)))
          .withMessageContaining("input 0 must be a dense tensor on the CPU");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(torch.ones(4, 3), new Tensor()))
          .withMessageContaining("input 1 must be a dense tensor on the CPU");
      Tensor closed = torch.ones(4, 3);
      closed.close();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.run(closed, kinds(4)))
          .withMessageEndingWith("does not take (a closed tensor, long int[4]): input 0 is closed");
    }
  }

  @Test
  void refusedInputsAreNotKept() throws IOException {
    try (CompiledModel model = open("2.10");
        Tensor wrong = torch.ones(4, 2);
        Tensor kind = kinds(4)) {
      assertThatIllegalArgumentException().isThrownBy(() -> model.run(wrong, kind));

      assertThat(wrong.storage().use_count()).isEqualTo(1);
      assertThat(kind.storage().use_count()).isEqualTo(1);
    }
  }

  @Test
  void outputsBelongToTheScopeOrTheCallerAndNeedNoGradient() throws IOException {
    try (CompiledModel model = open("2.13")) {
      Tensor[] outputs;
      try (PointerScope scope = new PointerScope()) {
        outputs = model.run(torch.ones(2, 3).requires_grad_(true), kinds(2));
        assertThat(outputs[0].requires_grad()).isFalse();
      }
      assertThat(outputs[0].isNull()).isTrue();
    }
  }

  @Test
  void aClosedModelSaysSo() throws IOException {
    CompiledModel model = open("2.10");
    Tensor[] outputs = model.run(torch.ones(2, 3), kinds(2));
    model.close();
    model.close();

    assertThatIllegalStateException()
        .isThrownBy(() -> model.run(torch.ones(2, 3), kinds(2)))
        .withMessage("CompiledModel is closed");
    assertThatIllegalStateException().isThrownBy(model::inputs);
    assertThat(outputs[0].sizes().vec().get()).containsExactly(2, 4);
  }

  @Test
  void runsOfSeveralThreadsTakeTurnsAlsoAfterAFailure() throws Exception {
    Packages.Run run = Packages.runs(GoldenLine.read("packages/2.10.txt")).get(2);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (CompiledModel model = open("2.10")) {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        all.add(threads.submit(() -> runAndFail(model, run)));
      }
      for (Future<?> each : all) {
        each.get(2, TimeUnit.MINUTES);
      }
    } finally {
      threads.shutdown();
    }
  }

  private static void runAndFail(CompiledModel model, Packages.Run run) {
    for (int i = 0; i < 50; i++) {
      try (PointerScope scope = new PointerScope()) {
        assertThat(Packages.run(model, run)).isEqualTo(run.outputs());
      }
    }
    for (int i = 0; i < 500; i++) { // none leaves another one waiting
      try (PointerScope scope = new PointerScope()) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> model.run(torch.ones(3, 2), kinds(3)))
            .withMessageContaining("unmatched dim value");
      }
    }
  }

  @Test
  void unpackedFilesAreDeletedAndLibrariesAreMappedOnce() throws IOException {
    Path file = Packages.golden(folder, "2.13");
    for (int i = 0; i < 20; i++) {
      CompiledModel.open(file).close();
    }

    // One that has objects of a thread stays as long as the thread, and is used again.
    assertThat(mappedLibraries()).isLessThanOrEqualTo(2); // of the two golden packages
    try (CompiledModel model = CompiledModel.open(file);
        CompiledModel same = CompiledModel.open(file)) {
      assertThat(mappedLibraries()).isBetween(1L, 2L);
      assertThat(same.inputs()).isEqualTo(model.inputs());
    }
  }

  /** glibc 2.41 would refuse the library otherwise. */
  @ParameterizedTest
  @ValueSource(strings = {"2.10", "2.13"})
  void noStackBecomesExecutable(String version) throws IOException {
    try (CompiledModel model = open(version)) {
      assertThat(Files.readAllLines(Path.of("/proc/self/maps")))
          .filteredOn(line -> line.endsWith("[stack]"))
          .singleElement()
          .asString()
          .doesNotContain("x");
      assertThat(model.inputs()).isEqualTo(2);
    }
  }

  /** Returns the number of libraries of packages in this process, whose files are all deleted. */
  private static long mappedLibraries() throws IOException {
    List<String> names =
        Files.readAllLines(Path.of("/proc/self/maps")).stream()
            .filter(line -> line.contains("torchfeed-pt2-"))
            .map(line -> line.substring(line.indexOf('/')))
            .distinct()
            .toList();
    assertThat(names).allMatch(name -> name.endsWith(" (deleted)"));
    return names.size();
  }
}
