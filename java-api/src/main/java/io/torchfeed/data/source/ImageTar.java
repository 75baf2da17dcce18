// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * A dataset of images and labels in tar files, as WebDataset 0.2.100 reads them: the image, as its
 * {@link ImagePlan} makes it, and the label, int64.
 *
 * <p>Adjacent members whose paths agree up to the first dot of the name are a sample. It has one
 * image, {@code .jpg}, {@code .jpeg}, {@code .png} or {@code .webp}, and its label in decimal
 * digits, {@code .cls}; members with other extensions are left alone. When a file is opened, its
 * headers and labels are read, so samples can be taken in any order.
 *
 * <p>Files stay open until this dataset and the loaders over it are closed. An image that can no
 * longer be read or decoded costs one batch, which throws a {@link
 * io.torchfeed.data.SampleException} that names the file and the number of the image in it.
 * Thread-safe.
 */
public final class ImageTar extends NativeDataset {
  private final int[] labels;

  private ImageTar(NativeHandle<RowSet> rows, ImagePlan plan, int[] labels) {
    super(rows, List.of(plan.row(), RowSpec.of(DType.INT64)), true);
    this.labels = labels;
  }

  /**
   * Opens tar files, whose samples follow one another.
   *
   * @param shards at least one uncompressed tar file
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if there is no file, or a file is not in the default file
   *     system
   * @throws java.io.UncheckedIOException if a file cannot be opened, is not a tar file or cut off,
   *     has a damaged header, or one of its samples lacks the image or the label
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageTar open(List<Path> shards, ImagePlan plan) {
    requireNonNull(plan, "plan");
    try (PictureFiles files = PictureFiles.ofTars(shards)) {
      return new ImageTar(files.rows("ImageTar", plan), plan, files.labels());
    }
  }

  /**
   * Returns the label of a sample, for example for a sampler that balances classes.
   *
   * @param index the index of the sample, in [0, size())
   * @return the label, not negative
   * @throws IndexOutOfBoundsException if there is no such sample
   */
  public int label(long index) {
    return labels[Math.toIntExact(Objects.checkIndex(index, (long) labels.length))];
  }
}
