// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.data.task.SampleRandom;
import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.PlanParameters;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Streams whose objects are shuffled in windows. A position is {@code delivered:start}: the number
 * of objects of the window that were delivered, and the position in the underlying stream where the
 * window begins.
 */
record ShuffledStreamDataset<T>(ObjectStreamDataset<T> objects, int window, long seed)
    implements ObjectStreamDataset<T> {
  ShuffledStreamDataset {
    requireNonNull(objects, "objects");
    if (window < 1) {
      throw new IllegalArgumentException("window must be at least 1, got " + window);
    }
  }

  @Override
  public int shards() {
    return objects.shards();
  }

  @Override
  public PlanParameters parameters() {
    PlanParameters below = objects.parameters();
    return new PlanParameters(below.kind() + "/shuffled", below.values())
        .with("window", window)
        .with("shuffleSeed", seed);
  }

  @Override
  public ObjectStreamDataset.ObjectStream<T> open(long epoch, int shard, @Nullable String position)
      throws Exception {
    int colon = position == null ? -1 : position.indexOf(':');
    if (position == null) {
      return new Shuffled<>(objects.open(epoch, shard, null), this, epoch, shard);
    }
    if (colon < 1) {
      throw new IllegalArgumentException(
          "a position in a shuffled stream must be delivered:start, got "
              + Quotes.shortened(position));
    }
    Shuffled<T> stream =
        new Shuffled<>(
            objects.open(epoch, shard, position.substring(colon + 1)), this, epoch, shard);
    try {
      stream.skip(Integer.parseInt(position.substring(0, colon)));
      return stream;
    } catch (Throwable e) {
      stream.close();
      throw e;
    }
  }

  /** An object of a window, or the reason why it could not be read. */
  private record Slot<T>(@Nullable T object, @Nullable Exception failure) {}

  private static final class Shuffled<T> implements ObjectStreamDataset.ObjectStream<T> {
    private final ObjectStreamDataset.ObjectStream<T> stream;
    private final ShuffledStreamDataset<T> rule;
    private final long epoch;
    private final int shard;
    private final List<@Nullable Slot<T>> slots = new ArrayList<>();
    private int delivered;
    private @Nullable String start; // position of the window in slots
    private boolean isFilling;

    Shuffled(
        ObjectStreamDataset.ObjectStream<T> stream,
        ShuffledStreamDataset<T> rule,
        long epoch,
        int shard) {
      this.stream = stream;
      this.rule = rule;
      this.epoch = epoch;
      this.shard = shard;
    }

    void skip(int count) throws Exception {
      if (count > 0) {
        fill();
      }
      if (count > slots.size()) {
        throw new IllegalStateException(
            "%d objects were delivered of a window that now has %d".formatted(count, slots.size()));
      }
      Collections.fill(slots.subList(0, count), null);
      delivered = count;
    }

    @Override
    public @Nullable T next() throws Exception {
      if (isFilling || delivered == slots.size()) {
        fill();
      }
      if (slots.isEmpty()) {
        return null;
      }
      Slot<T> slot = requireNonNull(slots.set(delivered++, null));
      if (slot.failure() != null) {
        throw slot.failure();
      }
      return slot.object();
    }

    /** Reads a window, or continues one whose reading was interrupted. */
    private void fill() throws Exception {
      if (!isFilling) {
        slots.clear();
        delivered = 0;
        start = stream.position();
        isFilling = true;
      }
      String place = start;
      boolean hasMore = true;
      while (hasMore && slots.size() < rule.window()) {
        try {
          T object = stream.next();
          hasMore = object != null && slots.add(new Slot<>(object, null));
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception e) {
          slots.add(new Slot<>(null, e));
          String now = stream.position();
          hasMore = !now.equals(place);
          place = now;
        }
      }
      isFilling = false;
      shuffle(requireNonNull(start));
    }

    /** Shuffles the window by seed, epoch, shard and the position of its start. */
    private void shuffle(String windowStart) {
      CRC32C hash = new CRC32C();
      hash.update(windowStart.getBytes(UTF_8));
      SampleRandom random = new SampleRandom();
      random.begin(rule.seed(), epoch, ((long) shard << Integer.SIZE) ^ hash.getValue());
      for (int i = slots.size() - 1; i > 0; i--) {
        Collections.swap(slots, i, random.nextInt(i + 1));
      }
    }

    @Override
    public String position() throws Exception {
      return start == null || delivered == slots.size()
          ? "0:" + stream.position()
          : delivered + ":" + start;
    }

    @Override
    public void close() throws Exception {
      stream.close();
    }
  }
}
