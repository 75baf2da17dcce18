// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.text.TextFileException.Problem;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Stream;

/** The expansion of files, directories and patterns to a list of files. */
final class FileList {
  private static final Pattern MAGIC = Pattern.compile("[*?\\[{]");

  private final List<TextFile> files = new ArrayList<>();

  /** The directories being listed, from the given path inwards, with links resolved. */
  private final Deque<Path> open = new ArrayDeque<>();

  private FileList() {}

  static List<TextFile> of(List<String> paths) {
    FileList list = new FileList();
    for (String path : Checks.copyOf("paths", paths)) {
      list.addPath(path);
    }
    return List.copyOf(list.files);
  }

  private void addPath(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("paths must not contain an empty path");
    }
    String path = withHome(text);
    // A file name may look like a pattern.
    if (!MAGIC.matcher(path).find() || exists(path)) {
      add(pathOf(path));
      return;
    }
    List<Path> matches = matches(path);
    if (matches.isEmpty()) {
      throw new TextFileException(pathOf(path), Problem.MISSING, "matches no file");
    }
    matches.forEach(this::add);
  }

  private static String withHome(String path) {
    return path.equals("~") || path.startsWith("~/")
        ? System.getProperty("user.home") + path.substring(1)
        : path;
  }

  private static Path pathOf(String name) {
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new IllegalArgumentException(
          "paths must be valid file names in the encoding of the locale (%s), got \"%s\": %s;"
                  .formatted(System.getProperty("sun.jnu.encoding"), name, e.getReason())
              + " set LC_ALL to a UTF-8 locale, or pass the directory instead of the file",
          e);
    }
  }

  private static boolean exists(String path) {
    try {
      return Files.exists(Path.of(path));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  private void add(Path path) {
    try {
      BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (attributes.isDirectory()) {
        addDirectory(path);
      } else if (attributes.isRegularFile()) {
        addFile(path, attributes);
      } else {
        throw new TextFileException(
            path, Problem.UNREADABLE, "must be a regular file or a directory, but is neither");
      }
    } catch (NoSuchFileException e) {
      throw new TextFileException(path, Problem.MISSING, "does not exist", e);
    } catch (IOException e) {
      throw new TextFileException(
          path, Problem.UNREADABLE, "cannot be read: " + Failures.reason(e), e);
    }
  }

  private void addFile(Path path, BasicFileAttributes attributes) {
    if (!Files.isReadable(path)) {
      throw new TextFileException(path, Problem.UNREADABLE, "must be readable, but is not");
    }
    files.add(
        new TextFile(
            path,
            attributes.size(),
            attributes.lastModifiedTime(),
            LineOptions.Compression.of(path.getFileName().toString())));
  }

  private void addDirectory(Path directory) throws IOException {
    Path real = directory.toRealPath();
    if (open.contains(real)) {
      throw new TextFileException(
          directory,
          Problem.UNREADABLE,
          "is a link to a directory that contains it, forming a loop");
    }
    open.push(real);
    entries(directory).forEach(this::add);
    open.pop();
  }

  /**
   * Returns the entries that are not hidden, ordered by the bytes of their names: the order is the
   * same in every locale.
   */
  private static List<Path> entries(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries
          .filter(entry -> !name(entry).startsWith("."))
          .sorted(Comparator.comparing(Path::getFileName))
          .toList();
    }
  }

  private static String name(Path path) {
    return path.getFileName().toString();
  }

  private static List<Path> matches(String pattern) {
    Path parts = pathOf(pattern);
    List<Path> found = List.of(parts.isAbsolute() ? parts.getRoot() : Path.of(""));
    try {
      for (Path part : parts) {
        found = matches(found, part.toString());
      }
    } catch (IOException e) {
      throw new TextFileException(
          parts, Problem.UNREADABLE, "cannot be expanded: " + Failures.reason(e), e);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "paths must be files, directories or valid patterns, got \"" + pattern + "\"", e);
    }
    return found;
  }

  private static List<Path> matches(List<Path> directories, String part) throws IOException {
    List<Path> found = new ArrayList<>();
    if (!MAGIC.matcher(part).find()) {
      directories.stream().map(d -> d.resolve(part)).filter(Files::exists).forEach(found::add);
      return found;
    }
    PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + part);
    for (Path directory : directories) {
      Path listed = directory.toString().isEmpty() ? Path.of(".") : directory;
      if (Files.isDirectory(listed)) {
        for (Path entry : entries(listed)) {
          if (matcher.matches(entry.getFileName())) {
            found.add(directory.resolve(entry.getFileName()));
          }
        }
      }
    }
    return found;
  }
}
