// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticLog.Entered;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that processes train on while one is killed, one comes and one leaves. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticProcessesTest {
  private static final int KILLED = 137;

  private final Path folder;
  private final Map<String, TestJvm> ranks = new LinkedHashMap<>();
  private final BlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();

  ElasticProcessesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void endRanks() {
    ranks.values().forEach(TestJvm::close);
  }

  @Test
  void eachSampleIsUsedOnceAndTheStateIsThatOfARunWithoutFaults() throws Exception {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, 3)
            .withSilence(Duration.ofSeconds(60))
            .withStart(Duration.ofMinutes(2));
    try (Coordinator coordinator =
        Coordinator.listen("127.0.0.1", 0, options.withEvents(events::add))) {
      for (String name : List.of("a", "b", "c")) {
        start(name, coordinator);
      }
      TestJvm c = rank("c");
      c.await(lines -> lines.contains("halted"));
      c.signal("KILL");
      assertThat(c.exitCode()).isEqualTo(KILLED);
      await(CoordinatorEvent.Kind.FORMED, 2);
      start("d", coordinator);
      await(CoordinatorEvent.Kind.PAUSED, 2);
      Files.createFile(folder.resolve(ElasticRank.JOINED));
      await(CoordinatorEvent.Kind.PAUSED, 3);
      Files.createFile(folder.resolve(ElasticRank.LEFT));
      for (String name : List.of("a", "b", "d")) {
        assertThat(rank(name).exitCode()).as("%s", rank(name).output()).isZero();
      }
      coordinator.await();
    }
    assertThat(end("b")).startsWith("LEFT ");
    assertThat(end("a")).startsWith("COMPLETED ").isEqualTo(end("d"));
    List<String> lines = new ArrayList<>();
    for (TestJvm rank : ranks.values()) {
      lines.addAll(rank.output());
    }
    ElasticLog log = new ElasticLog(lines);
    log.assertEachSampleOnce(ElasticRank.EPOCHS);
    assertThat(log.generations().values().stream().map(each -> each.names().size()))
        .containsExactly(3, 2, 3, 2);
    assertThat(log.generation(2).step()).isEqualTo(ElasticRank.KILLED_AT);
    assertThat(end("a")).endsWith(" " + reference(List.copyOf(log.generations().values())));
  }

  private void start(String name, Coordinator coordinator) throws IOException {
    ranks.put(
        name,
        TestJvm.start(
            folder,
            Map.of(), // as many threads as the reference has: sums depend on their number
            List.of("-Xmx128m"),
            ElasticRank.class.getName(),
            String.valueOf(coordinator.port()),
            name,
            folder.toString()));
  }

  private void await(CoordinatorEvent.Kind kind, int generation) throws InterruptedException {
    CoordinatorEvent event = events.take();
    while (event.kind() != kind || event.generation() != generation) {
      event = events.take();
    }
  }

  private TestJvm rank(String name) {
    return requireNonNull(ranks.get(name));
  }

  private String end(String name) throws IOException {
    List<String> lines = rank(name).output();
    return lines.get(lines.size() - 1);
  }

  /** Trains the same worlds by a plain loop in threads; returns the final state of rank 0. */
  private static String reference(List<Entered> worlds) throws Exception {
    Map<String, ElasticNet> nets = new LinkedHashMap<>();
    LoaderState[] position = new LoaderState[1];
    try (PointerScope scope = new PointerScope();
        TensorDataset data = ElasticNet.data()) {
      for (int i = 0; i < worlds.size(); i++) {
        List<String> names = worlds.get(i).names();
        for (String name : names) {
          nets.computeIfAbsent(name, any -> new ElasticNet(name.charAt(0)));
        }
        assertThat(requireNonNull(nets.get(names.get(0))).digest())
            .as("state before generation %d", i + 1)
            .isEqualTo(worlds.get(i).digest());
        try (StateDict first = requireNonNull(nets.get(names.get(0))).state().stateDict()) {
          for (String name : names.subList(1, names.size())) {
            requireNonNull(nets.get(name)).state().loadStateDict(first);
          }
        }
        long steps = i + 1 < worlds.size() ? worlds.get(i + 1).step() - worlds.get(i).step() : -1;
        LoaderState from = position[0];
        RankThreads.run(
            names.size(),
            group -> {
              ElasticNet net = requireNonNull(nets.get(names.get(group.rank())));
              try (DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
                  DataLoader loader = ElasticNet.loader(data, group.part())) {
                LoaderState end = train(net, model, loader, from, steps);
                if (group.rank() == 0) {
                  position[0] = end;
                }
              }
            });
      }
      return requireNonNull(nets.get(worlds.get(worlds.size() - 1).names().get(0))).digest();
    }
  }

  /** Trains a number of steps, or to the end if it is negative. */
  private static LoaderState train(
      ElasticNet net,
      DistributedDataParallel model,
      DataLoader loader,
      @Nullable LoaderState from,
      long steps) {
    LoaderState state = from;
    long left = steps;
    do {
      try (Batches batches = state == null ? loader.epoch(0) : loader.resume(state)) {
        while (left != 0 && batches.hasNext()) {
          try (PointerScope scope = new PointerScope()) {
            net.backward(model, batches.next());
            net.update();
          }
          left--;
        }
        state = batches.state();
      }
    } while (left != 0 && !(state.finished() && state.epoch() + 1 == ElasticRank.EPOCHS));
    return state;
  }
}
