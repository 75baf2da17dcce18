// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.table;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import org.jspecify.annotations.Nullable;

/**
 * A place for the columns of a checkpoint, for a program that did not learn them: inference.
 *
 * <pre>{@code
 * SavedColumns saved = SavedColumns.empty();
 * try (Checkpoints checkpoints = Checkpoints.open(Path.of("run"))) {
 *   checkpoints.loadBest(TrainingState.builder().part("columns", saved).build());
 *   // the sizes of the net are known only now
 *   LinearImpl best = new LinearImpl(saved.get().width("x"), saved.get().indexCount("y"));
 *   checkpoints.loadBest(TrainingState.builder().module("model", best).build());
 * }
 * FittedColumns fitted = saved.get().only("x"); // new rows have no label
 * TensorDataset data = CsvFile.of(Path.of("new.csv")).read(fitted.columns()).dataset(fitted);
 * }</pre>
 *
 * <p>Not thread-safe.
 */
public final class SavedColumns implements Stateful {
  private @Nullable FittedColumns columns;

  private SavedColumns() {}

  /**
   * Returns an empty place.
   *
   * @return the place
   */
  public static SavedColumns empty() {
    return new SavedColumns();
  }

  /**
   * Returns the columns that were loaded.
   *
   * @return the columns
   * @throws IllegalStateException if none were
   */
  public FittedColumns get() {
    if (columns == null) {
      throw new IllegalStateException("no columns were loaded; load a checkpoint that has them");
    }
    return columns;
  }

  @Override
  public StateDict stateDict() {
    return get().stateDict();
  }

  @Override
  public void loadStateDict(StateDict state) {
    columns = FittedColumns.fromJson(requireNonNull(state, "state").json());
  }
}
