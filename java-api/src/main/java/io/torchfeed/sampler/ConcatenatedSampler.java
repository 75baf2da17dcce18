// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import java.util.List;

/**
 * Several plans one after the other: the whole epoch of the first source, then that of the next.
 *
 * <p>Each source keeps its order, in which epoch e is its own epoch e; indices are those of the
 * concatenated datasets ({@link Source#ofDatasets}). For an order that mixes the sources, see
 * {@link MixedSampler}. Time and memory are those of the sources, each opened when it is first
 * read, and O(log k) to find one of k sources.
 *
 * @param sources the plans, in order; at least one
 */
public record ConcatenatedSampler(List<Source> sources) implements Sampler {
  /**
   * A plan.
   *
   * @param sources the plans, in order; at least one; copied
   * @throws IllegalArgumentException if there is no source, or the sum of their sizes is above
   *     2<sup>62</sup>
   */
  public ConcatenatedSampler {
    sources = List.copyOf(sources);
    if (sources.isEmpty()) {
      throw new IllegalArgumentException("sources must not be empty");
    }
    starts(sources);
  }

  /** The position at which each source starts, and the end of the last. */
  private static long[] starts(List<Source> sources) {
    long[] starts = new long[sources.size() + 1];
    for (int i = 0; i < sources.size(); i++) {
      long size = sources.get(i).plan().size();
      if (size > Orders.LONGEST - starts[i]) {
        throw new IllegalArgumentException(
            "sources must have at most %d indices together, got %d more at source %d"
                .formatted(Orders.LONGEST, size, i));
      }
      starts[i + 1] = starts[i] + size;
    }
    return starts;
  }

  @Override
  public long size() {
    return starts(sources)[sources.size()];
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return new PartsCursor(this, starts(sources), epoch);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("torchfeed.ConcatenatedSampler").with("sources", Source.hash(sources));
  }

  /** The sources' cursors and where each starts. */
  private static final class PartsCursor extends PositionCursor {
    private final long[] starts;
    private final long epoch;
    private final List<SourceCursor> cursors;
    private final long[] firstIndices;

    PartsCursor(ConcatenatedSampler plan, long[] starts, long epoch) {
      super(plan, starts[starts.length - 1]);
      this.starts = starts;
      this.epoch = epoch;
      this.cursors = plan.sources.stream().map(s -> new SourceCursor(s.plan())).toList();
      this.firstIndices = plan.sources.stream().mapToLong(Source::firstIndex).toArray();
    }

    private int partAt(long position) {
      int found = Arrays.binarySearch(starts, position);
      if (found < 0) {
        return -found - 2;
      }
      while (starts[found + 1] == position) {
        found++; // behind empty sources, which start here too
      }
      return found;
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      int done = 0;
      while (done < count) {
        long position = start + done * stride;
        int part = partAt(position);
        int read = (int) Math.min((starts[part + 1] - 1 - position) / stride + 1, count - done);
        int first = from + done;
        cursors.get(part).read(epoch, position - starts[part], stride, into, first, read);
        for (int i = first; i < first + read; i++) {
          into[i] += firstIndices[part];
        }
        done += read;
      }
    }

    @Override
    boolean paddingAt(long position) {
      int part = partAt(position);
      return cursors.get(part).paddingAt(epoch, position - starts[part]);
    }

    @Override
    void release() {
      cursors.forEach(SourceCursor::close);
    }
  }
}
