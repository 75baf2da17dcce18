// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Image files and the number of the class of each: of one folder per class, {@code
 * root/class/.../image.png}, or as given. Nothing is decoded; {@link ImageFolder}, {@link
 * DecodedFolder} and {@link ImageRecords#write} take a list.
 *
 * <pre>{@code
 * ImageList list = ImageList.of(root);
 * Sampler balanced =
 *     ClassBalancedSampler.ofLabels(list.classes().size(), list.labels()).seed(1).build();
 * ImageFolder images = ImageFolder.of(list, plan);
 * }</pre>
 *
 * <p>Classes and files are numbered as in torchvision 0.25's {@code ImageFolder}: classes by name,
 * then the files of each class by folder and name, in code point order, which in UTF-8 is byte
 * order. Folders within a class belong to it; links are followed. A file is an image if its name
 * ends in {@code .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff} or {@code .webp}, ignoring case. Left
 * out are links without a target, special files, and hidden folders of the root such as {@code
 * .ipynb_checkpoints}, whose names begin with a dot: torchvision counts them, the latter as
 * classes. {@link #leftOut} lists all that is no image of a class.
 *
 * <p>The folders are read once, when the list is made. Immutable and thread-safe.
 */
public final class ImageList {
  private static final List<String> EXTENSIONS =
      List.of("jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp");

  private final List<String> classes;
  private final List<Path> files;
  private final int[] labels;
  private final List<String> leftOut;

  private ImageList(
      List<String> classes, List<Path> files, List<Integer> labels, List<String> leftOut) {
    this.leftOut = leftOut;
    this.classes = classes;
    this.files = files;
    this.labels = labels.stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * Lists the images of a folder, of any file system.
   *
   * @param root the folder that contains a folder for each class
   * @return the list
   * @throws IllegalArgumentException if there is no class, or a class has no image
   * @throws UncheckedIOException if a folder cannot be read; the message names it
   */
  public static ImageList of(Path root) {
    return of(root, false);
  }

  /**
   * Lists the images of a folder in which classes may have no image, as torchvision's {@code
   * ImageFolder(root, allow_empty=True)} does: for example one rank's or one split's part of the
   * images, whose classes have the numbers of the whole.
   *
   * @param root the folder that contains a folder for each class, also for those without an image
   * @return the list
   * @throws IllegalArgumentException if there is no class, or no class has an image
   * @throws UncheckedIOException if a folder cannot be read; the message names it
   */
  public static ImageList withEmptyClasses(Path root) {
    return of(root, true);
  }

  /**
   * Returns a list of given files, whatever their names and folders.
   *
   * @param classes the names of the classes
   * @param files the files of the images, at least one; they are opened when they are needed
   * @param labels the index in {@code classes} of each file
   * @return the list
   * @throws IllegalArgumentException if there is no file, the number of labels is another one, or a
   *     label is not the index of a class
   */
  public static ImageList of(List<String> classes, List<Path> files, int[] labels) {
    List<String> names = Checks.copyOf("classes", classes);
    List<Path> all = Checks.copyOf("files", files);
    requireNonNull(labels, "labels");
    if (all.isEmpty() || all.size() != labels.length) {
      throw new IllegalArgumentException(
          "at least one file and a label for each are needed, got %d files and %d labels"
              .formatted(all.size(), labels.length));
    }
    for (int i = 0; i < labels.length; i++) {
      if (labels[i] < 0 || labels[i] >= names.size()) {
        throw new IllegalArgumentException(
            "labels must be in [0, %d], since there are %d classes, got %d for %s"
                .formatted(names.size() - 1, names.size(), labels[i], all.get(i)));
      }
    }
    return new ImageList(names, all, Arrays.stream(labels).boxed().toList(), List.of());
  }

  private static ImageList of(Path root, boolean mayBeEmpty) {
    requireNonNull(root, "root");
    List<Path> files = new ArrayList<>();
    List<Integer> labels = new ArrayList<>();
    List<String> leftOut = new ArrayList<>();
    try {
      List<Path> classes = classes(root, leftOut);
      for (int label = 0; label < classes.size(); label++) {
        List<Path> images = images(classes.get(label), leftOut);
        if (images.isEmpty() && !mayBeEmpty) {
          throw new IllegalArgumentException(
              ("each class must have an image, got none in %s; add files whose names end in .%s to it,"
                      + " remove the folder, or list it by withEmptyClasses")
                  .formatted(classes.get(label), String.join(", .", EXTENSIONS)));
        }
        files.addAll(images);
        for (int i = 0; i < images.size(); i++) {
          labels.add(label);
        }
      }
      if (files.isEmpty()) {
        throw new IllegalArgumentException("a class must have an image, got none in " + root);
      }
      List<String> names = classes.stream().map(ImageList::name).toList();
      return new ImageList(names, List.copyOf(files), labels, List.copyOf(leftOut));
    } catch (IOException e) {
      Object folder = e instanceof FileSystemException at ? at.getFile() : root;
      throw new UncheckedIOException("cannot read %s: %s".formatted(folder, Failures.reason(e)), e);
    }
  }

  /**
   * Returns the folders of the classes, ordered by the bytes of their names: the same order in
   * every locale.
   */
  private static List<Path> classes(Path root, List<String> leftOut) throws IOException {
    if (!Files.exists(root)) {
      throw new NoSuchFileException(root.toString());
    }
    if (!Files.isDirectory(root)) {
      throw new NotDirectoryException(root.toString());
    }
    try (Stream<Path> entries = Files.list(root)) {
      List<Path> classes = new ArrayList<>();
      for (Path entry : entries.sorted().toList()) {
        boolean isHidden = name(entry).startsWith(".");
        if (Files.isDirectory(entry) && !isHidden) {
          classes.add(entry);
        } else {
          leftOut.add(line(entry, isHidden ? "hidden" : "in no folder of a class"));
        }
      }
      if (classes.isEmpty()) {
        throw new IllegalArgumentException(
            "a folder for each class is needed, got none in %s; put the images of a class into %s"
                .formatted(root, root.resolve("CLASS")));
      }
      return classes;
    }
  }

  private static List<Path> images(Path folder, List<String> leftOut) throws IOException {
    try (Stream<Path> entries = Files.walk(folder, FileVisitOption.FOLLOW_LINKS)) {
      List<Path> images = new ArrayList<>();
      entries
          .filter(path -> !Files.isDirectory(path))
          .sorted(
              Comparator.comparing((Path path) -> requireNonNull(path.getParent(), "a folder"))
                  .thenComparing(Path::getFileName))
          .forEach(
              path -> {
                String problem = problem(path);
                if (problem == null) {
                  images.add(path);
                } else {
                  leftOut.add(line(path, problem));
                }
              });
      return images;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Returns why a file is no image of the list; null if it is one. */
  private static @Nullable String problem(Path path) {
    String name = name(path).toLowerCase(Locale.ROOT);
    if (name.indexOf('.') < 0 || !EXTENSIONS.contains(name.substring(name.lastIndexOf('.') + 1))) {
      return "its name does not end as that of an image";
    }
    return Files.isRegularFile(path)
        ? null
        : Files.exists(path) ? "not a regular file" : "a link without a target";
  }

  private static String line(Path path, String problem) {
    return "%s: %s".formatted(Quotes.printable(path.toString()), problem);
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }

  /**
   * Returns the names of the classes; a label is the index of its class in this list.
   *
   * @return the names, of folders in ascending order, with replacement characters where the locale
   *     cannot decode them
   */
  public List<String> classes() {
    return classes;
  }

  /**
   * Returns the files of the images.
   *
   * @return the files by index
   */
  public List<Path> files() {
    return files;
  }

  /**
   * Returns the files and folders that are no images of a class, of which no sample is made: a text
   * among the images, a GIF, a hidden folder. An image that cannot be decoded is not among them,
   * since nothing is decoded; {@link ImageRecords#write} returns these.
   *
   * @return the path and the reason of each, a line each, those beside the folders of the classes
   *     first; an unmodifiable list, empty for a list of given files
   */
  public List<String> leftOut() {
    return leftOut;
  }

  /**
   * Returns the class of each image, for example for a sampler that balances classes.
   *
   * @return the numbers of the classes by index, a new array
   */
  public int[] labels() {
    return labels.clone();
  }

  /**
   * Returns the class of an image.
   *
   * @param index the index of the image, in [0, size())
   * @return the number of the class
   * @throws IndexOutOfBoundsException if there is no such image
   */
  public int label(long index) {
    return labels[Math.toIntExact(Checks.requireIndex("index", index, (long) labels.length))];
  }

  /** Returns the columns of datasets of images and their classes. */
  static List<RowSpec> columns(RowSpec image) {
    return List.of(image.withName("image"), RowSpec.of("label", DType.INT64));
  }

  /**
   * Returns the number of images.
   *
   * @return the number, at least 1
   */
  public int size() {
    return labels.length;
  }
}
