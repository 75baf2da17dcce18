// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * A dataset of normalized images, each shifted by up to two pixels in both directions, at random in
 * each epoch, by Java code that the workers of the loader run.
 */
final class ShiftedImages implements Dataset {
  private static final int SIDE = MnistTensors.SIDE;
  private static final int FARTHEST = 2;

  private final MnistTensors data;
  private final float[] normalized = new float[256]; // by pixel value
  private final ThreadLocal<Scratch> scratch = ThreadLocal.withInitial(Scratch::new);

  /** The buffers of one worker. */
  private static final class Scratch {
    final byte[] pixels = new byte[SIDE * SIDE];
    final float[] image = new float[SIDE * SIDE];
  }

  ShiftedImages(MnistTensors data) {
    this.data = data;
    for (int pixel = 0; pixel < normalized.length; pixel++) {
      normalized[pixel] = (float) ((pixel / 255.0 - MnistTensors.MEAN) / MnistTensors.DEVIATION);
    }
  }

  @Override
  public long size() {
    return data.size();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(DType.FLOAT32, 1, SIDE, SIDE), RowSpec.of(DType.INT64));
  }

  @Override
  public void read(long index, SampleWriter sample) {
    Scratch own = scratch.get();
    ByteBuffer pixels = data.images().values();
    pixels.get((int) index * SIDE * SIDE, own.pixels);
    int down = sample.random().nextInt(-FARTHEST, FARTHEST + 1);
    int right = sample.random().nextInt(-FARTHEST, FARTHEST + 1);
    for (int row = 0; row < SIDE; row++) {
      for (int column = 0; column < SIDE; column++) {
        own.image[row * SIDE + column] = normalized[pixel(own.pixels, row - down, column - right)];
      }
    }
    sample.put(0, own.image);
    sample.putLong(1, data.labels().values().get((int) index) & 0xFF);
  }

  private static int pixel(byte[] pixels, int row, int column) {
    boolean inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
    return inside ? pixels[row * SIDE + column] & 0xFF : 0;
  }
}
