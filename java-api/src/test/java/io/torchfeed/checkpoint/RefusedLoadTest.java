// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.testing.LeakCheck;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a load that is refused leaves the program as it was. */
@ExtendWith(LeakCheck.class)
class RefusedLoadTest {
  private final Path folder;
  private long number = 1;

  RefusedLoadTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static Module parameter(double value, long size) {
    Module module = new Module();
    module.register_parameter("w", torch.full(new long[] {size}, scalar(value)), true);
    return module;
  }

  private static Scalar scalar(double value) {
    return new Scalar(value);
  }

  private static double value(Module module) {
    return Objects.requireNonNull(ModuleState.tensors(module).get("w")).mean().item_double();
  }

  private TrainingState.Builder numbered() {
    return TrainingState.builder().number("number", () -> number, saved -> number = saved);
  }

  private void assertRefused(TrainingState saved, TrainingState other, String message) {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(1, saved);
      number = 2;
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> checkpoints.load(other))
          .withMessageContaining(message)
          .returns(Problem.MISMATCH, CheckpointException::problem);
    }
    try (StateDict state = saved.stateDict()) {
      assertThat(catchRefusal(other, state)).contains(message.replaceFirst("^part [a-z]+: ", ""));
    }
  }

  private static String catchRefusal(TrainingState other, StateDict state) {
    try {
      other.loadStateDict(state);
      return "accepted";
    } catch (IllegalArgumentException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void aSecondModuleOfAnotherShapeLeavesTheFirst() {
    Module first = parameter(0, 3);
    assertRefused(
        numbered().module("a", parameter(1, 3)).module("b", parameter(1, 3)).build(),
        numbered().module("a", first).module("b", parameter(0, 4)).build(),
        "part b: the state does not fit: tensor w must be Float [4] as here");
    assertThat(value(first)).isEqualTo(0);
    assertThat(number).isEqualTo(2);
  }

  @Test
  void anOptimizerOfAnotherKindLeavesTheModelAndTheGenerator() {
    SmallNet saved = new SmallNet();
    Optimizer sgd = new SGD(saved.all(), new SGDOptions(0.1));
    SmallNet net = new SmallNet();
    Optimizer adam = new Adam(net.all(), new AdamOptions(0.1));
    net.train(adam, 0, 1);
    TrainingState other =
        numbered()
            .module("model", net)
            .generator("random", torch.getDefaultCPUGenerator())
            .optimizer("optimizer", adam, net)
            .build();
    TrainingState state =
        numbered()
            .module("model", saved)
            .generator("random", torch.getDefaultCPUGenerator())
            .optimizer("optimizer", sgd, saved)
            .build();
    try (Checkpoints checkpoints = Checkpoints.open(folder);
        StateDict before = net(other)) {
      checkpoints.save(1, state);
      torch.manual_seed(77);
      number = 2;
      try (StateDict present = net(other)) {
        assertThatExceptionOfType(CheckpointException.class)
            .isThrownBy(() -> checkpoints.load(other))
            .withMessageEndingWith("part optimizer: the state must be of the kind Adam, got SGD");
        try (StateDict after = net(other)) {
          assertThat(after.checksum()).isEqualTo(present.checksum());
          assertThat(after.checksum()).isNotEqualTo(before.checksum());
        }
      }
    }
    assertThat(number).isEqualTo(2);
  }

  private static StateDict net(TrainingState state) {
    return state.stateDict();
  }

  /** Objects that are not checked beforehand are loaded before the rest. */
  @Test
  void anObjectThatRefusesLeavesAllElse() {
    Module module = parameter(0, 3);
    Stateful refusing =
        new Stateful() {
          @Override
          public StateDict stateDict() {
            return StateDict.of("{}", Map.of());
          }

          @Override
          public void loadStateDict(StateDict state) {
            throw new IllegalArgumentException("refused");
          }
        };
    assertRefused(
        numbered().module("a", parameter(1, 3)).part("own", refusing).build(),
        numbered().module("a", module).part("own", refusing).build(),
        "part own: refused");
    assertThat(value(module)).isEqualTo(0);
    assertThat(number).isEqualTo(2);
  }

  @Test
  void aNumberInThePlaceOfATextIsNamed() {
    Module module = parameter(0, 3);
    assertRefused(
        numbered().module("a", parameter(1, 3)).number("t", () -> 7, saved -> {}).build(),
        numbered().module("a", module).text("t", () -> "", saved -> {}).build(),
        "part t: this program has a text of this name, the checkpoint has something else: ");
    assertThat(value(module)).isEqualTo(0);
    assertThat(number).isEqualTo(2);
  }

  @Test
  void anExpandedBufferIsRefusedByName() {
    Module saved = new Module();
    saved.register_buffer("a", torch.ones(2));
    saved.register_buffer("w", torch.ones(1, 4).expand(3, 4));
    Module other = new Module();
    Tensor first = torch.zeros(2);
    other.register_buffer("a", first);
    other.register_buffer("w", torch.zeros(1, 4).expand(3, 4));
    assertRefused(
        numbered().module("m", saved).build(),
        numbered().module("m", other).build(),
        "part m: the state does not fit: tensor w cannot be written to here, since it is expanded"
            + " and its elements share memory; replace it by a copy, of contiguous()");
    assertThat(first.sum().item_double()).isEqualTo(0);
    Module copied = new Module();
    Tensor place = torch.zeros(1, 4).expand(3, 4).contiguous();
    copied.register_buffer("w", place);
    copied.register_buffer("a", torch.zeros(2));
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.load(numbered().module("m", copied).build());
    }
    assertThat(place.sum().item_double()).isEqualTo(12);
  }

  /** No machine has the memory of this file, whose header is right. */
  @Test
  void aFileThatDoesNotFitIntoTheMemoryIsNamed() {
    long bytes = 1L << 52;
    byte[] json =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,%s]}}"
            .formatted(bytes / Float.BYTES, bytes)
            .getBytes(StandardCharsets.UTF_8);
    byte[] begin =
        ByteBuffer.allocate(Long.BYTES + json.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(json.length)
            .put(json)
            .array();
    ByteSource source = new HugeSource(begin, begin.length + bytes);
    try (SafetensorsFile file = SafetensorsFile.open(source)) {
      assertThatExceptionOfType(CheckpointException.class)
          .isThrownBy(() -> file.read("w"))
          .withMessage(
              "huge.safetensors: there is no memory for the 4503599627370496 bytes of the tensor w;"
                  + " free memory or raise the limit of the process")
          .returns(Problem.UNREADABLE, CheckpointException::problem)
          .matches(CheckpointException::isOfEveryFile); // an older one is not taken instead
    }
  }

  /** A source with the first of its bytes only. */
  private static final class HugeSource implements ByteSource {
    private final byte[] begin;
    private final long size;

    HugeSource(byte[] begin, long size) {
      this.begin = begin;
      this.size = size;
    }

    @Override
    public long size() {
      return size;
    }

    @Override
    public String name() {
      return "huge.safetensors";
    }

    @Override
    public int read(long offset, ByteBuffer into) {
      int count = Math.min(into.remaining(), begin.length - (int) offset);
      into.put(begin, (int) offset, count);
      return count;
    }

    @Override
    public void close() {}
  }
}
