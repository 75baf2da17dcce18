// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeImageFiles;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;

/**
 * A dataset of image files that native threads read and decode, without Java code per sample: the
 * image, as its {@link ImagePlan} makes it, and the number of its class, int64.
 *
 * <pre>{@code
 * ImageFolder folder = ImageFolder.open(root, plan);
 * try (ImageFiles images = ImageFiles.of(folder, plan);
 *     DataLoader loader = DataLoader.over(images).batchSize(64).workers(2).seed(1).build();
 *     Batches batches = loader.epoch(0)) {
 *   batches.forEach(batch -> step(batch.tensor(0), batch.tensor(1)));
 * }
 * }</pre>
 *
 * <p>Batches equal the {@link ImageFolder}'s with the same plan, sampler and seed, the random steps
 * included. Files are opened when their samples are read; a file that cannot be read or decoded
 * costs one batch, which throws a {@link io.torchfeed.data.SampleException} that names it.
 * Thread-safe.
 */
public final class ImageFiles extends NativeDataset {
  private ImageFiles(NativeHandle<RowSet> rows, ImagePlan plan) {
    super(rows, List.of(plan.row(), RowSpec.of(DType.INT64)), true);
  }

  /**
   * Takes over the files and classes of a folder.
   *
   * @param folder lists the files; its decoder is not used
   * @param plan the size and form of the images
   * @return the dataset; the caller closes it
   * @throws IllegalArgumentException if a file is not in the default file system
   * @throws IllegalStateException if the machine has too little memory
   */
  public static ImageFiles of(ImageFolder folder, ImagePlan plan) {
    requireNonNull(folder, "folder");
    requireNonNull(plan, "plan");
    return new ImageFiles(NativeHandle.create("ImageFiles", () -> rows(folder, plan)), plan);
  }

  /** Lists the files in the {@code PointerScope} of the caller, which frees the temporaries. */
  private static RowSet rows(ImageFolder folder, ImagePlan plan) {
    NativeImageFiles files = plan.createFiles();
    for (int i = 0; i < folder.files().size(); i++) {
      try (BytePointer name = new BytePointer(PathBytes.of(folder.files().get(i)))) {
        files.add(name, folder.label(i));
      }
    }
    return RowSet.of_images(files);
  }
}
