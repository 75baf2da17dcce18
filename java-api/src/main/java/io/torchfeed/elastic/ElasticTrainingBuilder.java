// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.internal.RankVariables;
import io.torchfeed.sampler.Part;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of an {@link ElasticTraining}; {@link #state} and {@link #loader} are required. All
 * ranks have the same. Not thread-safe.
 */
public final class ElasticTrainingBuilder {
  final Membership membership;
  final Function<ProcessGroup, ? extends ReplicatedModel> wrap;
  final boolean isAveraging;
  final Progress progress = new Progress();
  @Nullable TrainingState state;
  @Nullable Function<Part, DataLoader> loader;
  long epochs = 1;
  int accumulate = 1;
  long seed;
  GroupOptions group = GroupOptions.defaults();
  @Nullable Checkpoints checkpoints;
  long everySteps;
  @Nullable Generations generations;
  @Nullable String from = System.getenv(RankVariables.FROM_GENERATION);
  Consumer<World> whenChanged = world -> {};
  ObjLongConsumer<ReplicatedModel> afterEpoch = (model, epoch) -> {};

  ElasticTrainingBuilder(
      Membership membership,
      Function<ProcessGroup, ? extends ReplicatedModel> wrap,
      boolean isAveraging) {
    this.isAveraging = isAveraging;
    this.membership = requireNonNull(membership, "membership");
    this.wrap = requireNonNull(wrap, "wrap");
  }

  /**
   * Sets the state that ranks copy from each other and that checkpoints have. It must hold the
   * model's module and the optimizer, and all else that steps change; the position in the data is
   * added. A part must be saved by one rank alone, so the model itself is none: {@link
   * io.torchfeed.distributed.training.DistributedDataParallel#rebind} describes how it begins again
   * in each world.
   *
   * @param parts adds the parts; the name {@code progress} is taken
   * @return this builder
   * @throws IllegalArgumentException if a part is added by {@link
   *     TrainingState.Builder#ofEachRank}: a rank that is lost takes its own with it
   */
  public ElasticTrainingBuilder state(Consumer<TrainingState.Builder> parts) {
    requireNonNull(parts, "parts");
    TrainingState.Builder builder = TrainingState.builder();
    parts.accept(builder);
    TrainingState built = builder.part("progress", progress).build();
    if (!built.namesOfEachRank().isEmpty()) {
      throw new IllegalArgumentException(
          "in an elastic training all ranks have the same state, got parts of each rank: "
              + String.join(", ", built.namesOfEachRank()));
    }
    state = built;
    return this;
  }

  /**
   * Sets the data: a dataset with indices, delivered in order, or a stream.
   *
   * <p>Over a stream, training is by {@link ElasticTraining#run(ElasticTraining.Loss, Runnable)}. A
   * rank that has used all batches of its shards takes part in the others' steps with gradients of
   * 0, so that each batch has the same weight. As a rank that is lost takes its positions with it,
   * the ranks gather all positions before each step: one more operation of the group, of some bytes
   * for each shard. With {@link #accumulate} all batches of a step are in memory. There are at
   * least as many shards as ranks.
   *
   * @param loader opens the loader of a rank; called when the number of ranks or the rank changes,
   *     after the loader before has been closed. Its plan or dataset is the same but for the part,
   *     and with indices the epochs of all ranks have equally many batches
   * @return this builder
   */
  public ElasticTrainingBuilder loader(Function<Part, DataLoader> loader) {
    this.loader = requireNonNull(loader, "loader");
    return this;
  }

  /**
   * Sets the number of epochs; 1 by default.
   *
   * @param epochs at least 1
   * @return this builder
   */
  public ElasticTrainingBuilder epochs(long epochs) {
    if (epochs < 1) {
      throw new IllegalArgumentException("epochs must be at least 1, got " + epochs);
    }
    this.epochs = epochs;
    return this;
  }

  /**
   * Sets the number of batches whose gradients are added up for each step, 1 by default; for {@link
   * ElasticTraining#run(ElasticTraining.Loss, Runnable)}. The last step of an epoch may have fewer.
   * A step that fails is repeated with all its batches.
   *
   * @param batches at least 1, the same on all ranks
   * @return this builder
   */
  public ElasticTrainingBuilder accumulate(int batches) {
    if (batches < 1) {
      throw new IllegalArgumentException("batches must be at least 1, got " + batches);
    }
    this.accumulate = batches;
    return this;
  }

  /**
   * Sets the seed of libtorch's generators, which each step sets to a mix of this number, the step
   * and the rank, so that a step that is repeated draws the same; 0 by default.
   *
   * @param seed any number
   * @return this builder
   */
  public ElasticTrainingBuilder seed(long seed) {
    this.seed = seed;
    return this;
  }

  /**
   * Sets the options of the group of each world.
   *
   * @param options the same on all ranks, except for the device
   * @return this builder
   */
  public ElasticTrainingBuilder group(GroupOptions options) {
    this.group = requireNonNull(options, "options");
    return this;
  }

  /**
   * Sets checkpoints, which rank 0 saves in the background, and at the end. A job that starts, or
   * has lost all ranks that held the state, continues from the last one.
   *
   * @param checkpoints of a folder that all ranks can reach; borrowed
   * @param everySteps the number of steps from one to the next, at least 1
   * @return this builder
   */
  public ElasticTrainingBuilder checkpoints(Checkpoints checkpoints, long everySteps) {
    if (everySteps < 1) {
      throw new IllegalArgumentException("everySteps must be at least 1, got " + everySteps);
    }
    this.checkpoints = requireNonNull(checkpoints, "checkpoints");
    this.everySteps = everySteps;
    return this;
  }

  /**
   * Sets a folder in which rank 0 notes each generation and saves the state with which it begins,
   * in the background. If the launcher asks for it, the job runs one of them again, as by {@link
   * #fromGeneration}.
   *
   * @param generations of a folder that all ranks can reach, without checkpoints; borrowed
   * @return this builder
   */
  public ElasticTrainingBuilder generations(Generations generations) {
    this.generations = requireNonNull(generations, "generations");
    return this;
  }

  /**
   * Sets that the job runs a generation again: it starts with the state of that generation and as
   * many ranks, saves no checkpoints, and notes no generations. Without failures, it computes the
   * same bits as that generation, and continues to the end of the training.
   *
   * @param name of a generation in the folder of {@link #generations}, such as {@code 1.3}; without
   *     a run, of the last one
   * @return this builder
   */
  public ElasticTrainingBuilder fromGeneration(String name) {
    this.from = requireNonNull(name, "name");
    return this;
  }

  /**
   * Sets an action for when ranks have come or gone, for example to set the learning rate. It runs
   * in each world, also the first, on all ranks once they hold the state.
   *
   * @param action receives the rank and their number
   * @return this builder
   */
  public ElasticTrainingBuilder whenChanged(Consumer<World> action) {
    this.whenChanged = requireNonNull(action, "action");
    return this;
  }

  /**
   * Sets an action for the end of each epoch, for example an evaluation. It may use the group; if a
   * rank is lost meanwhile, it runs again in the next world.
   *
   * @param action receives the model and the epoch
   * @return this builder
   */
  public ElasticTrainingBuilder afterEpoch(ObjLongConsumer<ReplicatedModel> action) {
    this.afterEpoch = requireNonNull(action, "action");
    return this;
  }

  /**
   * Returns the training.
   *
   * @return a training that has not been run
   * @throws IllegalStateException if the state or the loader is not set, or a generation is to be
   *     run again and {@link #generations} is not set
   * @throws IllegalArgumentException if the folder has no such generation, or not its state
   */
  public ElasticTraining build() {
    if (state == null || loader == null) {
      throw new IllegalStateException("an elastic training needs a state and a loader");
    }
    if (from != null && generations == null) {
      throw new IllegalStateException(
          "generation " + from + " cannot be run again: the training has no generations(...)");
    }
    return new ElasticTraining(this, state, loader);
  }
}
