// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Failures;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * A dataset of images in one folder per class, {@code root/class/.../image.png}: the image, as its
 * {@link ImageDecoder} writes it, and the number of the class, int64.
 *
 * <pre>{@code
 * ImagePlan plan = ImagePlan.builder().resizeShortSide(256).centerCrop(224, 224).build();
 * ImageFolder photos = ImageFolder.open(root, plan);
 * }</pre>
 *
 * <p>Classes and files are numbered as in torchvision 0.25's {@code ImageFolder}: classes by name,
 * then the files of each class by folder and name, in code point order, which in UTF-8 is byte
 * order. Folders within a class belong to it; links are followed. A file is an image if its name
 * ends in {@code .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff} or {@code .webp}, ignoring case; links
 * without a target and special files, which torchvision counts as well, are left out.
 *
 * <p>The images are decoded on the workers. A file that cannot be decoded causes a {@link
 * io.torchfeed.data.SampleException} that names it. Immutable, thread-safe if its decoder is.
 */
public final class ImageFolder implements Dataset {
  private static final List<String> EXTENSIONS =
      List.of("jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp");

  private final List<String> classes;
  private final List<Path> files;
  private final int[] labels;
  private final ImageDecoder decoder;

  private ImageFolder(
      List<String> classes, List<Path> files, List<Integer> labels, ImageDecoder decoder) {
    this.classes = classes;
    this.files = files;
    this.labels = labels.stream().mapToInt(Integer::intValue).toArray();
    this.decoder = decoder;
  }

  /**
   * Lists the images of a folder, which native code will decode: JPEG, PNG and WebP. A file of
   * another format causes a {@link io.torchfeed.data.SampleException} when it is read.
   *
   * @param root the folder that contains a folder for each class
   * @param plan the size and form of the images
   * @return the dataset
   * @throws IllegalArgumentException if there is no class, or a class has no image
   * @throws UncheckedIOException if a folder cannot be read; the message names it
   */
  public static ImageFolder open(Path root, ImagePlan plan) {
    return open(root, ImageDecoder.of(plan));
  }

  /**
   * Lists the images of a folder; they are read later.
   *
   * @param root the folder that contains a folder for each class
   * @param decoder decodes the images
   * @return the dataset
   * @throws IllegalArgumentException if there is no class, or a class has no image
   * @throws UncheckedIOException if a folder cannot be read; the message names it
   */
  public static ImageFolder open(Path root, ImageDecoder decoder) {
    requireNonNull(decoder, "decoder");
    List<Path> files = new ArrayList<>();
    List<Integer> labels = new ArrayList<>();
    try {
      List<Path> classes = classes(root);
      for (int label = 0; label < classes.size(); label++) {
        List<Path> images = images(classes.get(label));
        if (images.isEmpty()) {
          throw new IllegalArgumentException(
              "each class must have an image (%s), got none in %s"
                  .formatted(EXTENSIONS, classes.get(label)));
        }
        files.addAll(images);
        for (int i = 0; i < images.size(); i++) {
          labels.add(label);
        }
      }
      List<String> names = classes.stream().map(ImageFolder::name).toList();
      return new ImageFolder(names, List.copyOf(files), labels, decoder);
    } catch (IOException e) {
      Object folder = e instanceof FileSystemException at ? at.getFile() : root;
      throw new UncheckedIOException("cannot read %s: %s".formatted(folder, Failures.reason(e)), e);
    }
  }

  /**
   * Returns the folders of the classes, ordered by the bytes of their names: the same order in
   * every locale.
   */
  private static List<Path> classes(Path root) throws IOException {
    if (!Files.isDirectory(root)) {
      throw new NotDirectoryException(root.toString());
    }
    try (Stream<Path> entries = Files.list(root)) {
      List<Path> classes = entries.filter(Files::isDirectory).sorted().toList();
      if (classes.isEmpty()) {
        throw new IllegalArgumentException(
            "a folder for each class is needed, got none in " + root);
      }
      return classes;
    }
  }

  private static List<Path> images(Path folder) throws IOException {
    try (Stream<Path> entries = Files.walk(folder, FileVisitOption.FOLLOW_LINKS)) {
      return entries
          .filter(ImageFolder::isImage)
          .sorted(
              Comparator.comparing((Path path) -> requireNonNull(path.getParent(), "a folder"))
                  .thenComparing(Path::getFileName))
          .toList();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private static boolean isImage(Path path) {
    String name = name(path).toLowerCase(Locale.ROOT);
    return EXTENSIONS.contains(name.substring(name.lastIndexOf('.') + 1))
        && name.indexOf('.') >= 0
        && Files.isRegularFile(path);
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }

  /**
   * Returns the names of the classes; a label is the index of its class in this list.
   *
   * @return the names, ascending, with replacement characters where the locale cannot decode them
   */
  public List<String> classes() {
    return classes;
  }

  /**
   * Returns the files of the samples.
   *
   * @return the files by index
   */
  public List<Path> files() {
    return files;
  }

  /**
   * Returns the class of a sample, for example for a sampler that balances classes.
   *
   * @param index the index of the sample, in [0, size())
   * @return the number of the class
   * @throws IndexOutOfBoundsException if there is no such sample
   */
  public int label(long index) {
    return labels[Math.toIntExact(Objects.checkIndex(index, (long) labels.length))];
  }

  @Override
  public long size() {
    return files.size();
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(decoder.row(), RowSpec.of(DType.INT64));
  }

  @Override
  public void read(long index, SampleWriter sample) throws IOException {
    decoder.decode(files.get((int) index), sample, 0);
    sample.putLong(1, labels[(int) index]);
  }
}
