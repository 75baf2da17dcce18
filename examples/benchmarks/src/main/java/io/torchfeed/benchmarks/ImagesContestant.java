// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.DecodedFolder;
import io.torchfeed.data.source.ImageDecoder;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import javax.imageio.IIOException;
import javax.imageio.ImageIO;

/**
 * The contestants of {@code images} that run in a JVM: reads one task per line, {@code CONTESTANT
 * TASK LISTING FOLDER}, and answers with {@code done IMAGES PROCESSOR_NANOS NANOS}. The arguments
 * are the contestants of this process.
 */
public final class ImagesContestant {
  private static final int SIZE = 224;
  private static final int SHORT_SIDE = 256;
  private static final int BATCH = 32;

  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private ImagesContestant() {}

  public static void main(String[] args) throws Exception {
    BufferedReader tasks =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    System.out.println("ready " + String.join(" ", args));
    try (OpenLoaders loaders = new OpenLoaders()) {
      for (String line = tasks.readLine(); line != null; line = tasks.readLine()) {
        String[] words = line.split(" ", -1);
        DataLoader loader = words[0].equals("imageio") ? null : loaders.of(words);
        long processor = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        long images =
            loader == null
                ? imageIo(Path.of(words[2]), words[1].equals("train"))
                : load(loader, loaders.epoch++);
        long nanos = System.nanoTime() - start;
        System.out.println(
            "done " + images + " " + (SYSTEM.getProcessCpuTime() - processor) + " " + nanos);
      }
    }
  }

  /** The loaders of all tasks so far. A program opens a loader once, for all of its epochs. */
  private static final class OpenLoaders implements AutoCloseable {
    private final Map<String, DataLoader> loaders = new HashMap<>();
    private final List<AutoCloseable> opened = new ArrayList<>();
    private Path records;
    private long epoch;

    /** Returns the loader of a task, opened before if it is not the first time. */
    DataLoader of(String[] words) throws IOException {
      String task = String.join(" ", words);
      DataLoader known = loaders.get(task);
      if (known != null) {
        return known;
      }
      ImagePlan plan = plan(words[1].equals("train"));
      Path root = Path.of(words[3]);
      int wanted = Files.readAllLines(Path.of(words[2])).size();
      DataLoaderBuilder over =
          switch (words[0]) {
            case "torchfeed-java" -> {
              Dataset once = DecodedFolder.open(root, ImageDecoder.of(plan));
              yield DataLoader.over(Dataset.concat(copies(once, once.size(), wanted)));
            }
            case "torchfeed-native", "torchfeed-native-2" ->
                overCopies(ImageFolder.open(root, plan), wanted);
            case "torchfeed-records" -> overCopies(ImageRecords.open(packed(root), plan), wanted);
            default -> throw new IllegalArgumentException(task);
          };
      int workers = words[0].endsWith("-2") ? 2 : 1;
      DataLoader loader = closing(over.batchSize(BATCH).workers(workers).build());
      loaders.put(task, loader);
      return loader;
    }

    private DataLoaderBuilder overCopies(NativeDataset once, int wanted) {
      return DataLoader.over(
          closing(NativeDataset.concat(copies(closing(once), once.size(), wanted))));
    }

    /** Writes the record file of a folder. */
    private Path packed(Path root) throws IOException {
      if (records == null) {
        records = Files.createTempFile("images", ".records");
        records.toFile().deleteOnExit();
        ImageRecords.write(ImageList.of(root), records, done -> {});
      }
      return records;
    }

    private <T extends AutoCloseable> T closing(T resource) {
      opened.add(resource);
      return resource;
    }

    @Override
    public void close() throws Exception {
      for (int i = opened.size() - 1; i >= 0; i--) {
        opened.get(i).close();
      }
    }
  }

  private static ImagePlan plan(boolean isTraining) {
    ImagePlanBuilder plan = ImagePlan.builder();
    if (isTraining) {
      plan.randomResizedCrop(SIZE, SIZE).horizontalFlip(0.5);
    } else {
      plan.resizeShortSide(SHORT_SIDE).centerCrop(SIZE, SIZE);
    }
    return plan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd()).build();
  }

  /** Returns copies for an epoch of the wanted number of images, as the other contestants have. */
  private static <T> List<T> copies(T once, long size, long wanted) {
    return Collections.nCopies(Math.toIntExact(wanted / size), once);
  }

  private static long load(DataLoader loader, long epoch) {
    long images = 0;
    try (Batches batches = loader.epoch(epoch)) {
      while (batches.hasNext()) {
        images += batches.next().size();
      }
    }
    return images;
  }

  /** Decodes whole images, scales with Java 2D, and converts in Java. */
  private static long imageIo(Path listing, boolean isTraining) throws IOException {
    ImageIO.setUseCache(false);
    SplittableRandom random = new SplittableRandom(0);
    List<String> paths = Files.readAllLines(listing);
    float[] row = new float[3 * SIZE * SIZE];
    float[] mean = ImagePlan.imagenetMean();
    float[] std = ImagePlan.imagenetStd();
    long images = 0;
    for (String path : paths) {
      BufferedImage image;
      try {
        image = ImageIO.read(Path.of(path).toFile());
      } catch (IIOException e) {
        continue; // it refuses some color profiles
      }
      images++;
      int side = Math.min(image.getWidth(), image.getHeight()) * SIZE / SHORT_SIDE;
      int width = side;
      int height = side;
      int left = (image.getWidth() - side) / 2;
      int top = (image.getHeight() - side) / 2;
      if (isTraining) {
        double area = image.getWidth() * image.getHeight() * random.nextDouble(0.08, 1);
        double ratio = Math.exp(random.nextDouble(Math.log(0.75), Math.log(4 / 3.0)));
        width = (int) Math.min(image.getWidth(), Math.rint(Math.sqrt(area * ratio)));
        height = (int) Math.min(image.getHeight(), Math.rint(Math.sqrt(area / ratio)));
        left = random.nextInt(image.getWidth() - width + 1);
        top = random.nextInt(image.getHeight() - height + 1);
      }
      BufferedImage scaled = new BufferedImage(SIZE, SIZE, BufferedImage.TYPE_3BYTE_BGR);
      Graphics2D graphics = scaled.createGraphics();
      graphics.setRenderingHint(
          RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
      boolean isFlipped = isTraining && random.nextBoolean();
      graphics.drawImage(
          image,
          isFlipped ? SIZE : 0,
          0,
          isFlipped ? 0 : SIZE,
          SIZE,
          left,
          top,
          left + width,
          top + height,
          null);
      graphics.dispose();
      int[] pixels = scaled.getRGB(0, 0, SIZE, SIZE, null, 0, SIZE);
      for (int i = 0; i < pixels.length; i++) {
        for (int channel = 0; channel < 3; channel++) {
          int value = pixels[i] >> (16 - 8 * channel) & 0xff;
          row[channel * pixels.length + i] = (value / 255f - mean[channel]) / std[channel];
        }
      }
    }
    return images;
  }
}
