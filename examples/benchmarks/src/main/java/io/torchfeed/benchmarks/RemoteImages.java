// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ImageTar;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.storage.CachedFiles;
import io.torchfeed.storage.CopiesAhead;
import io.torchfeed.storage.HttpSource;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageWriteParam;
import javax.imageio.ImageWriter;
import javax.imageio.stream.ImageOutputStream;

/**
 * The rates at which JPEGs of tar files become batches: from the disk, and from servers that share
 * a line of 1 Gbit/s, in turns. Arguments: rounds, images of a tar file and workers.
 */
final class RemoteImages {
  private static final double LINE = 125e6;
  private static final int TARS = 8;
  private static final int AHEAD = 2;
  private static final int WIDTH = 500;
  private static final int HEIGHT = 375;
  private static final int PICTURES = 32;

  /** The uses of the tar files. */
  private enum Way {
    /** Batches of all of them on the disk: the limit of the decoder. */
    DISK,
    /** Copies of all of them without batches: the limit of the line. */
    COPIES,
    /** Batches of each file in turn, while the next ones are copied. */
    DURING_COPIES
  }

  private final Path folder;
  private final int workers;
  private final List<Path> tars = new ArrayList<>();
  private final List<LineServer> servers = new ArrayList<>();
  private final LineServer.Line line = new LineServer.Line(LINE);
  private long bytes;

  private RemoteImages(Path folder, int workers) {
    this.folder = folder;
    this.workers = workers;
  }

  /** Runs the benchmark. */
  public static void main(String[] args) throws Exception {
    Path folder = Files.createTempDirectory("remote-images");
    try {
      RemoteImages benchmark = new RemoteImages(folder, Integer.parseInt(args[2]));
      benchmark.make(Integer.parseInt(args[1]));
      benchmark.run(Integer.parseInt(args[0]), TARS * Integer.parseInt(args[1]));
      for (LineServer server : benchmark.servers) {
        server.close();
      }
    } finally {
      TemporaryFolder.delete(folder);
    }
  }

  /** Makes tar files of pictures, which some of the samples share. */
  private void make(int images) throws IOException, InterruptedException {
    Path pictures = Files.createDirectory(folder.resolve("pictures"));
    for (int i = 0; i < PICTURES; i++) {
      save(picture(i), pictures.resolve(i + ".jpg"));
    }
    for (int tar = 0; tar < TARS; tar++) {
      Path samples = Files.createDirectory(folder.resolve("samples-" + tar));
      List<String> command = new ArrayList<>(List.of("tar", "-cf", folder + "/" + tar + ".tar"));
      command.addAll(List.of("--hard-dereference", "-C", samples.toString()));
      for (int i = 0; i < images; i++) {
        String key = "%05d".formatted(i);
        Path picture = pictures.resolve((tar * images + i) % PICTURES + ".jpg");
        Files.createLink(samples.resolve(key + ".jpg"), picture);
        Files.writeString(samples.resolve(key + ".cls"), String.valueOf(i % 10));
        command.addAll(List.of(key + ".jpg", key + ".cls"));
      }
      if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
        throw new IOException("tar has failed");
      }
      Path file = folder.resolve(tar + ".tar");
      tars.add(file);
      bytes += Files.size(file);
      servers.add(new LineServer(Files.readAllBytes(file), line, 20));
    }
  }

  /** Draws surfaces of several sizes with noise on them, as a photograph has. */
  private static BufferedImage picture(int seed) {
    Random random = new Random(seed);
    double[] waves = random.doubles(18, 0, 0.06).toArray();
    BufferedImage image = new BufferedImage(WIDTH, HEIGHT, BufferedImage.TYPE_INT_RGB);
    for (int y = 0; y < HEIGHT; y++) {
      for (int x = 0; x < WIDTH; x++) {
        int pixel = 0;
        int noise = random.nextInt(41) - 20;
        for (int color = 0; color < 3; color++) {
          double value = 128 + noise;
          for (int wave = 6 * color; wave < 6 * color + 6; wave += 2) {
            value += 35 * Math.sin(waves[wave] * x + waves[wave + 1] * y);
          }
          pixel = pixel << 8 | (int) Math.max(0, Math.min(255, value));
        }
        image.setRGB(x, y, pixel);
      }
    }
    return image;
  }

  private static void save(BufferedImage image, Path file) throws IOException {
    ImageWriter writer = ImageIO.getImageWritersByFormatName("jpeg").next();
    ImageWriteParam options = writer.getDefaultWriteParam();
    options.setCompressionMode(ImageWriteParam.MODE_EXPLICIT);
    options.setCompressionQuality(0.9f);
    try (ImageOutputStream out = ImageIO.createImageOutputStream(file.toFile())) {
      writer.setOutput(out);
      writer.write(null, new IIOImage(image, null, null), options);
    } finally {
      writer.dispose();
    }
  }

  private void run(int rounds, int images) throws Exception {
    System.out.printf(
        Locale.ROOT,
        "%d tar files, %.0f MB, images of %d x %d and %.0f kB, %d workers%n",
        TARS,
        bytes / 1e6,
        WIDTH,
        HEIGHT,
        bytes / 1e3 / images,
        workers);
    Map<Way, double[]> seconds = new EnumMap<>(Way.class);
    for (Way way : Way.values()) {
      seconds.put(way, new double[rounds]);
    }
    for (int round = -1; round < rounds; round++) { // the first one warms
      for (Map.Entry<Way, double[]> each : seconds.entrySet()) {
        Path cache = folder.resolve("cache");
        long start = System.nanoTime();
        run(each.getKey(), cache);
        if (round >= 0) {
          each.getValue()[round] = (System.nanoTime() - start) / 1e9;
        }
        if (each.getKey() != Way.DISK) {
          TemporaryFolder.delete(cache);
        }
      }
    }
    seconds.forEach((way, all) -> print(way, all, images));
  }

  private void print(Way way, double[] seconds, int images) {
    Arrays.sort(seconds);
    double middle = seconds[seconds.length / 2];
    System.out.printf(
        Locale.ROOT,
        "%-14s %5.0f images/s, %.3f of the line (%.3f to %.3f)%n",
        way,
        images / middle,
        bytes / middle / LINE,
        bytes / seconds[seconds.length - 1] / LINE,
        bytes / seconds[0] / LINE);
  }

  private void run(Way way, Path cache) throws IOException {
    if (way == Way.DISK) {
      load(tars);
      return;
    }
    List<HttpSource> sources = servers.stream().map(server -> HttpSource.of(server.uri())).toList();
    try (CachedFiles files = CachedFiles.of(cache, 1L << 40);
        CopiesAhead copies = files.ahead(sources, AHEAD)) {
      while (copies.hasNext()) {
        Path copy = copies.next();
        if (way == Way.DURING_COPIES) {
          load(List.of(copy));
        }
      }
    }
  }

  private void load(List<Path> files) {
    ImagePlan plan = ImagePlan.builder().randomResizedCrop(224, 224).horizontalFlip(0.5).build();
    try (ImageTar images = ImageTar.open(files, plan);
        DataLoader loader =
            DataLoader.over(images)
                .batchSize(64)
                .workers(workers)
                .sampler(ShuffledSampler.of(images.size(), 1))
                .build();
        Batches batches = loader.epoch(0)) {
      long loaded = 0;
      for (Batch batch : batches) {
        loaded += batch.size();
      }
      if (loaded != images.size()) {
        throw new IllegalStateException("images are missing");
      }
    }
  }
}
