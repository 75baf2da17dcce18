// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeImageFiles;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.PathBytes;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;

/**
 * A dataset of image files in folders, one for each class, that native threads read and decode,
 * without Java code per sample: the image, as its {@link ImagePlan} makes it, and the number of its
 * class, int64.
 *
 * <pre>{@code
 * try (ImageFolder images = ImageFolder.open(root, plan);
 *     DataLoader loader =
 *         DataLoader.over(images)
 *             .sampler(ShuffledSampler.of(images.size(), 42)) // without one: class after class
 *             .batchSize(64)
 *             .workers(2)
 *             .build();
 *     Batches batches = loader.epoch(0)) {
 *   batches.forEach(batch -> step(batch.tensor("image"), batch.tensor("label")));
 * }
 * }</pre>
 *
 * <p>A {@link DecodedFolder} with the same plan, sampler and seed has equal batches, the random
 * steps included. Files are opened when their samples are read; a file that cannot be read or
 * decoded costs one batch, which throws a {@link io.torchfeed.data.SampleException} that names it.
 * Thread-safe.
 */
public final class ImageFolder extends NativeDataset {
  private final ImageList list;

  private ImageFolder(NativeHandle<RowSet> rows, ImageList list, ImagePlan plan) {
    super(rows, ImageList.columns(plan.row()), true);
    this.list = list;
  }

  /**
   * Lists the images of a folder: {@code of(ImageList.of(root), plan)}.
   *
   * @param root the folder that contains a folder for each class
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no class, a class has no image, or the folder is
   *     not in the default file system
   * @throws java.io.UncheckedIOException if a folder cannot be read; the message names it
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageFolder open(Path root, ImagePlan plan) {
    requireNonNull(plan, "plan");
    return of(ImageList.of(root), plan);
  }

  /**
   * Takes over the files and classes of a list.
   *
   * @param list the files and their classes
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if a file is not in the default file system
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageFolder of(ImageList list, ImagePlan plan) {
    requireNonNull(list, "list");
    requireNonNull(plan, "plan");
    return new ImageFolder(NativeHandle.create("ImageFolder", () -> rows(list, plan)), list, plan);
  }

  /**
   * Returns the names of the classes; a label is the index of its class in this list.
   *
   * @return the names, as {@link ImageList#classes}
   */
  public List<String> classes() {
    return list.classes();
  }

  /**
   * Returns the files of the samples.
   *
   * @return the files by index
   */
  public List<Path> files() {
    return list.files();
  }

  /**
   * Returns the class of each sample, for example for a sampler that balances classes.
   *
   * @return the numbers of the classes by index, a new array
   */
  public int[] labels() {
    return list.labels();
  }

  /** Adds the files in the {@code PointerScope} of the caller, which frees the temporaries. */
  private static RowSet rows(ImageList list, ImagePlan plan) {
    double[] steps = Door.IMAGE_STEPS.of(plan);
    NativeImageFiles files = NativeImageFiles.create(steps, steps.length);
    for (int i = 0; i < list.files().size(); i++) {
      try (BytePointer name = new BytePointer(PathBytes.of(list.files().get(i)))) {
        files.add(name, list.label(i));
      }
    }
    return RowSet.of_images(files);
  }
}
