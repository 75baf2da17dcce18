// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.source.ImageFiles;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import java.nio.file.Path;
import java.util.List;

/**
 * The pictures of a folder with the folders {@code train} and {@code val}, and what becomes of
 * them.
 *
 * @param folder the files and their classes
 * @param plan the way from a file to what the net sees
 */
record Images(ImageFolder folder, ImagePlan plan) {
  private static final double SHORT_SIDE_PER_SIZE = 256 / 224.0;

  /** A way to change the colours and shapes of training pictures at random. */
  enum Augmentation {
    /** Parts and reflections only. */
    NONE,
    /** Brightness, contrast, saturation and hue. */
    COLOUR,
    /** Two operations of RandAugment. */
    RAND,
    /** An operation of TrivialAugmentWide, then erasing. */
    TRIVIAL;

    private ImagePlanBuilder addTo(ImagePlanBuilder plan) {
      return switch (this) {
        case NONE -> plan;
        case COLOUR -> plan.colorJitter(0.3, 0.3, 0.3, 0.05);
        case RAND -> plan.randAugment(2, 9);
        case TRIVIAL -> plan.trivialAugmentWide().randomErasing(0.1);
      };
    }
  }

  /** Lists the training pictures, of which each epoch sees random parts. */
  static Images training(Path data, int size, Augmentation augmentation) {
    return of(data.resolve("train"), normalized(augmented(size, augmentation)));
  }

  /** Lists the training pictures as bytes, to be looked at. */
  static Images toLookAt(Path data, int size, Augmentation augmentation) {
    return of(data.resolve("train"), augmented(size, augmentation).build());
  }

  /** Lists the test pictures, of which the middle is used. */
  static Images test(Path data, int size) {
    return of(
        data.resolve("val"),
        normalized(
            ImagePlan.builder()
                .exifOrientation()
                .resizeShortSide((int) Math.round(size * SHORT_SIDE_PER_SIZE))
                .centerCrop(size, size)));
  }

  /** Opens the pictures, which native threads decode; the caller closes them. */
  ImageFiles open() {
    return ImageFiles.of(folder, plan);
  }

  List<String> classes() {
    return folder.classes();
  }

  private static Images of(Path root, ImagePlan plan) {
    return new Images(ImageFolder.open(root, plan), plan);
  }

  private static ImagePlanBuilder augmented(int size, Augmentation augmentation) {
    return augmentation.addTo(
        ImagePlan.builder().exifOrientation().randomResizedCrop(size, size).horizontalFlip(0.5));
  }

  private static ImagePlan normalized(ImagePlanBuilder plan) {
    return plan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd()).build();
  }
}
