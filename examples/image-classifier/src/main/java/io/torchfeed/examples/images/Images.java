// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.data.source.ImageList;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * The images of a part of the data, {@code train} or {@code val}, and their plan.
 *
 * @param classes the names of the classes
 * @param plan the way from an image to the net's input
 * @param source opens the images
 */
record Images(List<String> classes, ImagePlan plan, Supplier<NativeDataset> source) {
  private static final double SHORT_SIDE_PER_SIZE = 256 / 224.0;

  /** A way to change the colors and shapes of training images at random. */
  enum Augmentation {
    /** Parts and reflections only. */
    NONE,
    /** Brightness, contrast, saturation and hue. */
    COLOR,
    /** Two operations of RandAugment. */
    RAND,
    /** An operation of TrivialAugmentWide, then erasing. */
    TRIVIAL;

    private ImagePlanBuilder addTo(ImagePlanBuilder plan) {
      return switch (this) {
        case NONE -> plan;
        case COLOR -> plan.colorJitter(0.3, 0.3, 0.3, 0.05);
        case RAND -> plan.randAugment(2, 9);
        case TRIVIAL -> plan.trivialAugmentWide().randomErasing(0.1);
      };
    }
  }

  /** Lists the training images; each epoch sees random parts of them. */
  static Images training(Path data, int size, Augmentation augmentation) {
    return of(data, "train", normalized(augmented(size, augmentation)));
  }

  /** Lists the training images as bytes, to be looked at. */
  static Images toLookAt(Path data, int size, Augmentation augmentation) {
    return of(data, "train", augmented(size, augmentation).build());
  }

  /** Lists the test images. */
  static Images test(Path data, int size) {
    return of(data, "val", testPlan(size));
  }

  /** Returns the plan that uses the middle of an image. */
  static ImagePlan testPlan(int size) {
    return normalized(
        ImagePlan.builder()
            .exifOrientation()
            .resizeShortSide((int) Math.round(size * SHORT_SIDE_PER_SIZE))
            .centerCrop(size, size));
  }

  /** Opens the images, which native threads decode; the caller closes them. */
  NativeDataset open() {
    return source.get();
  }

  /** Returns the record file of a part, whose images are used if it exists. */
  static Path records(Path data, String part) {
    return data.resolve(part + ".records");
  }

  /** Returns the names of the classes of a part. */
  static List<String> classes(Path data, String part) {
    Path file = records(data, part);
    if (!Files.exists(file)) {
      return ImageList.of(data.resolve(part)).classes();
    }
    try (ImageRecords records = ImageRecords.open(file, ImagePlan.builder().resize(1, 1).build())) {
      return records.classes();
    }
  }

  private static Images of(Path data, String part, ImagePlan plan) {
    Path file = records(data, part);
    if (Files.exists(file)) {
      try (ImageRecords records = ImageRecords.open(file, plan)) {
        return new Images(records.classes(), plan, () -> ImageRecords.open(file, plan));
      }
    }
    ImageList list = ImageList.of(data.resolve(part));
    return new Images(list.classes(), plan, () -> ImageFolder.of(list, plan));
  }

  private static ImagePlanBuilder augmented(int size, Augmentation augmentation) {
    return augmentation.addTo(
        ImagePlan.builder().exifOrientation().randomResizedCrop(size, size).horizontalFlip(0.5));
  }

  private static ImagePlan normalized(ImagePlanBuilder plan) {
    return plan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd()).build();
  }
}
