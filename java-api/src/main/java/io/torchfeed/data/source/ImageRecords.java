// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Checks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * A dataset of images and labels in record files: the image, as its {@link ImagePlan} makes it, and
 * the number of its class, int64. Only the parts that a crop needs are read and decoded.
 *
 * <pre>{@code
 * ImageRecords.write(ImageList.of(root), file, done -> {}); // once
 * try (ImageRecords images = ImageRecords.open(file, plan);
 *     DataLoader loader =
 *         DataLoader.over(images)
 *             .sampler(ShuffledSampler.of(images.size(), 42)) // without one: class after class
 *             .batchSize(64)
 *             .workers(2)
 *             .build();
 *     Batches batches = loader.epoch(0)) {
 *   batches.forEach(batch -> step(batch.tensor(0), batch.tensor(1)));
 * }
 * }</pre>
 *
 * <p>Batches equal {@link ImageFolder}' of the same images with the same plan, sampler and seed. A
 * JPEG is stored without loss in tiles: its coefficients are unchanged, Huffman tables are the best
 * for it, and restart markers divide each row. Its metadata are dropped, except for the
 * orientation. Files of other kinds are stored as they are.
 *
 * <p>Record files stay open until this dataset and the loaders over it are closed, so they may be
 * renamed or removed in the meantime. An image that can no longer be read or decoded costs one
 * batch, which throws a {@link io.torchfeed.data.SampleException} that names the file and the
 * number of the image in it. Reading does not compare checksums, because a crop needs a part of an
 * image only: a damaged byte causes an exception or other pixels, as in any JPEG. {@link #verify}
 * finds it, for example after a file was copied. Thread-safe.
 */
public final class ImageRecords extends NativeDataset {
  private final List<String> classes;
  private final int[] labels;

  private ImageRecords(
      NativeHandle<RowSet> rows, ImagePlan plan, List<String> classes, int[] labels) {
    super(rows, ImageList.columns(plan.row()), true);
    this.classes = classes;
    this.labels = labels;
  }

  /**
   * Opens a record file.
   *
   * @param file a file that {@link #write} made
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if the file is not in the default file system
   * @throws UncheckedIOException if the file cannot be opened, its index is damaged, or it is of
   *     another kind
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageRecords open(Path file, ImagePlan plan) {
    requireNonNull(file, "file");
    return open(List.of(file), plan);
  }

  /**
   * Opens record files, whose images follow one another.
   *
   * @param files at least one file that {@link #write} made, all with the same classes
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no file, the classes differ, or a file is not in
   *     the default file system
   * @throws UncheckedIOException if a file cannot be opened, its index is damaged, or it is of
   *     another kind
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageRecords open(List<Path> files, ImagePlan plan) {
    requireNonNull(files, "files");
    requireNonNull(plan, "plan");
    try (ImageArchives all = ImageArchives.ofRecords(files)) {
      List<String> classes = all.classes();
      int[] labels = all.labels();
      for (int i = 0; i < labels.length; i++) {
        if (labels[i] >= classes.size()) {
          throw new UncheckedIOException(
              new IOException(
                  "image %d of %s has the label %d, but there are %d classes"
                      .formatted(i, files, labels[i], classes.size())));
        }
      }
      return new ImageRecords(all.rows("ImageRecords", plan), plan, classes, labels);
    }
  }

  /**
   * Writes the images of a list into a record file, each as it would be loaded from its own file,
   * on as many threads as there are processors. The file appears under its name once it is
   * complete; if writing fails, nothing is left, and if the process is killed, a file {@code
   * NAME.partial-...} that can be deleted.
   *
   * @param list the files and their classes
   * @param file the record file; one that exists is replaced at the end. A link to a file is
   *     followed, one to nothing is replaced
   * @param progress receives the number of images written after each image, in this thread
   * @throws IllegalArgumentException if the name of a class has letters that this process cannot
   *     read, since its locale has another encoding, or a file is not in the default file system
   * @throws UncheckedIOException if an image cannot be decoded, or the file cannot be written, for
   *     example because the disk is full or it exists as a folder or a device; the message names
   *     the image or the file
   * @throws IllegalStateException if the machine has too little memory, or this thread is
   *     interrupted
   */
  public static void write(ImageList list, Path file, LongConsumer progress) {
    write(list, file, FailurePolicy.report(), progress);
  }

  /**
   * Writes the images of a list into a record file, and may leave out images that cannot be read or
   * decoded. The others keep their order and their classes.
   *
   * @param list the files and their classes
   * @param file the record file, as in {@link #write(ImageList, Path, LongConsumer)}
   * @param onFailure how often such an image is tried again, and whether it is then left out
   * @param progress receives the number of images written or left out after each image, in this
   *     thread
   * @return the images that were left out, in their order: the file and the reason of each, a line
   *     each
   * @throws IllegalArgumentException as {@link #write(ImageList, Path, LongConsumer)}
   * @throws UncheckedIOException if an image cannot be read or decoded and is not left out, or the
   *     file cannot be written; the message names the image or the file
   * @throws IllegalStateException if no image is left, the machine has too little memory, or this
   *     thread is interrupted
   */
  public static List<String> write(
      ImageList list, Path file, FailurePolicy onFailure, LongConsumer progress) {
    requireNonNull(list, "list");
    requireNonNull(file, "file");
    requireNonNull(onFailure, "onFailure");
    requireNonNull(progress, "progress");
    try {
      return RecordPacker.pack(list, file, onFailure, progress);
    } catch (NativeException e) {
      throw ImageArchives.unchecked(e);
    }
  }

  /**
   * Reads and decodes all images of a record file, and compares their checksums.
   *
   * @param file a file that {@link #write} made
   * @param progress receives the number of images verified after each image, in this thread
   * @return the defect of each defective image, a line each; empty if all of them are as written
   * @throws IllegalArgumentException if the file is not in the default file system
   * @throws UncheckedIOException if the file cannot be opened, its index is damaged, or it is of
   *     another kind
   */
  public static List<String> verify(Path file, LongConsumer progress) {
    requireNonNull(file, "file");
    requireNonNull(progress, "progress");
    List<String> problems = new ArrayList<>();
    try (ImageArchives records = ImageArchives.ofRecords(List.of(file))) {
      records.classes();
      long size = records.size();
      for (long i = 0; i < size; i++) {
        String problem = records.problem(i);
        if (!problem.isEmpty()) {
          problems.add("image %d: %s".formatted(i, problem));
        }
        progress.accept(i + 1);
      }
    }
    return problems;
  }

  /**
   * Returns the names of the classes; a label is the index of its class in this list.
   *
   * @return the names, as in the {@link ImageList} that was written
   */
  public List<String> classes() {
    return classes;
  }

  /**
   * Returns the class of each sample, for example for a sampler that balances classes.
   *
   * @return the numbers of the classes by index, a new array
   */
  public int[] labels() {
    return labels.clone();
  }

  /**
   * Returns the class of a sample.
   *
   * @param index the index of the sample, in [0, size())
   * @return the number of the class
   * @throws IndexOutOfBoundsException if there is no such sample
   */
  public int label(long index) {
    return labels[Math.toIntExact(Checks.requireIndex("index", index, (long) labels.length))];
  }
}
