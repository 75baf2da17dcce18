// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
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

/** Tests of states that are copied and written while a training continues. */
@ExtendWith(LeakCheck.class)
class CopyInBackgroundTest {
  private static final CheckpointOptions LATER =
      CheckpointOptions.defaults().withCopyInBackground(true);
  private static final int SMALL = 1000;
  private static final int LARGE = 16 << 20;

  /** Its files take longer to write than an update takes. */
  private static final int MEDIUM = LARGE / 8;

  private final Path folder;

  CopyInBackgroundTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A parameter and a buffer, and their optimizer. */
  private static final class Net extends Module {
    final Tensor weight;
    final Tensor mean;
    final Adam optimizer;
    long epoch;

    Net(int elements) {
      weight = register_parameter("weight", torch.randn(elements), true);
      mean = register_buffer("mean", torch.zeros(SMALL));
      optimizer = new Adam(new TensorVector(weight), new AdamOptions(0.1));
    }

    TrainingState state() {
      return TrainingState.builder()
          .module("model", this)
          .optimizer("optimizer", optimizer, this)
          .number("epoch", () -> epoch, saved -> epoch = saved)
          .build();
    }

    /** Makes gradients, and changes a buffer as a forward pass does. */
    void forwardAndBackward() {
      try (PointerScope scope = new PointerScope()) {
        epoch++;
        mean.add_(new Scalar(1.0));
        optimizer.zero_grad();
        weight.square().sum().backward();
      }
    }

    void update() {
      optimizer.step();
    }

    void step() {
      forwardAndBackward();
      update();
    }
  }

  private static void assertSameFiles(Path one, Path other) throws IOException {
    List<String> names;
    try (Stream<Path> files = Files.list(one)) {
      names = files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
    assertThat(names)
        .contains("model.safetensors", "optimizer.safetensors", "manifest.json", "manifest.sha256");
    for (String name : names) {
      assertThat(Files.mismatch(one.resolve(name), other.resolve(name))).as(name).isEqualTo(-1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theStateIsBitForBitThatOfASaveAtOnce(boolean isLater) throws IOException {
    CheckpointOptions options = CheckpointOptions.defaults().withCopyInBackground(isLater);
    try (PointerScope scope = new PointerScope();
        Checkpoints saved = Checkpoints.open(folder.resolve("saved"));
        Checkpoints background = Checkpoints.open(folder.resolve("background"), options)) {
      Net net = new Net(LARGE / 16);
      for (long step = 1; step <= 6; step++) {
        net.step();
        saved.save(step, net.state());
        background.saveInBackground(step, net.state());
        net.forwardAndBackward();
        background.awaitCopied();
        net.update();
        if (step % 2 == 0) {
          background.await();
        }
      }
      background.await();
      for (long step = 4; step <= 6; step++) {
        String name = CheckpointFolder.nameOf(step);
        assertSameFiles(
            folder.resolve("saved").resolve(name), folder.resolve("background").resolve(name));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theSharesOfRanksAreBitForBitThoseOfASaveAtOnce(boolean isLater) throws IOException {
    CheckpointOptions options = CheckpointOptions.defaults().withCopyInBackground(isLater);
    Shards alone = Shards.of(Part.whole(), "run");
    try (PointerScope scope = new PointerScope();
        Checkpoints saved = Checkpoints.open(folder.resolve("saved"));
        Checkpoints background = Checkpoints.open(folder.resolve("background"), options)) {
      Net net = new Net(SMALL);
      net.step();
      saved.save(1, net.state(), alone);
      background.saveInBackground(1, net.state(), alone);
      net.forwardAndBackward();
      background.awaitCopied();
      net.update();
      background.await();
      assertSameFiles(
          folder.resolve("saved").resolve(CheckpointFolder.nameOf(1)),
          folder.resolve("background").resolve(CheckpointFolder.nameOf(1)));
    }
  }

  /** A state within the state, as ranks have that save parts of their own. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStateWithinTheStateIsOfTheMomentOfTheCall(boolean isLater) throws IOException {
    CheckpointOptions options = CheckpointOptions.defaults().withCopyInBackground(isLater);
    Shards alone = Shards.of(Part.whole(), "run");
    try (PointerScope scope = new PointerScope();
        Checkpoints saved = Checkpoints.open(folder.resolve("saved"));
        Checkpoints background = Checkpoints.open(folder.resolve("background"), options)) {
      Net net = new Net(MEDIUM);
      net.step();
      TrainingState inner =
          TrainingState.builder().optimizer("moments", net.optimizer, net).build();
      TrainingState state = TrainingState.builder().ofEachRank("own", inner).build();
      saved.save(1, state, alone);
      background.saveInBackground(1, state, alone);
      background.awaitCopied();
      net.update(); // while the files are written
      background.await();
      for (String file : List.of("own.rank-00001-of-00001.safetensors", "manifest.json")) {
        Path step = Path.of(CheckpointFolder.nameOf(1), file);
        assertThat(folder.resolve("background").resolve(step))
            .hasSameBinaryContentAs(folder.resolve("saved").resolve(step));
      }
    }
  }

  @Test
  void threadsThatSaveWaitForEachOther() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints =
            Checkpoints.open(folder, CheckpointOptions.defaults().withKept(30))) {
      List<Net> nets = List.of(new Net(SMALL), new Net(SMALL));
      List<Future<?>> saves = new ArrayList<>();
      for (int thread = 0; thread < nets.size(); thread++) {
        Net net = nets.get(thread);
        net.weight.detach().fill_(new Scalar((double) thread));
        int parity = thread;
        saves.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 10; i++) {
                    checkpoints.saveInBackground(2 * i + parity, net.state());
                  }
                }));
      }
      for (Future<?> each : saves) {
        each.get();
      }
      checkpoints.await();
      Net loaded = new Net(SMALL);
      for (int step = 0; step < 20; step++) {
        checkpoints.load(loaded.state(), Part.whole(), step);
        assertThat(loaded.weight.eq(new Scalar((double) (step % 2))).all().item_bool()).isTrue();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** The copy may be quicker; no checkpoint has some of each state. */
  @Test
  void aChangeDuringTheCopyFailsTheSave() {
    int failures = 0;
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints = Checkpoints.open(folder, LATER.withKept(1))) {
      Net net = new Net(LARGE);
      for (long step = 1; step <= 5; step++) {
        Tensor weight = net.weight.detach();
        weight.fill_(new Scalar((double) step));
        checkpoints.saveInBackground(step, net.state());
        weight.fill_(new Scalar(-1.0));
        try {
          checkpoints.await();
          checkpoints.load(net.state());
          assertThat(weight.eq(new Scalar((double) step)).all().item_bool()).isTrue();
        } catch (CheckpointException e) {
          assertThat(e)
              .hasMessageStartingWith(folder.resolve(CheckpointFolder.nameOf(step)) + ": ")
              .hasMessageContaining("model/weight")
              .hasMessageContaining("awaitCopied() before");
          failures++;
        }
      }
    }
    assertThat(failures).isPositive();
  }

  @Test
  void theModuleMayBeClosedDuringTheCopy() {
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints = Checkpoints.open(folder, LATER)) {
      Net net = new Net(LARGE);
      Tensor expected = net.weight.detach().clone();
      net.step();
      net.weight.detach().copy_(expected);
      checkpoints.saveInBackground(1, net.state());
      net.optimizer.close();
      net.close();
      checkpoints.await();
      Net loaded = new Net(LARGE);
      loaded.step();
      checkpoints.load(loaded.state());
      assertThat(loaded.weight.equal(expected)).isTrue();
    }
  }

  @Test
  void anInterruptedThreadWaitsForTheCopyAndStaysInterrupted() {
    try (PointerScope scope = new PointerScope();
        Checkpoints checkpoints = Checkpoints.open(folder, LATER)) {
      checkpoints.awaitCopied(); // of nothing
      Net net = new Net(LARGE);
      checkpoints.saveInBackground(1, net.state());
      Thread.currentThread().interrupt();
      checkpoints.awaitCopied();
      assertThat(Thread.interrupted()).isTrue();
      net.step();
      checkpoints.await();
    }
  }
}
