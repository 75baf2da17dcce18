// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Images in one folder for each class, {@code root/class/.../image.png}: uint8 {@code [3, height,
 * width]}, red, green and blue, and the number of the class, int64.
 *
 * <p>Classes and files are numbered as by torchvision 0.25's {@code ImageFolder}: classes by name,
 * then the files of each by folder and name, in the order of code points. Folders within a class
 * belong to it; links are followed. Files are images if their name ends with {@code .jpg .jpeg .png
 * .ppm .bmp .pgm .tif .tiff} or {@code .webp}, in any case. An image of another size is scaled,
 * bilinearly with the area of each pixel where it becomes smaller; transparency is over black.
 *
 * <p>{@code ImageIO} decodes, on the workers: ppm, pgm and webp need a plug-in of it, and a program
 * of modules needs {@code java.desktop}. A file that cannot be decoded is a {@link SampleException}
 * that names it. Immutable, thread-safe.
 */
public final class ImageFolder implements Dataset {
  private static final Set<String> EXTENSIONS =
      Set.of("jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp");

  private final List<String> classes;
  private final List<Path> files;
  private final int[] labels;
  private final int height;
  private final int width;

  private ImageFolder(
      List<String> classes, List<Path> files, List<Integer> labels, int height, int width) {
    this.classes = classes;
    this.files = files;
    this.labels = labels.stream().mapToInt(Integer::intValue).toArray();
    this.height = height;
    this.width = width;
  }

  /**
   * Finds the images of a folder; they are read later.
   *
   * @param root holds a folder for each class
   * @param height the height of the samples in pixels, at least 1
   * @param width the width of the samples in pixels, at least 1
   * @return the dataset
   * @throws IllegalArgumentException if there is no class, a class without an image, or a size is
   *     below 1
   * @throws UncheckedIOException if a folder cannot be read
   * @throws IllegalStateException if the program lacks the module {@code java.desktop}
   */
  public static ImageFolder open(Path root, int height, int width) {
    if (height < 1 || width < 1) {
      throw new IllegalArgumentException(
          "height and width must be at least 1, got %d and %d".formatted(height, width));
    }
    requireDesktop();
    List<Path> files = new ArrayList<>();
    List<Integer> labels = new ArrayList<>();
    try {
      List<String> classes = classes(root);
      for (int label = 0; label < classes.size(); label++) {
        List<Path> images = images(root.resolve(classes.get(label)));
        if (images.isEmpty()) {
          throw new IllegalArgumentException(
              "each class must have an image (%s), got none in %s"
                  .formatted(EXTENSIONS, root.resolve(classes.get(label))));
        }
        files.addAll(images);
        for (int i = 0; i < images.size(); i++) {
          labels.add(label);
        }
      }
      return new ImageFolder(classes, List.copyOf(files), labels, height, width);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void requireDesktop() {
    if (ModuleLayer.boot().findModule("java.desktop").isEmpty()) {
      throw new IllegalStateException(
          "images are decoded by the module java.desktop, which this program lacks;"
              + " add --add-modules java.desktop");
    }
  }

  private static List<String> classes(Path root) throws IOException {
    if (!Files.isDirectory(root)) {
      throw new NotDirectoryException(root.toString());
    }
    try (Stream<Path> entries = Files.list(root)) {
      List<String> classes =
          entries
              .filter(Files::isDirectory)
              .map(ImageFolder::name)
              .sorted(ImageFolder::compareCodePoints)
              .toList();
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
              Comparator.comparing(
                      (Path path) -> String.valueOf(path.getParent()),
                      ImageFolder::compareCodePoints)
                  .thenComparing(ImageFolder::name, ImageFolder::compareCodePoints))
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

  /** The order of Python's strings; that of Java's differs beyond the 16-bit characters. */
  private static int compareCodePoints(String a, String b) {
    int i = 0;
    while (i < a.length() && i < b.length()) {
      int x = a.codePointAt(i);
      int y = b.codePointAt(i);
      if (x != y) {
        return Integer.compare(x, y);
      }
      i += Character.charCount(x);
    }
    return Integer.compare(a.length(), b.length());
  }

  /**
   * The names of the classes; a label is the place of its class.
   *
   * @return the names, ascending
   */
  public List<String> classes() {
    return classes;
  }

  /**
   * The files of the samples.
   *
   * @return the files by index
   */
  public List<Path> files() {
    return files;
  }

  /**
   * The class of a sample, for example for a sampler that balances classes.
   *
   * @param index which sample, in [0, size())
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
    return List.of(RowSpec.of(DType.UINT8, 3, height, width), RowSpec.of(DType.INT64));
  }

  @Override
  public void read(long index, SampleWriter sample) throws IOException {
    Path file = files.get((int) index);
    sample.put(0, ImagePixels.read(file, height, width));
    sample.putLong(1, labels[(int) index]);
  }
}
