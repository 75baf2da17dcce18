// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.Torchfeed;
import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * A training that {@code write} stops and {@code read} continues, and {@link LinesFiles}, with
 * another libtorch if need be; both print the bits that they end with. {@code .ci/check-libtorch}
 * compares them.
 */
final class LinesProgram {
  private static final int STEPS = 5;

  private final LinearImpl net = new LinearImpl(6, 3);
  private final Adam optimizer = new Adam(net.parameters(), new AdamOptions(0.1));
  private final Generator generator = torch.getDefaultCPUGenerator();

  private TrainingState state() {
    return TrainingState.builder()
        .module("model", net)
        .optimizer("optimizer", optimizer, net)
        .generator("generator", generator)
        .build();
  }

  private void train() {
    for (int step = 0; step < STEPS; step++) {
      try (PointerScope scope = new PointerScope()) {
        Tensor rows = torch.randn(new long[] {8, 6}, new TensorOptions());
        optimizer.zero_grad();
        net.forward(torch.dropout(rows, 0.5, true)).pow(new Scalar(2)).mean().backward();
        optimizer.step();
      }
    }
  }

  private static void requireSame(Tensor written, Tensor read) {
    if (!LinesFiles.bits(written).equals(LinesFiles.bits(read))) {
      throw new AssertionError("a file of the other line has other bits");
    }
  }

  private void write(Path folder) {
    torch.manual_seed(7);
    train();
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(STEPS, state());
    }
    TorchFile.write(folder.resolve("model.pt"), net);
    SafetensorsFile.write(folder.resolve("model.safetensors"), net);
  }

  private void read(Path folder) {
    try (Checkpoints checkpoints = Checkpoints.open(folder)) {
      if (checkpoints.load(state()).isEmpty()) {
        throw new IllegalStateException("no checkpoint in " + folder);
      }
    }
    try (TorchFile file = TorchFile.open(folder.resolve("model.pt"));
        SafetensorsFile tensors = SafetensorsFile.open(folder.resolve("model.safetensors"))) {
      requireSame(net.weight(), file.read("weight"));
      requireSame(net.weight(), tensors.read("weight"));
    }
  }

  public static void main(String[] arguments) throws IOException {
    Torchfeed.load();
    LinesProgram program = new LinesProgram();
    Path folder = Path.of(arguments[1]);
    LinesFiles files = new LinesFiles(folder);
    switch (arguments[0]) {
      case "write" -> {
        program.write(folder);
        files.write().forEach(System.out::println);
      }
      case "read" -> {
        program.read(folder);
        files.read().forEach(System.out::println);
      }
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    program.train();
    System.out.println(LinesFiles.bits(program.net.weight()));
  }
}
