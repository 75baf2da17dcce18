// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static io.torchfeed.testing.LargeTensors.ABOVE_2_GIB;
import static io.torchfeed.testing.LargeTensors.ABOVE_4_GIB;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.bindings.OptimizerState;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LargeTensors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that tensors of 2 GiB and more are written, and read, as a whole. */
@Tag("large")
class LargeCheckpointTest {
  private final Path path;

  LargeCheckpointTest(@TempDir(factory = LargeTensors.InMemory.class) Path folder) {
    path = folder.resolve("file");
  }

  /** A module with one tensor and its optimizer. */
  private static final class Net extends Module {
    final Tensor weight;

    Net(Tensor weight) {
      this.weight = register_parameter("weight", weight, false);
    }

    SGD optimizer() {
      SGDOptions options = new SGDOptions(0.1);
      options.momentum().put(0.9);
      return new SGD(new TensorVector(weight), options);
    }
  }

  private void write(Map<String, Tensor> tensors) throws IOException {
    try (SparseFile file = SparseFile.create(path)) {
      new SafetensorsWriter(tensors, Map.of()).writeTo(file, piece -> {});
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aSafetensorsFileHasAllBytes(long bytes) throws IOException {
    LargeTensors.assumeMemory(bytes);
    write(Map.of("large", LargeTensors.marked(bytes), "small", Tensor.create(1f, 2f)));
    try (SafetensorsFile file = SafetensorsFile.open(path);
        Tensor large = file.read("large");
        Tensor small = file.read("small")) {
      assertThat(large.numel()).isEqualTo(bytes);
      LargeTensors.assertMarked(large);
      assertThat(small.equal(Tensor.create(1f, 2f))).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aFileOfTorchSaveHasAllBytes(long bytes) throws IOException {
    LargeTensors.assumeMemory(bytes);
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    tensors.put("large", LargeTensors.marked(bytes));
    tensors.put("small", Tensor.create(1f, 2f));
    try (SparseFile file = SparseFile.create(path)) {
      new TorchFileWriter(tensors, 1 << 16).writeTo(file);
    }
    try (TorchFile file = TorchFile.open(path);
        Tensor large = file.read("large");
        Tensor small = file.read("small")) {
      assertThat(large.numel()).isEqualTo(bytes);
      LargeTensors.assertMarked(large);
      assertThat(small.equal(Tensor.create(1f, 2f))).isTrue();
    }
  }

  @Test
  void aDamagedByteBehindTwoGibOfAFileOfTorchSaveIsFound() throws IOException {
    LargeTensors.assumeMemory(ABOVE_2_GIB);
    try (SparseFile file = SparseFile.create(path)) {
      new TorchFileWriter(Map.of("large", LargeTensors.marked(ABOVE_2_GIB)), 1 << 16).writeTo(file);
    }
    try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(new byte[] {9}), ABOVE_2_GIB - (1 << 20));
    }
    try (TorchFile file = TorchFile.open(path)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> file.read("large"))
          .withMessageContaining("differs from its checksum")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DAMAGED));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aLargeParameterAndALargeBufferAreLoaded(long bytes) {
    LargeTensors.assumeMemory(2 * bytes);
    Net saved = new Net(LargeTensors.marked(bytes));
    saved.register_buffer("mask", LargeTensors.marked(bytes));
    Net loaded = new Net(LargeTensors.empty(ScalarType.Byte, bytes));
    Tensor mask = loaded.register_buffer("mask", LargeTensors.empty(ScalarType.Byte, bytes));
    try (StateDict state = new ModuleState(saved).sharedStateDict()) {
      new ModuleState(loaded).loadStateDict(state);
    }
    LargeTensors.assertMarked(loaded.weight);
    LargeTensors.assertMarked(mask);
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aLargeMomentIsLoaded(long bytes) {
    LargeTensors.assumeMemory(bytes);
    Net net = new Net(LargeTensors.empty(ScalarType.Float, bytes));
    Tensor moment = LargeTensors.empty(ScalarType.Float, bytes);
    LargeTensors.mark(moment);
    SGD saved = net.optimizer();
    OptimizerState.set_tensors(saved, net.weight, new TensorVector(moment));
    SGD loaded = net.optimizer();
    try (StateDict state = new OptimizerParts(saved, net).sharedStateDict()) {
      new OptimizerParts(loaded, net).loadStateDict(state);
    }
    LargeTensors.assertMarked(OptimizerState.tensors(loaded, net.weight).get(0));
  }

  @Test
  void theChecksumOfAStateCoversAllBytes() {
    LargeTensors.assumeMemory(0); // only the marks are written
    Tensor tensor = LargeTensors.marked(ABOVE_4_GIB);
    StateDict state = StateDict.owning("{}", Map.of("large", tensor));
    long before = state.checksum();
    new BytePointer(tensor.data_ptr()).put(ABOVE_4_GIB - 1, (byte) 0);
    assertThat(state.checksum()).isNotEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(longs = {ABOVE_2_GIB, ABOVE_4_GIB})
  void aCheckpointWithALargeParameterIsLoadedAndItsLastByteChecked(long bytes, @TempDir Path folder)
      throws IOException {
    LargeTensors.assumeMemory(3 * bytes); // the file's pages, too
    LargeTensors.assumeDisk(folder, bytes);
    Net net = new Net(LargeTensors.empty(ScalarType.Float, bytes));
    LargeTensors.mark(net.weight);
    TrainingState state = TrainingState.builder().module("model", net).build();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, state);
      net.weight.zero_();
      Path saved = checkpoints.load(state).orElseThrow().folder().resolve("model.safetensors");
      LargeTensors.assertMarked(net.weight);
      long last = Files.size(saved) - 1;
      try (FileChannel file = FileChannel.open(saved, StandardOpenOption.WRITE)) {
        file.write(ByteBuffer.wrap(new byte[] {99}), last);
      }
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(state, Part.whole(), 1))
          .withMessageStartingWith(saved.toString())
          .withMessageContaining(
              "its CRC-32C from byte %d on ".formatted(last - last % (16 << 20)));
    }
  }
}
