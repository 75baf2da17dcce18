// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static io.torchfeed.checkpoint.ChangedFiles.flip;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.bindings.OptimizerState;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.internal.BlockSums;
import io.torchfeed.internal.BlockSums.Kind;
import io.torchfeed.internal.Sha256;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of how the files of checkpoints are read: once, and before anything is loaded. */
@ExtendWith(LeakCheck.class)
class CheckpointReadTest {
  private static final String FIRST = "first";
  private static final String SECOND = "second";
  private static final int LARGE = 5 << 20; // elements: two blocks

  private final Path folder;

  CheckpointReadTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A part that does something when it is loaded. */
  private record OnePart(Tensor tensor, Runnable loading) implements Stateful {
    static OnePart of(double value) {
      return new OnePart(torch.full(new long[] {LARGE}, new Scalar(value)), () -> {});
    }

    OnePart doing(Runnable before) {
      return new OnePart(tensor, before);
    }

    double value() {
      assertThat(tensor.eq(tensor.get(0)).all().item_bool()).isTrue();
      return tensor.get(0).item_double();
    }

    private Map<String, Tensor> tensors() {
      return Map.of("tensor", tensor, "empty", torch.ones(0));
    }

    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", tensors());
    }

    @Override
    public void loadStateDict(StateDict state) {
      loading.run();
      state.copyTo(tensors());
    }
  }

  private static TrainingState state(Stateful first, Stateful second) {
    return TrainingState.builder().part(FIRST, first).part(SECOND, second).build();
  }

  private void save(long step, double first, double second) {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(step, state(OnePart.of(first), OnePart.of(second)));
    }
  }

  private Path file(long step, String part) {
    return folder.resolve(CheckpointFolder.nameOf(step)).resolve(part + ".safetensors");
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The begin has the length of the header, the end the last tensor. */
  @ParameterizedTest
  @ValueSource(strings = {"begin", "header", "end", "cut", "missing"})
  void aDamagedFileLeavesAllPartsAsTheyWere(String where) throws IOException {
    save(1, 1, 2);
    Path damaged = file(1, SECOND);
    long size = Files.size(damaged);
    switch (where) {
      case "begin" -> flip(damaged, 0);
      case "header" -> flip(damaged, 20);
      case "end" -> flip(damaged, size - 1);
      case "cut" -> {
        try (FileChannel channel = FileChannel.open(damaged, StandardOpenOption.WRITE)) {
          channel.truncate(size - 1);
        }
      }
      default -> Files.delete(damaged);
    }
    OnePart first = OnePart.of(-1);
    OnePart second = OnePart.of(-2);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state(first, second), Part.whole(), 1))
          .withMessageStartingWith(damaged + ": ")
          .withMessageContaining(
              switch (where) {
                case "cut" -> "it must have %d bytes, got %d".formatted(size, size - 1);
                case "missing" -> "there is no such file";
                default ->
                    "its CRC-32C from byte %d on is not the one in manifest.json; it was"
                            .formatted(where.equals("end") ? 1 << 24 : 0)
                        + " damaged or replaced: restore it, or delete its folder to continue from"
                        + " the one before";
              });
    }
    assertThat(first.value()).isEqualTo(-1);
    assertThat(second.value()).isEqualTo(-2);
  }

  /** Whatever happens to files while parts are loaded, the bytes that were checked are loaded. */
  @Test
  void eachFileIsReadOnce() {
    save(1, 1, 2);
    OnePart first =
        OnePart.of(-1)
            .doing(
                () -> {
                  flip(file(1, FIRST), 1 << 20);
                  delete(file(1, SECOND));
                });
    OnePart second = OnePart.of(-2);
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.load(state(first, second))).isPresent();
    }
    assertThat(first.value()).isEqualTo(1);
    assertThat(second.value()).isEqualTo(2);
  }

  @Test
  void allRanksLoadWhatTheyHaveCheckedAndFreeTheRest() throws IOException {
    save(1, 1, 2);
    save(2, 3, 4);
    OnePart first = OnePart.of(-1).doing(() -> delete(file(1, SECOND)));
    OnePart second = OnePart.of(-2);
    int[] gathered = {0};
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      Checkpoint loaded =
          checkpoints
              .load(
                  state(first, second),
                  Part.rank(0).of(2),
                  mine -> { // the other rank can read the first one alone
                    boolean isStep = mine.length == 2;
                    gathered[0] += isStep ? 1 : 0;
                    return new long[][] {mine, isStep ? new long[] {1, 1} : mine};
                  })
              .orElseThrow();
      assertThat(loaded.step()).isEqualTo(1);
    }
    assertThat(gathered[0]).isEqualTo(2);
    assertThat(first.value()).isEqualTo(1);
    assertThat(second.value()).isEqualTo(2);
  }

  private static Map<String, Tensor> several() {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    for (int i = 0; i < 9; i++) {
      tensors.put("tensor" + i, torch.randn(i * (1L << 18)));
    }
    return tensors;
  }

  @Test
  void theDigestIsOfTheBytesInMemory() throws IOException {
    Path path = folder.resolve("file.safetensors");
    SafetensorsFile.write(path, several(), Map.of("a", "text", "another", " \u00e9 "));
    Map<String, Tensor> read = new HashMap<>();
    BlockSums sums = BlockSums.of(Kind.SHA256);
    try (SafetensorsFile file = SafetensorsFile.open(path, sums::add)) {
      assertThat(file.bytes()).isEqualTo(Files.size(path));
      flip(path, file.bytes() - 1);
      file.allocate(read);
      long piece = file.bytes() / 5 + 3; // within tensors, and over several
      for (long at = file.dataStart(); at < file.bytes(); at += piece) {
        file.read(at, Math.min(at + piece, file.bytes()), read, sums::add);
      }
      assertThat(sums.finish()).containsExactly(Sha256.hex(Files.readAllBytes(path)));
      for (String name : file.names()) {
        try (Tensor again = file.read(name)) {
          assertThat(again.equal(read.get(name))).as(name).isTrue();
        }
      }
    } finally {
      read.values().forEach(Tensor::close);
    }
  }

  @Test
  void aFileThatIsCutWhileItIsReadIsNamed() throws IOException {
    Path path = folder.resolve("file.safetensors");
    SafetensorsFile.write(path, several(), Map.of());
    Map<String, Tensor> read = new HashMap<>();
    try (SafetensorsFile file = SafetensorsFile.open(path)) {
      file.allocate(read);
      try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
        channel.truncate(file.bytes() - 1);
      }
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> file.read(file.dataStart(), file.bytes(), read, piece -> {}))
          .withMessage(path + ": it cannot be read: the file became shorter")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNREADABLE));
    } finally {
      read.values().forEach(Tensor::close);
    }
  }

  /** A module and its optimizer after a step. */
  private static final class Net extends Module {
    final Tensor weight;
    final Adam optimizer;

    Net() {
      weight = register_parameter("weight", torch.randn(1000), true);
      optimizer = new Adam(new TensorVector(weight), new AdamOptions(0.1));
      step();
    }

    TrainingState state() {
      return TrainingState.builder()
          .module("model", this)
          .optimizer("optimizer", optimizer, this)
          .build();
    }

    void step() {
      optimizer.zero_grad();
      weight.square().sum().backward();
      optimizer.step();
    }

    long moments() {
      return OptimizerState.tensors(optimizer, weight).get(1).data_ptr().address();
    }
  }

  @Test
  void anOptimizerKeepsTheMemoryIntoWhichItsTensorsWereRead() {
    Net saved = new Net();
    Net one = new Net();
    Net other = new Net();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, saved.state());
      checkpoints.load(one.state());
      checkpoints.load(other.state());
    }
    for (Net net : new Net[] {saved, one, other}) {
      net.step();
      net.step();
    }
    assertThat(one.weight.equal(saved.weight)).isTrue();
    assertThat(other.weight.equal(saved.weight)).isTrue();
    assertThat(one.moments()).isNotEqualTo(other.moments());
    StateDict dict = new OptimizerParts(saved.optimizer, saved).stateDict();
    Tensor moments = requireNonNull(dict.tensors().get("state.weight.exp_avg"));
    long address = moments.data_ptr().address();
    new OptimizerParts(one.optimizer, one).loadStateDict(dict);
    assertThat(one.moments()).isNotEqualTo(address); // a state of the caller is copied
    new OptimizerParts(one.optimizer, one).loadStateDict(dict.given());
    assertThat(one.moments()).isEqualTo(address);
    dict.close();
    one.step();
    saved.step();
    assertThat(one.weight.equal(saved.weight)).isTrue();
  }
}
