// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Record;
import ai.djl.translate.TranslateException;
import ai.djl.util.Progress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * DJL's loader for examples/benchmarks/loaders, over the same rows. Speaks the protocol of
 * ContestantProgram.java.
 */
public final class DjlLoader {
  private static final float MEAN = 0.1307f;
  private static final float DEVIATION = 0.3081f;
  private static final int PREFETCH = 4;

  private final NDManager manager = NDManager.newBaseManager("PyTorch");
  private final RandomAccessDataset rows;
  private final ExecutorService[] executors = new ExecutorService[3];
  private final int batch;

  private DjlLoader(String row, Path folder) throws IOException {
    batch = "B".equals(row) ? 64 : 256;
    manager.getEngine().setRandomSeed(1);
    if ("C".equals(row)) {
      byte[] pixels = Files.readAllBytes(folder.resolve("train-images-idx3-ubyte"));
      rows =
          new Normalised(
              new Builder().setSampling(batch, true).optPrefetchNumber(PREFETCH),
              pixels,
              classes(folder));
      return;
    }
    NDArray images;
    NDArray labels;
    if ("B".equals(row)) {
      byte[] pixels = Files.readAllBytes(folder.resolve("images.bin"));
      int count = pixels.length / (3 * 224 * 224);
      images =
          manager.create(ByteBuffer.wrap(pixels), new Shape(count, 3, 224, 224), DataType.UINT8);
      labels = manager.arange(0, count, 1, DataType.INT64).mod(1000);
    } else {
      byte[] pixels = Files.readAllBytes(folder.resolve("train-images-idx3-ubyte"));
      float[] floats = new float[pixels.length - 16];
      for (int i = 0; i < floats.length; i++) {
        floats[i] = (pixels[16 + i] & 0xFF) / 255f;
      }
      images = manager.create(floats, new Shape(60_000, 1, 28, 28));
      labels = manager.create(classes(folder));
    }
    rows =
        new ArrayDataset.Builder()
            .setData(images)
            .optLabels(labels)
            .setSampling(batch, true)
            .optPrefetchNumber(PREFETCH)
            .build();
  }

  private static long[] classes(Path folder) throws IOException {
    byte[] bytes = Files.readAllBytes(folder.resolve("train-labels-idx1-ubyte"));
    long[] labels = new long[bytes.length - 8];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = bytes[8 + i];
    }
    return labels;
  }

  private static final class Builder extends RandomAccessDataset.BaseBuilder<Builder> {
    @Override
    protected Builder self() {
      return this;
    }
  }

  /** A callback a sample, in Java, with a new array for each. */
  private static final class Normalised extends RandomAccessDataset {
    private static final float[] TABLE = new float[256];

    static {
      for (int i = 0; i < TABLE.length; i++) {
        TABLE[i] = (i / 255f - MEAN) / DEVIATION;
      }
    }

    private final byte[] pixels;
    private final long[] labels;

    Normalised(Builder builder, byte[] pixels, long[] labels) {
      super(builder);
      this.pixels = pixels;
      this.labels = labels;
    }

    @Override
    public Record get(NDManager owner, long index) {
      float[] floats = new float[784];
      int from = 16 + (int) index * 784;
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

  /** Of an epoch: rows, batches, and where wanted the sums over labels and elements. */
  private double[] epoch(int workers, boolean sum) throws IOException, TranslateException {
    double[] seen = new double[4];
    if (workers > 0 && executors[workers] == null) {
      executors[workers] = Executors.newFixedThreadPool(workers);
    }
    Iterable<Batch> batches =
        workers == 0 ? rows.getData(manager) : rows.getData(manager, executors[workers]);
    for (Batch each : batches) {
      try (each) {
        NDArray labels = each.getLabels().singletonOrThrow();
        seen[0] += labels.getShape().get(0);
        seen[1]++;
        if (sum) {
          NDArray data = each.getData().singletonOrThrow();
          seen[2] += labels.sum().getLong();
          seen[3] +=
              data.getDataType().isFloating()
                  ? data.toType(DataType.FLOAT64, true).sum().getDouble()
                  : data.toType(DataType.INT64, true).sum().getLong();
        }
      }
    }
    return seen;
  }

  private String answer(String... request) throws IOException, TranslateException {
    int workers = Integer.parseInt(request[2]);
    if ("check".equals(request[0])) {
      double[] seen = epoch(workers, true);
      return (long) seen[0] + " " + (long) seen[2] + " " + seen[3];
    }
    long atLeast = Long.parseLong(request[3]) * 1_000_000;
    long start = System.nanoTime();
    long nanos;
    double loaded = 0;
    double batches = 0;
    do {
      double[] seen = epoch(workers, false);
      loaded += seen[0];
      batches += seen[1];
      nanos = System.nanoTime() - start;
    } while (nanos < atLeast);
    return (long) loaded + " " + (long) batches + " " + nanos + " -1";
  }

  /**
   * Runs until standard input ends.
   *
   * @param args row, folder of its files
   * @throws Exception if an epoch fails
   */
  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    DjlLoader loader;
    try {
      loader = new DjlLoader(args[0], Path.of(args[1]));
    } catch (RuntimeException | LinkageError e) {
      out.println("missing DJL's engine: " + e);
      return;
    }
    out.println("ready");
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(loader.answer(line.split(" ", -1)));
    }
    System.exit(0);
  }
}
