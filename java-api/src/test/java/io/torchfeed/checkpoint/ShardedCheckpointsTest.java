// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.internal.Sha256;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of checkpoints that several ranks, here threads, write together. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShardedCheckpointsTest {
  private static final int TENSORS = 6;
  private static final Path PYTHON = Path.of("src", "test", "golden", "python_checkpoints.py");

  private final Path folder;

  ShardedCheckpointsTest(@TempDir Path temporary) {
    folder = temporary.resolve("checkpoints");
  }

  /** The same net on all ranks, a number that is the same, and one that each rank has. */
  private static final class Rank implements AutoCloseable {
    private final Module module = new Module();
    private final Tensor kept = torch.zeros(3);
    private final TrainingState state;
    private long number;

    Rank(double value, long kept, String... more) {
      try (PointerScope scope = new PointerScope()) {
        for (int i = 0; i < TENSORS; i++) {
          module.register_buffer("tensor" + i, torch.full(new long[] {100}, new Scalar(value + i)));
        }
        this.kept.fill_(new Scalar((double) kept));
      }
      TrainingState.Builder parts =
          TrainingState.builder()
              .module("model", module)
              .number("number", () -> number, saved -> number = saved)
              .ofEachRank("kept", new OneTensor(this.kept));
      for (String name : more) {
        parts.number(name, () -> 0, saved -> {});
      }
      state = parts.build();
    }

    double tensor(int i) {
      try (PointerScope scope = new PointerScope()) {
        return module.named_buffers().get("tensor" + i).get(99).item_double();
      }
    }

    double kept() {
      try (PointerScope scope = new PointerScope()) {
        return kept.get(2).item_double();
      }
    }

    @Override
    public void close() {
      kept.close();
      module.close();
    }
  }

  private record OneTensor(Tensor tensor) implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", Map.of("kept", tensor));
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.copyTo(Map.of("kept", tensor));
    }
  }

  /** Runs a task of each rank in a thread of its own; returns the failure of each. */
  private static List<Optional<Throwable>> inThreads(List<Callable<Void>> ranks) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(ranks.size());
    try {
      List<Optional<Throwable>> thrown = new ArrayList<>();
      for (Future<Void> each : threads.invokeAll(ranks)) {
        try {
          each.get();
          thrown.add(Optional.empty());
        } catch (ExecutionException e) {
          thrown.add(Optional.ofNullable(e.getCause()));
        }
      }
      return thrown;
    } finally {
      threads.shutdownNow();
      assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    }
  }

  private Callable<Void> save(long step, Rank rank, Shards shards) {
    return () -> {
      try (Checkpoints checkpoints = Checkpoints.open(folder)) {
        checkpoints.save(step, rank.state, shards);
      }
      return null;
    };
  }

  private List<Optional<Throwable>> saveAll(long step, String run, Rank... ranks) throws Exception {
    List<Callable<Void>> saves = new ArrayList<>();
    for (int i = 0; i < ranks.length; i++) {
      saves.add(save(step, ranks[i], Shards.of(new Part(ranks.length, i), run)));
    }
    return inThreads(saves);
  }

  private List<Optional<Throwable>> saveByThree(long step, String run) throws Exception {
    try (Rank zero = new Rank(step, 10);
        Rank one = new Rank(step, 11);
        Rank two = new Rank(step, 12)) {
      zero.number = step;
      return saveAll(step, run, zero, one, two);
    }
  }

  private void assertLoads(Part part, double value, double kept) {
    try (Rank rank = new Rank(-1, -1);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      assertThat(checkpoints.load(rank.state, part).orElseThrow().ranks()).isEqualTo(3);
      for (int i = 0; i < TENSORS; i++) {
        assertThat(rank.tensor(i)).isEqualTo(value + i);
      }
      assertThat(rank.number).isEqualTo((long) value);
      assertThat(rank.kept()).isEqualTo(kept);
    }
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }

  @Test
  void eachRankWritesItsShareAndLoadsAllAndItsOwn() throws Exception {
    assertThat(saveByThree(4, "run")).containsOnly(Optional.empty());
    assertThat(names(folder)).containsExactly("LATEST", "step-000004");
    assertThat(names(folder.resolve("step-000004")))
        .containsExactly(
            "kept.rank-00001-of-00003.safetensors",
            "kept.rank-00002-of-00003.safetensors",
            "kept.rank-00003-of-00003.safetensors",
            "manifest.json",
            "manifest.sha256",
            "model-00001-of-00003.safetensors",
            "model-00002-of-00003.safetensors",
            "model-00003-of-00003.safetensors",
            "model.safetensors.index.json");
    for (int rank = 0; rank < 3; rank++) {
      assertLoads(new Part(3, rank), 4, 10 + rank);
    }
  }

  @Test
  void anotherNumberOfRanksKeepsWhatEachRankHas() throws Exception {
    saveByThree(4, "run");
    assertLoads(new Part(2, 1), 4, -1);
    assertLoads(Part.whole(), 4, -1);
  }

  @Test
  void aStateOfEachRankIsAlsoSavedByOneProcess() {
    try (Rank saved = new Rank(5, 10);
        Rank loaded = new Rank(-1, -1);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      checkpoints.save(5, saved.state);
      assertThat(checkpoints.load(loaded.state).orElseThrow().ranks()).isEqualTo(1);
      assertThat(loaded.kept()).isEqualTo(10);
      assertThat(checkpoints.load(loaded.state, new Part(2, 0))).isPresent();
    }
  }

  @Test
  void aDamagedFileOfAnotherRankIsNoticed() throws Exception {
    saveByThree(4, "run");
    saveByThree(5, "run");
    Path shard = folder.resolve("step-000005").resolve("model-00002-of-00003.safetensors");
    byte[] bytes = Files.readAllBytes(shard);
    bytes[bytes.length - 1] ^= 1;
    Files.write(shard, bytes);
    assertLoads(new Part(3, 0), 4, 10);
  }

  private static void assertUnwritable(Optional<Throwable> thrown, String text) {
    assertThat(thrown.orElseThrow())
        .isInstanceOfSatisfying(
            CheckpointException.class, e -> assertThat(e.problem()).isEqualTo(Problem.UNWRITABLE))
        .hasMessageContaining(text);
  }

  @Test
  void aRankThatDoesNotComeIsNamedAtTheLimit() throws Exception {
    saveByThree(4, "run");
    Shards zero = Shards.of(new Part(3, 0), "run").withLimit(Duration.ofMillis(300));
    try (Rank rank = new Rank(5, 10);
        Rank other = new Rank(5, 12)) {
      List<Optional<Throwable>> thrown =
          inThreads(List.of(save(5, rank, zero), save(5, other, Shards.of(new Part(3, 2), "run"))));
      assertUnwritable(thrown.get(0), "rank 1 has not written its share within");
      assertUnwritable(thrown.get(1), "rank 0 of 3 could not write its share");
    }
    assertLoads(new Part(3, 1), 4, 11);
    saveByThree(6, "next");
    assertThat(names(folder)).containsExactly("LATEST", "step-000004", "step-000006");
    assertLoads(new Part(3, 1), 6, 11);
  }

  @Test
  void aRankThatCannotWriteEndsTheWaitOfTheOthers() throws Exception {
    saveByThree(4, "run");
    Path inTheWay = folder.resolve(".step-000005.partial-run");
    Files.createDirectories(inTheWay);
    Files.writeString(inTheWay.resolve("kept.rank-00002-of-00003.safetensors"), "of another");
    List<Optional<Throwable>> thrown = saveByThree(5, "run");
    assertUnwritable(thrown.get(1), "it already exists");
    assertUnwritable(thrown.get(0), "rank 1 of 3 could not write its share");
    assertUnwritable(thrown.get(2), "rank 1 of 3 could not write its share");
    assertLoads(new Part(3, 2), 4, 12);
  }

  @Test
  void ranksWithOtherPartsAreRefused() throws Exception {
    try (Rank zero = new Rank(5, 10);
        Rank one = new Rank(5, 11, "more")) {
      List<Optional<Throwable>> thrown = saveAll(5, "run", zero, one);
      assertUnwritable(thrown.get(0), "rank 1 saves the parts");
      assertUnwritable(thrown.get(1), "more");
    }
  }

  @Test
  void ranksWithOtherTensorsAreRefusedBeforeAnythingIsWritten() throws Exception {
    saveByThree(4, "run");
    try (Rank zero = new Rank(5, 10);
        Rank one = new Rank(5, 11);
        Rank two = new Rank(5, 12)) {
      try (PointerScope scope = new PointerScope()) {
        one.module.named_buffers().get("tensor2").resize_(7, 2);
      }
      List<Optional<Throwable>> thrown = saveAll(5, "run", zero, one, two);
      String difference =
          "tensor tensor2 of the part model is Float [7, 2] on rank 1, Float [100] on rank 0";
      thrown.forEach(each -> assertUnwritable(each, difference));
      assertThat(names(folder.resolve(".step-000005.partial-run")))
          .noneMatch(name -> name.endsWith(".safetensors"));
    }
    assertLoads(new Part(3, 1), 4, 11);
  }

  @ParameterizedTest
  @CsvSource({"2,3,3", "3,2,3", "3,3,4", "1,2,2"})
  void ranksWithAnotherWorldSizeAreRefused(int ofZero, int ofOne, int ofTwo) throws Exception {
    saveByThree(4, "run");
    Duration limit = Duration.ofSeconds(3); // for ranks that come alone
    try (Rank zero = new Rank(5, 10);
        Rank one = new Rank(5, 11);
        Rank two = new Rank(5, 12)) {
      List<Callable<Void>> ranks = new ArrayList<>();
      if (ofTwo > 2) {
        ranks.add(save(5, two, Shards.of(new Part(ofTwo, 2), "run").withLimit(limit)));
      }
      ranks.add(save(5, one, Shards.of(new Part(ofOne, 1), "run").withLimit(limit)));
      if (ofZero == 1) { // sees those that came before it
        Path arrived = folder.resolve(".step-000005.partial-run").resolve("layout-of-rank-1");
        ranks.add(
            () -> {
              while (!Files.exists(arrived)) {
                Thread.onSpinWait();
              }
              return save(5, zero, Shards.of(Part.whole(), "run")).call();
            });
      } else {
        ranks.add(save(5, zero, Shards.of(new Part(ofZero, 0), "run").withLimit(limit)));
      }
      List<Optional<Throwable>> thrown = inThreads(ranks);
      thrown.forEach(each -> assertUnwritable(each, ""));
      assertThat(thrown.toString()).contains("has the world size");
    }
    assertLoads(new Part(3, 1), 4, 11);
  }

  private void rewriteManifest(UnaryOperator<String> change) throws IOException {
    ChangedFiles.rewriteManifest(folder.resolve("step-000005").resolve("manifest.json"), change);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"ranks\":3 | \"ranks\":3000000000",
        "\"ranks\":3 | \"ranks\":-1",
        "\"tensors\":6 | \"tensors\":7",
        ",\\{\"name\":\"model-00003[^}]*\\} | ",
        "model-00003-of-00003 | model-00003-of-00004",
      })
  void anIncompleteOrMalformedManifestGivesTheCheckpointBeforeIt(String from, @Nullable String to)
      throws Exception {
    saveByThree(4, "run");
    saveByThree(5, "run");
    String replacement = to == null ? "" : Matcher.quoteReplacement(to);
    rewriteManifest(text -> text.replaceAll(from, replacement));
    assertLoads(new Part(3, 1), 4, 11);
  }

  @Test
  void aTensorThatIsInTwoFilesGivesTheCheckpointBeforeIt() throws Exception {
    saveByThree(4, "run");
    saveByThree(5, "run");
    Path first = folder.resolve("step-000005").resolve("model-00001-of-00003.safetensors");
    byte[] bytes = Files.readAllBytes(first);
    Files.write(first.resolveSibling("model-00003-of-00003.safetensors"), bytes);
    String named = "(\"name\":\"model-00003-of-00003.safetensors\",)[^}]*";
    String digest = "$1\"bytes\":%d,\"sha256\":\"%s\"".formatted(bytes.length, Sha256.hex(bytes));
    rewriteManifest(text -> text.replaceAll(named, digest));
    assertLoads(new Part(3, 1), 4, 11);
  }

  @Test
  void theNameOfARunIsChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Shards.of(Part.whole(), "../run"))
        .withMessageContaining("../run");
    Shards shards = Shards.of(Part.whole(), "run");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> shards.withLimit(Duration.ZERO))
        .withMessageContaining("limit");
  }

  @Test
  void pythonReadsTheShards() throws Exception {
    TestPython.assumePackage("safetensors");
    saveByThree(4, "run");
    try (TestJvm python =
        TestPython.start(
            folder, Map.of(), PYTHON, "shards", folder.resolve("step-000004").toString())) {
      assertThat(python.exitCode()).as("%s", python.output()).isZero();
      assertThat(python.output())
          .endsWith( // behind a warning
              "tensor0 4.0",
              "tensor1 5.0",
              "tensor2 6.0",
              "tensor3 7.0",
              "tensor4 8.0",
              "tensor5 9.0");
    }
  }
}
