// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Checks;
import java.nio.file.Path;
import java.util.List;

/**
 * A dataset of images and labels in tar files, as WebDataset 0.2.100 reads them: the image, as its
 * {@link ImagePlan} makes it, and the label, int64.
 *
 * <p>Adjacent members whose paths agree up to the first dot of the name are a sample. It has one
 * image, {@code .jpg}, {@code .jpeg}, {@code .png} or {@code .webp}, and its label in decimal
 * digits, {@code .cls}; members with other extensions are left alone. When a file is opened, its
 * headers and labels are read, so samples can be taken in any order. Compressed files are refused,
 * as are sparse members, samples with a link in place of the image or the label, and files without
 * a sample. The zeros at the end of a file may be missing, so a file that was cut between two
 * samples is read up to there. Files that were joined, as by {@code cat}, are read to the end of
 * the last, as by {@code tar --ignore-zeros}; WebDataset reads the first.
 *
 * <p>Files stay open until this dataset and the loaders over it are closed. An image that can no
 * longer be read or decoded costs one batch, which throws a {@link
 * io.torchfeed.data.SampleException} that names the file and the number of the image in it.
 * Thread-safe.
 */
public final class ImageTar extends NativeDataset {
  private final List<String> classes;
  private final int[] labels;
  private final List<String> leftOut;

  private ImageTar(ImageArchives files, ImagePlan plan, List<String> classes, int[] labels) {
    super(files.rows("ImageTar", plan), ImageList.columns(plan.row()), true);
    this.classes = classes;
    this.labels = labels;
    leftOut = files.leftOut();
  }

  /**
   * Opens tar files, whose samples follow one another.
   *
   * @param shards at least one uncompressed tar file
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no file, or a file is not in the default file
   *     system
   * @throws java.io.UncheckedIOException if a file cannot be opened, is compressed, not a tar file
   *     or cut off, has a damaged header or no sample, or one of its samples lacks the image or the
   *     label
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageTar open(List<Path> shards, ImagePlan plan) {
    return open(shards, plan, FailurePolicy.report());
  }

  /**
   * Opens tar files, whose samples follow one another, and may leave out samples that are none.
   *
   * @param shards at least one uncompressed tar file
   * @param plan the size and form of the images
   * @param onFailure whether samples that lack the image or the label, have several, or another
   *     label than a number in [0, 2^31 - 1], and files without a sample, are left out: {@link
   *     #leftOut} lists them; retries have no effect. An image that cannot be decoded is left out
   *     by the loader's policy
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException as {@link #open(List, ImagePlan)}
   * @throws java.io.UncheckedIOException as {@link #open(List, ImagePlan)}, except for samples that
   *     are left out
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageTar open(List<Path> shards, ImagePlan plan, FailurePolicy onFailure) {
    requireNonNull(onFailure, "onFailure");
    requireNonNull(shards, "shards");
    requireNonNull(plan, "plan");
    try (ImageArchives files = ImageArchives.ofTars(shards, onFailure.skip())) {
      return new ImageTar(files, plan, List.of(), files.labels());
    }
  }

  /**
   * Opens tar files, whose samples follow one another, and names the classes.
   *
   * @param shards at least one uncompressed tar file
   * @param classes the names of the classes; a label is the index of its class in this list
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no file, a file is not in the default file system,
   *     or a label is not the index of a class
   * @throws java.io.UncheckedIOException as {@link #open(List, ImagePlan)}
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageTar open(List<Path> shards, List<String> classes, ImagePlan plan) {
    requireNonNull(shards, "shards");
    requireNonNull(plan, "plan");
    List<String> names = Checks.copyOf("classes", classes);
    try (ImageArchives files = ImageArchives.ofTars(shards, false)) {
      int[] labels = files.labels();
      for (int i = 0; i < labels.length; i++) {
        if (labels[i] >= names.size()) {
          throw new IllegalArgumentException(
              "sample %d of %s has the label %d, but there are %d classes"
                  .formatted(i, shards, labels[i], names.size()));
        }
      }
      return new ImageTar(files, plan, names, labels);
    }
  }

  /**
   * Returns the names of the classes, which tar files do not have.
   *
   * @return the names that {@link #open(List, List, ImagePlan)} was given; otherwise empty
   */
  public List<String> classes() {
    return classes;
  }

  /**
   * Returns the samples, and the files without any, that were left out when the files were opened.
   *
   * @return the file, the key and the fault of each, a line each, in their order; empty without a
   *     policy that skips
   */
  public List<String> leftOut() {
    return leftOut;
  }

  /**
   * Returns the label of each sample, for example for a sampler that balances classes.
   *
   * @return the labels by index, none negative, a new array
   */
  public int[] labels() {
    return labels.clone();
  }

  /**
   * Returns the label of a sample.
   *
   * @param index the index of the sample, in [0, size())
   * @return the label, not negative
   * @throws IndexOutOfBoundsException if there is no such sample
   */
  public int label(long index) {
    return labels[Math.toIntExact(Checks.requireIndex("index", index, (long) labels.length))];
  }
}
