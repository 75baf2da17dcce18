// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.djl;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Record;
import ai.djl.util.Progress;

/** A dataset with one Java callback per sample, which creates a new array each time. */
final class NormalizedSamples extends RandomAccessDataset {
  private static final int WIDTH = 784;
  private static final float[] TABLE = new float[256];

  static {
    for (int i = 0; i < TABLE.length; i++) {
      TABLE[i] = (i / 255f - DjlLoader.MEAN) / DjlLoader.DEVIATION;
    }
  }

  private final byte[] pixels;
  private final long[] labels;

  NormalizedSamples(Builder builder, byte[] pixels, long[] labels) {
    super(builder);
    this.pixels = pixels;
    this.labels = labels;
  }

  /** DJL's options, with none added. */
  static final class Builder extends BaseBuilder<Builder> {
    @Override
    protected Builder self() {
      return this;
    }
  }

  @Override
  public Record get(NDManager owner, long index) {
    float[] floats = new float[WIDTH];
    int from = (int) index * WIDTH;
    for (int i = 0; i < floats.length; i++) {
      floats[i] = TABLE[pixels[from + i] & 0xFF];
    }
    return new Record(
        new NDList(owner.create(floats, new Shape(1, 28, 28))),
        new NDList(owner.create(labels[(int) index])));
  }

  @Override
  protected long availableSize() {
    return labels.length;
  }

  @Override
  public void prepare(Progress progress) {}
}
