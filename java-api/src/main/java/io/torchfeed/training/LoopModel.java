// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.ReplicatedModel;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The model of a loop, which is wrapped when its first ranks are there, and bound to those that
 * follow; as a part of a state, the model that it is then.
 */
final class LoopModel<M extends ReplicatedModel> implements Stateful {
  private final @Nullable Function<ProcessGroup, M> wrap;
  private @Nullable M model;

  private LoopModel(@Nullable Function<ProcessGroup, M> wrap, @Nullable M model) {
    this.wrap = wrap;
    this.model = model;
  }

  static <M extends ReplicatedModel> LoopModel<M> borrowed(M model) {
    return new LoopModel<>(null, model);
  }

  static <M extends ReplicatedModel> LoopModel<M> wrapped(Function<ProcessGroup, M> wrap) {
    return new LoopModel<>(wrap, null);
  }

  M get() {
    return requireNonNull(model, "the model of a group");
  }

  /**
   * Binds the model to the ranks, and loads the state if rank 0 does not hold it.
   *
   * @param isHolder whether this rank holds the state
   */
  void bind(Ranks ranks, boolean isHolder, SavedState saved) {
    boolean isLoading = !ranks.isStateHeld();
    if (isAveraging(ranks) && (isLoading || !isHolder)) {
      close(); // by rebinding, this rank would give its weights to the mean
    }
    if (model == null) {
      wrap(ranks);
    } else if (!ranks.areFixed()) {
      model.rebind(groupOf(ranks));
    }
    if (isLoading && !saved.isEmpty()) {
      saved.load();
      if (isAveraging(ranks)) {
        close();
        wrap(ranks); // the exchange begins with the weights that it finds
      }
    }
  }

  private boolean isAveraging(Ranks ranks) {
    return !ranks.areFixed() && model instanceof ModelAveraging;
  }

  private void wrap(Ranks ranks) {
    model = requireNonNull(requireNonNull(wrap).apply(groupOf(ranks)), "the model of a group");
  }

  private static ProcessGroup groupOf(Ranks ranks) {
    return ranks
        .group()
        .orElseThrow(
            () -> new IllegalStateException("the ranks have no group to wrap a model for"));
  }

  /** Continues counts that the state of all ranks has. */
  void continueAfter(Ranks ranks, Progress progress) {
    if (model instanceof ModelAveraging averaging && !ranks.isStateHeld()) {
      averaging.continueAfter(progress.step(), progress.exchanges());
    }
  }

  long exchanges() {
    return model instanceof ModelAveraging averaging ? averaging.exchanges() : 0;
  }

  @Override
  public StateDict stateDict() {
    return get().stateDict();
  }

  @Override
  public void loadStateDict(StateDict state) {
    get().loadStateDict(state);
  }

  /** Closes the model, unless it is borrowed. */
  void close() {
    if (model != null && wrap != null) {
      model.close();
      model = null;
    }
  }
}
