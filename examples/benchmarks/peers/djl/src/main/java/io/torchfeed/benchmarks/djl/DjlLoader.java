// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.jni.JniUtils;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.translate.Pipeline;
import ai.djl.translate.TranslateException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * DJL's loader for examples/benchmarks/loaders, over the same rows. Speaks the protocol of
 * ContestantProgram.java. Variants: {@code ndindex} (DJL's own ArrayDataset), {@code embedding}
 * (rows gathered by {@link EmbeddingDataset}) and {@code sample} (one callback per sample, row C).
 * The suffix {@code -2-threads} selects two threads per operation.
 */
public final class DjlLoader {
  static final float MEAN = 0.1307f;
  static final float DEVIATION = 0.3081f;

  private static final int PREFETCH = 4;
  private static final int MNIST_ROWS = 60_000;
  private static final String TWO_THREADS = "-2-threads";

  private final NDManager manager = NDManager.newBaseManager("PyTorch");
  private final String row;
  private final Path folder;
  private final int batch;
  private final Map<String, RandomAccessDataset> datasets = new HashMap<>();
  private final ExecutorService[] executors = new ExecutorService[3];
  private NDArray images;
  private NDArray labels;

  private DjlLoader(String row, Path folder) {
    this.row = row;
    this.folder = folder;
    batch = "B".equals(row) ? 64 : 256;
    manager.getEngine().setRandomSeed(1);
  }

  private RandomAccessDataset dataset(String variant) throws IOException {
    RandomAccessDataset dataset = datasets.get(variant);
    if (dataset == null) {
      dataset = open(variant);
      datasets.put(variant, dataset);
    }
    return dataset;
  }

  private RandomAccessDataset open(String variant) throws IOException {
    if ("sample".equals(variant)) {
      return new NormalizedSamples(
          new NormalizedSamples.Builder().setSampling(batch, true).optPrefetchNumber(PREFETCH),
          pixels(),
          classes());
    }
    read();
    ArrayDataset.Builder builder =
        new ArrayDataset.Builder()
            .setData(images)
            .optLabels(labels)
            .setSampling(batch, true)
            .optPrefetchNumber(PREFETCH);
    if ("C".equals(row)) {
      builder.optPipeline(new Pipeline(DjlLoader::normalized));
    }
    return switch (variant) {
      case "ndindex" -> builder.build();
      case "embedding" -> new EmbeddingDataset(builder, images, labels);
      default -> throw new IllegalArgumentException("no variant " + variant);
    };
  }

  private static NDArray normalized(NDArray bytes) {
    return bytes.toType(DataType.FLOAT32, false).muli(1 / (255 * DEVIATION)).subi(MEAN / DEVIATION);
  }

  /** Loads the rows into DJL's memory, once. */
  private void read() throws IOException {
    if (images != null) {
      return;
    }
    byte[] pixels = pixels();
    if ("B".equals(row)) {
      int count = pixels.length / (3 * 224 * 224);
      images =
          manager.create(ByteBuffer.wrap(pixels), new Shape(count, 3, 224, 224), DataType.UINT8);
      labels = manager.arange(0, count, 1, DataType.INT64).mod(1000);
      return;
    }
    Shape shape = new Shape(MNIST_ROWS, 1, 28, 28);
    labels = manager.create(classes());
    if ("C".equals(row)) {
      images = manager.create(ByteBuffer.wrap(pixels), shape, DataType.UINT8);
      return;
    }
    float[] floats = new float[pixels.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (pixels[i] & 0xFF) / 255f;
    }
    images = manager.create(floats, shape);
  }

  private byte[] pixels() throws IOException {
    if ("B".equals(row)) {
      return Files.readAllBytes(folder.resolve("images.bin"));
    }
    byte[] file = Files.readAllBytes(folder.resolve("train-images-idx3-ubyte"));
    return Arrays.copyOfRange(file, 16, file.length);
  }

  private long[] classes() throws IOException {
    byte[] bytes = Files.readAllBytes(folder.resolve("train-labels-idx1-ubyte"));
    long[] labels = new long[bytes.length - 8];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = bytes[8 + i];
    }
    return labels;
  }

  /**
   * Loads an epoch; returns its rows, batches and, if {@code sum}, the sums of labels and elements.
   */
  private double[] epoch(RandomAccessDataset rows, int workers, boolean sum)
      throws IOException, TranslateException {
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
    boolean twoThreads = request[1].endsWith(TWO_THREADS);
    JniUtils.setNumThreads(twoThreads ? 2 : 1);
    RandomAccessDataset rows = dataset(request[1].replace(TWO_THREADS, ""));
    int workers = Integer.parseInt(request[2]);
    if ("check".equals(request[0])) {
      double[] seen = epoch(rows, workers, true);
      return (long) seen[0] + " " + (long) seen[2] + " " + seen[3];
    }
    long atLeast = Long.parseLong(request[3]) * 1_000_000;
    long start = System.nanoTime();
    long nanos;
    double loaded = 0;
    double batches = 0;
    do {
      double[] seen = epoch(rows, workers, false);
      loaded += seen[0];
      batches += seen[1];
      nanos = System.nanoTime() - start;
    } while (nanos < atLeast);
    return (long) loaded + " " + (long) batches + " " + nanos + " -1";
  }

  /**
   * Runs until standard input ends.
   *
   * @param args the row and the folder of its files
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
