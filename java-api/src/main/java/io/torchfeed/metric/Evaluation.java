// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SharedModuleVector;
import org.jspecify.annotations.Nullable;

/**
 * The evaluation of a model over a dataset, on one process or on all ranks of a group, with each
 * sample counted once.
 *
 * <pre>{@code
 * LogLoss loss = LogLoss.create(); // the mean of cross_entropy
 * Accuracy accuracy = Accuracy.create();
 * Evaluation evaluation =
 *     Evaluation.of(net, MetricCollection.of(Map.of("loss", loss, "accuracy", accuracy)));
 * Map<String, Double> results =
 *     evaluation.run(
 *         group,
 *         DataLoader.over(dataset).batchSize(500),
 *         batch -> {
 *           Tensor output = net.forward(batch.tensor(0));
 *           loss.update(output, batch.tensor(1));
 *           accuracy.update(output, batch.tensor(1));
 *         });
 * }</pre>
 *
 * <p>It begins from nothing each time, so it can run again when a rank was lost: in the action
 * after an epoch of a {@code TrainingLoop} over elastic ranks it does. If a rank fails, the others
 * wait until it closes or aborts the group, as in any collective. Not thread-safe.
 */
public final class Evaluation {
  private final @Nullable Module module;
  private final MetricCollection metrics;

  private Evaluation(@Nullable Module module, MetricCollection metrics) {
    this.module = module;
    this.metrics = metrics;
  }

  /**
   * Returns an evaluation.
   *
   * @param module in evaluation mode during a run, and in its modes of before after it; borrowed
   * @param metrics reset by each run, and afterwards with the counts of all ranks; borrowed
   * @return the evaluation
   */
  public static Evaluation of(Module module, MetricCollection metrics) {
    return new Evaluation(requireNonNull(module, "module"), requireNonNull(metrics, "metrics"));
  }

  /**
   * Returns an evaluation of a model that is no module, such as a {@code CompiledModel}.
   *
   * @param metrics reset by each run, and afterwards with the counts of all ranks; borrowed
   * @return the evaluation
   */
  public static Evaluation of(MetricCollection metrics) {
    return new Evaluation(null, requireNonNull(metrics, "metrics"));
  }

  /**
   * Evaluates all samples in this process.
   *
   * @param data the loader to build: dataset, size of the batches, device and so on, but no sampler
   * @param step computes the outputs of a batch and updates the metrics, without gradients; tensors
   *     that are made here are freed at its end
   * @return the result of each metric, by name
   * @throws IllegalStateException if the data has a sampler, a part or {@code dropLast}
   */
  public Map<String, Double> run(DataLoaderBuilder data, Consumer<Batch> step) {
    count(Part.whole(), data, step);
    return metrics.compute();
  }

  /**
   * Evaluates all samples by the ranks of a group, each sample by one rank; all of them call this.
   * Takes one collective at the end. Numbers of batches may differ between ranks, and be 0.
   *
   * @param group the ranks
   * @param data the loader to build, the same on all ranks: dataset, size of the batches, device
   *     and so on, but no sampler
   * @param step as in {@link #run(DataLoaderBuilder, Consumer)}; no collectives, since ranks have
   *     different numbers of batches
   * @return the result of each metric, by name, equal on all ranks
   * @throws IllegalStateException if the data has a sampler, a part or {@code dropLast}; or the
   *     group is closed or aborted
   * @throws IllegalArgumentException if a stream has fewer shards than there are ranks, or the
   *     ranks have other metrics
   * @throws io.torchfeed.distributed.PeerLostException if a rank is lost or does not respond within
   *     the timeout
   */
  public Map<String, Double> run(ProcessGroup group, DataLoaderBuilder data, Consumer<Batch> step) {
    count(requireNonNull(group, "group").part(), data, step);
    metrics.merge(group);
    return metrics.compute();
  }

  @SuppressWarnings("try") // a scope works by being open
  private void count(Part part, DataLoaderBuilder data, Consumer<Batch> step) {
    requireNonNull(data, "data");
    requireNonNull(step, "step");
    metrics.reset();
    try (PointerScope all = new PointerScope();
        NoGradGuard guard = new NoGradGuard();
        Modes modes = new Modes(module);
        DataLoader loader = data.forEvaluation(part).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        try (PointerScope scope = new PointerScope()) {
          step.accept(batch);
        }
      }
    }
  }

  /** Evaluation mode, and the modes of before of a module and its layers, which may differ. */
  private static final class Modes implements AutoCloseable {
    private final List<Module> modules = new ArrayList<>();
    private final List<Boolean> areTraining = new ArrayList<>();

    Modes(@Nullable Module module) {
      if (module != null) {
        modules.add(module);
        SharedModuleVector inside = module.modules(false);
        for (long i = 0; i < inside.size(); i++) {
          modules.add(inside.get(i));
        }
        modules.forEach(each -> areTraining.add(each.is_training()));
        module.eval();
      }
    }

    /** Restores the modes: each call sets the layers inside, too, which follow. */
    @Override
    public void close() {
      for (int i = 0; i < modules.size(); i++) {
        modules.get(i).train(areTraining.get(i));
      }
    }
  }
}
