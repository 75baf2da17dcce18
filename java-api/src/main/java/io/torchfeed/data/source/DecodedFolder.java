// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.internal.Checks;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * A dataset of the images of an {@link ImageList} that an {@link ImageDecoder} decodes in Java: the
 * image, as the decoder writes it, and the number of the class, int64. For formats that only Java
 * code reads, and folders of any file system; an {@link ImageFolder} is faster.
 *
 * <pre>{@code
 * DecodedFolder photos = DecodedFolder.open(root, ImageDecoder.imageIo(224, 224));
 * }</pre>
 *
 * <p>The images are decoded on the workers, also by native code, with {@link
 * ImageDecoder#of(io.torchfeed.image.ImagePlan)}. A file that cannot be decoded causes a {@link
 * io.torchfeed.data.SampleException} that names it. Immutable, thread-safe if its decoder is.
 */
public final class DecodedFolder implements Dataset {
  private final ImageList list;
  private final ImageDecoder decoder;

  private DecodedFolder(ImageList list, ImageDecoder decoder) {
    this.list = list;
    this.decoder = decoder;
  }

  /**
   * Lists the images of a folder; they are read later: {@code of(ImageList.of(root), decoder)}.
   *
   * @param root the folder that contains a folder for each class
   * @param decoder decodes the images
   * @return the dataset
   * @throws IllegalArgumentException if there is no class, or a class has no image
   * @throws java.io.UncheckedIOException if a folder cannot be read; the message names it
   */
  public static DecodedFolder open(Path root, ImageDecoder decoder) {
    requireNonNull(decoder, "decoder");
    return of(ImageList.of(root), decoder);
  }

  /**
   * Returns the images of a list; they are read later.
   *
   * @param list the files and their classes
   * @param decoder decodes the images
   * @return the dataset
   */
  public static DecodedFolder of(ImageList list, ImageDecoder decoder) {
    return new DecodedFolder(requireNonNull(list, "list"), requireNonNull(decoder, "decoder"));
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

  /**
   * Returns the class of a sample.
   *
   * @param index the index of the sample, in [0, size())
   * @return the number of the class
   * @throws IndexOutOfBoundsException if there is no such sample
   */
  public int label(long index) {
    return list.label(index);
  }

  @Override
  public long size() {
    return list.size();
  }

  @Override
  public List<RowSpec> columns() {
    return ImageList.columns(decoder.row());
  }

  @Override
  public void read(long index, SampleWriter sample) throws IOException {
    requireNonNull(sample, "sample");
    List<Path> files = list.files();
    int file = (int) Checks.requireIndex("index", index, (long) files.size());
    decoder.decode(files.get(file), sample, 0);
    sample.putLong(1, list.label(index));
  }
}
