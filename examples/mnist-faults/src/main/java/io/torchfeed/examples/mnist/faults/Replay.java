// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.examples.mnist.faults.RankLog.Begun;
import io.torchfeed.examples.mnist.faults.Verdict.Generation;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The same training by a plain loop without faults, in threads: each generation from the state with
 * which it began, in the generation that it had. The state after each step must be equal to the
 * ranks' state, bit for bit.
 *
 * <p>The first state is a new model's. Each other one is the replay's own at that step, and must
 * have the digest with which the generation began: so the whole training is compared with one that
 * has never lost a rank.
 */
final class Replay {
  private static final GroupOptions GROUP = GroupOptions.ofTimeout(Duration.ofMinutes(5));

  /** A state that a later generation begins with. */
  private record Kept(StateDict state, @Nullable LoaderState position) {}

  private final RankArguments.Training training;
  private final List<ElasticModel> models = new ArrayList<>();
  private final Map<Long, Kept> kept = new HashMap<>();
  private final Object generator = new Object();
  private final List<String> faults = new ArrayList<>();
  private long steps;

  private Replay(RankArguments.Training training) {
    this.training = training;
  }

  /**
   * The findings of a replay.
   *
   * @param faults empty if all states and samples were equal
   * @param steps the number of steps that were compared
   * @param accuracy of the last state on the test set, in [0, 1]
   */
  record Result(List<String> faults, long steps, double accuracy) {}

  /** Trains all generations. */
  static Result of(RankArguments.Training training, List<Generation> generations)
      throws InterruptedException {
    Replay replay = new Replay(training);
    try (NativeDataset data = ElasticModel.data(training.data(), training.plan().samples())) {
      replay.run(data, generations);
      double accuracy = replay.model(0).accuracy(training.data());
      return new Result(List.copyOf(replay.faults), replay.steps, accuracy);
    } finally {
      replay.kept.values().forEach(each -> each.state().close());
      replay.models.forEach(ElasticModel::close);
    }
  }

  private void run(NativeDataset data, List<Generation> generations) throws InterruptedException {
    ElasticModel.useOneThread();
    model(0);
    keep(0, 0, null);
    for (int i = 0; i < generations.size() && faults.isEmpty(); i++) {
      Generation each = generations.get(i);
      Set<Long> later =
          generations.subList(i + 1, generations.size()).stream()
              .map(next -> next.start)
              .collect(Collectors.toSet());
      Kept first = kept.get(each.start);
      if (first == null) {
        faults.add("the replay has no state for generation " + each.number);
        return;
      }
      for (int rank = 0; rank < each.size; rank++) {
        model(rank).state().loadStateDict(first.state());
      }
      if (model(0).digest() != each.digest) {
        faults.add("the replay has another state at the start of generation " + each.number);
      } else if (!each.done.isEmpty()) {
        inThreads(each, data, first.position(), later);
      }
      kept.entrySet().removeIf(entry -> !later.contains(entry.getKey()) && isClosed(entry));
    }
  }

  private static boolean isClosed(Map.Entry<Long, Kept> entry) {
    entry.getValue().state().close();
    return true;
  }

  private ElasticModel model(int rank) {
    while (models.size() <= rank) {
      models.add(ElasticModel.of(training.plan().seed(), training.learningRate()));
    }
    return models.get(rank);
  }

  private void keep(long step, int rank, @Nullable LoaderState position) {
    Kept before = kept.put(step, new Kept(model(rank).state().stateDict(), position));
    if (before != null) {
      before.state().close();
    }
  }

  private void inThreads(
      Generation each, NativeDataset data, @Nullable LoaderState from, Set<Long> later)
      throws InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(each.size);
    Master master = Master.listen("127.0.0.1");
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < each.size; i++) {
        int rank = i;
        Master own = rank == 0 ? master : Master.at("127.0.0.1", master.port());
        all.add(threads.submit(() -> train(own, rank, each, data, from, later)));
      }
      for (Future<?> one : all) {
        one.get();
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("the replay of generation " + each.number + " failed", e);
    } finally {
      threads.shutdownNow();
      awaitEnd(threads);
    }
  }

  /**
   * Waits until no thread uses a model; one that is left alone ends with the group's time limit.
   */
  private static void awaitEnd(ExecutorService threads) throws InterruptedException {
    while (!threads.awaitTermination(1, TimeUnit.MINUTES)) {}
  }

  private void train(
      Master master,
      int rank,
      Generation each,
      NativeDataset data,
      @Nullable LoaderState from,
      Set<Long> later) {
    ElasticModel.useOneThread();
    Part part = Part.rank(rank).of(each.size);
    try (ProcessGroup group = ProcessGroup.join(master, part, GROUP);
        DistributedDataParallel wrapped =
            DistributedDataParallel.wrap(model(rank).module(), group);
        DataLoader loader = training.plan().loader(data, part)) {
      LoaderState state = from;
      long step = each.start;
      long end = each.done.lastKey() + 1;
      while (step < end) {
        try (Batches batches = state == null ? loader.epoch(0) : loader.resume(state)) {
          while (step < end && batches.hasNext()) {
            step(each, step, rank, wrapped, batches.next());
            step++;
            if (rank == 0 && later.contains(step)) {
              keep(step, rank, batches.state());
            }
          }
          state = batches.state();
        }
      }
    }
  }

  @SuppressWarnings("try") // a scope works by being open
  private void step(
      Generation each, long step, int rank, DistributedDataParallel wrapped, Batch batch) {
    ElasticModel model = model(rank);
    Begun logged = requireNonNull(requireNonNull(each.begun.get(step)).get(rank));
    List<Long> own = FaultRank.withoutPadding(batch);
    if (batch.epoch() != logged.epoch()
        || !own.equals(logged.indices())
        || batch.indices().length - own.size() != logged.padding()) {
      fault(
          "the replay has other samples in step %d of generation %d as rank %d"
              .formatted(step, each.number, rank));
    }
    try (PointerScope scope = new PointerScope()) {
      model.zeroGrad();
      Tensor loss;
      synchronized (generator) { // there is one for all threads
        torch.manual_seed(logged.seed());
        loss = model.loss(batch);
      }
      wrapped.backward(loss);
      model.update();
    }
    if (rank == 0) {
      steps++;
      Long digest = each.done.get(step);
      if (digest != null && digest != model.digest()) {
        fault(
            "the replay has another state after step %d of generation %d"
                .formatted(step, each.number));
      }
    }
  }

  /** Keeps the first fault of a generation: others follow from it. */
  private void fault(String text) {
    synchronized (faults) {
      if (faults.isEmpty()) {
        faults.add(text);
      }
    }
  }
}
