// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.PlanChecks;
import io.torchfeed.sampler.cursor.PositionCursor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A sampler that concatenates plans: the whole epoch of the first source, then the next one's.
 *
 * <p>Each source keeps its own order, and epoch e here is epoch e of every source; indices refer to
 * the concatenated datasets ({@link MixedSampler.Source#ofDatasets}). For an order that mixes the
 * sources, see {@link MixedSampler}. Time and memory are the sources', each opened when it is first
 * read, plus O(log k) to find one of k sources. Immutable; any number of threads may open cursors.
 */
public final class ConcatenatedSampler implements Sampler {
  private final List<MixedSampler.Source> sources;
  private final long[] starts; // start of each source, and the end of the last
  private final String hash; // cached, since sources may be nested and shared
  private final int depth;

  private ConcatenatedSampler(List<MixedSampler.Source> sources) {
    this.sources = Checks.copyOf("sources", sources);
    if (sources.isEmpty()) {
      throw new IllegalArgumentException("sources must not be empty");
    }
    this.starts = new long[this.sources.size() + 1];
    for (int i = 0; i < this.sources.size(); i++) {
      long size = this.sources.get(i).plan().size();
      if (size < 0 || size > PlanChecks.MAX_SIZE - starts[i]) {
        throw new IllegalArgumentException(
            "sources must have 0 to %d indices in total, got %d more at source %d"
                .formatted(PlanChecks.MAX_SIZE, size, i));
      }
      starts[i + 1] = starts[i] + size;
    }
    this.hash = MixedSampler.Source.hash(this.sources);
    this.depth = MixedSampler.Source.depth(this.sources);
  }

  /**
   * Creates a plan.
   *
   * @param sources the plans, in order; at least one; copied
   * @return the plan
   * @throws IllegalArgumentException if there is no source, a source has a negative size, or the
   *     sum of their sizes is above 2<sup>62</sup>
   */
  public static ConcatenatedSampler of(List<MixedSampler.Source> sources) {
    return new ConcatenatedSampler(sources);
  }

  /**
   * Returns the plans, in order.
   *
   * @return the sources, at least one
   */
  public List<MixedSampler.Source> sources() {
    return sources;
  }

  @Override
  public long size() {
    return starts[sources.size()];
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    return new PartsCursor(this, epoch);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("torchfeed.ConcatenatedSampler").with("sources", hash);
  }

  @Override
  public DatasetSize madeFor() {
    return MixedSampler.Source.madeFor(sources);
  }

  @Override
  public int depth() {
    return depth;
  }

  @Override
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public boolean equals(@Nullable Object other) {
    return other instanceof ConcatenatedSampler plan && sources.equals(plan.sources);
  }

  @Override
  public int hashCode() {
    return hash.hashCode();
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }

  /** A cursor over the cursors of the sources, one after the other. */
  private static final class PartsCursor extends PositionCursor {
    private final long[] starts;
    private final long epoch;
    private final List<SourceCursor> cursors;
    private final List<MixedSampler.Source> sources;

    PartsCursor(ConcatenatedSampler plan, long epoch) {
      super(plan, plan.size());
      this.starts = plan.starts;
      this.sources = plan.sources;
      this.epoch = epoch;
      this.cursors = plan.sources.stream().map(s -> new SourceCursor(s.plan())).toList();
    }

    private int partAt(long position) {
      int found = Arrays.binarySearch(starts, position);
      if (found < 0) {
        return -found - 2;
      }
      while (starts[found + 1] == position) {
        found++; // skip empty sources, which start here too
      }
      return found;
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      int done = 0;
      while (done < count) {
        long position = start + done * stride;
        int part = partAt(position);
        int read = (int) Math.min((starts[part + 1] - 1 - position) / stride + 1, count - done);
        int first = from + done;
        cursors.get(part).read(epoch, position - starts[part], stride, into, first, read);
        for (int i = first; i < first + read; i++) {
          into[i] = sources.get(part).shifted(into[i]);
        }
        done += read;
      }
    }

    @Override
    public boolean paddingAt(long position) {
      int part = partAt(position);
      return cursors.get(part).paddingAt(epoch, position - starts[part]);
    }

    @Override
    public void release() {
      cursors.forEach(SourceCursor::close);
    }
  }
}
