// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.ImageFiles;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.image.ImagePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;

/** A program that measures the memory of a process that loads many images. */
final class ImageMemory {
  private static final int IMAGES = 100_000;
  private static final int STEP = 10_000;
  private static final int SIDE = 224;

  private ImageMemory() {}

  /**
   * Loads the images and prints the memory on the way.
   *
   * @param args the engine: native, java or records; and the folder
   */
  public static void main(String[] args) throws Exception {
    ImagePlan plan =
        ImagePlan.builder()
            .randomResizedCrop(SIDE, SIDE)
            .horizontalFlip(0.5)
            .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
            .build();
    ImageFolder folder = ImageFolder.open(Path.of(args[1]), plan);
    int copies = Math.toIntExact((IMAGES + folder.size() - 1) / folder.size());
    switch (args[0]) {
      case "native" -> {
        try (NativeDataset files = ImageFiles.open(Path.of(args[1]), plan)) {
          loadCopies(args[0], files, copies);
        }
      }
      case "java" ->
          load(args[0], DataLoader.over(Dataset.concat(Collections.nCopies(copies, folder))));
      case "records" -> {
        Path file = Files.createTempFile("images", ".records");
        try {
          ImageRecords.write(ImageList.of(Path.of(args[1])), file, done -> {});
          try (NativeDataset records = ImageRecords.open(file, plan)) {
            loadCopies(args[0], records, copies);
          }
        } finally {
          Files.delete(file);
        }
      }
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static void loadCopies(String engine, NativeDataset once, int copies) throws IOException {
    List<NativeDataset> all = Collections.nCopies(copies, once);
    try (NativeDataset many = NativeDataset.concat(all)) {
      load(engine, DataLoader.over(many));
    }
  }

  private static void load(String engine, DataLoaderBuilder builder) throws IOException {
    try (DataLoader loader = builder.batchSize(32).workers(2).build();
        Batches batches = loader.epoch(0)) {
      long images = 0;
      while (batches.hasNext()) {
        long before = images;
        images += batches.next().size();
        if (images / STEP > before / STEP) {
          System.out.printf("%s: %,d images, %d MB resident%n", engine, images, residentMb());
        }
      }
    }
  }

  /** Returns the resident memory of this process in megabytes. */
  static long residentMb() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1000)
        .findFirst()
        .orElseThrow();
  }
}
