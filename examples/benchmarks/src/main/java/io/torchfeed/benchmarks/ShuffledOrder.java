// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import java.util.SplittableRandom;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.SizeTVectorOptional;

/** A shuffled order, opened and read as a user would. */
interface ShuffledOrder {
  /** Opens the order of an epoch. */
  void open(long epoch);

  /** Writes the next indices. */
  void read(long[] into, int count);

  /** Frees the resources of the epoch. */
  default void close() {}

  /** Returns the order with the given name in the benchmark's parameters. */
  static ShuffledOrder of(String name, int size) {
    return switch (name) {
      case "ShuffledSampler" -> new OfSampler(ShuffledSampler.of(size, 1));
      case "RandomSampler" -> new OfSampler(RandomSampler.of(size, 1));
      case "DistributedRandomSampler" ->
          new OfSampler(DistributedRandomSampler.of(size, Part.whole()));
      case "plainJava" -> new ShuffledArray(size);
      case "presetsRandom" -> new OfPresets(new org.bytedeco.pytorch.RandomSampler(size));
      case "presetsDistributed" ->
          new OfDistributedPresets(new org.bytedeco.pytorch.DistributedRandomSampler(size));
      default -> throw new IllegalArgumentException("unknown order " + name);
    };
  }

  /** An order of a torchfeed sampler. */
  final class OfSampler implements ShuffledOrder {
    private final Sampler sampler;
    private Cursor cursor;

    OfSampler(Sampler sampler) {
      this.sampler = sampler;
      cursor = sampler.epoch(0);
    }

    @Override
    public void open(long epoch) {
      cursor.close();
      cursor = sampler.epoch(epoch);
    }

    @Override
    public void read(long[] into, int count) {
      cursor.next(into, 0, count);
    }

    @Override
    public void close() {
      cursor.close();
    }
  }

  /** A Fisher-Yates shuffle in plain Java. */
  final class ShuffledArray implements ShuffledOrder {
    private final long[] list;
    private int position;

    ShuffledArray(int size) {
      list = new long[size];
    }

    @Override
    public void open(long epoch) {
      SplittableRandom random = new SplittableRandom(epoch);
      for (int i = 0; i < list.length; i++) {
        list[i] = i;
      }
      for (int i = list.length - 1; i > 0; i--) {
        int j = random.nextInt(i + 1);
        long other = list[j];
        list[j] = list[i];
        list[i] = other;
      }
      position = 0;
    }

    @Override
    public void read(long[] into, int count) {
      System.arraycopy(list, position, into, 0, count);
      position += count;
    }
  }

  /** An order of the presets' binding of libtorch's class. */
  final class OfPresets implements ShuffledOrder {
    private final org.bytedeco.pytorch.RandomSampler sampler;

    OfPresets(org.bytedeco.pytorch.RandomSampler sampler) {
      this.sampler = sampler;
    }

    @Override
    public void open(long epoch) {
      sampler.reset();
    }

    @Override
    public void read(long[] into, int count) {
      copy(sampler.next(count), into);
    }

    @Override
    public void close() {
      sampler.close();
    }

    static void copy(SizeTVectorOptional batch, long[] into) {
      try (batch;
          SizeTVector indices = batch.get()) {
        long[] list = indices.get();
        System.arraycopy(list, 0, into, 0, list.length);
      }
    }
  }

  /** An order of the presets' binding of libtorch's class for several ranks. */
  final class OfDistributedPresets implements ShuffledOrder {
    private final org.bytedeco.pytorch.DistributedRandomSampler sampler;

    OfDistributedPresets(org.bytedeco.pytorch.DistributedRandomSampler sampler) {
      this.sampler = sampler;
    }

    @Override
    public void open(long epoch) {
      sampler.set_epoch(epoch);
      sampler.reset();
    }

    @Override
    public void read(long[] into, int count) {
      OfPresets.copy(sampler.next(count), into);
    }

    @Override
    public void close() {
      sampler.close();
    }
  }
}
