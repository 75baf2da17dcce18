// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.ContentHash;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;
import org.jspecify.annotations.Nullable;

/**
 * A sampler over the indices in a list, for example a subset of a dataset.
 *
 * <p>Combines PyTorch's {@code Subset} and {@code SubsetRandomSampler}; a list may contain an index
 * more than once. The sampler holds 8 bytes per index, its cursors hold no list; {@link
 * Cursor#seek} takes constant time. Immutable; any number of threads may open cursors.
 */
public final class ListSampler implements Sampler {
  private final long[] indices;
  private final String hash;
  private final @Nullable Long seed;

  private ListSampler(long[] indices, @Nullable Long seed) {
    this.indices = indices.clone();
    ContentHash content = new ContentHash().add(indices.length);
    for (int i = 0; i < indices.length; i++) {
      if (this.indices[i] < 0) {
        throw new IllegalArgumentException(
            "an index must be at least 0, got %d at position %d".formatted(this.indices[i], i));
      }
      content.add(this.indices[i]);
    }
    this.hash = content.hex();
    this.seed = seed;
  }

  /**
   * Creates a plan that delivers the list as it is in every epoch.
   *
   * @param indices dataset indices, at least 0; copied
   * @return the plan
   * @throws IllegalArgumentException if an index is negative
   */
  public static ListSampler inOrder(long... indices) {
    requireNonNull(indices, "indices");
    return new ListSampler(indices, null);
  }

  /**
   * Creates a plan that delivers the list in a different order in each epoch, drawn by {@link
   * SeekablePermutation}.
   *
   * @param seed any number
   * @param indices dataset indices, at least 0; copied
   * @return the plan
   * @throws IllegalArgumentException if an index is negative
   */
  public static ListSampler shuffled(long seed, long... indices) {
    requireNonNull(indices, "indices");
    return new ListSampler(indices, seed);
  }

  @Override
  public long size() {
    return indices.length;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    if (seed == null || indices.length == 0) {
      return new ComputedCursor(this, indices.length, position -> indices[(int) position]);
    }
    SeekablePermutation order = SeekablePermutation.of(indices.length, seed, epoch);
    return new ComputedCursor(this, indices.length, position -> indices[(int) order.at(position)]);
  }

  @Override
  public DatasetSize madeFor() {
    return DatasetSize.containing(indices);
  }

  @Override
  public PlanParameters parameters() {
    PlanParameters parameters =
        PlanParameters.of("seekable.ListSampler")
            .with("samples", indices.length)
            .with("indices", hash)
            .with("shuffle", seed != null);
    return seed == null ? parameters : parameters.with("seed", seed);
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }
}
